// Scheduling of the twelve programs: sound schedules, plans for cores, partitions and pipelines within their goals.
import assert from 'node:assert/strict';
import {
  measureScalable, partitionRows, partitionSummary, pipelineProblems, pipelineRows, taskProblems, type PartitionFigure,
} from '../../../bench/stream-partition.ts';
import { madeUpCosts, pricedPrograms, taskProblem, type PricedProgram } from '../../../bench/stream-programs.ts';
import { benchmarkPrograms } from '../../../examples/stream/programs.ts';
import { assignStages, assignToCores, partitionTasks, placesOf, validatePartition, validatePipeline, validateStages } from '../../../lib/stream/partition/index.ts';
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

  it('give rows of a report', () => {
    const spent = { wall: 2, cpu: 1 };
    const figure: PartitionFigure = {
      name: 'x', actors: 1, ilp: spent, heuristic: spent, gap: 0.1, clustersGap: 0.2, certifiedGap: 0.3, isProven: true,
    };
    assert.deepEqual(partitionRows([figure]).map(({ id, value }) => [id, value]), [['stream/partition/x/gap', 0.1], ['stream/partition/x/ilp', 2]]);
    const summary = partitionSummary([figure, { ...figure, gap: 0.3, isProven: false }]);
    assert.deepEqual(summary.map(({ id, value }) => [id.slice('stream/partition/all/'.length), value]),
      [['mean-gap', 0.2], ['worst-gap', 0.3], ['heuristic', 2], ['ilp', 2]]);
    assert.match(summary[3]!.note!, /^1 of 2 proven/);
  });
});
