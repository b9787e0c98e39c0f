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

/** Uniform integers from a seed. */
export function drawsFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ state >>> 15, 1 | state);
    mixed = (mixed + Math.imul(mixed ^ mixed >>> 7, 61 | mixed)) ^ mixed;
    return ((mixed ^ mixed >>> 14) >>> 0) % below;
  };
}

/** A stream under construction: where items go in and come out, at what rates, and items out for items in. */
interface Part { readonly enter: number; readonly pop: number; readonly leave: number; readonly push: number; readonly gain: readonly [number, number] }
type Ends = Omit<SdfChannel, 'id' | 'bytesPerItem'>;

/** Programs as StreamIt builds them. */
class StreamBuilder {
  readonly actors: { id: number; name: string; stateful: boolean; moves: boolean }[] = [];
  readonly channels: SdfChannel[] = [];
  private readonly extra = new Map<number, Partial<SdfChannel>>();
  private readonly first = new Map<number, Partial<SdfChannel>>();
  readonly draw: (below: number) => number;

  constructor(draw: (below: number) => number) {
    this.draw = draw;
  }

  private actor(name: string, stateful = false): number {
    const id = this.actors.length;
    this.actors.push({ id, name: `${name}${id}`, stateful, moves: false });
    return id;
  }

  join(ends: Pick<Ends, 'from' | 'to' | 'push' | 'pop'>, tokens = 0): void {
    const { peek = 0, ...into } = this.extra.get(ends.to) ?? {};
    this.channels.push({
      ...ends, id: this.channels.length, peek: ends.pop + peek, tokens, bytesPerItem: [1, 4, 8][this.draw(3)]!, ...into, ...this.first.get(ends.from),
    });
  }

  filter(rates: readonly [pop: number, push: number] = [1 + this.draw(16), 1 + this.draw(16)]): Part {
    const id = this.actor('f', this.draw(9) === 0);
    const [pop, push] = rates;
    if (this.draw(4) === 0) this.extra.set(id, { peek: 1 + this.draw(3 * pop + 2) });
    if (this.draw(8) === 0) {
      this.extra.set(id, { ...this.extra.get(id), firstPop: this.draw(3), firstPeek: 3 });
      this.first.set(id, { firstPush: this.draw(20) });
    }
    return { enter: id, pop, leave: id, push, gain: [push, pop] };
  }

  pipeline(depth: number): Part {
    const parts = Array.from({ length: 1 + this.draw(3) }, () => this.stream(depth - 1));
    for (let at = 1; at < parts.length; ++at) {
      const [u, v] = [parts[at - 1]!, parts[at]!];
      this.join({ from: u.leave, to: v.enter, push: u.push, pop: v.pop });
    }
    const gain = parts.reduce(([over, under], part) => lowest(over * part.gain[0], under * part.gain[1]), [1, 1] as [number, number]);
    return { ...parts[0]!, leave: parts.at(-1)!.leave, push: parts.at(-1)!.push, gain };
  }

  splitJoin(depth: number): Part {
    const branches = Array.from({ length: 2 + this.draw(2) }, () => this.stream(depth - 1));
    const isDuplicate = this.draw(2) === 0;
    const weights = branches.map(() => isDuplicate ? 1 : 1 + this.draw(4));
    const total = isDuplicate ? 1 : weights.reduce((sum, weight) => sum + weight, 0);
    const scale = branches.reduce((least, { gain: [, under] }, at) => least * (under / gcd(under, least * weights[at]! % under || under)), 1);
    const joined = branches.map(({ gain: [over, under] }, at) => weights[at]! * over * scale / under);
    const common = joined.reduce((a, b) => gcd(a, b));
    const split = this.actor('split'), join = this.actor('join');
    branches.forEach((branch, at) => {
      this.join({ from: split, to: branch.enter, push: weights[at]!, pop: branch.pop });
      this.join({ from: branch.leave, to: join, push: branch.push, pop: joined[at]! / common });
    });
    const push = joined.reduce((sum, weight) => sum + weight / common, 0);
    return { enter: split, pop: total, leave: join, push, gain: lowest(push * common, total * scale) };
  }

  feedbackLoop(): Part {
    const [inside, back] = [1 + this.draw(3), 1 + this.draw(3)];
    const join = this.actor('loopjoin'), split = this.actor('loopsplit');
    const body = this.filter([1, 1]), path = this.filter([1, 1]);
    this.join({ from: join, to: body.enter, push: inside + back, pop: 1 });
    this.join({ from: body.leave, to: split, push: 1, pop: inside + back });
    this.join({ from: split, to: path.enter, push: back, pop: 1 });
    this.join({ from: path.leave, to: join, push: 1, pop: back }, back * [1, 3, 40, 400][this.draw(4)]!);
    return { enter: join, pop: inside, leave: split, push: inside, gain: [1, 1] };
  }

  stream(depth: number): Part {
    const kind = depth <= 0 ? 0 : this.draw(8);
    if (kind < 3) return this.filter();
    if (kind < 5) return this.pipeline(depth);
    return kind < 7 ? this.splitJoin(depth) : this.feedbackLoop();
  }
}

const lowest = (over: number, under: number): [number, number] => [over / gcd(over, under), under / gcd(over, under)];

/**
 * A random program: filters with rates 1 to 16, windows, state and prework in nested pipelines, split-joins and feedback loops, between a
 * source and a sink with state. It may have no schedule, or a large one.
 */
export function randomProgram(seed: number, depth = 3): SdfGraph {
  const builder = new StreamBuilder(drawsFrom(seed));
  const source = builder.draw(2) === 0;
  const made = builder.pipeline(depth);
  const { actors, channels } = builder;
  if (source) {
    const id = actors.length;
    actors.push({ id, name: 'source', stateful: true, moves: false }, { id: id + 1, name: 'sink', stateful: true, moves: false });
    builder.join({ from: id, to: made.enter, push: made.pop, pop: made.pop });
    builder.join({ from: made.leave, to: id + 1, push: made.push, pop: made.push });
  }
  return { actors, channels };
}
