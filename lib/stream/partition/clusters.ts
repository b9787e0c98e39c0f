// The paper's heuristic partitioner: clusters grown around the actors that suit the CPU, then fused (Algorithms 3 and 4).
import { elementAt, lastOf } from '../../core/known.ts';
import type { SdfGraph } from '../sdf.ts';
import { TaskState, type TaskTables } from './task.ts';

/** Actors moved to the CPU in addition to the fixed ones, and the resulting interval. */
interface Cluster {
  readonly actors: readonly number[];
  readonly interval: number;
}

class ClusterSearch {
  private readonly tables: TaskTables;
  private readonly state: TaskState;
  /** By actor: D_gpu / D_cpu; large values favour the CPU. */
  private readonly speedup: readonly number[];
  private readonly predecessors: readonly (readonly number[])[];
  private readonly successors: readonly (readonly number[])[];
  /** What pairs of clusters fuse to: most pairs stay from one round to the next. */
  private readonly fusions = new Map<Cluster, Map<Cluster, Cluster>>();

  constructor(graph: SdfGraph, tables: TaskTables, speedup: readonly number[]) {
    this.tables = tables;
    this.speedup = speedup;
    this.state = new TaskState(tables, tables.fixed.map((fixed) => !fixed));
    this.predecessors = graph.actors.map(({ id }) => [...new Set(graph.channels.filter(({ to }) => to === id).map(({ from }) => from))]);
    this.successors = graph.actors.map(({ id }) => [...new Set(graph.channels.filter(({ from }) => from === id).map(({ to }) => to))]);
  }

  /** Runs `visit` with only the cluster and the fixed actors on the CPU. */
  private on<T>(actors: readonly number[], visit: () => T): T {
    for (const actor of actors) this.state.flip(actor);
    const result = visit();
    this.state.reset(this.tables.fixed.map((fixed) => !fixed));
    return result;
  }

  /** The candidate whose move to the CPU lowers the interval most; undefined if none lowers it. */
  private mostBeneficial(candidates: readonly number[]): number | undefined {
    let best = this.state.interval, found: number | undefined;
    for (const actor of candidates) {
      if (this.tables.fixed[actor] || !this.state.onGpu[actor]) continue;
      this.state.flip(actor);
      if (this.state.interval < best) [best, found] = [this.state.interval, actor];
      this.state.flip(actor);
    }
    return found;
  }

  /** GROWCLUSTER, with its recursion as a stack: predecessors first, then successors. */
  private grow(root: number): Cluster {
    return this.on([root], () => {
      const actors = [root];
      const stack: { actor: number; side: number }[] = [{ actor: root, side: 0 }];
      while (stack.length > 0) {
        const top = lastOf(stack);
        if (top.side === 2) {
          stack.pop();
          continue;
        }
        const next = this.mostBeneficial(elementAt((top.side++ === 0 ? this.predecessors : this.successors), top.actor));
        if (next === undefined) continue;
        this.state.flip(next);
        actors.push(next);
        stack.push({ actor: next, side: 0 });
      }
      return { actors, interval: this.state.interval };
    });
  }

  /** SMARTFUSION: takes both clusters' actors, best suited first, and keeps those that lower the interval. */
  private fuse(a: Cluster, b: Cluster): Cluster {
    const known = this.fusions.get(a) ?? new Map<Cluster, Cluster>();
    this.fusions.set(a, known);
    const fused = known.get(b) ?? this.fuseActors(a, b);
    known.set(b, fused);
    return fused;
  }

  private fuseActors(a: Cluster, b: Cluster): Cluster {
    const all = [...new Set([...a.actors, ...b.actors])].sort((x, y) => elementAt(this.speedup, y) - elementAt(this.speedup, x) || x - y);
    return this.on([], () => {
      const actors: number[] = [];
      let interval = Infinity;
      for (const actor of all) {
        this.state.flip(actor);
        if (this.state.interval < interval) {
          interval = this.state.interval;
          actors.push(actor);
        } else this.state.flip(actor);
      }
      return { actors, interval };
    });
  }

  /** GETCLUSTERS and REFINECLUSTERS. */
  run(coverage: number): Cluster {
    const sorted = this.speedup.map((_, actor) => actor).filter((actor) => !this.tables.fixed[actor])
      .sort((a, b) => elementAt(this.speedup, b) - elementAt(this.speedup, a) || a - b);
    let clusters: Cluster[] = [{ actors: [], interval: this.state.interval }];
    let covered = 0;
    for (const root of sorted) {
      if (covered >= coverage * this.speedup.length) break;
      const cluster = this.grow(root);
      covered += cluster.actors.length;
      clusters.push(cluster);
    }
    for (;;) {
      clusters = clusters.sort((a, b) => a.interval - b.interval);
      const fused = this.fuseOnce(clusters);
      if (!fused) return elementAt(clusters, 0);
      clusters = fused;
    }
  }

  private fuseOnce(clusters: readonly Cluster[]): Cluster[] | undefined {
    for (let i = 0; i < clusters.length; ++i) {
      let best = elementAt(clusters, i), partner = -1;
      for (let j = i + 1; j < clusters.length; ++j) {
        const fused = this.fuse(elementAt(clusters, i), elementAt(clusters, j));
        if (fused.interval < best.interval * (1 - 1e-12)) [best, partner] = [fused, j];
      }
      if (partner >= 0) return [best, ...clusters.filter((_, at) => at !== i && at !== partner)];
    }
    return undefined;
  }
}

/** The partition of Algorithms 3 and 4, by actor: true on the GPU. `coverage`: how many actors clusters hold, per actor of the graph. */
export function clusterPartition(graph: SdfGraph, tables: TaskTables, coverage: number): boolean[] {
  const speedup = tables.cpu.map((cpu, actor) => cpu > 0 ? elementAt(tables.gpu, actor) / cpu : Infinity);
  const { actors } = new ClusterSearch(graph, tables, speedup).run(coverage);
  const onGpu = tables.fixed.map((fixed) => !fixed);
  for (const actor of actors) onGpu[actor] = false;
  return onGpu;
}
