// Stages of partitioned graphs: the rules of section 4.8, buffers on both sides, loops contracted or spread over launches; all checked.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  assignStages, contractLoops, validateStages, type StagePlan, type StageProblem,
} from '../../../lib/stream/partition/index.ts';
import {
  repetitions, ScheduleError, singleAppearanceSchedule, steadyState, stronglyConnected, validateSchedule,
} from '../../../lib/stream/schedule/index.ts';
import type { SdfGraph } from '../../../lib/stream/sdf.ts';
import { figure31, graphOf, randomGraph } from '../schedule/graphs.ts';

function staged(graph: SdfGraph, onGpu: readonly boolean[], times = 1): StageProblem {
  const { repetitions: each, residual } = steadyState(graph);
  return { graph, repetitions: each.map((count) => count * times), tokens: residual, onGpu: onGpu.slice(0, graph.actors.length) };
}

const sides = fc.array(fc.boolean(), { minLength: 9, maxLength: 9 });
const live = (options: object): fc.Arbitrary<SdfGraph> => randomGraph({ actors: 8, ...options }).map(({ graph }) => graph).filter((graph) => {
  try {
    steadyState(graph);
    return true;
  } catch (error) {
    assert.ok(error instanceof ScheduleError);
    return false;
  }
});

describe('stages of partitioned graphs', () => {
  it('follow the rules of section 4.8, transfers in late and out soon, with buffers and bytes on both sides', () => {
    const graph = graphOf(['A', 'B', 1, 1], ['B', 'C', 1, 1], ['C', 'D', 1, 1, { peek: 3 }], ['D', 'E', 1, 1], ['A', 'E', 1, 1]);
    const problem = staged(graph, [false, true, true, true, false], 10);
    const plan = assignStages(problem);
    assert.deepEqual(plan.stages, [0, 3, 4, 6, 8]);
    assert.deepEqual(plan.operations.map(({ channel, kind, stage }) => `${channel} ${kind} ${stage}`),
      ['0 toGpu 1', '0 shuffle 2', '2 deshuffle 5', '3 toCpu 7']);
    assert.equal(plan.depth, 9);
    const rings = plan.buffers.map(({ channel, onGpu, isShuffled, slots }) => `${channel} ${onGpu ? 'gpu' : 'cpu'} ${isShuffled ? 'rows' : 'stream'} ${slots}`);
    assert.deepEqual(rings, ['0 cpu stream 2', '0 gpu stream 2', '0 gpu rows 2', '1 gpu rows 2', '2 gpu rows 2', '2 gpu stream 3', '3 gpu stream 2',
      '3 cpu stream 2', '4 cpu stream 10']);
    assert.deepEqual([plan.hostBytes, plan.deviceBytes], [40 * (2 + 2 + 10), 40 * (2 + 2 + 2 + 2 + 3 + 2)]);
    assert.equal(assignStages(problem, { maxDeviceBytes: 520 }).deviceBytes, 520);
    assert.throws(() => assignStages(problem, { maxDeviceBytes: 519 }), { name: 'ScheduleError', reason: 'limit' });
  });

  it('keep a channel with leftover items in stream order, though its reader does not peek', () => {
    const graph = graphOf(['A', 'B', 4, 1], ['B', 'C', 1, 4]);
    const kinds = (tokens: number[]): string[] =>
      assignStages({ graph, repetitions: [1, 4, 1], tokens, onGpu: [true, true, true] }).operations.map(({ channel, kind }) => `${channel} ${kind}`);
    assert.deepEqual([kinds([0, 0]), kinds([4, 0]), kinds([3, 0]), kinds([0, 5])],
      [[], [], ['0 deshuffle', '1 shuffle'], ['1 deshuffle']]);
  });

  it('carry data to the right side in the right layout on random graphs', () => {
    fc.assert(fc.property(live({ prework: true, stateful: true }), sides, fc.integer({ min: 1, max: 5 }), (graph, onGpu, times) => {
      const problem = staged(graph, onGpu, times);
      assert.deepEqual(validateStages(problem, assignStages(problem)), []);
    }), { numRuns: 300 });
  });

  it('spread loops over launches as far as their items allow', () => {
    // Three edges a turn need three iterations on the loop; four items are four.
    const problem = staged(figure31(), [false, false, false, false]);
    const plan = assignStages(problem);
    assert.deepEqual(plan.stages, [0, 1, 1, 2]);
    assert.deepEqual(validateStages(problem, plan), []);
    assert.throws(() => assignStages(staged(figure31(), [false, false, false, false], 2)),
      (error: ScheduleError) => error.reason === 'graph' && error.actors.includes(3) && error.actors.length === 3);
    // A transfer each way costs two launches more than there are.
    assert.throws(() => assignStages(staged(figure31(), [true, false, false, false])), { reason: 'graph' });
    let spread = 0;
    fc.assert(fc.property(live({ loops: true }), sides, fc.integer({ min: 0, max: 6 }), (graph, onGpu, waiting) => {
      const each = staged(graph, onGpu), { component, components } = stronglyConnected(graph);
      const tokens = graph.channels.map(({ id, from, to, push }) =>
        each.tokens![id]! + (component[from] === component[to] ? waiting * push * each.repetitions[from]! : 0));
      const random = { ...each, tokens };
      try {
        const found = assignStages(random);
        assert.deepEqual(validateStages(random, found), []);
        if (components.length < graph.actors.length) ++spread;
      } catch (error) {
        assert.ok(error instanceof ScheduleError && error.reason === 'graph', String(error));
      }
    }), { numRuns: 1500 });
    assert.ok(spread > 30, `${spread}`);
  }).timeout(60000);

  it('are checked: every fault is found', () => {
    const graph = graphOf(['A', 'B', 3, 1], ['B', 'C', 1, 1, { peek: 4 }]);
    const problem = staged(graph, [false, true, true]);
    const plan = assignStages(problem);
    const check = (change: Partial<StagePlan>): string => validateStages(problem, { ...plan, ...change }).join('; ');
    const change = (ring: number, by: object) => plan.buffers.map((each, at) => at === ring ? { ...each, ...by } : each);
    assert.equal(check({}), '');
    assert.match(check({ stages: [0, 2, plan.stages[2]!] }), /the consumer in stage 2 follows stage 2/);
    assert.match(check({ operations: plan.operations.filter(({ kind }) => kind !== 'shuffle') }), /wrong layout/);
    assert.match(check({ operations: plan.operations.filter(({ kind }) => kind !== 'toGpu') }), /wrong side|not on the GPU/);
    assert.match(check({ operations: plan.operations.map((operation) => ({ ...operation, stage: 0 })) }), /follows stage 0/);
    assert.match(check({ operations: [...plan.operations, plan.operations[0]!] }), /toGpu of data that is on the GPU/);
    plan.buffers.forEach((ring, at) => {
      assert.match(check({ buffers: change(at, { slots: ring.slots - 1, bytes: ring.bytes / ring.slots * (ring.slots - 1) }) }), /slots are too few/, `ring ${at}`);
      assert.match(check({ buffers: change(at, { bytes: ring.bytes - 1 }) }), /bytes for/);
      assert.match(check({ buffers: change(at, { onGpu: !ring.onGpu }) }), /another than was written/);
      assert.match(check({ buffers: change(at, { isShuffled: !ring.isShuffled }) }), /another than was written/);
      assert.match(check({ buffers: plan.buffers.filter((_, other) => other !== at) }), /nothing holds/);
    });
    assert.match(check({ buffers: [...plan.buffers, plan.buffers[0]!] }), /buffers that nobody reads/);
    assert.match(check({ deviceBytes: 1 }), /deviceBytes is 1/);
    assert.match(check({ hostBytes: 1 }), /hostBytes is 1/);
    assert.match(check({ depth: 1 }), /depth 1/);
  });
});

describe('contracted loops', () => {
  it('are one actor with state that does a steady state of the loop', () => {
    // B fires twice for each A, C takes two of B's; the loop turns three times in a steady state.
    const graph = graphOf(['S', 'A', 1, 1], ['A', 'B', 2, 1], ['B', 'A', 1, 2, { tokens: 4 }], ['B', 'T', 1, 6, { peek: 7 }]);
    const { graph: made, members, actorOf, channels, repetitions: each } = contractLoops(graph);
    assert.deepEqual(made.actors.map(({ name, stateful }) => [name, stateful]), [['S', false], ['A and 1 more', true], ['T', false]]);
    assert.deepEqual(members, [[{ actor: 0, firings: 1 }], [{ actor: 1, firings: 1 }, { actor: 2, firings: 2 }], [{ actor: 3, firings: 1 }]]);
    assert.deepEqual([actorOf, channels, each], [[0, 1, 1, 2], [0, 3], [3, 3, 1]]);
    assert.deepEqual(made.channels.map(({ push, pop, peek, tokens }) => [push, pop, peek, tokens]), [[1, 1, 1, 0], [2, 6, 7, 1]]);
  });

  it('leave no loops, keep the rates, and can be fired member by member', () => {
    let loops = 0;
    fc.assert(fc.property(live({ loops: true, prework: true, stateful: true }), fc.boolean(), (graph, opens) => {
      const open = (members: readonly number[]): boolean => opens && members[0]! % 2 === 0;
      const { graph: made, members, repetitions: each } = contractLoops(graph, open);
      const whole = steadyState(graph);
      if (!opens) assert.ok(made.channels.every(({ from, to }) => from !== to) && stronglyConnected(made).components.every(({ length }) => length === 1));
      if (made.actors.length < graph.actors.length) ++loops;
      for (const { from, to, push, pop } of made.channels) assert.equal(each[from]! * push, each[to]! * pop);
      members.forEach((list, id) => list.forEach(({ actor, firings }) => assert.equal(firings * each[id]!, whole.repetitions[actor])));
      // Each firing of a contracted actor as firings of its members, one at a time where they can: a schedule of the given graph.
      const { steps } = singleAppearanceSchedule(made, steadyState(made));
      assert.deepEqual(validateSchedule(graph, { init: whole.init, steps: expand(graph, whole.init, steps, members) }), []);
    }), { numRuns: 600 });
    assert.ok(loops > 3, `${loops}`); // half of them are left open
    assert.deepEqual(repetitions(contractLoops(figure31()).graph), [1]);
  }).timeout(60000);
});

type Steps = readonly { readonly actor: number; readonly count: number }[];

/** Fires members in any order that items allow, each as often as its contracted actor's firings need. */
function expand(graph: SdfGraph, init: Steps, steps: Steps, members: readonly (readonly { actor: number; firings: number }[])[]): Steps {
  const items = graph.channels.map(({ tokens }) => tokens), fired = graph.actors.map(() => 0);
  const fire = (actor: number): boolean => {
    const first = fired[actor] === 0;
    const rate = (channel: SdfGraph['channels'][number]) => {
      const pop = first ? channel.firstPop ?? channel.pop : channel.pop;
      const peek = first ? channel.firstPeek ?? (channel.firstPop === undefined ? channel.peek : pop) : channel.peek;
      return { pop, peek, push: first ? channel.firstPush ?? channel.push : channel.push };
    };
    if (graph.channels.some((channel) => channel.to === actor && items[channel.id]! < rate(channel).peek)) return false;
    for (const channel of graph.channels) {
      if (channel.to === actor) items[channel.id]! -= rate(channel).pop;
      if (channel.from === actor) items[channel.id]! += rate(channel).push;
    }
    ++fired[actor]!;
    return true;
  };
  for (const { actor, count } of init) for (let n = 0; n < count; ++n) assert.ok(fire(actor));
  const made: { actor: number; count: number }[] = [];
  for (const { actor: group, count } of steps) {
    for (let time = 0; time < count; ++time) {
      const left = members[group]!.map(({ actor, firings }) => ({ actor, firings }));
      while (left.some(({ firings }) => firings > 0)) {
        const next = left.find(({ actor, firings }) => firings > 0 && fire(actor));
        assert.ok(next, 'a contracted firing is stuck');
        --next.firings;
        made.push({ actor: next.actor, count: 1 });
      }
    }
  }
  return made;
}
