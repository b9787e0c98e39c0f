// Plans for CPU cores and a GPU together: task partition, stages, instances and launches (sections 4.4 to 4.9) in sequence.
import { describeValue } from '../../../core/arrays.ts';
import { briefly } from '../../../core/display.ts';
import { refusal } from '../../../core/errors.ts';
import { elementAt } from '../../../core/known.ts';
import { ScheduleError } from '../../schedule/error.ts';
import { partitionTasks } from '../heuristic.ts';
import { assignStages, tightLoopOf, type StageProblem } from '../stages.ts';
import { fixedActors, partitionLoads } from '../task.ts';
import { iterationOf, type Iteration, type Loops } from './iteration.ts';
import { corePrograms, gpuPrograms } from './programs.ts';
import {
  checkHybrid, hybridOptions, type HybridChoices, type HybridOperation, type HybridOptions, type HybridPlan, type HybridProblem,
} from './types.ts';

export { validateHybrid, type HybridCheck } from './check.ts';
export type { HybridOperation, HybridOptions, HybridPlan, HybridProblem, HybridSlice, MovingCosts } from './types.ts';

/** Throws {@link ArgumentError} if sizes of instances or shuffles are not multiples of the width. */
function checkRows({ threads, gpu, graph: { actors } }: HybridProblem, { width, shuffleItems }: HybridChoices): void {
  if (shuffleItems % width !== 0) throw refusal('shuffleItems', `a multiple of ${width}, the width`, String(shuffleItems));
  threads.forEach((count, id) => {
    if (gpu[id] === Infinity || elementAt(actors, id).stateful || count % width === 0) return;
    throw refusal(`problem.threads[${id}]`, `a multiple of ${width}, the width`, String(count));
  });
}

/** The partition of an iteration, by the caller's function or the heuristic. */
function partitionOf({ task }: Iteration, choices: HybridChoices): { onGpu: boolean[]; bound: number } {
  const found = partitionTasks(task);
  if (choices.partition === undefined) return { onGpu: [...found.onGpu], bound: found.bound };
  const given: unknown = choices.partition(task).onGpu;
  const actors = task.graph.actors.length;
  if (!Array.isArray(given) || given.length !== actors) {
    throw refusal('partition', `a side for each of ${actors} actors`, describeValue(given));
  }
  const fixed = fixedActors(task);
  return { onGpu: given.map((on, id) => on === true && !fixed[id]), bound: found.bound };
}

/** The plan of an iteration, or the actors of a loop that this partition requires to be contracted. */
function planOf(problem: HybridProblem, choices: HybridChoices, iteration: Iteration): HybridPlan | readonly number[] {
  const { contracted, repetitions, steadyStates, threads, onCore, task } = iteration;
  const { onGpu, bound } = partitionOf(iteration, choices);
  const staged: StageProblem = { graph: contracted.graph, repetitions, onGpu };
  const tight = tightLoopOf(staged);
  if (tight) return tight;
  const { stages, operations: staging, ...rest } = assignStages(staged);
  const operations = staging.map((operation): HybridOperation => {
    const { from, push } = elementAt(contracted.graph.channels, operation.channel);
    const isTransfer = operation.kind === 'toCpu' || operation.kind === 'toGpu';
    return { ...operation, instances: isTransfer ? 1 : push * elementAt(repetitions, from) / choices.shuffleItems };
  });
  const cores = corePrograms(iteration, onGpu, problem.cores);
  const multiprocessors = gpuPrograms(iteration, onGpu, operations, problem, choices.shuffleItems);
  const { toGpu, toCpu, dma, interval } = partitionLoads(task, onGpu);
  return {
    contracted, steadyStates, repetitions, onGpu, stages, operations, ...rest, bound,
    firings: onGpu.map((on, id) => elementAt(on ? threads : onCore, id)), width: choices.width, shuffleItems: choices.shuffleItems,
    cores: cores.programs, multiprocessors: multiprocessors.programs,
    load: { cores: cores.load, multiprocessors: multiprocessors.load, toGpu, toCpu },
    interval: Math.max(dma, ...cores.load, ...multiprocessors.load), partitionInterval: interval,
  };
}

/** The plan of an iteration at least `wanted` times as long as the shortest. Pins or contracts the loops that turn out to be too tight. */
function planAt(problem: HybridProblem, choices: HybridChoices, maxUnroll: number, wanted: number, loops: Loops) {
  for (;;) {
    const iteration = iterationOf(problem, choices, maxUnroll, wanted, loops);
    const found = planOf(problem, choices, iteration);
    if (!('length' in found)) return { plan: found, multiple: iteration.multiple };
    const actors = found.map((id) => elementAt(elementAt(iteration.contracted.members, id), 0).actor);
    const isPinned = actors.every((actor) => loops.pinned.has(actor));
    for (const actor of actors) (isPinned ? loops.closed : loops.pinned).add(actor);
  }
}

/**
 * Makes a plan for cores and a GPU together. A loop is contracted to one actor with state, unless it holds enough items for its actors to
 * run in different launches; if they suffice only without transfers, its actors stay on the CPU. An iteration consists of whole
 * instances and is lengthened until none dominates. Then follow the task partition, the stages with transfers, shuffles and buffers, and
 * the distribution of instances over processors. The iteration is lengthened further while instances pack worse than `tolerance`, and
 * shortened while buffers exceed `maxDeviceBytes`.
 *
 * @throws ArgumentError for invalid problems; {@link ScheduleError} for graphs without a schedule, and (`limit`) for too large ones
 */
export function planHybrid(problem: HybridProblem, options: HybridOptions = {}): HybridPlan {
  checkHybrid(problem);
  const choices: HybridChoices = hybridOptions.read(options, 'options');
  checkRows(problem, choices);
  const { maxDeviceBytes = Infinity, maxUnroll, tolerance } = choices;
  const loops: Loops = { pinned: new Set(), closed: new Set() };
  const packing = (plan: HybridPlan): number => plan.partitionInterval > 0 ? plan.interval / plan.partitionInterval - 1 : 0;
  let most = maxUnroll;
  let { plan: best, multiple } = planAt(problem, choices, most, 1, loops);
  while (best.deviceBytes > maxDeviceBytes && most > 1) {
    most = Math.max(1, Math.floor(Math.min(most, multiple) / 2));
    ({ plan: best, multiple } = planAt(problem, choices, most, 1, loops));
  }
  if (best.deviceBytes > maxDeviceBytes) {
    throw new ScheduleError('limit',
      `buffers on the device take ${best.deviceBytes} bytes in the shortest iteration, at most ${maxDeviceBytes}`);
  }
  for (let wanted = Math.ceil(multiple * 1.3); packing(best) > tolerance && wanted <= maxUnroll && most === maxUnroll;
    wanted = Math.ceil(wanted * 1.3)) {
    const { plan } = planAt(problem, choices, maxUnroll, wanted, { pinned: new Set(loops.pinned), closed: new Set(loops.closed) });
    if (plan.deviceBytes > maxDeviceBytes) break;
    if (plan.interval / plan.steadyStates < best.interval / best.steadyStates * (1 - 1e-9)) best = plan;
  }
  return briefly('HybridPlan', best);
}
