// The twelve synthetic shapes: node counts of the table, sound schedules, plans for cores, partitions and pipelines within their goals.
import assert from 'node:assert/strict';
import { partitionRows, pipelineRows, measureScalable, syntheticPipelines, syntheticTasks } from '../../../bench/stream-partition.ts';
import { syntheticCosts, syntheticPrograms } from '../../../bench/stream-shapes.ts';
import { assignStages, assignToCores, partitionTasks, placesOf, validatePartition, validatePipeline, validateStages } from '../../../lib/stream/partition/index.ts';
import { pushSchedule, singleAppearanceSchedule, validateSchedule } from '../../../lib/stream/schedule/index.ts';

describe('the twelve shapes', () => {
  const programs = syntheticPrograms();

  it('have the node counts and windows of the table', () => {
    assert.deepEqual(programs.map(({ name, graph }) => `${name} ${graph.actors.length}`), ['Bitonic 48', 'BitonicRec 92', 'ChannelVocoder 57',
      'DCT 40', 'DES 53', 'FFT-coarse 26', 'FFT-fine 121', 'Filterbank 53', 'FMRadio 67', 'MatrixMult 43', 'MPEG2Subset 39', 'TDE 29']);
    const peeking = programs.map(({ graph }) => new Set(graph.channels.filter(({ peek, pop }) => peek > pop).map(({ to }) => to)).size);
    assert.deepEqual(peeking, [0, 0, 34, 0, 0, 0, 0, 16, 22, 0, 0, 0]);
  });

  for (const program of programs) {
    it(`${program.name}: schedules, plans and stages are sound`, () => {
      const { graph, steady } = program;
      for (const make of [singleAppearanceSchedule, pushSchedule]) {
        const { steps, buffers } = make(graph, steady);
        assert.deepEqual(validateSchedule(graph, { init: steady.init, steps, buffers }), []);
      }
      const costs = syntheticCosts(program, 1);
      const plan = assignToCores(graph, steady, costs, { cores: 4, maxMultiplier: 64 });
      assert.ok(plan.interval <= 1.03 * plan.bound, `imbalance ${plan.interval / plan.bound}`);
      assert.deepEqual(validatePipeline(graph, { places: placesOf(graph, plan), tokens: steady.residual, buffers: plan.buffers }), []);
      const problem = { graph, repetitions: steady.repetitions, costs, cores: 4, multiprocessors: 16 };
      const partition = partitionTasks(problem);
      assert.deepEqual(validatePartition(problem, partition), []);
      assert.deepEqual(validateStages(graph, partition.onGpu, assignStages(graph, partition.onGpu)), []);
    }).timeout(60000);
  }

  it('are partitioned within 3 % of the lower bound on average and 10 % at worst, so of the optimum too', () => {
    const gaps = syntheticTasks(2).map(({ problem }) => {
      const { interval, bound } = partitionTasks(problem);
      return interval / bound - 1;
    });
    assert.ok(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length <= 0.03 && Math.max(...gaps) <= 0.1, `${gaps}`);
  }).timeout(60000);

  for (const processors of [16, 132]) {
    it(`are pipelined on ${processors} multiprocessors within 1 % of the bound`, () => {
      const figures = measureScalable(syntheticPipelines(processors, 1, processors === 16));
      for (const { name, gap } of figures) assert.ok(gap! <= 0.01, `${name} ${gap}`);
      assert.equal(pipelineRows(figures).length, 12);
    }).timeout(60000);
  }

  it('give rows of a report', () => {
    const spent = { wall: 2, cpu: 1 };
    const rows = partitionRows([{ name: 'x', actors: 1, ilp: spent, heuristic: spent, gap: 0.1, clustersGap: 0.2, certifiedGap: 0.3, isProven: true }]);
    assert.deepEqual(rows.map(({ id, value }) => [id, value]), [['stream/partition/x/gap', 0.1], ['stream/partition/x/ilp', 2]]);
  });
});
