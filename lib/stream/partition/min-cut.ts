// Lagrangian relaxation of the partitioning problem. For fixed weights of the loads the best partition is a minimum cut:
// transfers and shuffles are submodular in the placement. Every cut is a starting partition, and its value is a lower bound.
import { addAt, required } from '../../core/known.ts';
import type { TaskTables } from './task.ts';

/** A flow network on which Dinic's algorithm finds a minimum cut. */
class Network {
  private readonly heads: number[][];
  private readonly target: number[] = [];
  private readonly room: number[] = [];
  private level: number[] = [];
  private next: number[] = [];

  constructor(nodes: number) {
    this.heads = Array.from({ length: nodes }, () => []);
  }

  /** Adds arcs in both directions. */
  join(a: number, b: number, forth: number, back: number): void {
    required(this.heads[a]).push(this.target.push(b) - 1);
    this.room.push(forth);
    required(this.heads[b]).push(this.target.push(a) - 1);
    this.room.push(back);
  }

  private rank(source: number): void {
    this.level = this.heads.map(() => -1);
    this.level[source] = 0;
    const queue = [source];
    for (let at = 0; at < queue.length; ++at) {
      for (const arc of required(this.heads[required(queue[at])])) {
        const node = required(this.target[arc]);
        if (this.level[node] !== -1 || !(required(this.room[arc]) > kNoRoom)) continue;
        this.level[node] = required(this.level[required(queue[at])]) + 1;
        queue.push(node);
      }
    }
  }

  /** Pushes flow along one path of the level graph; returns how much. */
  private augment(source: number, sink: number): number {
    const path: number[] = [];
    let node = source;
    while (node !== sink) {
      const arcs = required(this.heads[node]);
      const arc = arcs[required(this.next[node])];
      if (arc === undefined) {
        const back = path.pop();
        if (back === undefined) return 0;
        node = required(this.target[back ^ 1]);
        addAt(this.next, node, 1);
      } else if (required(this.room[arc]) > kNoRoom && this.level[required(this.target[arc])] === required(this.level[node]) + 1) {
        path.push(arc);
        node = required(this.target[arc]);
      } else addAt(this.next, node, 1);
    }
    const flow = Math.min(...path.map((arc) => required(this.room[arc])));
    for (const arc of path) {
      addAt(this.room, arc, -flow);
      addAt(this.room, arc ^ 1, flow);
    }
    return flow;
  }

  /** Nodes on the source side of a minimum cut. */
  cut(source: number, sink: number): boolean[] {
    this.rank(source);
    while (this.level[sink] !== -1) {
      this.next = this.heads.map(() => 0);
      while (this.augment(source, sink) > 0);
      this.rank(source);
    }
    return this.level.map((level) => level !== -1);
  }
}

/** An arc with less residual capacity counts as saturated; capacities are scaled to about 1. */
const kNoRoom = 1e-13;

/** What the loads of a partition count: transfers by direction, work by side. */
interface Parts {
  readonly toCpu: number;
  readonly toGpu: number;
  readonly gpu: number;
  readonly cpu: number;
}

/** The partition that minimises the weighted sum of the loads. */
function cheapest(tables: TaskTables, weights: Parts, scale: number): boolean[] {
  const count = tables.cpu.length;
  const network = new Network(count + 2);
  const [source, sink] = [count, count + 1];
  // Work lies on arcs from the source (paid on the CPU's side) and to the sink (paid on the GPU's side).
  const ifGpu = tables.gpu.map((load) => load * weights.gpu);
  const ifCpu = tables.cpu.map((load) => load * weights.cpu);
  for (const { from, to, toCpu, toGpu, gpu } of tables.edges) {
    const toOnly = toGpu * weights.toGpu + gpu[1] * weights.gpu, fromOnly = toCpu * weights.toCpu + gpu[2] * weights.gpu;
    const both = gpu[3] * weights.gpu;
    // cost(u, v) = unary(u) + unary(v) + arcs; both ≤ toOnly + fromOnly holds for every channel.
    const shareTo = Math.min(both, toOnly), shareFrom = Math.max(0, both - shareTo);
    addAt(ifGpu, to, shareTo);
    addAt(ifGpu, from, shareFrom);
    network.join(from, to, Math.max(0, fromOnly - shareFrom) / scale, Math.max(0, toOnly - shareTo) / scale);
  }
  for (let actor = 0; actor < count; ++actor) {
    network.join(source, actor, required(ifCpu[actor]) / scale, 0);
    network.join(actor, sink, tables.fixed[actor] ? 1e9 : required(ifGpu[actor]) / scale, 0);
  }
  return network.cut(source, sink).slice(0, count).map((on, actor) => on && !tables.fixed[actor]);
}

/** Partitions found on the way, and a lower bound on the interval. */
export interface Relaxation {
  readonly partitions: boolean[][];
  readonly bound: number;
}

/** The loads whose largest counts: each direction of transfers by itself, or both together. */
function countedLoads({ isDuplex }: TaskTables, { toCpu, toGpu, gpu, cpu }: Parts): number[] {
  return isDuplex ? [gpu, cpu, toCpu, toGpu] : [gpu, cpu, toCpu + toGpu];
}

/**
 * Looks for the weights with the highest bound, using multiplicative updates. `loadsOf` returns the loads of a partition; `reference` is
 * the interval of a known one.
 */
export function relax(tables: TaskTables, loadsOf: (onGpu: readonly boolean[]) => Parts, reference: number, rounds = 40): Relaxation {
  if (!(reference > 0)) return { partitions: [], bound: 0 };
  const partitions = new Map<string, boolean[]>();
  const count = tables.isDuplex ? 4 : 3;
  let weights = Array.from({ length: count }, () => 1 / count);
  let bound = 0;
  for (let round = 0; round < rounds; ++round) {
    const [gpu, cpu, toCpu, toGpu = toCpu] = weights as [number, number, number, number?];
    const onGpu = cheapest(tables, { gpu, cpu, toCpu, toGpu }, reference);
    partitions.set(onGpu.map(Number).join(''), onGpu);
    const loads = countedLoads(tables, loadsOf(onGpu));
    bound = Math.max(bound, loads.reduce((sum, load, at) => sum + load * required(weights[at]), 0));
    const step = 1.5 / Math.sqrt(1 + round);
    const change = (load: number): number => Math.exp(Math.max(-3, Math.min(3, step * (load / reference - 1))));
    const raised = weights.map((weight, at) => Math.max(1e-6, weight) * change(required(loads[at])));
    const sum = raised.reduce((total, weight) => total + weight, 0);
    weights = raised.map((weight) => weight / sum);
  }
  // The cuts are minimal only up to rounding of the flow.
  return { partitions: [...partitions.values()], bound: bound * (1 - 1e-9) };
}
