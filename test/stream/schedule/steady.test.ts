// Steady states: the paper's example, random graphs against an independent replay, deadlocks, inconsistent rates, limits.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  initFirings, pushSchedule, repetitions, ScheduleError, singleAppearanceSchedule, steadyState, validateSchedule,
  type CheckedSchedule, type SteadyState, type Step,
} from '../../../lib/stream/schedule/index.ts';
import type { SdfGraph } from '../../../lib/stream/sdf.ts';
import { figure27, figure31, figure36, graphOf, randomGraph } from './graphs.ts';

const names = (graph: SdfGraph, steps: readonly Step[]): string =>
  steps.map(({ actor, count }) => `${count === 1 ? '' : count}${graph.actors[actor]!.name}`).join(' ');
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function refusal(graph: SdfGraph): ScheduleError {
  try {
    steadyState(graph);
  } catch (error) {
    assert.ok(error instanceof ScheduleError, String(error));
    return error;
  }
  return assert.fail('expected a ScheduleError');
}

const divisor = (a: number, b: number): number => b === 0 ? a : divisor(b, a % b);

/** Least rates by definition: those the graph was made from, divided by the common divisor of each joined part. */
function primitive(graph: SdfGraph, rates: readonly number[]): number[] {
  const part = rates.map((_, actor) => actor);
  for (let round = 0; round < rates.length; ++round) {
    for (const { from, to } of graph.channels) part[from] = part[to] = Math.min(part[from]!, part[to]!);
  }
  return rates.map((rate, actor) => rate / rates.filter((_, other) => part[other] === part[actor]).reduce(divisor, 0));
}

/** Fires whatever can fire, at most 100 steady states each: false if some actor stays below 20, far more than windows explain. */
function canRun(graph: SdfGraph, rates: readonly number[]): boolean {
  const items = graph.channels.map(({ tokens }) => tokens);
  const fired = graph.actors.map(() => 0);
  for (let progress = true; progress;) {
    progress = false;
    for (const { id } of graph.actors) {
      const into = graph.channels.filter(({ to }) => to === id);
      const first = fired[id] === 0;
      const need = (c: typeof into[number]): number =>
        first ? c.firstPeek ?? (c.firstPop === undefined ? c.peek : c.firstPop) : c.peek;
      if (fired[id]! >= 100 * rates[id]! || into.some((channel) => items[channel.id]! < need(channel))) continue;
      for (const c of into) items[c.id]! -= first ? c.firstPop ?? c.pop : c.pop;
      for (const c of graph.channels) if (c.from === id) items[c.id]! += first ? c.firstPush ?? c.push : c.push;
      ++fired[id]!;
      progress = true;
    }
  }
  return fired.every((count, actor) => count >= 20 * rates[actor]!);
}

function bothSchedules(graph: SdfGraph, steady: SteadyState): CheckedSchedule[] {
  return [singleAppearanceSchedule(graph, steady), pushSchedule(graph, steady)].map(({ steps, buffers }) => ({ init: steady.init, steps, buffers }));
}

describe('steady states', () => {
  it('give both schedules of Figure 2.7 with buffers of 18 and 14 items', () => {
    const graph = figure27();
    const steady = steadyState(graph);
    assert.deepEqual(steady.repetitions, [2, 1, 4, 2]);
    const first = singleAppearanceSchedule(graph, steady);
    assert.equal(names(graph, first.steps), '2v0 v1 4v2 2v3');
    assert.deepEqual(first.buffers, [2, 4, 4, 8]);
    assert.equal(sum(first.buffers), 18);
    const second = pushSchedule(graph, steady);
    assert.equal(names(graph, second.steps), '2v0 v1 2v2 v3 2v2 v3');
    assert.deepEqual(second.buffers, [2, 4, 4, 4]);
    assert.equal(sum(second.buffers), 14);
    for (const schedule of bothSchedules(graph, steady)) assert.deepEqual(validateSchedule(graph, schedule), []);
  });

  it('solve Figures 3.1 and 3.6', () => {
    assert.deepEqual(repetitions(figure31()), [1, 1, 1, 1]);
    assert.deepEqual(steadyState(figure31()).residual, [0, 0, 0, 0, 4]);
    assert.deepEqual(repetitions(figure36()), [3, 2]);
  });

  it('are exact for rates beyond 2^26', () => {
    const big = 2 ** 26 + 1;
    assert.deepEqual(repetitions(graphOf(['A', 'B', big * 3, big], ['B', 'C', big, big * 3])), [1, 3, 1]);
  });

  it('initialise for windows and prework', () => {
    const graph = graphOf(['source', 'low', 1, 1, { peek: 64 }], ['low', 'sink', 1, 1, { peek: 3, firstPush: 2 }]);
    const steady = steadyState(graph);
    assert.deepEqual(steady.initFirings, [64, 1, 0]);
    assert.deepEqual(steady.residual, [63, 2]);
    assert.equal(names(graph, steady.init), '64source low');
    assert.deepEqual(steadyState(graphOf(['s', 'd', 1, 1, { peek: 64 }], ['d', 't', 1, 1])).residual, [63, 0]);
  });

  it('are primitive, admissible and repeatable on random graphs', () => {
    fc.assert(fc.property(randomGraph({ actors: 9, prework: true }), ({ graph, rates }) => {
      const steady = steadyState(graph);
      assert.deepEqual(steady.repetitions, primitive(graph, rates));
      for (const schedule of bothSchedules(graph, steady)) assert.deepEqual(validateSchedule(graph, schedule), []);
      assert.ok(singleAppearanceSchedule(graph, steady).isSingleAppearance);
    }), { numRuns: 400 });
  }).timeout(60000);

  it('tell live loops from dead ones', () => {
    const seen = { live: 0, dead: 0 };
    fc.assert(fc.property(randomGraph({ actors: 6, loops: true, prework: true }), ({ graph, rates }) => {
      const live = canRun(graph, rates);
      ++seen[live ? 'live' : 'dead'];
      if (!live) return assert.equal(refusal(graph).reason, 'deadlock');
      const steady = steadyState(graph);
      for (const schedule of bothSchedules(graph, steady)) assert.deepEqual(validateSchedule(graph, schedule), []);
    }), { numRuns: 500 });
    assert.ok(seen.live > 30 && seen.dead > 30, JSON.stringify(seen));
  }).timeout(60000);

  it('need no more firings before they start than any initialisation', () => {
    fc.assert(fc.property(randomGraph({ actors: 4 }), ({ graph, rates }) => {
      const counts = initFirings(graph, rates);
      const isEnough = (trial: readonly number[]): boolean => graph.channels.every(({ from, to, push, pop, peek, tokens }) =>
        tokens + trial[from]! * push - trial[to]! * pop >= peek - pop);
      assert.ok(isEnough(counts));
      counts.forEach((count, actor) => assert.ok(count === 0 || !isEnough(counts.with(actor, count - 1))));
    }), { numRuns: 200 });
  });

  it('take a loop in rounds where it lacks the items for a single appearance', () => {
    const graph = graphOf(['A', 'B', 2, 3], ['B', 'A', 3, 2, { tokens: 4 }]);
    const steady = steadyState(graph);
    const rounds = singleAppearanceSchedule(graph, steady);
    assert.equal(names(graph, rounds.steps), '2A B A B');
    assert.equal(rounds.isSingleAppearance, false);
    const enough = graphOf(['A', 'B', 2, 3], ['B', 'A', 3, 2, { tokens: 6 }]);
    assert.equal(names(enough, singleAppearanceSchedule(enough, steadyState(enough)).steps), '3A 2B');
  });
});

describe('graphs that have no steady state', () => {
  it('are inconsistent with the channel and its rates', () => {
    const error = refusal(graphOf(['S', 'A', 1, 1], ['S', 'B', 1, 1], ['A', 'J', 2, 1], ['B', 'J', 1, 1]));
    assert.equal(error.reason, 'inconsistent');
    assert.equal(error.code, 'ERR_WARPLOOM_INVALID_PROGRAM');
    assert.equal(error.channel, 3);
    assert.equal(error.message, 'channel 3 (B → J) cannot balance: the other channels make B fire 1 times while J fires 2 times, ' +
      'so that 1 items come (1 per firing) and 2 go (1 per firing)');
  });

  it('are inconsistent where one side has rate 0', () => {
    assert.equal(refusal(graphOf(['A', 'B', 0, 1])).reason, 'inconsistent');
    assert.equal(refusal(graphOf(['A', 'B', 1, 0])).reason, 'inconsistent');
    assert.deepEqual(repetitions(graphOf(['A', 'B', 0, 0])), [1, 1]);
  });

  it('deadlock with the actors that wait', () => {
    const error = refusal(graphOf(['in', 'A', 1, 1], ['A', 'B', 1, 1], ['B', 'A', 1, 1]));
    assert.equal(error.reason, 'deadlock');
    assert.deepEqual([...error.actors].sort(), [1, 2]);
    assert.match(error.message, /deadlock: A waits for 1 item of B and has 0, B waits for 1 item of A and has 0/);
    assert.equal(refusal(graphOf(['A', 'A', 1, 1, { tokens: 1, peek: 2 }])).reason, 'deadlock');
  });

  it('are refused when too large, at once', () => {
    const chain = Array.from({ length: 4000 }, (_, at) => [`f${at}`, `f${at + 1}`, 999983, 999979] as const);
    assert.equal(refusal(graphOf(...chain)).reason, 'limit');
    assert.equal(refusal(graphOf(['A', 'B', 1, 1, { peek: 6e7 }])).reason, 'limit');
    assert.equal(refusal(graphOf(['A', 'B', 50_000_001, 1])).reason, 'limit');
    assert.deepEqual(repetitions(graphOf(['A', 'B', 49_999_999, 1])), [1, 49_999_999]);
    // Loops that go round one firing at a time have as many steps as firings.
    assert.equal(refusal(graphOf(['A', 'B', 1, 1], ['B', 'A', 1, 1, { tokens: 1 }], ['B', 'C', 1, 4_000_000])).reason, 'limit');
  });

  it('are refused when not a graph', () => {
    for (const change of [{ push: -1 }, { pop: 1.5 }, { peek: 0 }, { tokens: NaN }, { from: 7 }, { id: 3 }]) {
      const graph = figure36();
      const error = refusal({ ...graph, channels: [{ ...graph.channels[0]!, ...change }] });
      assert.equal(error.reason, 'graph', JSON.stringify(change));
    }
  });
});

describe('the check of schedules', () => {
  const graph = figure27();
  const steps: readonly Step[] = [[0, 2], [1, 1], [2, 4], [3, 2]].map(([actor, count]) => ({ actor: actor!, count: count! }));
  const kinds = (schedule: CheckedSchedule): string[] => [...new Set(validateSchedule(graph, schedule).map(({ kind }) => kind))].sort();

  it('finds every kind of fault', () => {
    assert.deepEqual(kinds({ init: [], steps }), []);
    assert.deepEqual(kinds({ init: [], steps: [steps[1]!, steps[0]!, ...steps.slice(2)] }), ['underflow']);
    assert.deepEqual(kinds({ init: [], steps: steps.slice(0, 3) }), ['drift', 'rates']);
    assert.deepEqual(kinds({ init: [], steps: [...steps, { actor: 9, count: 1 }] }), ['actor']);
    assert.deepEqual(kinds({ init: [], steps: [...steps, { actor: 0, count: 0 }] }), ['count']);
    assert.deepEqual(kinds({ init: [], steps, buffers: [2, 4, 4, 7] }), ['buffer']);
    const late = graphOf(['A', 'B', 1, 1, { firstPush: 2 }]);
    assert.ok(validateSchedule(late, { init: [], steps: [{ actor: 0, count: 1 }, { actor: 1, count: 1 }] }).some(({ kind }) => kind === 'prework'));
  });
});
