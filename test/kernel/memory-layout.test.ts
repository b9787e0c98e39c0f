// Layouts of shared memory: where barriers go, in which order units need the fewest bytes, and what a search may take.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { placeBarriers } from '../../lib/kernel/memory/barriers.ts';
import { interference, plan } from '../../lib/kernel/memory/plan.ts';
import { schedule, type Dependence } from '../../lib/kernel/memory/schedule.ts';
import { Work } from '../../lib/kernel/memory/work.ts';

/** Blocks that interfere at random: hard to place. */
function hard(count: number) {
  let state = 7;
  const next = (below: number): number => (state = (state * 1103515245 + 12345) % 2147483648) % below;
  const blocks = Array.from({ length: count }, (_, i) => {
    const begin = next(60);
    return { name: `b${i}`, bytes: 16 * (1 + next(40)) + 8, live: [{ begin, end: begin + 1 + next(12) }] };
  });
  return { blocks };
}

describe('memory: the fewest barriers', function () {
  this.timeout(120_000); // on busy machines
  interface Node { id: number; kind: string; successors: number[]; accesses: { array: number }[]; loops: number[] }
  interface Flow { nodes: Node[] }

  /** A flow graph: nodes that touch arrays, barriers and slots, in a row with some jumps. */
  function flowOf(kinds: readonly number[], jumps: readonly (readonly [number, number])[]): Flow {
    const nodes: Node[] = kinds.map((kind, id) => ({
      id, kind: kind === -1 ? 'barrier' : kind === -2 ? 'slot' : 'access', successors: id + 1 < kinds.length ? [id + 1] : [],
      accesses: kind >= 0 ? [{ array: kind }] : [], loops: [],
    }));
    for (const [from, to] of jumps) nodes[from % kinds.length]!.successors.push(to % kinds.length);
    return { nodes };
  }

  /** Whether a way leads from an access of one array to one of another past no barrier and none of some slots. */
  function isOpen({ nodes }: Flow, a: number, b: number, cut: ReadonlySet<number>): boolean {
    const of = (array: number): Node[] => nodes.filter((node) => node.accesses.some((access) => access.array === array));
    return of(a).some((start) => {
      const seen = new Set<number>();
      const stack = [...start.successors];
      while (stack.length > 0) {
        const at = stack.pop()!;
        if (seen.has(at) || nodes[at]!.kind === 'barrier' || cut.has(at)) continue;
        seen.add(at);
        if (of(b).includes(nodes[at]!)) return true;
        stack.push(...nodes[at]!.successors);
      }
      return false;
    });
  }

  it('no smaller set of slots would do: against all sets, on random graphs', () => {
    const graph = fc.tuple(fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 3, maxLength: 12 }), fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 3 }));
    fc.assert(fc.property(graph, ([kinds, jumps]) => {
      // A slot after every node, so that a cut always exists.
      const spaced = kinds.flatMap((kind) => [kind, -2]);
      const flow = flowOf(spaced, jumps.map(([from, to]) => [2 * from + 1, 2 * to + 1]));
      const pairs: [number, number][] = [[0, 1], [1, 2]];
      const chosen = new Set(placeBarriers(flow, pairs, new Set()).map(({ slot }) => slot));
      const cuts = (set: ReadonlySet<number>): boolean => pairs.every(([a, b]) => !isOpen(flow, a, b, set) && !isOpen(flow, b, a, set));
      ok(cuts(chosen));
      const slots = flow.nodes.filter((node) => node.kind === 'slot').map((node) => node.id).slice(0, 16);
      if (flow.nodes.filter((node) => node.kind === 'slot').length > 16) return;
      for (let mask = 0; mask < 1 << slots.length; ++mask) {
        const set = new Set(slots.filter((_, at) => (mask >> at & 1) === 1));
        if (set.size < chosen.size) ok(!cuts(set), `${[...set]} does instead of ${[...chosen]}`);
      }
    }), { numRuns: 60, seed: 4 });
  });

  it('closed slots are not used', () => {
    const flow = flowOf([0, -2, -2, 1], []);
    deepStrictEqual(placeBarriers(flow, [[0, 1]], new Set([2])).map(({ slot }) => slot), [1]);
  });
});

describe('memory: the schedule', function () {
  this.timeout(120_000); // on busy machines
  /** Units that touch arrays, with random dependences. */
  const problems = fc.record({
    touched: fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 6 }),
    edges: fc.array(fc.tuple(fc.nat({ max: 5 }), fc.nat({ max: 5 }), fc.boolean()), { maxLength: 8 }), bytes: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 4,
      maxLength: 4 }),
  });

  function dependenceOf({ touched, edges }: { touched: number[][]; edges: [number, number, boolean][] }): Dependence {
    const units = touched.map((arrays) => ({ isBarrier: false, isLight: false, arrays: new Set(arrays) }));
    const before = units.map(() => new Set<number>());
    const separated = new Set<number>();
    for (let late = 0; late < units.length; ++late) {
      for (const [a, b, apart] of edges) {
        const early = Math.min(a, b);
        if (Math.max(a, b) !== late || early === late) continue;
        before[late]!.add(early);
        for (const each of before[early]!) before[late]!.add(each);
        if (apart) separated.add(early * units.length + late);
      }
    }
    return { units, before, separated };
  }

  /** Largest bytes of a stage: arrays touched in it, or before and after it. */
  function largest({ units }: Dependence, stages: readonly (readonly number[])[], bytes: readonly number[]): number {
    const touches = (from: number, to: number, array: number): boolean => stages.slice(from, to).flat().some((unit) => units[unit]!.arrays.has(array));
    return Math.max(...stages.map((_, at) => bytes.reduce((sum, size, array) =>
      sum + (touches(at, at + 1, array) || (touches(0, at, array) && touches(at + 1, stages.length, array)) ? size : 0), 0)));
  }

  function* ordersOf(left: readonly number[], done: readonly number[], dependence: Dependence): Generator<number[]> {
    if (left.length === 0) yield [...done];
    for (const unit of left) {
      if ([...dependence.before[unit]!].every((each) => done.includes(each))) yield* ordersOf(left.filter((each) => each !== unit), [...done, unit], dependence);
    }
  }

  it('keeps dependences and needs no more than any other order and any other barriers', () => {
    fc.assert(fc.property(problems, ({ touched, edges, bytes }) => {
      const dependence = dependenceOf({ touched, edges });
      const stages = schedule(dependence, bytes);
      const order = stages.flat();
      deepStrictEqual([...order].sort(), touched.map((_, unit) => unit));
      for (const [late, early] of dependence.before.entries()) for (const each of early) ok(order.indexOf(each) < order.indexOf(late));
      const n = touched.length;
      for (const stage of stages) for (const a of stage) for (const b of stage) ok(a >= b || !dependence.separated.has(a * n + b));
      let best = Infinity;
      for (const each of ordersOf(touched.map((_, unit) => unit), [], dependence)) {
        // A barrier after every statement takes the least bytes of an order.
        best = Math.min(best, largest(dependence, each.map((unit) => [unit]), bytes));
      }
      strictEqual(largest(dependence, stages, bytes), best);
    }), { numRuns: 150, seed: 6 });
  });

  it('long kernels are scheduled too, within their dependences', () => {
    const touched = Array.from({ length: 30 }, (_, unit) => [unit % 4]);
    const edges: [number, number, boolean][] = Array.from({ length: 26 }, (_, unit) => [unit, unit + 4, unit % 2 === 0]);
    const dependence = dependenceOf({ touched, edges });
    const bytes = [4, 4, 4, 4];
    const stages = schedule(dependence, bytes);
    const order = stages.flat();
    strictEqual(order.length, 30);
    for (const [late, early] of dependence.before.entries()) for (const each of early) ok(order.indexOf(each) < order.indexOf(late));
    for (const stage of stages) for (const a of stage) for (const b of stage) ok(a >= b || !dependence.separated.has(a * 30 + b));
    ok(largest(dependence, stages, bytes) < 16);
  });
});

describe('memory: bounds', () => {
  it('exact planning spends its budget and says what is left open', () => {
    const problem = hard(60);
    const short = plan(problem, 'exact', { budget: 20_000 });
    const long = plan(problem, 'exact');
    ok(short.bytes >= long.bytes && long.bytes >= long.lowerBound);
    for (const { offsets, optimal, bytes, lowerBound } of [short, long]) {
      for (const [a, b] of interference(problem)) {
        const apart = offsets[a]! + problem.blocks[a]!.bytes <= offsets[b]! || offsets[b]! + problem.blocks[b]!.bytes <= offsets[a]!;
        ok(apart, `blocks ${a} and ${b} share bytes`);
      }
      if (bytes === lowerBound) ok(optimal);
    }
    if (short.optimal) strictEqual(short.bytes, long.bytes);
  });

  it('gives the event loop turns, and ends with the reason of its signal', async () => {
    const work = new Work(1e9);
    let turns = 0;
    const count = setInterval(() => { turns += 1; }, 0);
    while (turns < 3) await work.pause(); // without turns it would not end
    clearInterval(count);

    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await rejects(new Work(1, signal).pause(), reason);
  });
});
