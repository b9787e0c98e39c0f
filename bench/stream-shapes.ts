// Synthetic graphs with the shapes of the twelve benchmark programs: node counts, split-joins, windows and rates after the table of
// the programs' structure, times made up from a seeded generator. They stand in for the programs where only scheduling is measured.
import type { CostTable, TaskProblem } from '../lib/stream/partition/index.ts';
import { steadyState, type SteadyState } from '../lib/stream/schedule/index.ts';
import type { SdfActor, SdfChannel, SdfGraph } from '../lib/stream/sdf.ts';

/** A stream to build: a filter, a chain, or branches between a splitter and a joiner. */
type Shape =
  | { readonly kind: 'filter'; readonly pop: number; readonly push: number; readonly work: number; readonly peek: number;
    readonly stateful: boolean }
  | { readonly kind: 'chain'; readonly parts: readonly Shape[] }
  | { readonly kind: 'branches'; readonly duplicates: boolean; readonly split: readonly number[]; readonly join: readonly number[];
    readonly parts: readonly Shape[] };

const filter = (pop: number, push: number, work: number, peek = pop, stateful = false): Shape =>
  ({ kind: 'filter', pop, push, work, peek, stateful });
const chain = (...parts: Shape[]): Shape => ({ kind: 'chain', parts });
const repeat = (count: number, make: (at: number) => Shape): Shape[] => Array.from({ length: count }, (_, at) => make(at));
/** Branches with equal weights on both ends. */
const branches = (parts: Shape[], split: number, join: number, duplicates = false): Shape =>
  ({ kind: 'branches', duplicates, split: parts.map(() => split), join: parts.map(() => join), parts });

interface End { readonly actor: number; readonly rate: number }

class Builder {
  readonly actors: SdfActor[] = [];
  readonly channels: SdfChannel[] = [];
  readonly work: number[] = [];

  private actor(name: string, work: number, stateful: boolean, moves: boolean): number {
    const id = this.actors.length;
    this.actors.push({ id, name: `${name}${id}`, stateful, moves });
    this.work.push(work);
    return id;
  }

  private join(from: End | undefined, to: number, pop: number, peek = pop): void {
    if (!from || pop === 0) return;
    this.channels.push({ id: this.channels.length, from: from.actor, to, push: from.rate, pop, peek, tokens: 0, bytesPerItem: 4 });
  }

  add(shape: Shape, input: End | undefined): End | undefined {
    if (shape.kind === 'chain') return shape.parts.reduce<End | undefined>((end, part) => this.add(part, end), input);
    if (shape.kind === 'filter') {
      const actor = this.actor('filter', shape.work, shape.stateful, false);
      this.join(input, actor, shape.pop, shape.peek);
      return { actor, rate: shape.push };
    }
    const taken = shape.duplicates ? 1 : shape.split.reduce((sum, weight) => sum + weight, 0);
    const splitter = this.actor('split', taken, false, true);
    this.join(input, splitter, taken);
    const ends = shape.parts.map((part, at) => this.add(part, { actor: splitter, rate: shape.duplicates ? 1 : shape.split[at]! }));
    const given = shape.join.reduce((sum, weight) => sum + weight, 0);
    const joiner = this.actor('join', given, false, true);
    ends.forEach((end, at) => this.join(end, joiner, shape.join[at]!));
    return { actor: joiner, rate: given };
  }
}

const compare = (): Shape => filter(2, 2, 4);
const comparers = (count: number): Shape => branches(repeat(count, compare), 2, 2);

function bitonic(): Shape {
  const nested = (parts: Shape[]): Shape => branches(parts, 4, 4);
  return chain(filter(0, 8, 8), nested(repeat(2, () => comparers(2))), nested(repeat(2, () => comparers(2))),
    nested([comparers(2), chain(compare(), compare())]), comparers(4), comparers(4), comparers(4), filter(8, 0, 8));
}

function bitonicRec(): Shape {
  const one = (part: Shape, items: number): Shape => branches([part], items, items);
  const half = (): Shape => chain(comparers(2), one(comparers(2), 4), one(filter(1, 1, 1), 4));
  const phase = (): Shape => branches(repeat(2, half), 4, 4);
  return chain(filter(0, 8, 8), phase(), phase(), chain(...repeat(5, () => one(filter(1, 1, 1), 8))),
    one(comparers(4), 8), one(comparers(4), 8), one(filter(1, 1, 1), 8), filter(8, 0, 8));
}

function vocoder(): Shape {
  const band = (): Shape => chain(filter(1, 1, 130, 64), filter(1, 1, 130, 64), filter(50, 1, 60));
  const pitch = chain(filter(1, 1, 60, 20), filter(50, 1, 5000, 100));
  return chain(filter(0, 1, 2, 0, true), filter(1, 1, 30), { kind: 'branches', duplicates: true, split: [1, 1], join: [1, 16],
    parts: [pitch, branches(repeat(16, band), 1, 1, true)] }, filter(17, 0, 20));
}

const dct = (): Shape => {
  const side = (): Shape => branches(repeat(16, () => filter(8, 8, 64)), 8, 8);
  return chain(filter(0, 64, 64), filter(64, 64, 128), side(), side(), filter(64, 64, 128), filter(64, 0, 64));
};

function des(): Shape {
  const sboxes = branches(repeat(4, () => filter(6, 4, 40)), 6, 4);
  const round = (): Shape => chain(
    branches([chain(filter(32, 48, 90), filter(48, 24, 50), sboxes, filter(16, 32, 60)), filter(32, 32, 32)], 32, 32));
  return chain(filter(0, 64, 64), filter(64, 64, 64), ...repeat(4, round), filter(64, 64, 64), filter(64, 64, 64), filter(64, 0, 64));
}

function fftCoarse(): Shape {
  const half = (): Shape => chain(...repeat(5, (at) => filter(128, 128, 128 + at)),
    ...repeat(6, (at) => filter(4 << at, 4 << at, 10 * (4 << at))));
  return chain(filter(0, 256, 256), branches([half(), half()], 128, 128), filter(256, 0, 256));
}

function fftFine(): Shape {
  const fly = (): Shape => filter(4, 4, 12);
  const pairs = (count: number): Shape => branches(repeat(count, fly), 4, 4);
  const stage = (): Shape => branches(repeat(2, () => pairs(8)), 32, 32);
  return chain(filter(0, 64, 64), stage(), stage(), stage(), stage(), branches([pairs(3), pairs(3), pairs(2)], 16, 16), pairs(8),
    branches([pairs(1)], 4, 4),
    filter(64, 0, 64));
}

function filterbank(): Shape {
  const branch = (): Shape => chain(filter(1, 1, 60, 32), filter(8, 1, 8), filter(1, 1, 10), filter(1, 8, 8),
    filter(1, 1, 60, 32), filter(1, 1, 4));
  return chain(filter(0, 1, 4), branches(repeat(8, branch), 1, 1, true), filter(8, 1, 16), filter(1, 0, 2));
}

function radio(): Shape {
  const lowPass = (): Shape => filter(1, 1, 130, 64);
  const band = (): Shape => chain(branches([lowPass(), lowPass()], 1, 1, true), filter(2, 1, 4), filter(1, 1, 3));
  return chain(filter(0, 1, 2), filter(5, 1, 130, 64), filter(1, 1, 40, 2), branches(repeat(10, band), 1, 1, true),
    filter(10, 1, 20), filter(1, 0, 2));
}

function matrix(): Shape {
  const multiply = (): Shape => chain(filter(18, 9, 90), filter(9, 9, 12));
  const reorder = (items: number): Shape => branches(repeat(2, () => filter(items, items, items)), items, items);
  return chain(filter(0, 72, 72), branches([reorder(18), reorder(18)], 36, 36), branches(repeat(4, multiply), 18, 9), reorder(18),
    branches(repeat(3, () => filter(3, 3, 9)), 3, 3), filter(9, 9, 9), branches(repeat(3, () => filter(3, 3, 9)), 3, 3),
    filter(9, 9, 20), ...repeat(5, () => filter(9, 9, 9)), filter(9, 0, 9));
}

function mpeg(): Shape {
  const idct = chain(filter(64, 64, 64), filter(64, 64, 130), branches(repeat(8, () => filter(8, 8, 90)), 8, 8),
    branches(repeat(8, () => filter(8, 8, 90)), 8, 8),
    filter(64, 64, 64));
  const motion = chain(filter(1, 1, 30, 1, true), filter(1, 1, 10));
  const predict = (): Shape => branches([filter(64, 64, 300), filter(64, 64, 80)], 64, 64);
  return chain(filter(0, 67, 67), { kind: 'branches', duplicates: false, split: [64, 3], join: [64, 3], parts: [idct, motion] },
    filter(67, 128, 200), predict(), predict(), filter(128, 128, 64), filter(128, 0, 128));
}

const tde = (): Shape => chain(filter(0, 1080, 500), ...repeat(27, (at) => {
  const items = at % 3 === 0 ? 1080 : 36 << at % 4;
  return filter(items, items, (at % 3 === 0 ? 2000 : items) * (1 + at % 5));
}), filter(1080, 0, 500));

const kShapes: Readonly<Record<string, () => Shape>> = {
  Bitonic: bitonic, BitonicRec: bitonicRec, ChannelVocoder: vocoder, DCT: dct, DES: des, 'FFT-coarse': fftCoarse, 'FFT-fine': fftFine,
  Filterbank: filterbank, FMRadio: radio, MatrixMult: matrix, MPEG2Subset: mpeg, TDE: tde,
};

/** A synthetic program: its graph and arithmetic per firing in operations. */
export interface SyntheticProgram {
  readonly name: string;
  readonly graph: SdfGraph;
  readonly work: readonly number[];
  readonly steady: SteadyState;
}

/** All twelve shapes. */
export function syntheticPrograms(): SyntheticProgram[] {
  return Object.entries(kShapes).map(([name, shape]) => {
    const builder = new Builder();
    builder.add(shape(), undefined);
    const graph = { actors: builder.actors, channels: builder.channels };
    return { name, graph, work: builder.work, steady: steadyState(graph) };
  });
}

/** Uniform numbers in [0, 1) from a seed (a linear congruential generator modulo 2^32). */
function uniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
}

/**
 * Made-up times: a core takes about 1 ns an operation and item; a multiprocessor 3 times that for the same (the thesis's machines:
 * 16 of them gave about 5 times one core), spread by a factor of 4 either way by filter; transfers at 3 GB/s, shuffles at 4 GB/s.
 */
export function syntheticCosts({ graph, work, steady }: SyntheticProgram, seed: number): CostTable {
  const random = uniform(seed);
  const items = graph.actors.map(({ id }) => graph.channels.reduce((sum, { from, to, push, pop }) =>
    sum + (from === id ? push : 0) + (to === id ? pop : 0), 0));
  const cpu = graph.actors.map(({ id }) => 1e-3 * (work[id]! + items[id]!) * (0.7 + 0.6 * random()));
  const gpu = graph.actors.map(({ id, moves, stateful }) =>
    stateful ? Infinity : cpu[id]! * 3 * 4 ** (moves ? 0.5 * random() : 2 * random() - 1));
  const bytes = graph.channels.map(({ from, push, bytesPerItem }) => steady.repetitions[from]! * push * bytesPerItem);
  const time = (bytesPerMicrosecond: number): number[] => bytes.map((count) => count / bytesPerMicrosecond);
  return { cpu, gpu, toCpu: time(3000), toGpu: time(3000), shuffle: time(4000), deshuffle: time(4000) };
}

/** The partitioning problem of a synthetic program on the thesis's machine: 4 cores, 16 multiprocessors. */
export function syntheticTask(program: SyntheticProgram, seed: number): TaskProblem {
  const { graph, steady } = program;
  return { graph, repetitions: steady.repetitions, costs: syntheticCosts(program, seed), cores: 4, multiprocessors: 16 };
}
