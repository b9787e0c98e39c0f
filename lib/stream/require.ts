// Checks of the arguments of public functions: invalid ones are rejected by name.
import { describeValue } from '../core/arrays.ts';
import { requireCount, requireText } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import type { StreamGraph } from './graph.ts';
import { checkProgramGraph } from './require-graph.ts';
import type { SdfGraph } from './sdf.ts';

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** Refuses what is no object, or lacks one of these fields that must be arrays. */
export function requireFields(argument: string, value: unknown, expected: string, arrays: readonly string[] = []): void {
  const isFit = isObject(value) && arrays.every((field) => Array.isArray(value[field]));
  if (!isFit) throw refusal(argument, expected, describeValue(value));
}

/** Refuses what is no list. */
export function requireList(argument: string, value: unknown, expected: string): void {
  if (!Array.isArray(value) && !ArrayBuffer.isView(value)) throw refusal(argument, expected, describeValue(value));
}

/** Refuses a list that does not hold, for each of `count` things, an integer of at least `low`. */
export function requireCounts(argument: string, value: unknown, count: number, low = 0): void {
  requireList(argument, value, `${count} integers`);
  const list = value as ArrayLike<unknown>;
  if (list.length !== count) throw refusal(argument, `${count} integers`, `${list.length} values`);
  for (let i = 0; i < count; ++i) requireCount(list[i], `${argument}[${i}]`, low);
}

/** Refuses a list in which something is no finite number of at least 0, or that has not `count` of them. */
export function requireSizes(argument: string, value: unknown, count?: number): void {
  requireList(argument, value, 'numbers of at least 0');
  if (count !== undefined && (value as ArrayLike<unknown>).length !== count) throw refusal(argument, `${count} numbers`,
    describeValue(value));
  Array.from(value as ArrayLike<unknown>, (size, i) => {
    if (typeof size !== 'number' || !(size >= 0 && size < Infinity)) throw refusal(`${argument}[${i}]`, 'a number of at least 0',
      describeValue(size));
  });
}

/** Graphs that the library made itself; they are frozen, so that nobody changes them afterwards. */
const own = new WeakSet<object>();

/** Marks a graph of the library's own making, which needs no check. */
export function trusted<T extends StreamGraph | SdfGraph>(graph: T): T {
  const parts = 'nodes' in graph ? [graph.nodes, graph.portals, ...graph.nodes, ...graph.portals] : [graph.actors, ...graph.actors];
  for (const part of [graph, graph.channels, ...graph.channels, ...parts]) Object.freeze(part);
  own.add(graph);
  return graph;
}

/** Refuses what is no elaborated program. */
export function requireProgramGraph(graph: unknown): void {
  const expected = 'the graph of a program, as returned by stream.elaborate';
  if (isObject(graph) && own.has(graph)) return;
  requireFields('graph', graph, expected, ['nodes', 'channels', 'portals']);
  checkProgramGraph(graph as StreamGraph, expected);
}

/**
 * Runs `make`; where the graph is not of the library's own making and something in it is not what it should be, that is said.
 * `signal`: what may end it with a reason of its own.
 */
export function withGraph<T>(graph: StreamGraph, make: () => T, signal?: AbortSignal): T {
  requireProgramGraph(graph);
  if (own.has(graph)) return make();
  const retold = (error: unknown): never => {
    if (!(error instanceof Error) || (signal?.aborted === true && error === signal.reason)) throw error;
    // By its code: where the library is loaded twice, classes differ.
    const { code } = error as { code?: unknown };
    if (typeof code === 'string' && code.startsWith('ERR_WARPLOOM_') && code !== 'ERR_WARPLOOM_INTERNAL') throw error;
    throw refusal(
      'graph', 'the graph of a program, as returned by stream.elaborate', `one whose code is broken: ${error.message}`, { cause: error });
  };
  try {
    const made = make();
    return made instanceof Promise ? made.catch(retold) as T : made;
  } catch (error) {
    return retold(error);
  }
}

/** Refuses a list of steps of a schedule in which something is no actor of the graph with a count. */
export function requireSteps(argument: string, steps: readonly { readonly actor: number; readonly count: number }[], actors: number): void {
  requireList(argument, steps, 'steps with actor and count');
  for (const [i, step] of steps.entries()) {
    requireFields(`${argument}[${i}]`, step, 'an actor and a count');
    requireCount(step.actor, `${argument}[${i}].actor`, 0);
    if (step.actor >= actors) throw refusal(`${argument}[${i}].actor`, `an actor below ${actors}`, String(step.actor));
    requireCount(step.count, `${argument}[${i}].count`, 0, 1e8);
  }
}

const rates = ['push', 'pop', 'peek', 'tokens'] as const;
const firstRates = ['firstPush', 'firstPop', 'firstPeek'] as const;

/** Refuses what is no graph of rates. What its rates mean is checked by `checkGraph`. */
export function requireRateGraph(graph: unknown): void {
  if (isObject(graph) && own.has(graph)) return;
  requireFields('graph', graph, 'a graph of rates, as returned by stream.toSdf', ['actors', 'channels']);
  const { actors, channels } = graph as SdfGraph;
  for (const [i, actor] of actors.entries()) {
    requireFields(`graph.actors[${i}]`, actor, 'an actor with id and name');
    requireCount(actor.id, `graph.actors[${i}].id`, 0);
    requireText(actor.name, `graph.actors[${i}].name`);
  }
  for (const [i, channel] of channels.entries()) {
    requireFields(`graph.channels[${i}]`, channel, 'a channel with ends and rates');
    const at = `graph.channels[${i}]`;
    requireCount(channel.id, `${at}.id`, 0);
    for (const end of ['from', 'to'] as const) requireCount(channel[end], `${at}.${end}`, 0, Math.max(actors.length - 1, 0));
    const bytes: unknown = channel.bytesPerItem;
    if (bytes !== undefined && typeof bytes !== 'number') throw refusal(`${at}.bytesPerItem`, 'a number of bytes', describeValue(bytes));
    for (const name of rates) if (typeof channel[name] !== 'number') throw refusal(`${at}.${name}`,
      'a number of items', describeValue(channel[name]));
    for (const name of firstRates) if (channel[name] !== undefined && typeof channel[name] !== 'number') throw refusal(`${at}.${name}`,
      'a number of items, or nothing', describeValue(channel[name]));
  }
}

/** Refuses what is no steady state of a graph. */
export function requireSteady(graph: SdfGraph, steady: unknown): void {
  requireFields('steady', steady, 'a steady state, as returned by stream.steadyState', ['repetitions', 'initFirings', 'residual', 'order',
    'init']);
  const { repetitions, initFirings, residual, order, init } = steady as Record<string, unknown[]>;
  const [actors, channels] = [graph.actors.length, graph.channels.length];
  requireCounts('steady.repetitions', repetitions, actors, 1);
  requireCounts('steady.initFirings', initFirings, actors);
  requireCounts('steady.residual', residual, channels);
  requireCounts('steady.order', order, actors);
  for (const [name, list] of [['repetitions', repetitions], ['initFirings', initFirings]] as const) {
    const sum = (list as number[]).reduce((total, each) => total + each, 0);
    if (sum > 1e8) throw refusal(`steady.${name}`, 'at most 100 million firings in total', String(sum));
  }
  if (new Set(order).size !== actors || !(order as number[]).every((actor) => actor < actors)) {
    throw refusal('steady.order', 'each actor once', describeValue(order));
  }
  requireSteps('steady.init', init as { actor: number; count: number }[], actors);
}
