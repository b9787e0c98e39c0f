// Plans for CPU cores: balance, and the independent check on random graphs with windows, state and loops.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { assignToCores, cpuCosts, placesOf, validatePipeline, type CorePlan } from '../../../lib/stream/partition/index.ts';
import { ScheduleError, steadyState, type SteadyState } from '../../../lib/stream/schedule/index.ts';
import type { SdfGraph } from '../../../lib/stream/sdf.ts';
import { figure31, graphOf, randomGraph } from '../schedule/graphs.ts';

const faults = (graph: SdfGraph, steady: SteadyState, plan: CorePlan): string[] =>
  validatePipeline(graph, { places: placesOf(graph, plan), tokens: steady.residual, buffers: plan.buffers });

describe('plans for CPU cores', () => {
  it('level a pipeline of stateless actors and keep state whole', () => {
    const graph = graphOf(['source*', 'a', 4, 1], ['a', 'b', 1, 1], ['b', 'sink*', 1, 4]);
    const steady = steadyState(graph);
    const plan = assignToCores(graph, steady, cpuCosts(graph, [2, 5, 5, 2]), { cores: 4 });
    assert.deepEqual(faults(graph, steady, plan), []);
    assert.ok(plan.interval <= 1.02 * plan.bound, `${plan.interval} ${plan.bound}`);
    assert.equal(plan.bound, plan.multiplier * 11);
    for (const actor of [0, 3]) assert.equal(plan.programs.filter((slices) => slices.some((slice) => slice.actor === actor)).length, 1);
  });

  it('keep a loop on one core, which bounds the interval', () => {
    const graph = figure31();
    const steady = steadyState(graph);
    const plan = assignToCores(graph, steady, cpuCosts(graph, [3, 1, 2, 2]), { cores: 4 });
    assert.equal(plan.interval, 8 * plan.multiplier);
    assert.equal(plan.bound, plan.interval);
    assert.deepEqual(faults(graph, steady, plan), []);
  });

  it('read what their own core wrote where there are no windows: one stage', () => {
    const graph = graphOf(['a', 'b', 2, 3], ['b', 'c', 3, 2], ['c', 'd', 1, 1]);
    const plan = assignToCores(graph, steadyState(graph), cpuCosts(graph, [1, 1, 1, 1]), { cores: 3, minMultiplier: 3 });
    assert.deepEqual(plan.stages, [0, 0, 0, 0]);
  });

  it('are right for random graphs, state, loops, costs and cores', () => {
    const cost = fc.array(fc.integer({ min: 0, max: 9000 }).map((value) => value / 1000), { minLength: 7, maxLength: 7 });
    let live = 0;
    fc.assert(fc.property(randomGraph({ actors: 7, loops: true, stateful: true, prework: true }), cost, fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 4 }), ({ graph }, cpu, cores, minMultiplier) => {
        let steady;
        try {
          steady = steadyState(graph);
        } catch (error) {
          assert.ok(error instanceof ScheduleError);
          return;
        }
        ++live;
        const plan = assignToCores(graph, steady, cpuCosts(graph, cpu.slice(0, graph.actors.length)), { cores, minMultiplier, maxMultiplier: 12 });
        assert.deepEqual(faults(graph, steady, plan), []);
        assert.ok(plan.interval >= plan.bound * (1 - 1e-12));
        const whole = plan.programs.flat().reduce((sum, { count, actor }) => sum + count * cpu[actor]!, 0);
        assert.ok(Math.abs(whole - plan.load.reduce((sum, load) => sum + load, 0)) <= 1e-9 * (1 + whole));
      }), { numRuns: 400 });
    assert.ok(live > 100, `${live}`);
  }).timeout(60000);

  it('refuse what cannot be', () => {
    const graph = graphOf(['a', 'b', 1, 1]);
    const steady = steadyState(graph);
    for (const cores of [0, 1.5, NaN, 5000]) {
      assert.throws(() => assignToCores(graph, steady, cpuCosts(graph, [1, 1]), { cores }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    }
    for (const cpu of [[1], [1, NaN], [1, -1], [1, Infinity]]) {
      assert.throws(() => assignToCores(graph, steady, cpuCosts(graph, cpu), { cores: 2 }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    }
  });
});

describe('the check of pipelines', () => {
  const graph = graphOf(['a', 'b*', 1, 1, { peek: 2 }]);
  const place = (stage: number, processor: number, order: number) => ({ stage, processor, order });
  const check = (a: ReturnType<typeof place>[], b: ReturnType<typeof place>[], buffers?: number[]): string =>
    validatePipeline(graph, { places: [a, b], tokens: [1], buffers })[0] ?? '';

  it('finds every kind of fault', () => {
    assert.equal(check([place(0, 0, 0)], [place(1, 1, 0)], [3]), '');
    assert.match(check([place(0, 0, 0)], [place(0, 1, 0)]), /b\*\[0\] runs before a\[0\] is done/);
    assert.match(check([place(0, 0, 1)], [place(0, 0, 0)]), /runs before/);
    assert.match(check([place(0, 0, 0)], [place(0, 0, 0)]), /taken twice/);
    assert.match(check([place(0, 0, 0)], [place(1, 1, 0), place(1, 1, 1)]), /1 items come and 2 go/);
    assert.match(check([place(0, 0, 0)], [place(-1, 1, 0)]), /stage -1/);
    assert.match(check([place(0, 0, 0)], [place(1, 1, 0)], [2]), /its buffer holds 2 items, so that a\[\d\] of launch \d overwrites what b\*\[\d\] reads/);
    assert.match(check([place(0, 0, 0), place(0, 0, 1)], [place(1, 1, 0), place(1, 2, 0)]), /has state/);
  });
});
