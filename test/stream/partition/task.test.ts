// Task partitioning: Figure 4.1, brute force on small graphs, the ILP, and the check of partitions.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  fixedActors, partitionLoads, partitionTasks, partitionTasksByIlp, recomputeLoads, taskUnrollFactor, unrollTask, validatePartition, type CostTable,
  type TaskProblem,
} from '../../../lib/stream/partition/index.ts';
import { repetitions } from '../../../lib/stream/schedule/index.ts';
import { Solver } from '../../../lib/stream/schedule/solver.ts';
import { figure31, graphOf, randomGraph } from '../schedule/graphs.ts';

/**
 * Figure 4.1. The text gives the shape (a pipeline of five filters, B with state, one core, one multiprocessor, no shuffles), what
 * each partition is (b: B alone on the CPU; c: every filter where it is fastest, limited by transfers; d: the optimum, not contiguous)
 * and the intervals 75, 70 and 45, but not the times. These are times for which all of that holds.
 */
function figure41(): TaskProblem {
  const graph = graphOf(['A', 'B*', 1, 1], ['B*', 'C', 1, 1], ['C', 'D', 1, 1], ['D', 'E', 1, 1]);
  const none = [0, 0, 0, 0], transfer = [10, 15, 25, 20];
  return {
    graph, repetitions: repetitions(graph), cores: 1, multiprocessors: 1,
    costs: { cpu: [20, 10, 30, 15, 35], gpu: [10, Infinity, 15, 20, 30], toCpu: transfer, toGpu: transfer, shuffle: none, deshuffle: none },
  };
}

/** Every partition by enumeration. */
function bruteForce(problem: TaskProblem): number {
  const count = problem.graph.actors.length;
  let best = Infinity;
  for (let bits = 0; bits < 2 ** count; ++bits) {
    const onGpu = problem.graph.actors.map((_, actor) => (bits >> actor & 1) === 1);
    const loads = recomputeLoads(problem, onGpu);
    if (validatePartition(problem, { ...loads, onGpu }).length === 0) best = Math.min(best, loads.interval);
  }
  return best;
}

const times = (count: number, most: number): fc.Arbitrary<number[]> =>
  fc.array(fc.integer({ min: 0, max: most }), { minLength: count, maxLength: count });

function randomProblem(actors: number): fc.Arbitrary<TaskProblem> {
  return randomGraph({ actors, stateful: true, loops: true }).chain(({ graph, rates }) => {
    const [a, c] = [graph.actors.length, graph.channels.length];
    return fc.record({
      costs: fc.record({ cpu: times(a, 40), gpu: times(a, 15), toCpu: times(c, 30), toGpu: times(c, 30), shuffle: times(c, 20), deshuffle: times(c, 20) }),
      cores: fc.integer({ min: 1, max: 4 }), multiprocessors: fc.integer({ min: 1, max: 4 }),
      link: fc.constantFrom('shared', 'duplex'), each: fc.integer({ min: 1, max: 3 }), openLoops: fc.boolean(),
      placesState: fc.boolean(),
    }).map(({ costs, each, ...rest }: Pick<TaskProblem, 'cores' | 'multiprocessors' | 'link' | 'openLoops' | 'placesState'> & { costs: CostTable; each: number }) => ({
      ...rest, cpuRepetitions: rates.map((count) => count * each),
      graph: { ...graph, actors: graph.actors.map((actor) => ({ ...actor, stateful: actor.stateful && actor.id % 2 === 0 })) },
      repetitions: rates, costs,
    }));
  });
}

describe('task partitioning', () => {
  it('finds the three partitions of Figure 4.1: 75, 70 and 45', async () => {
    const problem = figure41();
    const naive = [true, false, true, true, true];
    assert.deepEqual(partitionLoads(problem, naive),
      { toCpu: 10, toGpu: 15, dma: 25, gpu: 75, cpu: 10, recurrence: 10, longest: 30, interval: 75 });
    const greedy = problem.costs.cpu.map((cpu, actor) => problem.costs.gpu[actor]! < cpu);
    assert.deepEqual(greedy, [true, false, true, false, true]);
    assert.deepEqual(partitionLoads(problem, greedy),
      { toCpu: 35, toGpu: 35, dma: 70, gpu: 55, cpu: 25, recurrence: 10, longest: 30, interval: 70 });
    const optimum = [true, false, true, true, false];
    const heuristic = partitionTasks(problem);
    assert.deepEqual(heuristic.onGpu, optimum);
    assert.deepEqual(partitionTasks(problem, { onlyClusters: true }).onGpu, optimum);
    const exact = await partitionTasksByIlp(problem);
    assert.deepEqual(exact.onGpu, optimum);
    assert.equal(exact.interval, 45);
    assert.ok(exact.isProven && exact.bound > 44.99);
    assert.equal(bruteForce(problem), 45);
  }).timeout(120_000);

  it('is valid, bounded and near the optimum on random graphs', () => {
    const ratios: number[] = [];
    fc.assert(fc.property(randomProblem(9), (problem) => {
      const best = bruteForce(problem);
      for (const onlyClusters of [false, true]) {
        const found = partitionTasks(problem, { onlyClusters });
        assert.deepEqual(validatePartition(problem, found), []);
        assert.ok(found.bound <= best * (1 + 1e-9) + 1e-12, `bound ${found.bound}, optimum ${best}`);
        if (!onlyClusters) ratios.push(best === 0 ? 1 : found.interval / best);
      }
    }), { numRuns: 300 });
    const mean = ratios.reduce((sum, value) => sum + value, 0) / ratios.length;
    assert.ok(mean < 1.01 && Math.max(...ratios) < 1.3, `mean ${mean}, worst ${Math.max(...ratios)}`);
  }).timeout(60000);

  it('by the ILP equals enumeration', async () => {
    await using solver = new Solver();
    await fc.assert(fc.asyncProperty(randomProblem(7), async (problem) => {
      const found = await partitionTasksByIlp(problem, { solver });
      assert.deepEqual(validatePartition(problem, found), []);
      assert.ok(found.isProven);
      assert.ok(found.interval <= bruteForce(problem) * (1 + 1e-5), `${found.interval} ${bruteForce(problem)}`);
    }), { numRuns: 60 });
  }).timeout(60000);

  it('keeps loops, state and what the caller fixes on the CPU', () => {
    const graph = figure31();
    const none = graph.channels.map(() => 0);
    const costs = { cpu: [9, 9, 9, 9], gpu: [1, 1, 1, 1], toCpu: none, toGpu: none, shuffle: none, deshuffle: none };
    assert.deepEqual(partitionTasks({ graph, repetitions: [1, 1, 1, 1], costs, cores: 1, multiprocessors: 1 }).onGpu, [false, false, false, false]);
    const line = graphOf(['a', 'b', 1, 1], ['b', 'c', 1, 1]);
    const costsOfLine = { ...costs, cpu: [9, 9, 9], gpu: [1, 1, 1], toCpu: [0, 0], toGpu: [0, 0], shuffle: [0, 0], deshuffle: [0, 0] };
    const problem = { graph: line, repetitions: [1, 1, 1], costs: costsOfLine, cores: 1, multiprocessors: 1, fixed: [false, true, false] };
    assert.deepEqual(partitionTasks(problem).onGpu, [true, false, true]);
    assert.match(validatePartition(problem, { ...partitionTasks(problem), onGpu: [true, true, true] })[0]!, /b is fixed/);
    // State goes where it is best if it may be placed.
    const withState = { ...line, actors: line.actors.map((actor) => ({ ...actor, stateful: actor.id > 0 })) };
    const free = { graph: withState, repetitions: [1, 1, 1], costs: { ...costsOfLine, gpu: [1, 1, 50] }, cores: 1, multiprocessors: 1 };
    assert.deepEqual(partitionTasks(free).onGpu, [true, false, false]);
    const placed = partitionTasks({ ...free, placesState: true });
    assert.deepEqual([placed.onGpu, placed.interval, placed.recurrence], [[true, true, false], 9, 0]);
  });

  it('counts two directions by themselves where each has its own link', () => {
    const problem: TaskProblem = { ...figure41(), link: 'duplex' };
    const greedy = [true, false, true, false, true];
    assert.equal(partitionLoads(problem, greedy).dma, 35);
    assert.equal(partitionLoads(problem, greedy).interval, 55);
    assert.equal(bruteForce(problem), partitionTasks(problem).interval);
  });

  it('counts leftover items before a reader that does not peek as stream order', () => {
    const graph = graphOf(['a', 'b', 4, 2], ['b', 'c', 1, 1]);
    const costs = { cpu: [99, 99, 99], gpu: [1, 1, 1], toCpu: [0, 0], toGpu: [0, 0], shuffle: [10, 20], deshuffle: [1, 2] };
    const problem = { graph, repetitions: [1, 2, 2], costs, cores: 1, multiprocessors: 1 };
    const all = [true, true, true];
    const gpu = (tokens: number[]): number => recomputeLoads({ ...problem, tokens }, all).gpu;
    // a shuffled, b in stream order: deshuffled before it, shuffled behind it; whole iterations left over are no leftover.
    assert.deepEqual([gpu([0, 0]), gpu([4, 0]), gpu([3, 0]), gpu([0, 1])], [5, 5, 5 + 1 + 20, 5 + 2]);
    for (const tokens of [[0, 0], [4, 0], [3, 0], [0, 1]]) {
      assert.deepEqual(partitionLoads({ ...problem, tokens }, all), recomputeLoads({ ...problem, tokens }, all));
    }
  });

  it('raises multiplicities until no instance is longer than the loads of any partition', () => {
    fc.assert(fc.property(randomProblem(7), (any) => {
      // State that may be placed is one instance, however often an iteration is unrolled.
      const problem = { ...any, placesState: false };
      const times = taskUnrollFactor(problem);
      const longest = (task: TaskProblem): number => Math.max(...task.graph.actors.map(({ id }) =>
        Math.max(task.costs.cpu[id]!, fixedActors(task)[id] ? 0 : task.costs.gpu[id]!)));
      const loads = (onGpu: boolean[], n: number): number => {
        const { dma, gpu, cpu, recurrence } = recomputeLoads(unrollTask(problem, n), onGpu);
        return Math.max(dma, gpu, cpu, recurrence);
      };
      const fixed = fixedActors(problem);
      const everyPartition = Array.from({ length: 2 ** problem.graph.actors.length }, (_, bits) =>
        problem.graph.actors.map((_actor, id) => !fixed[id] && (bits >> id & 1) === 1));
      // Unrolling can change which actors work in stream order, and so remove all loads of a partition.
      if ([1, times].some((n) => everyPartition.some((onGpu) => loads(onGpu, n) === 0))) return;
      assert.ok(everyPartition.every((onGpu) => loads(onGpu, times) >= longest(problem) * (1 - 1e-6)), `${times}`);
      const interval = partitionTasks(unrollTask(problem, times));
      assert.ok(interval.longest <= interval.interval * (1 + 1e-9));
    }), { numRuns: 100 });
    // f begins with two items: whole iterations at first, a part of one after unrolling. f then works in stream order, as g does, and the
    // deshuffle between them is gone: 1.5 an iteration become 0.5.
    const leftOver: TaskProblem = {
      graph: graphOf(['f', 'f', 1, 1, { tokens: 2 }], ['f', 'g', 1, 1, { peek: 2 }]), repetitions: [1, 1], cores: 1, multiprocessors: 1,
      openLoops: true,
      costs: { cpu: [11, 11], gpu: [0.5, 0], toCpu: [0, 0], toGpu: [0, 0], shuffle: [0, 0], deshuffle: [0, 1] },
    };
    assert.equal(partitionLoads(leftOver, [true, true]).gpu, 1.5);
    const needed = taskUnrollFactor(leftOver);
    assert.ok(needed >= 22 && needed <= 44, `${needed}`);
    assert.equal(partitionLoads(unrollTask(leftOver, needed), [true, true]).gpu, needed / 2);
    // E takes 35 on a core; A and B on the CPU give 16.25, less than any other partition.
    assert.equal(taskUnrollFactor({ ...figure41(), cores: 4, multiprocessors: 4 }), 3);
  }).timeout(60000);

  it('covers more of the graph with clusters where asked', () => {
    fc.assert(fc.property(randomProblem(9), (problem) => {
      for (const coverage of [0, 2.5, 5]) {
        assert.deepEqual(validatePartition(problem, partitionTasks(problem, { onlyClusters: true, coverage })), []);
      }
      const none = partitionTasks(problem, { onlyClusters: true, coverage: 0 });
      assert.deepEqual(none.onGpu, fixedActors(problem).map((fixed) => !fixed));
      assert.ok(partitionTasks(problem, { onlyClusters: true, coverage: 99 }).interval <= none.interval * (1 + 1e-9));
    }), { numRuns: 100 });
  });

  it('refuses costs and counts that cannot be', () => {
    const problem = figure41();
    for (const change of [{ cores: 0 }, { multiprocessors: 1.5 }, { costs: { ...problem.costs, toCpu: [1] } },
      { costs: { ...problem.costs, shuffle: [0, 0, 0, Infinity] } },
      { link: 'both' as 'shared' }, { cpuRepetitions: [1] }, { tokens: [1] }, { openLoops: 1 as unknown as boolean }]) {
      assert.throws(() => partitionTasks({ ...problem, ...change }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    }
  });

  it('is checked: wrong loads and bounds are found', () => {
    const problem = figure41();
    const good = partitionTasks(problem);
    for (const name of ['toCpu', 'toGpu', 'dma', 'gpu', 'cpu', 'recurrence', 'longest', 'interval'] as const) {
      assert.match(validatePartition(problem, { ...good, [name]: 1 })[0]!, new RegExp(`^${name}: claimed 1`));
    }
    assert.match(validatePartition(problem, { ...good, bound: 46 })[0]!, /bound/);
    assert.match(validatePartition(problem, { ...good, onGpu: [] })[0]!, /0 placements/);
  });
});
