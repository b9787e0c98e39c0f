// Graphs for the tests of scheduling: a short way to write them, those of the paper, and random ones.
import fc from 'fast-check';
import type { SdfChannel, SdfGraph } from '../../../lib/stream/sdf.ts';

/** A channel as tests write it: ends by name, push and pop rate, and what differs from the defaults. */
export type ChannelText = readonly [from: string, to: string, push: number, pop: number,
  rest?: Partial<Pick<SdfChannel, 'peek' | 'tokens' | 'firstPush' | 'firstPop' | 'firstPeek'>>];

/** Builds a graph; actors are numbered as they appear, names that end in `*` are stateful. */
export function graphOf(...channels: readonly ChannelText[]): SdfGraph {
  const names = [...new Set(channels.flatMap(([from, to]) => [from, to]))];
  return {
    actors: names.map((name, id) => ({ id, name, stateful: name.endsWith('*'), moves: false })),
    channels: channels.map(([from, to, push, pop, rest], id) => ({
      id, from: names.indexOf(from), to: names.indexOf(to), push, pop, peek: pop, tokens: 0, bytesPerItem: 4, ...rest,
    })),
  };
}

/** Figure 2.7; rates from its balance equations. */
export const figure27 = (): SdfGraph => graphOf(['v0', 'v1', 1, 2], ['v0', 'v2', 2, 1], ['v1', 'v3', 4, 2], ['v2', 'v3', 2, 4]);

/** Figure 3.1(b): a loop with four items from D to A. Delays A 3, B 1, C 2, D 2 follow from the sums 8, 7 and 6 in the text. */
export const figure31 = (): SdfGraph => graphOf(
  ['A', 'B', 1, 1], ['A', 'C', 1, 1], ['B', 'D', 1, 1], ['C', 'D', 1, 1], ['D', 'A', 1, 1, { tokens: 4 }]);
export const figure31Delays = [3, 1, 2, 2];

/** Figure 3.6: A pushes 2, B pops 3. */
export const figure36 = (): SdfGraph => graphOf(['A', 'B', 2, 3]);

const gcd = (a: number, b: number): number => b === 0 ? a : gcd(b, a % b);

interface Edge { readonly a: number; readonly b: number; readonly scale: number; readonly extra: number; readonly tokens: number; readonly first: number }

export interface RandomGraphOptions {
  readonly actors?: number;
  /** Edges against the order, with some items: loops that may or may not be live. */
  readonly loops?: boolean;
  readonly prework?: boolean;
  readonly stateful?: boolean;
}

/** Random consistent graphs, joined or not, with peeking, and as asked with loops and prework; with the rates they were made from. */
export function randomGraph(options: RandomGraphOptions = {}): fc.Arbitrary<{ graph: SdfGraph; rates: number[] }> {
  const most = options.actors ?? 8;
  return fc.integer({ min: 1, max: most }).chain((count) => fc.record({
    rates: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: count, maxLength: count }),
    stateful: fc.array(options.stateful ? fc.boolean() : fc.constant(false), { minLength: count, maxLength: count }),
    edges: fc.array(fc.record({
      a: fc.nat(count - 1), b: fc.nat(count - 1), scale: fc.integer({ min: 1, max: 3 }), extra: fc.constantFrom(0, 0, 0, 1, 3, 7),
      tokens: fc.constantFrom(0, 0, 1, 2, 5, 30), first: fc.constantFrom(0, 0, 0, 1, 2, 3),
    }), { minLength: 0, maxLength: 2 * count }),
  })).map(({ rates, edges, stateful }) => ({ graph: assemble(rates, stateful, edges, options), rates }));
}

function assemble(rates: readonly number[], stateful: readonly boolean[], edges: readonly Edge[], options: RandomGraphOptions): SdfGraph {
  const channels = edges.filter(({ a, b }) => options.loops || a !== b).map((edge, id): SdfChannel => {
    const [from, to] = options.loops ? [edge.a, edge.b] : [Math.min(edge.a, edge.b), Math.max(edge.a, edge.b)];
    const common = rates[from]! * rates[to]! / gcd(rates[from]!, rates[to]!) * edge.scale;
    const pop = common / rates[to]!;
    const first = options.prework && edge.first > 0 ? [{}, { firstPush: edge.tokens }, { firstPop: 1, firstPeek: 4 },
      { firstPush: 0, firstPop: 0 }][edge.first]! : {};
    return { id, from, to, push: common / rates[from]!, pop, peek: pop + edge.extra, tokens: edge.tokens, bytesPerItem: 4, ...first };
  });
  return { actors: rates.map((_, id) => ({ id, name: `f${id}`, stateful: stateful[id]!, moves: false })), channels };
}
