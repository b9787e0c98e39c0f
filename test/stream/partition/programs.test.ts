// Scheduling of the twelve programs: sound schedules, plans for cores, partitions and pipelines within their goals.
import assert from 'node:assert/strict';
import {
  hybridRows, measureHybrids, measureScalable, partitionRows, partitionSummary, pipelineProblems, pipelineRows, taskProblems, type PartitionFigure,
} from '../../../bench/stream-partition.ts';
import { hybridProblem, madeUpCosts, pricedPrograms, taskProblem, type PricedProgram } from '../../../bench/stream-programs.ts';
import { benchmarkPrograms } from '../../../examples/stream/programs.ts';
import {
  assignStages, assignToCores, orderedActors, partitionTasks, placesOf, planHybrid, validateHybrid, validatePartition, validatePipeline, validateStages,
  type TaskProblem,
} from '../../../lib/stream/partition/index.ts';
import { pushSchedule, singleAppearanceSchedule, validateSchedule } from '../../../lib/stream/schedule/index.ts';

describe('scheduling of the twelve programs', () => {
  let programs: PricedProgram[];
  before(async () => { programs = await pricedPrograms(); });

  benchmarkPrograms.forEach(({ name }, at) => {
    it(`${name}: schedules, plans and stages are sound`, () => {
      const program = programs[at]!;
      const { graph, steady } = program;
      for (const make of [singleAppearanceSchedule, pushSchedule]) {
        const { steps, buffers } = make(graph, steady);
        assert.deepEqual(validateSchedule(graph, { init: steady.init, steps, buffers }), []);
      }
      const costs = madeUpCosts(program, 1);
      const plan = assignToCores(graph, steady, costs, { cores: 4, maxMultiplier: 64 });
      assert.ok(plan.interval <= 1.03 * plan.bound, `imbalance ${plan.interval / plan.bound}`);
      assert.deepEqual(validatePipeline(graph, { places: placesOf(graph, plan), tokens: steady.residual, buffers: plan.buffers }), []);
      const problem = taskProblem(program, 1);
      const partition = partitionTasks(problem);
      assert.deepEqual(validatePartition(problem, partition), []);
      const staged = { graph, repetitions: steady.repetitions, tokens: steady.residual, onGpu: partition.onGpu };
      assert.deepEqual(validateStages(staged, assignStages(staged)), []);
    }).timeout(60000);
  });

  it('are partitioned within 3 % of the lower bound on average and 10 % at worst, so of the optimum too', () => {
    const gaps = taskProblems(programs, 2).map(({ problem }) => {
      const { interval, bound } = partitionTasks(problem);
      return interval / bound - 1;
    });
    assert.ok(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length <= 0.03 && Math.max(...gaps) <= 0.1, `${gaps}`);
  }).timeout(60000);

  for (const processors of [16, 132]) {
    it(`are pipelined on ${processors} multiprocessors within 1 % of the bound`, () => {
      const figures = measureScalable(pipelineProblems(programs, processors, 1, processors === 16));
      for (const { name, gap } of figures) assert.ok(gap! <= 0.01, `${name} ${gap}`);
      assert.equal(pipelineRows(figures).length, 12);
    }).timeout(60000);
  }

  for (const multiprocessors of [16, 132]) {
    it(`are planned for 4 cores and ${multiprocessors} multiprocessors, packed within 1 % of their partitions`, () => {
      const figures = measureHybrids(programs, multiprocessors, 1);
      for (const { name, packing } of figures) assert.ok(packing <= 0.01, `${name} ${packing}`);
      assert.equal(hybridRows(figures)[0]!.id, `stream/hybrid/${multiprocessors}/bitonic`);
    }).timeout(120_000);
  }

  benchmarkPrograms.forEach(({ name }, at) => {
    it(`${name}: a plan for cores and GPU moves every item to its place`, () => {
      const { hosted, cpu } = programs[at]!;
      const made = hybridProblem(programs[at]!, 3, 5);
      const problem = { ...made, threads: hosted.actors.map(() => 4), gpu: made.gpu.map((time) => time / 32), cpu: hosted.actors.map(({ id }) => cpu[id] ?? 0), cores: 2 };
      // Two of three actors on the GPU, whatever that costs: transfers and shuffles everywhere.
      const partition = ({ graph }: TaskProblem) => ({ onGpu: graph.actors.map(({ id }) => id % 3 !== 2) });
      const plan = planHybrid(problem, { width: 4, shuffleItems: 16, cpuFirings: 4, maxUnroll: 1, partition });
      assert.deepEqual(validateHybrid(problem, plan, { launches: plan.depth + 6 }), []);
      assert.ok(plan.onGpu.some(Boolean) && plan.operations.length > 0);
    }).timeout(120_000);
  });

  it('keep the vocoder\'s channel with 76 items left over in stream order, though its reader does not peek', () => {
    const { graph, steady } = programs[benchmarkPrograms.findIndex(({ name }) => name === 'channel-vocoder')]!;
    const plain = orderedActors(graph, graph.channels.map(() => 0)), ordered = orderedActors(graph, steady.residual, steady.repetitions);
    const found = graph.actors.filter(({ id }) => ordered[id] && !plain[id]);
    assert.ok(found.some(({ id }) => graph.channels.some((channel) => channel.to === id && steady.residual[channel.id] === 76)),
      found.map(({ name }) => name).join());
    const fixed = new Set(found.map(({ id }) => id));
    const staged = { graph, repetitions: steady.repetitions, tokens: steady.residual, onGpu: graph.actors.map(() => true) };
    const plan = assignStages(staged);
    assert.deepEqual(validateStages(staged, plan), []);
    for (const { channel, read, isShuffled } of plan.buffers) {
      const { to } = graph.channels[channel]!;
      if (fixed.has(to) && read === plan.stages[to]) assert.equal(isShuffled, false);
    }
  });

  it('give rows of a report', () => {
    const spent = { wall: 2, cpu: 1 };
    const figure: PartitionFigure = {
      name: 'x', actors: 1, ilp: spent, heuristic: spent, gap: 0.1, clustersGap: 0.2, certifiedGap: 0.3, isProven: true,
      interval: 1.1, ilpInterval: 1, onGpu: { heuristic: [true], ilp: [true] },
    };
    assert.deepEqual(partitionRows([figure]).map(({ id, value }) => [id, value]), [['stream/partition/x/gap', 0.1], ['stream/partition/x/ilp', 2]]);
    const summary = partitionSummary([figure, { ...figure, gap: 0.3, isProven: false }]);
    assert.deepEqual(summary.map(({ id, value }) => [id.slice('stream/partition/all/'.length), value]),
      [['mean-gap', 0.2], ['worst-gap', 0.3], ['heuristic', 2], ['ilp', 2]]);
    assert.match(summary[3]!.note!, /^1 of 2 proven/);
  });
});
