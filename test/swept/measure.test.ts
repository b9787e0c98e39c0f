// swept.measure: sums and bounds of rows on every backend, bit for bit against the order written down in measure_part.h.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import type { Device } from '../../lib/core/device.ts';
import { ArgumentError } from '../../lib/core/errors.ts';
import type { Reports } from '../../lib/core/operations.gen.ts';
import { eachBackend, type BackendName } from '../support/backends.ts';
import { Random } from '../support/random.ts';
import type { LooseParameters } from '../support/valid-parameters.ts';

type Values = Float32Array | Float64Array;
type Part = [sum: number, absolutes: number, squares: number, least: number, most: number];

const figureNames = ['sum', 'trapezoid', 'absoluteSum', 'squareSum', 'least', 'most'] as const;
const chunkPoints = 8192;

const noPoints = (): Part => [0, 0, 0, Infinity, -Infinity];
function add(part: Part, x: number): void {
  part[0] += x;
  part[1] += Math.abs(x);
  part[2] += x * x;
  if (x < part[3]) part[3] = x;
  if (x > part[4]) part[4] = x;
}
function combined(a: Part, b: Part): Part {
  return [a[0] + b[0], a[1] + b[1], a[2] + b[2], b[3] < a[3] ? b[3] : a[3], b[4] > a[4] ? b[4] : a[4]];
}
function tree(lanes: Part[]): Part {
  for (const distance of [4, 2, 1, 8, 16, 32, 64, 128]) {
    for (let lane = 0; lane + distance < 256; lane += 1) lanes[lane] = combined(lanes[lane]!, lanes[lane + distance]!);
  }
  return lanes[0]!;
}
function chunkOf(row: Values, begin: number): Part {
  const lanes = Array.from({ length: 256 }, noPoints);
  for (let i = begin; i < Math.min(row.length, begin + chunkPoints); i += 1) add(lanes[((i - begin) >> 8) * 8 + (i & 7)]!, row[i]!);
  return tree(lanes);
}

/** The figures of one row, in the order of accumulation that every backend keeps. */
function ordered(row: Values): number[] {
  const chunks: Part[] = [];
  for (let begin = 0; begin < row.length; begin += chunkPoints) chunks.push(chunkOf(row, begin));
  const lanes = Array.from({ length: 256 }, noPoints);
  chunks.forEach((part, at) => { lanes[at % 256] = combined(lanes[at % 256]!, part); });
  const [sum, absolutes, squares, least, most] = tree(lanes);
  const bad = Number.isNaN(absolutes);
  return [sum, sum - 0.5 * (row[0]! + row.at(-1)!), absolutes, squares, bad ? NaN : least, bad ? NaN : most];
}

/** The same by definition, one value after the other. */
function plain(row: Values): number[] {
  const result = [0, 0, 0, 0, Infinity, -Infinity];
  row.forEach((x, i) => {
    const weight = 1 - (i === 0 ? 0.5 : 0) - (i === row.length - 1 ? 0.5 : 0);
    result[0]! += x;
    result[1]! += weight * x;
    result[2]! += Math.abs(x);
    result[3]! += x * x;
    result[4] = Math.min(result[4]!, x);
    result[5] = Math.max(result[5]!, x);
  });
  return result;
}

async function figuresOf(device: Device, state: Values, n: number, rows: number, offset = 0): Promise<Float64Array> {
  const { report } = await device.run('swept.measure', {
    type: state instanceof Float32Array ? 'float32' : 'float64', n, rows,
    state: { data: state, offset, extents: [rows, n] },
  } satisfies LooseParameters);
  return numbersOf(report);
}

/** The figures of all rows in the order of {@link figureNames}. */
function numbersOf({ rows }: Reports['swept.measure']): Float64Array {
  return Float64Array.from([...rows].flatMap((row) => figureNames.map((name) => row[name])));
}

function wave(type: 'float32' | 'float64', count: number, random: Random): Values {
  const values = type === 'float32' ? new Float32Array(count) : new Float64Array(count);
  for (let i = 0; i < count; i += 1) values[i] = Math.sin(i / 50) + 2 * random.next() - 1;
  return values;
}

async function compare(device: Device, state: Values, n: number, rows: number, offset = 0): Promise<void> {
  const figures = await figuresOf(device, state, n, rows, offset);
  for (let r = 0; r < rows; r += 1) {
    const row = state.subarray(offset + r * n, offset + (r + 1) * n);
    const wanted = ordered(row);
    wanted.forEach((value, k) => {
      ok(Object.is(figures[r * 6 + k], value), `n ${n}, row ${r}, ${figureNames[k]}: ${figures[r * 6 + k]}, expected ${value}`);
    });
  }
}

function testFigures(backend: BackendName, device: () => Promise<Device>): void {
  const sizes = [1, 2, 3, 5, 7, 8, 9, 31, 33, 255, 256, 257, 1023, 1024, 1025, 2049, 4097, 8191, 8192, 8193, 20_003];
  for (const type of ['float32', 'float64'] as const) {
    it(`rows of every size, ${type}`, async () => {
      const random = new Random(5);
      for (const n of sizes) {
        const rows = n < 2000 ? 5 : 2;
        await compare(await device(), wave(type, n * rows + 3, random), n, rows, 3);
      }
    });
  }

  it('many rows', async () => {
    await compare(await device(), wave('float64', 700 * 40, new Random(6)), 40, 700);
  });

  it('rows of more chunks than lanes', async function cases() {
    if (backend === 'simt') return void (await compare(await device(), wave('float32', 90_001, new Random(7)), 90_001, 1));
    this.timeout(120_000);
    await compare(await device(), wave('float32', 257 * chunkPoints + 77, new Random(7)), 257 * chunkPoints + 77, 1);
  });

  it('agrees with the definition', async () => {
    const random = new Random(8);
    for (const n of [1, 2, 100, 10_000]) {
      const state = wave('float64', n, random);
      const figures = await figuresOf(await device(), state, n, 1);
      plain(state).forEach((value, k) => {
        ok(Math.abs(figures[k]! - value) <= 1e-14 * figures[2]! + (k === 3 ? 1e-14 * value : 0), `n ${n}, ${figureNames[k]}`);
      });
    }
  });

  testValuesAndArguments(device);
}

function testValuesAndArguments(device: () => Promise<Device>): void {
  it('NaN reaches all figures of its row only; infinities reach the bounds', async () => {
    const n = 9000;
    for (const at of [0, 1, 4000, 8192, n - 1]) {
      const state = wave('float64', 3 * n, new Random(9));
      state[n + at] = NaN;
      const figures = await figuresOf(await device(), state, n, 3);
      for (let k = 0; k < 6; k += 1) {
        strictEqual(Number.isNaN(figures[6 + k]), true, `${figureNames[k]} with NaN at ${at}`);
        ok(Number.isFinite(figures[k]) && Number.isFinite(figures[12 + k]), `${figureNames[k]} of the other rows`);
      }
    }
    const figures = await figuresOf(await device(), Float64Array.of(1, -Infinity, 2, Infinity, 3), 5, 1);
    deepStrictEqual([...figures], [NaN, NaN, Infinity, Infinity, -Infinity, Infinity]);
  });

  it('no rows; device arrays', async () => {
    strictEqual((await figuresOf(await device(), new Float64Array(0), 4, 0)).length, 0);
    const state = wave('float64', 60, new Random(10));
    using kept = await (await device()).array(state);
    const { report } = await (await device()).run('swept.measure', {
      type: 'float64', n: 30, rows: 2, state: { data: kept },
    });
    deepStrictEqual(numbersOf(report), await figuresOf(await device(), state, 30, 2));
  });

  it('refuses what does not fit', async () => {
    const refused = async (n: number, rows: number, elements: number, argument: string) => {
      const state = { data: new Float64Array(elements) };
      const call = (await device()).run('swept.measure', { type: 'float64', n, rows, state });
      await rejects(call, (error) => error instanceof ArgumentError && error.argument === argument);
    };
    await refused(0, 1, 4, 'n');
    await refused(4, -1, 4, 'rows');
    await refused(4, 2, 7, 'state');
  });
}

describe('swept.measure', () => eachBackend(testFigures, { cases: 8 }));
