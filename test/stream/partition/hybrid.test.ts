// Plans for cores and GPU together: the thesis's example, random programs through every step with every item followed, and a check that
// finds whatever is changed in a plan.
import assert from 'node:assert/strict';
import {
  partitionTasks, partitionTasksByIlp, planHybrid, validateHybrid, type HybridOptions, type HybridPlan, type HybridProblem, type HybridSlice,
  type TaskProblem,
} from '../../../lib/stream/partition/index.ts';
import { ScheduleError, steadyState } from '../../../lib/stream/schedule/index.ts';
import type { SdfGraph } from '../../../lib/stream/sdf.ts';
import { drawsFrom, figure31, graphOf, randomProgram, type ChannelText } from '../schedule/graphs.ts';

/** Rows of 4 instead of 32, shuffles of 16 items: all that happens at full size, in small. */
const small: HybridOptions = { width: 4, shuffleItems: 16, cpuFirings: 5, maxUnroll: 3, tolerance: 0.1 };
const free = { toGpu: 1e9, toCpu: 1e9, shuffle: 1e9, deshuffle: 1e9 };

function problemOf(graph: SdfGraph, gpu: readonly number[], cpu: readonly number[], rest: Partial<HybridProblem> = {}): HybridProblem {
  return { graph, threads: gpu.map(() => 4), gpu, cpu, moving: free, cores: 2, multiprocessors: 3, ...rest };
}

function randomProblem(graph: SdfGraph, seed: number): HybridProblem {
  const draw = drawsFrom(seed);
  const some = (make: () => number): number[] => graph.actors.map(make);
  return {
    graph, threads: some(() => 4 * (1 + draw(3))), gpu: some(() => draw(12) === 0 ? Infinity : 1 + draw(40)), cpu: some(() => (1 + draw(40)) / 4),
    moving: { latency: draw(5), toGpu: 1 + draw(100), toCpu: 1 + draw(100), shuffle: 1 + draw(20), deshuffle: 1 + draw(20) },
    cores: 1 + draw(4), multiprocessors: 1 + draw(6), link: draw(2) === 0 ? 'shared' : 'duplex', fixed: some(() => draw(15)).map((n) => n === 0),
  };
}

/** A graph in which both sides, all operations, a window, leftover items, state and a contracted loop occur. */
const texts: readonly ChannelText[] = [
  ['in*', 'a', 2, 1], ['a', 'b', 3, 2], ['b', 'w', 1, 2, { peek: 7 }], ['w', 'c', 2, 1], ['c', 'l', 1, 1], ['l', 'm', 1, 1],
  ['m', 'l', 1, 1, { tokens: 1 }], ['m', 'd', 1, 3, { tokens: 1 }], ['d', 'out*', 1, 1],
];
const everything = (): { problem: HybridProblem; options: HybridOptions } => {
  const graph = graphOf(...texts);
  const side = (name: string): boolean => ['a', 'b', 'w', 'c', 'd'].includes(name);
  const problem = problemOf(graph, graph.actors.map(({ name }) => side(name) ? 3 : Infinity), graph.actors.map(() => 2),
    { moving: { latency: 1, toGpu: 8, toCpu: 16, shuffle: 4, deshuffle: 2 } });
  return { problem, options: { ...small, partition: ({ graph: { actors } }) => ({ onGpu: actors.map(({ name }) => side(name)) }) } };
};

describe('plans for cores and GPU together', () => {
  it('are the optimum of Figure 4.1, with the stages of Figure 4.2', () => {
    const graph = graphOf(['A', 'B*', 1, 1], ['B*', 'C', 1, 1], ['C', 'D', 1, 1], ['D', 'E', 1, 1]);
    const channels = graph.channels.map((channel) => ({ ...channel, bytesPerItem: [10, 15, 25, 20][channel.id]! }));
    const problem = problemOf({ ...graph, channels }, [10, Infinity, 15, 20, 30], [20, 10, 30, 15, 35],
      { threads: [1, 1, 1, 1, 1], moving: { ...free, toGpu: 1, toCpu: 1 }, cores: 1, multiprocessors: 1 });
    const plan = planHybrid(problem, { width: 1, shuffleItems: 1, maxUnroll: 1 });
    assert.deepEqual(validateHybrid(problem, plan), []);
    assert.deepEqual(plan.onGpu, [true, false, true, true, false]);
    // Layouts in rows of one are the order of the stream, but the operations are there: A, out, B, in, C, D, out, E, with a (de)shuffle at each cut.
    assert.deepEqual(plan.operations.filter(({ kind }) => kind === 'toCpu' || kind === 'toGpu').map(({ kind }) => kind), ['toCpu', 'toGpu', 'toCpu']);
    assert.deepEqual(plan.stages, [0, 3, 6, 7, 10]);
    assert.ok(Math.abs(plan.interval - 45) < 1e-6 && plan.bound <= plan.interval);
    assert.deepEqual([plan.load.toCpu, plan.load.toGpu], [30, 15]);
  });

  it('are right for 200 random programs, through every step', () => {
    const met = { both: 0, open: 0, contracted: 0, shuffle: 0, deshuffle: 0, windows: 0, prework: 0, leftover: 0, state: 0 };
    let count = 0;
    for (let seed = 1; count < 200; ++seed) {
      const made = randomProgram(seed), draw = drawsFrom(seed), placesState = seed % 2 === 0;
      // In half of them, state may be placed on the device.
      const graph = !placesState ? made : { ...made, actors: made.actors.map((actor) => ({ ...actor, stateful: actor.stateful || draw(5) === 0 })) };
      try {
        steadyState(graph, { maxFirings: 250 });
      } catch (error) {
        assert.ok(error instanceof ScheduleError && error.reason !== 'inconsistent', String(error));
        continue;
      }
      ++count;
      const problem = { ...randomProblem(graph, seed), placesState };
      const plan = planHybrid(problem, small);
      assert.deepEqual(validateHybrid(problem, plan), [], `seed ${seed}`);
      met.state += Number(plan.contracted.graph.actors.some(({ id, stateful }) => stateful && plan.onGpu[id]));
      const { actors, channels } = plan.contracted.graph;
      const sides = new Set(plan.onGpu);
      met.both += sides.size - 1;
      met.open += Number(actors.some(({ name, stateful }) => name.startsWith('loopjoin') && !stateful));
      met.contracted += Number(actors.length < graph.actors.length);
      for (const kind of ['shuffle', 'deshuffle'] as const) met[kind] += Number(plan.operations.some((operation) => operation.kind === kind));
      met.windows += Number(channels.some(({ peek, pop, to }) => peek > pop && plan.onGpu[to]));
      met.leftover += Number(channels.some(({ peek, pop, to, tokens }) => peek === pop && tokens > 0 && plan.onGpu[to]));
      met.prework += Number(graph.channels.some(({ firstPop, firstPush }) => (firstPop ?? firstPush) !== undefined));
    }
    for (const [what, times] of Object.entries(met)) assert.ok(times >= 5, `${what}: ${times} of 200`);
  }).timeout(120_000);

  it('contract loops, and spread over launches those that hold enough', () => {
    const loop = (tokens: number): SdfGraph => graphOf(['s*', 'A', 1, 1], ['A', 'B', 1, 1], ['B', 'A', 1, 1, { tokens }], ['B', 't*', 1, 1]);
    const costs = (graph: SdfGraph) => problemOf(graph, [9, 1, 1, 9], [1, 20, 20, 1]);
    const [few, many] = [costs(loop(1)), costs(loop(3200))];
    const [tight, open] = [planHybrid(few, small), planHybrid(many, small)];
    assert.deepEqual([validateHybrid(few, tight), validateHybrid(many, open)], [[], []]);
    assert.deepEqual(tight.contracted.graph.actors.map(({ name, stateful }) => [name, stateful]), [['s*', true], ['A and 1 more', true], ['t*', true]]);
    assert.ok(tight.interval >= 40 * tight.steadyStates && tight.onGpu.every((on) => !on));
    // The loop's actors are on the GPU now, four firings for the time of one, on three multiprocessors.
    assert.deepEqual(open.onGpu, [false, true, true, false]);
    assert.ok(open.interval / open.steadyStates < 1.1, `${open.interval / open.steadyStates}`);
    const threeEdges = { ...problemOf(figure31(), [1, 1, 1, 1], [1, 1, 1, 1]), threads: [1, 1, 1, 1] };
    const wide = planHybrid(threeEdges, { width: 1, shuffleItems: 1, maxUnroll: 1 });
    assert.deepEqual([validateHybrid(threeEdges, wide), wide.contracted.graph.actors.length], [[], 4]);
    const twice = planHybrid(threeEdges, { width: 1, shuffleItems: 1, minSteadyStates: 2 });
    assert.deepEqual([validateHybrid(threeEdges, twice), twice.contracted.graph.actors.length], [[], 1]);
  });

  it('take partitions from elsewhere: the ILP is not worse', async () => {
    const graph = randomProgram(14);
    const problem = randomProblem(graph, 3);
    let task: TaskProblem | undefined;
    const ours = planHybrid(problem, { ...small, partition: (given) => partitionTasks(task = given) });
    const exact = await partitionTasksByIlp(task!);
    const plan = planHybrid(problem, { ...small, partition: () => exact });
    assert.deepEqual(validateHybrid(problem, plan), []);
    assert.ok(exact.interval <= partitionTasks(task!).interval && ours.bound <= exact.interval * (1 + 1e-9));
    assert.throws(() => planHybrid(problem, { ...small, partition: () => ({ onGpu: [true] }) }), { argument: 'partition' });
  }).timeout(60_000);

  it('raise multiplicities until no instance dominates, less where memory is short', () => {
    const graph = graphOf(['a', 'b', 1, 1], ['b', 'c', 1, 1]);
    const problem = problemOf(graph, [40, 1, 1], [99, 99, 99], { multiprocessors: 8 });
    const raised = planHybrid(problem, { ...small, maxUnroll: 64 });
    const single = planHybrid(problem, { ...small, maxUnroll: 1 });
    assert.ok(raised.steadyStates >= 4 * single.steadyStates && raised.interval / raised.steadyStates < single.interval / single.steadyStates);
    assert.ok(raised.interval <= 1.15 * raised.bound);
    const limited = planHybrid(problem, { ...small, maxUnroll: 64, maxDeviceBytes: raised.deviceBytes - 1 });
    assert.ok(limited.deviceBytes < raised.deviceBytes && limited.steadyStates < raised.steadyStates);
    assert.deepEqual(validateHybrid(problem, limited), []);
    assert.throws(() => planHybrid(problem, { ...small, maxDeviceBytes: single.deviceBytes - 1 }), { name: 'ScheduleError', reason: 'limit' });
    assert.equal(planHybrid(problem, { ...small, maxUnroll: 1, minSteadyStates: 3 * single.steadyStates }).steadyStates, 3 * single.steadyStates);
  });

  it('give each processor neighbouring instances, and everything a place with one processor of each kind', () => {
    const { problem, options } = everything();
    const plan = planHybrid(problem, options);
    for (const programs of [plan.cores, plan.multiprocessors]) {
      for (const slices of programs) assert.equal(new Set(slices.map(({ kind, id }) => `${kind} ${id}`)).size, slices.length);
    }
    const one = { ...problem, cores: 1, multiprocessors: 1 };
    assert.deepEqual(validateHybrid(one, planHybrid(one, options)), []);
  });

  it('refuse what cannot be', () => {
    const { problem } = everything();
    for (const [change, argument] of [
      [{ cores: 0 }, 'problem.cores'], [{ cpu: [1] }, 'problem.cpu'], [{ gpu: [1] }, 'problem.gpu'], [{ gpu: problem.gpu.map(() => -1) }, 'problem.gpu[0]'],
      [{ moving: { ...free, toCpu: 0 } }, 'problem.moving.toCpu'], [{ moving: { ...free, latency: -1 } }, 'problem.moving.latency'],
      [{ threads: problem.threads.map(() => 6) }, 'problem.threads[1]'], [{ link: 'both' as 'shared' }, 'problem.link'], [{ fixed: 1 as never }, 'problem.fixed'],
    ] as const) assert.throws(() => planHybrid({ ...problem, ...change }, small), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
    assert.throws(() => planHybrid(problem, { ...small, shuffleItems: 6 }), { argument: 'shuffleItems' });
    assert.throws(() => planHybrid(problem, { ...small, width: 0 }), { argument: 'options.width' });
  });
});

/** A change of a plan, and what the check says of it. */
type Mutation = readonly [what: string, change: (plan: HybridPlan) => Partial<HybridPlan>, says: RegExp];

function changed<T>(list: readonly T[], at: number, by: (value: T) => Partial<T>): T[] {
  return list.map((value, place) => place === at ? (Array.isArray(value) ? by(value) as T : { ...value, ...by(value) }) : value);
}

const graphBy = (plan: HybridPlan, channel: number, by: object): Partial<HybridPlan> => ({
  contracted: { ...plan.contracted, graph: { ...plan.contracted.graph, channels: changed(plan.contracted.graph.channels, channel, () => by) } },
});
const withoutState = ({ contracted: c }: HybridPlan, id: number): Partial<HybridPlan> =>
  ({ contracted: { ...c, graph: { ...c.graph, actors: changed(c.graph.actors, id, () => ({ stateful: false })) } } });
const ring = ({ buffers }: HybridPlan, fits: (buffer: HybridPlan['buffers'][number]) => boolean, by: object): Partial<HybridPlan> =>
  ({ buffers: changed(buffers, buffers.findIndex(fits), () => by) });
const firstSlice = (plan: HybridPlan, side: 'cores' | 'multiprocessors', fits: (slice: HybridSlice) => boolean, by: (slice: HybridSlice) => HybridSlice[]) => {
  let isDone = false;
  return { [side]: plan[side].map((slices) => slices.flatMap((slice) => !isDone && fits(slice) ? (isDone = true, by(slice)) : [slice])) };
};

describe('the check of plans for cores and GPU', () => {
  const { problem, options } = everything();
  const plan = planHybrid(problem, options);
  const actor = (name: string): number => plan.contracted.graph.actors.findIndex((each) => each.name === name);
  const operation = (kind: string): number => plan.operations.findIndex((each) => each.kind === kind);
  const shuffled = plan.buffers.findIndex(({ isShuffled }) => isShuffled), onDevice = plan.buffers.findIndex(({ onGpu }) => onGpu);
  const loop = plan.contracted.members.findIndex(({ length }) => length > 1);
  const window = plan.contracted.graph.channels.findIndex(({ peek, pop }) => peek > pop);

  it('has a plan with everything to begin with', () => {
    assert.deepEqual(validateHybrid(problem, plan), []);
    assert.deepEqual([...new Set(plan.operations.map(({ kind }) => kind))].sort(), ['deshuffle', 'shuffle', 'toCpu', 'toGpu']);
    assert.ok(loop >= 0 && window >= 0 && shuffled >= 0);
  });

  const mutations: readonly Mutation[] = [
    ['an actor in two groups', ({ contracted: c }) => ({ contracted: { ...c, members: changed(c.members, 0, (list) => [...list, ...list]) } }), /in two groups/],
    ['an actor in none', ({ contracted: c }) => ({ contracted: { ...c, members: changed(c.members, loop, (list) => list.slice(1)) } }), /actors are in groups/],
    ['a loop without state', (p) => withoutState(p, loop), /loop without state/],
    ['state forgotten', (p) => withoutState(p, actor('in*')), /its group has none/],
    ['firings more', ({ repetitions }) => ({ repetitions: repetitions.map((count, id) => id === 1 ? 2 * count : count) }), /does not balance/],
    ['a channel missing', ({ contracted: c }) => ({ contracted: { ...c, channels: c.channels.map((id) => id === 1 ? 99 : id) } }), /channel 1 is missing/],
    ['another rate', (p) => graphBy(p, 1, { push: 99 }), /channel 1 has other ends/],
    ['a shorter window', (p) => graphBy(p, window, { peek: 2 }), /has other ends, rates or items/],
    ['other items at the start', (p) => graphBy(p, window, { tokens: 99 }), /has other ends, rates or items/],
    ['steady states', (p) => ({ steadyStates: p.steadyStates + 1 }), /steady states are claimed/],
    ['instances in parts', (p) => ({ firings: p.firings.map((count, id) => id === actor('a') ? count + 1 : count) }), /instances are not whole/],
    ['state in several instances', (p) => ({ firings: p.firings.map((count, id) => id === actor('in*') ? 1 : count) }), /several instances/],
    ['state on the GPU', (p) => ({ onGpu: p.onGpu.map((on, id) => on || id === actor('out*')) }), /is fixed to the CPU/],
    ['fewer threads', (p) => ({ firings: p.firings.map((count, id) => id === actor('a') ? 2 : count) }), /an instance has 2 threads, not 4/],
    ['a slice twice', (p) => firstSlice(p, 'multiprocessors', ({ kind }) => kind === 'actor', (slice) => [slice, slice]), /runs 2 times/],
    ['a slice missing', (p) => firstSlice(p, 'cores', () => true, () => []), /runs 0 times/],
    ['a shuffle missing', (p) => firstSlice(p, 'multiprocessors', ({ kind }) => kind === 'operation', () => []), /operation \d+: instance 0 runs 0 times/],
    ['a slice too long', (p) => firstSlice(p, 'multiprocessors', () => true, (slice) => [{ ...slice, from: slice.from + 99 }]), /have no place here/],
    ['work on the wrong side', (p) => ({ cores: [[...p.cores[0]!, { kind: 'actor', id: actor('a'), from: 0, count: 1 }], ...p.cores.slice(1)] }), /have no place here/],
    ['load of a core', (p) => ({ load: { ...p.load, cores: p.load.cores.map((load) => load + 1) } }), /load of core 0: claimed/],
    ['load of a multiprocessor', (p) => ({ load: { ...p.load, multiprocessors: p.load.multiprocessors.map((load) => load / 2) } }), /load of multiprocessor 0: claimed/],
    ['a processor more', (p) => ({ multiprocessors: [...p.multiprocessors, []] }), /4 multiprocessors of 3/],
    ['transfers in', (p) => ({ load: { ...p.load, toGpu: 0 } }), /load toGpu: claimed 0/],
    ['transfers out', (p) => ({ load: { ...p.load, toCpu: 0 } }), /load toCpu: claimed 0/],
    ['interval', (p) => ({ interval: p.interval * 0.99 }), /interval: claimed/],
    ['interval of the partition', (p) => ({ partitionInterval: p.interval * 1.01 }), /partitionInterval .* is above the interval/],
    ['bound', (p) => ({ bound: p.interval * 1.01 }), /bound .* is above the interval/],
    ['host bytes', (p) => ({ hostBytes: p.hostBytes - 4 }), /hostBytes: claimed/],
    ['device bytes', (p) => ({ deviceBytes: p.deviceBytes - 4 }), /deviceBytes: claimed/],
    ['depth', (p) => ({ depth: p.depth + 1 }), /depth: claimed/],
    ['no ring', (p) => ({ buffers: p.buffers.filter(({ channel }) => channel !== 1) }), /channel 1 has no ring|Bytes: claimed/],
    ['width', () => ({ width: 3 }), /do not fill rows|parts of firings|moves/],
    ['rows on the CPU', (p) => ring(p, ({ onGpu }) => !onGpu, { isShuffled: true }), /rows on the CPU/],
    ['stream order for a reader of rows', (p) => ring(p, ({ channel }) => channel === 1, { isShuffled: false }), /in stream order and in rows at once/],
    ['rows before a window', (p) => {
      const rings = p.buffers.map(({ channel }, at) => channel === window ? at : -1).filter((at) => at >= 0);
      return { buffers: changed(p.buffers, rings.at(-1)!, () => ({ isShuffled: true })) };
    }, /reads parts of iterations in rows/],
    ['another kind of operation', (p) => ({ operations: changed(p.operations, operation('shuffle'), () => ({ kind: 'deshuffle' })) }), /load|between the wrong layouts/],
    ['fewer instances of a shuffle', (p) => {
      const at = operation('shuffle');
      const made = { ...p, operations: changed(p.operations, at, ({ instances }) => ({ instances: instances - 1 })) };
      return { operations: made.operations };
    }, /have no place here/],
    ['an operation missing', (p) => ({ operations: p.operations.slice(0, -1) }), /rings for|load|have no place/],
  ];
  for (const [what, change, says] of mutations) {
    it(`finds ${what}`, () => { assert.match(validateHybrid(problem, { ...plan, ...change(plan) }).join('; '), says); });
  }

  /** Bytes as the changed rings have them, so that only the walk of items can tell. */
  const withBytes = (p: HybridPlan): HybridPlan => {
    const bytes = (side: boolean): number => p.buffers.filter(({ onGpu }) => onGpu === side).reduce((sum, { channel, slots }) => {
      const { from, push, bytesPerItem } = p.contracted.graph.channels[channel]!;
      return sum + slots * push * p.repetitions[from]! * bytesPerItem;
    }, 0);
    return { ...p, hostBytes: bytes(false), deviceBytes: bytes(true), depth: 1 + Math.max(...p.stages) };
  };

  it('finds every ring that is a slot too short, and every stage that is one too early', () => {
    plan.buffers.forEach(({ slots }, at) => {
      const shorter = withBytes({ ...plan, buffers: changed(plan.buffers, at, () => ({ slots: slots - 1 })) });
      if (slots > 1) assert.match(validateHybrid(problem, shorter).join('; '), /overwrites item|written twice|reads item|stand in one place/, `ring ${at}`);
    });
    plan.stages.forEach((stage, id) => {
      if (stage === 0) return;
      const earlier = withBytes({ ...plan, stages: plan.stages.map((each, other) => other === id ? each - 1 : each) });
      assert.match(validateHybrid(problem, earlier).join('; '), /written in the same launch|reads item|overwrites/, `actor ${id}`);
    });
    plan.operations.forEach(({ stage }, at) => {
      for (const by of [-1, 1]) {
        const moved = withBytes({ ...plan, operations: changed(plan.operations, at, () => ({ stage: stage + by })) });
        assert.notDeepEqual(validateHybrid(problem, moved), [], `operation ${at} by ${by}`);
      }
    });
  });

  it('finds rings on the wrong side or in the wrong layout', () => {
    plan.buffers.forEach(({ onGpu, isShuffled }, at) => {
      for (const by of [{ onGpu: !onGpu }, { isShuffled: !isShuffled }]) {
        const other = withBytes({ ...plan, buffers: changed(plan.buffers, at, () => by) });
        assert.match(validateHybrid(problem, other).join('; '), /wrong sides|wrong layouts|other side|rows/, `ring ${at}`);
      }
    });
    assert.ok(onDevice >= 0);
  });

  it('finds rings that are missing, too many, or in another order', () => {
    const dropped = withBytes({ ...plan, buffers: plan.buffers.slice(1) });
    assert.match(validateHybrid(problem, dropped).join('; '), /has no ring to write|rings for|wrong sides/);
    const doubled = withBytes({ ...plan, buffers: [...plan.buffers, plan.buffers.at(-1)!] });
    assert.match(validateHybrid(problem, doubled).join('; '), /rings for \d operations/);
    const none = withBytes({ ...plan, buffers: plan.buffers.filter(({ channel }) => channel !== 3) });
    assert.match(validateHybrid(problem, none).join('; '), /channel 3 has no ring/);
  });

  it('finds shuffles whose instances do not fill the iteration', () => {
    const shuffleItems = 2 * plan.shuffleItems;
    const loads = plan.multiprocessors.map((slices) => slices.reduce((load, { kind, id, count }) => {
      if (kind === 'actor') return load + count * 3;
      const { channel, kind: what } = plan.operations[id]!;
      return load + count * shuffleItems * plan.contracted.graph.channels[channel]!.bytesPerItem / problem.moving[what];
    }, 0));
    const interval = Math.max(plan.load.toCpu + plan.load.toGpu, ...plan.load.cores, ...loads);
    const wider = { ...plan, shuffleItems, load: { ...plan.load, multiprocessors: loads }, interval };
    assert.match(validateHybrid(problem, wider).join('; '), /shuffle of channel \d moves \d+ of \d+ items/);
    const narrow = { ...plan, width: 8 };
    assert.match(validateHybrid(problem, narrow).join('; '), /4 threads do not fill rows of 8/);
  });
});
