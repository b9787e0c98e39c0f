// The interpreter: the slow, obvious meaning of a program. Every other way to run one is checked against it.
import { ArgumentError } from '../../core/errors.ts';
import type { StreamGraph } from '../graph.ts';
import type { FilterCode } from '../ir.ts';
import { repetitions } from '../schedule/balance.ts';
import { isDynamic, toSdf } from '../elaborate/to-sdf.ts';
import { countedNodes, countsLines, Engine, firstLines, sinksOf } from './engine.ts';
import { defaultRunLimits, type RunLimits } from './limits.ts';
import { flatten, scalarCount, type Value } from './values.ts';
import { requireProgramGraph, withGraph } from '../require.ts';
import { checkRun } from './options.ts';
import { bodiesOf, eachStatement } from './walk.ts';

export { StreamRunError } from './error.ts';
export { decodeFile, encodeFile } from './files.ts';
export { defaultRunLimits, type RunLimits } from './limits.ts';

/** Options of {@link interpret}. */
export interface InterpretOptions {
  /** Items of the open input: their scalars in memory order. */
  readonly input?: ArrayLike<number>;
  /**
   * Stop after so many items have come out: on the open output; in a program without one, written to files; without either, lines that were
   * printed. Output and lines are cut to exactly so many.
   */
  readonly items?: number;
  /**
   * Stop after so many steady states: each sink, and each node of a loop that leads nowhere, has fired its repetitions so often (a first
   * firing of prework counts as one firing). With dynamic rates, where there are none: each sink has fired so often.
   */
  readonly iterations?: number;
  /** Contents of the files that are read, by the path that the program gives. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
  readonly limits?: Partial<RunLimits>;
  /** Stops {@link interpret}, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** For `random`. Default 1. Each filter has its own sequence, so that the order of firings does not matter. */
  readonly seed?: number;
}

/** What a run by the interpreter gave. */
export interface Interpretation {
  /** Scalars of the items on the open output, in memory order. */
  readonly output: readonly number[];
  /** What was printed. Lines of several printing filters interleave in no particular order. */
  readonly printed: string;
  /** Firings of each node. */
  readonly firings: readonly number[];
  /** Files that were written. */
  readonly files: Readonly<Record<string, Uint8Array>>;
  /** Whether the run stopped because nothing could fire any more, before `items` or `iterations` were reached. */
  readonly exhausted: boolean;
}

function check(name: string, x: number | undefined): void {
  if (x !== undefined && (!Number.isInteger(x) || x < 0)) throw new ArgumentError(name, `expected an integer of 0 or more, received ${x}`);
}

/** Fires sinks one after the other until `isDone`; each value is a firing. */
function* firings(engine: Engine, options: InterpretOptions): Generator<void, boolean> {
  const { graph } = engine;
  const { items, iterations } = options;
  const sinks = sinksOf(graph);
  if (items !== undefined) {
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
  // Without a steady state each sink fires once.
  const rates = iterations === undefined || graph.nodes.some(isDynamic) ? undefined : repetitions(toSdf(graph));
  const alive = counted.map(() => true);
  for (let i = 1; iterations === undefined ? alive.includes(true) : i <= iterations; ++i) {
    for (const [at, node] of counted.entries()) {
      while (engine.actors[node]!.firings < i * (rates?.[node] ?? 1) && alive[at]!) {
        alive[at] = engine.fire(node);
        yield;
      }
    }
  }
  return alive.includes(false);
}

function prints(code: FilterCode): boolean {
  let found = false;
  for (const body of bodiesOf(code)) {
    eachStatement(body, (s) => { found ||= s.kind === 'print' && (s.newline || ('text' in s.value && s.value.text.includes('\n'))); });
  }
  return found;
}

/** Throws ArgumentError for programs of which no items come out that could be counted. */
export function requireItems(graph: StreamGraph): void {
  const isVisible = graph.output !== undefined || graph.nodes.some(
    (node) => node.kind === 'writer' || (node.kind === 'filter' && prints(node.code)));
  if (!isVisible) {
    throw new ArgumentError('options.items', 'the program has no output, writes no file and prints no lines: use `iterations`');
  }
}

function engineFor(graph: StreamGraph, options: InterpretOptions, tap?: (channel: number, item: Value) => void): Engine {
  requireProgramGraph(graph);
  const { input, items, iterations } = options;
  check('options.items', items);
  check('options.iterations', iterations);
  if (items !== undefined && iterations !== undefined) throw new ArgumentError(
    'options', 'expected `items` or `iterations`, received both');
  if (graph.input !== undefined && input === undefined) throw new ArgumentError(
    'options.input', 'the program has an open input: give its items');
  if (graph.input === undefined && items === undefined && iterations === undefined) {
    throw new ArgumentError('options.items', 'the program has no input that ends: say when to stop by `items` or `iterations`');
  }
  if (items !== undefined) requireItems(graph);
  return new Engine(graph, {
    input: input ?? [], files: options.files ?? {}, limits: { ...defaultRunLimits, ...options.limits }, seed: options.seed ?? 1,
    ...(tap === undefined ? {} : { tap }),
  });
}

function resultOf(engine: Engine, options: InterpretOptions, exhausted: boolean): Interpretation {
  const { output } = engine.graph;
  if (output !== undefined && options.items !== undefined) engine.output.length = Math.min(
    engine.output.length, options.items * scalarCount(output.type));
  const isCut = options.items !== undefined && countsLines(engine.graph);
  return {
    output: engine.output, printed: isCut ? firstLines(engine.printed, options.items!) : engine.printed,
    firings: engine.actors.map((actor) => actor.firings), files: engine.files(), exhausted,
  };
}

/**
 * Runs a graph by firing nodes one at a time. Equal arguments give equal results, on every machine. Throws StreamRunError, with the place
 * in the
 * source, where the program goes wrong: an index outside of its array, an integer division by zero, rates other than declared, a limit.
 */
export function interpretSync(graph: StreamGraph, options: InterpretOptions = {}): Interpretation {
  checkRun(options);
  return withGraph(graph, () => interpretAll(graph, options));
}

function interpretAll(graph: StreamGraph, options: InterpretOptions): Interpretation {
  const engine = engineFor(graph, options);
  const run = firings(engine, options);
  for (;;) {
    const step = run.next();
    if (step.done === true) return resultOf(engine, options, step.value);
  }
}

/** Runs a graph and keeps what was put on each channel first: up to `most` scalars of each, in memory order. */
export function recordChannels(graph: StreamGraph, options: InterpretOptions, most: number): number[][] {
  const recorded: number[][] = graph.channels.map(() => []);
  const engine = engineFor(graph, options, (channel, item) => {
    if (recorded[channel]!.length < most) flatten(item, recorded[channel]!);
  });
  const run = firings(engine, options);
  while (run.next().done !== true);
  return recorded;
}

const sliceMilliseconds = 20;

/** As {@link interpretSync}, but lets other work of the process go on, and can be stopped by `signal`. */
export async function interpret(graph: StreamGraph, options: InterpretOptions = {}): Promise<Interpretation> {
  checkRun(options);
  return withGraph(graph, () => interpretInSlices(graph, options));
}

async function interpretInSlices(graph: StreamGraph, options: InterpretOptions): Promise<Interpretation> {
  const { signal } = options;
  signal?.throwIfAborted();
  const engine = engineFor(graph, options);
  const run = firings(engine, options);
  for (let until = performance.now() + sliceMilliseconds; ;) {
    const step = run.next();
    if (step.done === true) return resultOf(engine, options, step.value);
    if (performance.now() < until) continue;
    await new Promise((resolve) => { setImmediate(resolve); });
    signal?.throwIfAborted();
    until = performance.now() + sliceMilliseconds;
  }
}
