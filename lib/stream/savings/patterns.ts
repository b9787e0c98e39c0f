// Periodic constant items on channels. The zeros that an expander inserts between samples stay periodic through delays, splitters and
// joiners.
import { elementAt } from '../../core/known.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import type { Channel, GraphNode } from '../graph.ts';

/** Constant items of a channel: item i has the value at index i modulo the length, if that is known. */
export type Pattern = readonly (number | undefined)[];

/** The maximum length of a pattern. */
export const longestPattern = 4096;

export function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

export const lcm = (a: number, b: number): number => a / gcd(a, b) * b;

/** The value of an item, if it is known. */
export function itemAt(pattern: Pattern | undefined, item: number): number | undefined {
  return pattern?.[item % pattern.length];
}

/** The shortest equivalent pattern; undefined if nothing is known. */
export function shortest(pattern: Pattern): Pattern | undefined {
  if (pattern.every((x) => x === undefined)) return undefined;
  for (let length = 1; 2 * length <= pattern.length; ++length) {
    if (pattern.length % length === 0 && pattern.every((x, i) => Object.is(x, pattern[i % length]))) return pattern.slice(0, length);
  }
  return pattern;
}

/** How many items the firings before `firing` pop from a port, or push to it. */
export function itemsBefore(node: GraphNode, port: number, firing: number, isInput: boolean): number {
  const items = (isFirst: boolean): number => {
    const { pop, push } = ratesOf(node, port, isFirst);
    return isInput ? pop : push;
  };
  return firing === 0 ? 0 : items(true) + (firing - 1) * items(false);
}

/** After how many firings the patterns of a node's inputs repeat; undefined if that is too many. */
export function periodOf(node: GraphNode, patterns: readonly (Pattern | undefined)[]): number | undefined {
  let period = 1;
  for (const [port, channel] of node.inputs.entries()) {
    const pattern = channel === undefined ? undefined : patterns[channel];
    const { pop } = ratesOf(node, port);
    if (pattern === undefined) continue;
    if (pop === 0) return undefined;
    period = lcm(period, lcm(pattern.length, pop) / pop);
    if (period > longestPattern) return undefined;
  }
  return period;
}

/**
 * The pattern of a channel.
 *
 * @param pushed what its producer pushes in a period of firings, starting at `firing`
 * @param before the items in front of these: initial ones and those of the prework
 */
export function patternOf(
  channel: Channel, node: GraphNode, firing: number, pushed: readonly (number | undefined)[], before: readonly (number | undefined)[],
): Pattern | undefined {
  const { length } = pushed;
  if (length === 0 || length > longestPattern || before.length > longestPattern) return undefined;
  const first = channel.initial.length + itemsBefore(node, channel.fromPort, firing, false);
  const pattern: (number | undefined)[] = [];
  pushed.forEach((x, i) => { pattern[(first + i) % length] = x; });
  before.forEach((x, i) => { if (!Object.is(x, pattern[i % length])) pattern[i % length] = undefined; });
  return shortest(pattern);
}

/** What a node that only moves items pushes to a port in a period of firings. */
export function movedItems(
  node: GraphNode, port: number, period: number, item: (port: number, place: number) => number | undefined,
): readonly (number | undefined)[] {
  const pushed: (number | undefined)[] = [];
  for (let firing = 0; firing < period; ++firing) {
    for (const [from, place] of sourcesOf(node, port)) pushed.push(item(from, firing * ratesOf(node, from).pop + place));
  }
  return pushed;
}

/** For each item that one firing of such a node pushes to a port: the input port and offset it comes from. */
export function sourcesOf(node: GraphNode, port: number): readonly (readonly [port: number, place: number])[] {
  switch (node.kind) {
    case 'identity': case 'duplicate': return [[0, 0]];
    case 'splitter': {
      const before = node.weights.slice(0, port).reduce((sum, weight) => sum + weight, 0);
      return Array.from({ length: elementAt(node.weights, port) }, (_, i) => [0, before + i]);
    }
    case 'joiner': return node.weights.flatMap((weight, from) => Array.from({ length: weight }, (_, i) => [from, i] as const));
    default: return [];
  }
}
