// Groups by dependence: how the chains of nodes of programs are cut, and what moves between groups.
import assert from 'node:assert/strict';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import { planProgram, type ProgramPlan } from '../../../lib/stream/plan/plan.ts';
import { copiesOf } from '../../../lib/stream/targets/cuda-copies.ts';
import { fusedPlan, fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';

const options = { groupSize: 80_000, live: 32 };

/** Scalars that pass between groups in a steady state. */
function moved({ sdf, groupOf, rates, graph }: ProgramPlan): number {
  return sdf.channels.reduce((sum, { id, from, to }) =>
    sum + (groupOf[from] === groupOf[to] ? 0 : rates[id]! * scalarCount(graph.channels[id]!.type)), 0);
}

/** A transform of n points, as butterflies over strides; their results have an order of their own, which does not matter here. */
function butterflies(n: number): string {
  const stages = Math.log2(n);
  return `float->float filter Stage(int n, int stride) {
    work pop n push n {
      for (int i = 0; i < n; i++) {
        int other = (i / stride) % 2 == 0 ? i + stride : i - stride;
        push((i / stride) % 2 == 0 ? peek(i) + 0.5 * peek(other) : peek(other) - 0.25 * peek(i));
      }
      for (int i = 0; i < n; i++) pop();
    }
  }
  float->float pipeline Main { for (int s = 0; s < ${stages}; s++) add Stage(${n}, 1 << s); }`;
}

describe('groups by dependence', () => {
  it('are as few as registers allow', () => {
    const graph = graphOf(butterflies(64));
    for (const [live, groups] of [[2, 6], [5, 3], [9, 2], [66, 1]] as const) {
      const plan = planProgram(graph, { ...options, filterSize: 4000, forCores: 2, live });
      assert.equal(plan.groups.length, groups, `${live} values`);
      assert.equal(moved(plan), 64 * (groups - 1));
    }
    assert.equal(planProgram(graph, { ...options, forCores: 2, live: 66, groupSize: 1 }).groups.length, 6);
  });

  it('move far less than groups by size alone', () => {
    for (const [name, few, more] of [['tde', 6000, 17_520], ['fft-coarse', 256, 1152], ['matrix-mult', 0, 1620]] as const) {
      assert.equal(moved(fusedPlan(program(name), options)), few, name);
      assert.ok(moved(fusedPlan(program(name), {})) >= more, name);
    }
  });

  it('keep every node once, in an order in which items are there', () => {
    for (const name of ['tde', 'fft-coarse', 'matrix-mult', 'filterbank', 'fm-radio', 'des', 'dct', 'mpeg2-subset']) {
      const { groups, groupOf, sdf, graph, steady } = fusedPlan(program(name), options);
      const all = groups.flatMap(({ steps }) => steps.map(({ actor }) => actor));
      assert.deepEqual([...all].sort((a, b) => a - b), graph.nodes.map(({ id }) => id));
      for (const { steps, iterations } of groups) {
        for (const { actor, count } of steps) assert.equal(count * iterations, steady.repetitions[actor]);
      }
      for (const { from, to } of sdf.channels) assert.ok(groupOf[from]!.id <= groupOf[to]!.id);
    }
  });
});

describe('duplicated channels', () => {
  it('share one array where as many items stay on them', () => {
    const source = (taps: readonly number[]): string => `float->float filter Window(int taps) {
      work pop 1 push 1 peek taps { push(peek(0) - peek(taps - 1)); pop(); }
    }
    float->float splitjoin Main {
      split duplicate; ${taps.map((n) => `add Window(${n});`).join(' ')} join roundrobin;
    }`;
    assert.equal(copiesOf(fusedPlan(graphOf(source([4, 5, 6])), {})).size, 2);
    const plan = fusedPlan(program('filterbank'), options);
    assert.equal(copiesOf(plan).size, 7);
    const arrays = new Set([...fusedProgram(program('filterbank'), options).source.matchAll(/\bc\d+f\b/g)].map(([name]) => name));
    const between = plan.storage.filter((each) => each === 'block').length;
    assert.equal(arrays.size, between - 7);
  });
});
