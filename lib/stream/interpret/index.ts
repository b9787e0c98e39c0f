// The interpreter: the slow, obvious reference semantics. Every other way to run a program is checked against it.
import { elementAt, required } from '../../core/known.ts';
import { snapshot } from '../../core/snapshot.ts';
import type { StreamGraph } from '../graph.ts';
import { repetitions } from '../schedule/steady.ts';
import { isDynamic, sdfOf } from '../elaborate/to-sdf.ts';
import { countsLines, Engine, type EngineOptions } from './engine.ts';
import { apart, NoWorker } from '../apart/index.ts';
import { defaultRunLimits } from './limits.ts';
import { countedNodes, sinksOf } from './sinks.ts';
import { flatten, scalarCount, type Value } from './values.ts';
import { withGraph } from '../require.ts';
import { timeOver, within } from '../stop.ts';
import { readOptions, requireAmount, type Interpretation, type InterpretOptions } from './options.ts';
import { firstLines } from './print-order.ts';
import { WholeStates } from './whole-states.ts';

export { StreamRunError } from './error.ts';
export { decodeFile, encodeFile } from './files.ts';
export { defaultRunLimits, type RunLimits } from './limits.ts';
export type { Interpretation, InterpretOptions } from './options.ts';

/** Fires sinks in turn until `isDone`; yields after each firing. */
function* firings(engine: Engine, options: InterpretOptions): Generator<void, boolean> {
  const { graph } = engine;
  const { items, iterations } = options;
  const sinks = sinksOf(graph);
  const whole = WholeStates.of(engine);
  if (items !== undefined) {
    if (!countsLines(graph)) yield* whole?.forItems(items, sinks) ?? [];
    while (engine.items < items) {
      let isAlive = false;
      for (const sink of sinks) {
        if (engine.items >= items) break;
        if (engine.fire(sink)) isAlive = true;
        yield;
      }
      if (!isAlive) return true;
    }
    return false;
  }
  const counted = iterations === undefined ? sinks : countedNodes(graph);
  // Without a steady state, each sink counts as firing once.
  const rates = iterations === undefined || graph.nodes.some(isDynamic) ? undefined : repetitions(sdfOf(graph));
  const alive = counted.map(() => true);
  for (let i = 1; iterations === undefined ? alive.includes(true) : i <= iterations; ++i) {
    for (const [at, node] of counted.entries()) {
      while (elementAt(engine.actors, node).firings < i * (rates?.[node] ?? 1) && elementAt(alive, at)) {
        alive[at] = engine.fire(node);
        yield;
      }
    }
  }
  if (iterations !== undefined && !alive.includes(false)) yield* whole?.ahead(iterations, counted) ?? [];
  return alive.includes(false);
}

function engineFor(graph: StreamGraph, options: InterpretOptions, watchers: Pick<EngineOptions, 'tap' | 'watch'> = {}): Engine {
  requireAmount(graph, options);
  return new Engine(graph, {
    input: options.input ?? [], files: options.files ?? {}, limits: { ...defaultRunLimits, ...options.limits }, seed: options.seed ?? 1,
    ...watchers,
  });
}

function resultOf(engine: Engine, options: InterpretOptions, exhausted: boolean): Interpretation {
  const { output } = engine.graph;
  if (output !== undefined && options.items !== undefined) engine.output.length = Math.min(
    engine.output.length, options.items * scalarCount(output.type));
  const isCut = options.items !== undefined && countsLines(engine.graph);
  return {
    output: engine.output, printed: isCut ? firstLines(engine.printed, required(options.items)) : engine.printed,
    firings: engine.actors.map((actor) => actor.firings), files: engine.files(), exhausted,
  };
}

/**
 * Runs a graph by firing nodes one at a time. Equal arguments give equal results on every machine. Throws StreamRunError, with the place in
 * the source, if the program goes wrong: an index out of bounds, an integer division by zero, rates other than declared, an exceeded limit.
 */
export function interpretSync(graph: StreamGraph, options: InterpretOptions = {}): Interpretation {
  const own = readOptions(options);
  return withGraph(graph, () => interpretAll(graph, own));
}

function interpretAll(graph: StreamGraph, options: InterpretOptions): Interpretation {
  const engine = engineFor(graph, options);
  const run = firings(engine, options);
  for (;;) {
    const step = run.next();
    if (step.done === true) return resultOf(engine, options, step.value);
  }
}

/** Keeps up to `most` scalars of each channel. */
function recorder(graph: StreamGraph, most: number) {
  const recorded: number[][] = graph.channels.map(() => []);
  const tap = (channel: number, item: Value): void => {
    if (elementAt(recorded, channel).length < most) flatten(item, elementAt(recorded, channel));
  };
  return { recorded, tap };
}

/** Runs a graph and records the first items pushed to each channel: up to `most` scalars each, in memory order. */
export function recordChannels(graph: StreamGraph, options: InterpretOptions, most: number): number[][] {
  const { recorded, tap } = recorder(graph, most);
  const run = firings(engineFor(graph, options, { tap }), options);
  while (run.next().done !== true);
  return recorded;
}

/** How long a run may keep the calling thread, in milliseconds: at a stretch, and in total before it moves to a worker thread. */
const sliceMilliseconds = 20;
const ownMilliseconds = 100;

/** A run takes too long for the calling thread. */
class TooLong extends Error {}

/** Runs in the calling thread, which can do other work between firings. `moves`: a long run throws {@link TooLong}. */
async function interpretHere<T>(job: Job<T>, moves: boolean, begin: number): Promise<T> {
  const { options } = job;
  const { signal, timeout = Infinity } = options;
  let until = performance.now() + sliceMilliseconds;
  const watch = (): void => {
    const now = performance.now();
    if (moves && now >= until) throw new TooLong();
    if (now - begin > timeout) throw timeOver(timeout);
  };
  const work = job.begin(watch);
  const run = firings(work.engine, options);
  for (;;) {
    const step = run.next();
    if (step.done === true) return work.finish(step.value);
    const now = performance.now();
    if (now < until) continue;
    if (moves && now - begin > ownMilliseconds) throw new TooLong();
    await new Promise((resolve) => { setImmediate(resolve); });
    signal?.throwIfAborted();
    if (now - begin > timeout) throw timeOver(timeout);
    until = performance.now() + sliceMilliseconds;
  }
}

/** Something to be computed by the interpreter, here or on a worker thread. */
interface Job<T> {
  readonly graph: StreamGraph;
  readonly options: InterpretOptions;
  readonly begin: (watch: () => void) => { readonly engine: Engine; readonly finish: (exhausted: boolean) => T };
  readonly apart: (options: InterpretOptions, stop: AbortSignal) => Promise<T>;
}

/** Does short work here and long work on a worker thread; all of it here if there are no worker threads. */
async function hereOrApart<T>(job: Job<T>): Promise<T> {
  const { signal, timeout, ...rest } = job.options;
  const begin = performance.now();
  signal?.throwIfAborted();
  try {
    return await interpretHere(job, true, begin);
  } catch (error) {
    if (!(error instanceof TooLong)) throw error;
  }
  try {
    return await within({ signal, timeout: timeout ?? 2 ** 31 - 1 }, (stop) => job.apart(rest, stop), begin);
  } catch (error) {
    if (!(error instanceof NoWorker)) throw error;
    return interpretHere(job, false, begin);
  }
}

/**
 * Like {@link interpretSync}, but does not block other work of the process, and ends when `signal` is aborted or the time is over. Runs
 * that take longer than a tenth of a second, or a fiftieth in one firing, move to a worker thread. If there are no worker threads (Node's
 * permission model without `--allow-worker`, programs bundled into one file), everything runs in the calling thread, which then checks
 * `signal` between firings. `options` must be checked, and not shared with anyone.
 */
export async function interpretAside(graph: StreamGraph, options: InterpretOptions): Promise<Interpretation> {
  return hereOrApart({
    graph, options,
    begin: (watch) => {
      const engine = engineFor(graph, options, { watch });
      return { engine, finish: (exhausted) => resultOf(engine, options, exhausted) };
    },
    apart: (rest, stop) => apart({ kind: 'interpret', graph, options: rest }, stop),
  });
}

/** Like {@link recordChannels}, but does not block other work of the process, like {@link interpretAside}. */
export async function recordChannelsAside(graph: StreamGraph, options: InterpretOptions, most: number): Promise<number[][]> {
  const own = snapshot(options);
  return hereOrApart({
    graph, options: own,
    begin: (watch) => {
      const { recorded, tap } = recorder(graph, most);
      return { engine: engineFor(graph, own, { watch, tap }), finish: () => recorded };
    },
    apart: (rest, stop) => apart({ kind: 'record', graph, options: rest, most }, stop),
  });
}
