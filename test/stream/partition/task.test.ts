// Task partitioning: Figure 4.1, brute force on small graphs, the ILP, and the check of partitions.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  partitionLoads, partitionTasks, partitionTasksByIlp, recomputeLoads, validatePartition, type CostTable, type TaskProblem,
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
    }).map(({ costs, cores, multiprocessors }: { costs: CostTable; cores: number; multiprocessors: number }) => ({
      graph: { ...graph, actors: graph.actors.map((actor) => ({ ...actor, stateful: actor.stateful && actor.id % 2 === 0 })) },
      repetitions: rates, costs, cores, multiprocessors,
    }));
  });
}

describe('task partitioning', () => {
  it('finds the three partitions of Figure 4.1: 75, 70 and 45', async () => {
    const problem = figure41();
    const naive = [true, false, true, true, true];
    assert.deepEqual(partitionLoads(problem, naive), { dma: 25, gpu: 75, cpu: 10, interval: 75 });
    const greedy = problem.costs.cpu.map((cpu, actor) => problem.costs.gpu[actor]! < cpu);
    assert.deepEqual(greedy, [true, false, true, false, true]);
    assert.deepEqual(partitionLoads(problem, greedy), { dma: 70, gpu: 55, cpu: 25, interval: 70 });
    const optimum = [true, false, true, true, false];
    const heuristic = partitionTasks(problem);
    assert.deepEqual(heuristic.onGpu, optimum);
    assert.deepEqual(partitionTasks(problem, { onlyClusters: true }).onGpu, optimum);
    const exact = await partitionTasksByIlp(problem);
    assert.deepEqual(exact.onGpu, optimum);
    assert.equal(exact.interval, 45);
    assert.ok(exact.isProven && exact.bound > 44.99);
    assert.equal(bruteForce(problem), 45);
  }).timeout(30000);

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
  });

  it('refuses costs and counts that cannot be', () => {
    const problem = figure41();
    for (const change of [{ cores: 0 }, { multiprocessors: 1.5 }, { costs: { ...problem.costs, toCpu: [1] } },
      { costs: { ...problem.costs, shuffle: [0, 0, 0, Infinity] } }]) {
      assert.throws(() => partitionTasks({ ...problem, ...change }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    }
  });

  it('is checked: wrong loads and bounds are found', () => {
    const problem = figure41();
    const good = partitionTasks(problem);
    assert.match(validatePartition(problem, { ...good, dma: 1 })[0]!, /dma/);
    assert.match(validatePartition(problem, { ...good, bound: 46 })[0]!, /bound/);
    assert.match(validatePartition(problem, { ...good, onGpu: [] })[0]!, /0 placements/);
  });
});
