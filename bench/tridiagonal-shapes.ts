// Everyday shapes and layouts of tridiagonal.solve, off the sizes that kernels are made for.
//
//   shape/<name>/<float32|float64>/<auto|another way to solve it>
//
// A row's limit is the least time of the bytes that its problem makes necessary: of shared or constant bands next to none.
// The other ways are what `auto` was chosen over, so that one run decides.
import { type Device, type DeviceArray, resultArray } from '../lib/core/device.ts';
import type { Reports } from '../lib/core/operations.gen.ts';
import { factorBytes, usualFactorisation, type Factorisation } from '../lib/tridiagonal/plan.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import { copyFloor, streamFloor } from './floor.ts';
import type { ParameterSet } from './native.ts';
import type { Row } from './report.ts';
import { summarise } from './statistics.ts';
import { bytesOf, precisions, randomBands, type HostBands, type Precision } from './systems.ts';
import { time, type Timing } from './timing.ts';

type Place = 'contiguous' | 'interleaved' | 'ragged';
type Ways = Readonly<Record<string, ParameterSet>>;

/** One problem. Of ragged ones `n` is the longest, and systems have half of it and more. */
export interface EverydayShape {
  readonly name: string;
  readonly systems: number;
  readonly n: number;
  readonly place?: Place;
  /** Default: every system has its own. */
  readonly bands?: 'shared' | 'constant';
  readonly rhsCount?: number;
  /** Positive definite rows: `upper` from `lower`. */
  readonly definite?: boolean;
  readonly options?: ParameterSet;
  /** Ways to solve it beside `auto`. */
  readonly ways?: Ways;
  /** Solved by what a plan keeps. */
  readonly planned?: boolean;
}

const byDepth = (...depths: readonly number[]): Ways =>
  Object.fromEntries(depths.map((depth) => [`depth-${depth}`, { algorithm: 'cr-regpack', depth }]));
/** What a plan may keep, beside what it keeps by itself. */
const keeping = (...kinds: readonly Factorisation[]): Ways =>
  Object.fromEntries(kinds.map((factorisation) => [factorisation, { factorisation }]));
const across: Ways = { thomas: { algorithm: 'thomas' }, partition: { algorithm: 'partition' }, 'cr-regpack': { algorithm: 'cr-regpack' } };
const apart: Ways = { 'cr-regpack': { algorithm: 'cr-regpack' } };

export const everydayShapes: readonly EverydayShape[] = [
  // A little off a power of two.
  ...([[65536, 500], [65536, 501], [65536, 511], [65536, 513], [20000, 1025], [1_000_000, 63], [1_000_000, 65], [100_000, 100],
    [8192, 4097]] as const).map(([systems, n]) => ({ name: `${systems}x${n}`, systems, n, ways: byDepth(16, 9, 13, 17) })),
  ...([[65536, 600], [20000, 1000]] as const)
    .map(([systems, n]) => ({ name: `${systems}x${n}`, systems, n, ways: byDepth(8, 16, 9, 13, 17) })),
  // What users ask for beside a solution.
  ...[512, 513, 1000].map((n) => ({
    name: `65536x${n}-check`, systems: 65536, n, options: { check: true },
    ways: byDepth(4, 8),
  })),
  { name: '1000000x64-check', systems: 1_000_000, n: 64, options: { check: true } },
  { name: '65536x512-stable', systems: 65536, n: 512, options: { stable: true } },
  { name: '65536x512-periodic', systems: 65536, n: 512, options: { periodic: true }, ways: apart },
  { name: '65536x512-transposed', systems: 65536, n: 512, options: { transpose: 'transpose' } },
  { name: '65536x512-definite', systems: 65536, n: 512, definite: true },
  // One matrix for much.
  { name: '65536x512-constant', systems: 65536, n: 512, bands: 'constant', ways: byDepth(8, 17) },
  { name: '65536x512-shared', systems: 65536, n: 512, bands: 'shared', ways: byDepth(8, 17) },
  { name: '1024x512-sides-64', systems: 1024, n: 512, rhsCount: 64, ways: byDepth(8, 17) },
  { name: '500000x64-shared', systems: 500_000, n: 64, bands: 'shared', ways: byDepth(8, 17) },
  { name: '65536x512-planned', systems: 65536, n: 512, planned: true, ways: keeping('regpack', 'pivoted') },
  { name: '65536x512-planned-shared', systems: 65536, n: 512, bands: 'shared', planned: true, ways: keeping('regpack') },
  { name: '65536x512-planned-definite', systems: 65536, n: 512, planned: true, definite: true, ways: keeping('cholesky') },
  { name: '65536x512-planned-periodic', systems: 65536, n: 512, planned: true, options: { periodic: true }, ways: keeping('none') },
  {
    name: '65536x512-planned-interleaved', systems: 65536, n: 512, planned: true, place: 'interleaved', ways: keeping('regpack'),
  },
  { name: '65536x512-planned-ragged', systems: 65536, n: 512, planned: true, place: 'ragged', ways: keeping('none') },
  { name: 'adi-rows-4096', systems: 4096, n: 4096, bands: 'shared', ways: byDepth(16) },
  { name: 'adi-rows-1024', systems: 16384, n: 1024, bands: 'shared', ways: byDepth(16) },
  { name: 'adi-columns-4096', systems: 4096, n: 4096, bands: 'shared', place: 'interleaved', ways: across },
  // Other places of rows.
  { name: '65536x512-interleaved', systems: 65536, n: 512, place: 'interleaved', ways: across },
  { name: '1000000x64-interleaved', systems: 1_000_000, n: 64, place: 'interleaved', ways: across },
  { name: '8192x2048-interleaved', systems: 8192, n: 2048, place: 'interleaved', ways: across },
  { name: '65536x512-ragged', systems: 65536, n: 512, place: 'ragged' },
  // Large systems.
  ...([[4096, 8192], [512, 32768], [100, 300_000], [32, 2 ** 19], [5, 2 ** 20], [1, 2 ** 21], [1, 2 ** 24]] as const)
    .map(([systems, n]) => ({ name: `${systems}x${n}`, systems, n })),
];
const quickShapes: readonly EverydayShape[] = [
  { name: '8x65', systems: 8, n: 65, ways: byDepth(9, 13, 17) }, { name: '8x40-check', systems: 8, n: 40, options: { check: true } },
  { name: '8x40-periodic', systems: 8, n: 40, options: { periodic: true }, ways: apart },
  { name: '4x20-sides-3', systems: 4, n: 20, rhsCount: 3 }, { name: '6x20-constant', systems: 6, n: 20, bands: 'constant' },
  { name: '40x30-interleaved', systems: 40, n: 30, place: 'interleaved', bands: 'shared', ways: across },
  { name: '5x16-ragged', systems: 5, n: 16, place: 'ragged' },
  { name: '6x20-planned', systems: 6, n: 20, planned: true, ways: keeping('regpack', 'pivoted') },
  { name: '6x20-planned-shared', systems: 6, n: 20, bands: 'shared', planned: true, ways: keeping('regpack') },
  { name: '6x20-planned-periodic', systems: 6, n: 20, planned: true, options: { periodic: true }, ways: keeping('none') },
  { name: '5x16-planned-ragged', systems: 5, n: 16, planned: true, place: 'ragged', ways: keeping('none') },
  { name: '6x20-definite', systems: 6, n: 20, definite: true },
  { name: '6x20-transposed', systems: 6, n: 20, options: { transpose: 'transpose' } },
];

/** Rows of each system of a ragged batch: half of n to n, in no order. */
const raggedRows = ({ systems, n }: EverydayShape): number[] =>
  Array.from({ length: systems }, (_, s) => n / 2 + ((s * 7919) % (n / 2 + 1)));

type Name = 'lower' | 'diagonal' | 'upper' | 'rhs' | 'solution';

/** The arrays of a shape on the device, and the parameters of a solve. */
class EverydaySystems implements Disposable {
  readonly shape: EverydayShape;
  readonly precision: Precision;
  readonly host: HostBands;
  readonly #sizes: readonly number[];
  readonly #arrays = new Map<string, DeviceArray>();

  constructor(shape: EverydayShape, precision: Precision) {
    this.shape = shape;
    this.precision = precision;
    this.#sizes = shape.place === 'ragged' ? raggedRows(shape) : [];
    this.host = randomBands(precision, this.rows * (shape.rhsCount ?? 1), 1);
    if (shape.definite === true) this.host.diagonal.fill(2.5);
  }

  /** Rows of all systems. */
  get rows(): number {
    const { systems, n } = this.shape;
    return this.#sizes.length > 0 ? this.#sizes.reduce((sum, size) => sum + size, 0) : systems * n;
  }
  array(name: Name | 'status' | 'row' | 'errors'): DeviceArray {
    return this.#arrays.get(name)!;
  }

  async upload(device: Device): Promise<void> {
    const { systems, n, bands, rhsCount = 1 } = this.shape;
    const kept = bands === 'constant' ? 1 : bands === 'shared' ? n : this.rows;
    for (const name of ['lower', 'diagonal', 'upper'] as const) {
      this.#arrays.set(name, await device.array(this.host[name].subarray(0, kept)));
    }
    this.#arrays.set('rhs', await device.array(this.host.rhs));
    this.#arrays.set('solution', await device.array(this.host.rhs));
    const problems = systems * rhsCount;
    for (const name of ['status', 'row'] as const) this.#arrays.set(name, await device.array(new Int32Array(problems)));
    this.#arrays.set('errors', await device.array(new Float64Array(problems)));
  }

  /** Offsets of a ragged batch, in host memory, where calls expect them. */
  get offsets(): BigInt64Array {
    let at = 0n;
    return BigInt64Array.from([0n, ...this.#sizes.map((size) => { at += BigInt(size); return at; })]);
  }

  view(name: Name): object {
    const { systems, n, bands, place, rhsCount = 1 } = this.shape;
    const data = this.array(name);
    const isBand = name !== 'rhs' && name !== 'solution';
    if (place === 'ragged') return { data, extents: isBand ? [this.rows] : [rhsCount, this.rows] };
    const extents = isBand ? [systems, n] : [systems, rhsCount, n];
    if (isBand && bands === 'constant') return { data, extents, strides: [0, 0] };
    if (isBand && bands === 'shared') return { data, extents, strides: [0, 1] };
    if (place === 'interleaved') return { data, extents, strides: isBand ? [1, systems] : [1, 0, systems] };
    return { data, extents };
  }

  get matrix(): ParameterSet {
    const { systems, n, place, definite } = this.shape;
    return {
      type: this.precision, n, batch: systems, lower: this.view('lower'), diagonal: this.view('diagonal'),
      ...(definite === true ? { structure: 'positive-definite' } : { upper: this.view('upper') }),
      ...(place === 'ragged' ? { offsets: this.offsets } : {}),
    };
  }
  /** Parameters of `tridiagonal.solve`. */
  solve(way: ParameterSet): ParameterSet {
    const { rhsCount = 1, options = {} } = this.shape;
    return {
      ...this.matrix, rhsCount, rhs: this.view('rhs'), solution: this.view('solution'),
      status: this.array('status'), row: this.array('row'),
      ...options, ...way, ...(options['check'] === true ? { backwardError: this.array('errors') } : {}),
    };
  }

  /** Row i of op(A) of a system: lower, diagonal and upper entry, zero where there is none but for a periodic corner. */
  entries(system: number, i: number): readonly [number, number, number] {
    const { n, bands, place, systems, definite, options = {} } = this.shape;
    const rows = this.#sizes[system] ?? n;
    const first = this.#sizes.slice(0, system).reduce((sum, size) => sum + size, 0);
    const at = (row: number): number => {
      if (bands === 'constant') return 0;
      if (bands === 'shared') return row;
      return place === 'interleaved' ? row * systems + system : (place === 'ragged' ? first : system * n) + row;
    };
    const { lower, diagonal, upper } = this.host;
    const ends = options['periodic'] === true;
    const isTransposed = options['transpose'] === 'transpose';
    const left = i > 0 ? (isTransposed ? upper[at(i - 1)]! : lower[at(i)]!) : ends ? lower[at(0)]! : 0;
    const outer = definite === true || isTransposed ? lower[at(i + 1)]! : upper[at(i)]!;
    const right = i + 1 < rows ? outer : ends ? upper[at(i)]! : 0;
    return [left, diagonal[at(i)]!, right];
  }

  /** Worst componentwise backward error of `count` problems; throws on a bad status word. */
  async spotCheck(count = 8): Promise<number> {
    const { systems, n, rhsCount = 1, place } = this.shape;
    const x = await this.array('solution').read() as Float64Array;
    const status = await this.array('status').read() as Int32Array;
    const bad = status.findIndex((word) => (word & 0xff) !== 0);
    if (bad >= 0) throw new Error(`${this.shape.name}: problem ${bad} ended with status ${status[bad]}`);
    let worst = 0;
    for (let k = 0; k < count; k += 1) {
      const problem = Math.floor((k * (systems * rhsCount - 1)) / Math.max(count - 1, 1));
      const system = Math.floor(problem / rhsCount), rows = this.#sizes[system] ?? n;
      const first = place === 'ragged' ? this.#sizes.slice(0, system).reduce((sum, size) => sum + size, 0) : problem * n;
      const at = (row: number): number => (place === 'interleaved' ? row * systems + system : first + row);
      for (let i = 0; i < rows; i += 1) {
        const [left, middle, right] = this.entries(system, i);
        const terms = [left * x[at((i + rows - 1) % rows)]!, middle * x[at(i)]!, right * x[at((i + 1) % rows)]!, -this.host.rhs[at(i)]!];
        const size = terms.reduce((sum, term) => sum + Math.abs(term), 0);
        const error = Math.abs(terms.reduce((sum, term) => sum + term, 0)) / (size || 1);
        if (!(error <= worst)) worst = Number.isNaN(error) ? Infinity : error;
      }
    }
    return worst;
  }

  [Symbol.dispose](): void {
    for (const array of this.#arrays.values()) array[Symbol.dispose]();
  }
}

/** Arrays of the right-hand sides' size that a solve reads and writes at least. */
function leastArrays({ bands, definite, rhsCount = 1 }: EverydayShape): number {
  return bands !== undefined ? 2 : 2 + (definite === true ? 2 : 3) / rhsCount;
}

/** Least seconds of a shape's bytes: measured as a stream of right-hand sides and solution, more arrays in proportion. */
async function floorOf(context: BenchContext, systems: EverydaySystems): Promise<Timing> {
  const { shape, precision } = systems;
  const arrays = leastArrays(shape);
  if (context.device.backend !== 'cuda') {
    return await copyFloor(context.device, arrays * systems.host.rhs.length * bytesOf(precision));
  }
  const to = systems.array('solution');
  if (arrays === 5) {
    const from = (['lower', 'diagonal', 'upper', 'rhs'] as const).map((name) => systems.array(name));
    return await streamFloor(context.device, precision, [{ from, to }]);
  }
  const two = await streamFloor(context.device, precision, [{ from: [systems.array('rhs')], to }]);
  return { ...two, seconds: two.seconds * arrays / 2 };
}

/** A solve as a plan that keeps `factorisation` makes it, and the factors. */
async function planned(
  device: Device, systems: EverydaySystems, factorisation: Factorisation,
): Promise<{ operation: string; set: ParameterSet; factors?: DeviceArray }> {
  if (factorisation === 'none') return { operation: 'tridiagonal.solve', set: systems.solve({}) };
  const { shape: { n, bands, options }, precision } = systems;
  const { systems: all } = systems.shape;
  const shared = bands === 'shared', batch = shared ? 1 : all, periodic = options?.['periodic'] === true;
  const factors = resultArray(device, 'uint8', factorBytes(precision, n, batch, periodic, factorisation), true);
  using status = await device.array(new Int32Array(batch));
  using row = await device.array(new Int32Array(batch));
  const { matrix } = systems;
  const one = Object.fromEntries((shared ? ['lower', 'diagonal', 'upper'] : []).filter((name) => matrix[name] !== undefined)
    .map((name) => [name, { ...(matrix[name] as object), extents: [1, n] }]));
  await device.run('tridiagonal.factor', { ...matrix, ...one, batch, periodic, factorisation, factors, status, row });
  const { offsets } = matrix;
  const set = {
    type: precision, n, batch: all, rhsCount: 1, periodic, factorisation, shared, factors, ...(offsets === undefined ? {} : { offsets }),
    rhs: systems.view('rhs'), solution: systems.view('solution'), status: systems.array('status'), row: systems.array('row'),
  };
  return { operation: 'tridiagonal.solve_factored', set, factors };
}

/** What a plan of the shape keeps by itself. */
function usuallyKept(device: Device, { place, definite, options }: EverydayShape): Factorisation {
  return usualFactorisation(device, {
    structure: definite === true ? 'positive-definite' : 'general', stable: false,
    periodic: options?.['periodic'] === true, ragged: place === 'ragged',
  });
}

/** Times a call that is not packed ahead, as ragged ones are, by the device's own clock. */
async function timeCalls(device: Device, operation: string, parameters: ParameterSet): Promise<Timing> {
  const seconds: number[] = [];
  let report: Timing['report'] = {};
  for (let turn = 0; turn < 16; turn += 1) {
    const run = await device.run(operation, parameters);
    report = run.report;
    if (turn > 0) seconds.push(run.deviceSeconds);
  }
  const { median, spread } = summarise(seconds);
  return { seconds: median, spread, report };
}

async function benchmarkShape(context: BenchContext, shape: EverydayShape, precision: Precision): Promise<void> {
  const prefix = `shape/${shape.name}/${precision}`;
  const ways = Object.entries({ auto: {}, ...shape.ways }).filter(([way]) => context.wanted(`${prefix}/${way}`));
  if (ways.length === 0) return;
  using systems = new EverydaySystems(shape, precision);
  await systems.upload(context.device);
  const floor = await floorOf(context, systems);
  for (const [way, method] of ways) {
    const id = `${prefix}/${way}`;
    try {
      context.emit(await row(context, systems, id, method, floor));
    } catch (error) {
      if (!isUnsupported(error)) throw error;
      context.say(`${id}: ${error.message}`);
    }
  }
}

async function row(context: BenchContext, systems: EverydaySystems, id: string, method: ParameterSet, floor: Timing): Promise<Row> {
  const { device } = context;
  const { shape, precision } = systems;
  const kept = shape.planned === true
    ? await planned(device, systems, method['factorisation'] as Factorisation | undefined ?? usuallyKept(device, shape)) : undefined;
  try {
    const { operation, set } = kept ?? { operation: 'tridiagonal.solve', set: systems.solve(method) };
    const timing = shape.place === 'ragged' ? await timeCalls(device, operation, set)
      : await time(device, systems.array('solution'), operation, [set]);
    const error = await systems.spotCheck();
    if (error > (precision === 'float32' ? 1e-3 : 1e-11)) throw new Error(`${id}: backward error ${error}`);
    const { algorithm, depth, threads, launches } = timing.report as Reports['tridiagonal.solve'];
    return {
      id, value: timing.seconds, unit: 's', limit: floor.seconds, fraction: floor.seconds / timing.seconds,
      peers: { copy: floor.seconds }, spread: timing.spread,
      note: operation === 'tridiagonal.solve'
        ? `${algorithm}, depth ${depth}, ${threads} threads, ${launches} launches` : `${set['factorisation']} factors`,
    };
  } finally {
    kept?.factors?.dispose();
  }
}

/** All rows of the everyday shapes. */
export async function benchmarkShapes(context: BenchContext): Promise<void> {
  for (const shape of context.quick ? quickShapes : everydayShapes) {
    for (const precision of precisions) await benchmarkShape(context, shape, precision);
  }
}
