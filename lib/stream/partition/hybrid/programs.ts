// Distributes the instances of a partitioned iteration over cores and multiprocessors (section 4.5.2), keeping neighbouring ones together.
import { elementAt } from '../../../core/known.ts';
import { partitionInstances, type InstanceClass } from '../instance-ilp.ts';
import type { Iteration } from './iteration.ts';
import type { HybridOperation, HybridProblem, HybridSlice } from './types.ts';

/** Equal instances of an actor or operation. */
interface Work extends InstanceClass {
  readonly kind: HybridSlice['kind'];
  readonly id: number;
}

/** The programs of all processors of one kind for a launch. */
export interface Programs {
  readonly programs: readonly (readonly HybridSlice[])[];
  readonly load: readonly number[];
}

/** Distributes classes over processors. A processor gets neighbouring instances of a class, which become one call (section 4.9). */
function distribute(works: readonly Work[], processors: number): Programs {
  const { counts, load } = partitionInstances(works, processors);
  const programs: HybridSlice[][] = load.map(() => []);
  works.forEach(({ kind, id }, at) => {
    let from = 0;
    elementAt(counts, at).forEach((count, processor) => {
      if (count > 0) elementAt(programs, processor).push({ kind, id, from, count });
      from += count;
    });
  });
  return { programs, load };
}

/** Instances on cores. An actor with state has a single instance, so that its firings stay in order. */
export function corePrograms({ contracted, repetitions, onCore, cpu }: Iteration, onGpu: readonly boolean[], cores: number): Programs {
  const works = contracted.graph.actors.filter(({ id }) => !onGpu[id]).map(({ id }): Work => ({
    kind: 'actor', id, count: elementAt(repetitions, id) / elementAt(onCore, id), time: elementAt(onCore, id) * elementAt(cpu, id),
  }));
  return distribute(works, cores);
}

/** Instances of actors, shuffles and deshuffles on multiprocessors. */
export function gpuPrograms(iteration: Iteration, onGpu: readonly boolean[], operations: readonly HybridOperation[],
  { multiprocessors, moving }: HybridProblem, shuffleItems: number): Programs {
  const { contracted: { graph }, repetitions, threads, gpu } = iteration;
  const actors = graph.actors.filter(({ id }) => onGpu[id]).map(({ id }): Work => ({
    kind: 'actor', id, count: elementAt(repetitions, id) / elementAt(threads, id), time: elementAt(gpu, id),
  }));
  const changes = operations.flatMap(({ channel, kind, instances }, id): Work[] => {
    if (kind === 'toGpu' || kind === 'toCpu') return [];
    const { bytesPerItem } = elementAt(graph.channels, channel);
    return [{ kind: 'operation', id, count: instances, time: shuffleItems * bytesPerItem / moving[kind] }];
  });
  return distribute([...actors, ...changes], multiprocessors);
}
