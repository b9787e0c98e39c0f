// fma: against integers of any size, in JavaScript, WebAssembly, the interpreter and C++, with arguments that are hard to round.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kernel, stencil } from '../../lib/index.ts';
import { Machine } from '../../lib/kernel/interpret.ts';
import { mathOf, mathProgram } from '../../lib/kernel/math/run.ts';
import { arithmeticHeader } from '../../lib/kernel/print/c-family.ts';
import { command, inFolder } from './c-run.ts';
import { exactOf } from './precise.ts';
import { generator } from './random.ts';

const { fma } = kernel;
type Three = readonly [x: number, y: number, z: number];
interface Format { readonly bits: number; readonly least: number; readonly most: number }
const double: Format = { bits: 53, least: -1074, most: 1024 };
const single: Format = { bits: 24, least: -149, most: 128 };

/** integer * 2^exponent, rounded once, halves to even. */
function rounded(integer: bigint, exponent: number, { bits, least, most }: Format): number {
  const size = integer < 0n ? -integer : integer;
  const place = Math.max(exponent + size.toString(2).length - bits, least);
  const drop = BigInt(Math.max(place - exponent, 0));
  let [kept, at] = [size >> drop, Math.max(place, exponent)];
  const rest = size - (kept << drop);
  const half = drop === 0n ? 1n : 1n << (drop - 1n);
  if (drop > 0n && (rest > half || (rest === half && (kept & 1n) === 1n))) kept += 1n;
  while (kept !== 0n && (kept & 1n) === 0n) [kept, at] = [kept >> 1n, at + 1];
  const value = at + kept.toString(2).length > most ? Infinity : Number(kept) * 2 ** Math.max(at, -1000) * 2 ** Math.min(at + 1000, 0);
  return integer < 0n ? -value : value;
}

function wanted([x, y, z]: Three, format: Format): number {
  if (![x, y, z].every(Number.isFinite)) return Number.isFinite(x) && Number.isFinite(y) ? z : x * y + z;
  const [a, b, c] = [exactOf(x), exactOf(y), exactOf(z)];
  const exponent = Math.min(a.exponent + b.exponent, c.exponent);
  const sum = ((a.integer * b.integer) << BigInt(a.exponent + b.exponent - exponent)) + (c.integer << BigInt(c.exponent - exponent));
  if (sum !== 0n) return rounded(sum, exponent, format);
  return a.integer === 0n || b.integer === 0n ? x * y + z : 0; // the sign of zeros, and of what cancels
}

const { MAX_VALUE, MIN_VALUE } = Number;
const special = [0, 1, 1.5, 3, 1 + 2 ** -52, 1 - 2 ** -53, 2 ** 53, 2 ** -1022, MIN_VALUE, 3 * MIN_VALUE, 2 ** -1022 - MIN_VALUE, 2 ** -537,
  2 ** 511, 2 ** 512, 2 ** 1023, MAX_VALUE, 2 ** 970, 2 ** -450, 2 ** 480, 2 ** 1000, Infinity, NaN].flatMap((x) => [x, -x]);

/** All of the special ones, and random ones whose sum is beside, or half way between, two numbers of the format. */
function argumentsFor(count: number, { bits, least, most }: Format): Three[] {
  const random = generator(5);
  const round = bits === 53 ? (x: number) => x : Math.fround;
  const of = (low: number, high: number): number => round((random() < 0.5 ? -1 : 1) * (1 + random()) * 2 ** Math.floor(low + (high - low) * random()));
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const short = (): number => (1 + Math.floor(random() * 2 ** (bits / 2)) * 2 ** -Math.ceil(bits / 2)) * pick([1, -1]);
  const makers: readonly (() => Three)[] = [
    () => [of(least, most), of(least, most), of(least, most)],
    () => [of(-5, 5), of(-5, 5), of(-70, 70)],
    () => { // cancels all but the error of the product
      const [x, y] = [of(-8, 8), of(-8, 8)];
      return [x, y, round(-x * y * (1 + pick([0, 1, -1, 2]) * 2 ** -bits))];
    },
    () => { // subnormal or zero results
      const [x, e] = [of(0, 1), Math.floor(random() * 60)];
      return [x, of(least + e, least + e + 1), pick([0, -0, of(least, least + 60)])];
    },
    () => [of(most / 2 - 2, most / 2), of(most / 2 - 1, most / 2), pick([1, -1]) * of(most - bits - 4, most - 1)], // beside infinity
    () => [short(), short(), pick([1, -1]) * 2 ** Math.floor(random() * 4 * bits - 2 * bits)], // halves
    () => [1 + 2 ** (1 - bits), pick([1, -1]) * (1 - 2 ** -bits), pick([1, -1]) * 2 ** pick([-bits, 1 - bits, bits, bits + 1, 2 * bits, -3 * bits])],
    () => [2 ** -bits, pick([1, 1 + 2 ** (1 - bits), 1 - 2 ** -bits]) * pick([1, -1]), of(0, 1)],
    () => [of(least / 2, least / 2 + 3), of(least / 2 - 3, least / 2 + 3), pick([1, -1, 3, 5]) * 2 ** least],
  ];
  const values = bits === 53 ? special : special.map(Math.fround);
  return [...values.flatMap((x) => values.flatMap((y) => values.map((z): Three => [x, y, z]))).filter((_, i) => i % 7 === 0),
    ...Array.from({ length: count }, () => pick(makers)().map(round) as unknown as Three)];
}

function check(what: string, args: readonly Three[], given: ArrayLike<number>, expected: ArrayLike<number>): void {
  args.forEach((each, i) => {
    if (!Object.is(given[i], expected[i])) assert.fail(`${what}: fma(${each.join(', ')}) is ${given[i]}, not ${expected[i]}`);
  });
}

describe('fma', function () {
  this.timeout(120_000);
  const count = Number(process.env.WARPLOOM_MATH_ARGUMENTS ?? 20_000);
  const args = argumentsFor(count, double);
  const expected = Float64Array.from(args, (each) => wanted(each, double));
  const singles = argumentsFor(count, single);
  const expectedSingles = Float32Array.from(singles, (each) => wanted(each, single));

  it('is compared with what C99 says', () => {
    for (const [[x, y, z], result] of [
      [[2, 3, 4], 10], [[0.1, 10, -1], 2 ** -54], [[MAX_VALUE, 2, -MAX_VALUE], MAX_VALUE], [[MIN_VALUE, 0.5, 0], 0],
      [[-MIN_VALUE, 0.5, 0], -0], [[MIN_VALUE, 0.75, 0], MIN_VALUE], [[1, -1, 1], 0], [[-0, 1, -0], -0], [[Infinity, 0, 1], NaN],
      [[1e300, 1e300, -Infinity], -Infinity],
    ] as const) assert.ok(Object.is(wanted([x, y, z], double), result), `${x}, ${y}, ${z}`);
  });

  it('rounds once in JavaScript, WebAssembly and the interpreter', () => {
    check('JavaScript', args, args.map((each) => fma(...each)), expected);
    check('WebAssembly', args, args.map((each) => mathOf('fma')(...each)), expected);
    const machine = new Machine(mathProgram(), { limit: 1e9 });
    const some = args.filter((_, i) => i % 10 === 0);
    check('interpreter', some, some.map((each) => machine.call('fma', [...each])[0] as number), expected.filter((_, i) => i % 10 === 0));
  });

  it('rounds once to single', () => {
    check('WebAssembly', singles, singles.map((each) => Math.fround(mathOf('fmaf')(...each))), expectedSingles);
  });

  it('rounds once in C++', function () {
    if (spawnSync('g++', ['--version']).status !== 0) this.skip();
    const all = [...args, ...singles];
    const output = inFolder((folder) => {
      writeFileSync(join(folder, 'a.cpp'), `#include <cstdio>\n${arithmeticHeader()}
int main() { double a[3], r; for (int i = 0; fread(a, 8, 3, stdin) == 3; ++i) {
  r = i < ${args.length} ? wl_fma(a[0], a[1], a[2]) : wl_fmaf(a[0], a[1], a[2]); fwrite(&r, 8, 1, stdout); } }`);
      writeFileSync(join(folder, 'in'), Float64Array.from(all.flat()));
      command('g++', ['-std=c++17', '-O2', '-ffp-contract=off', '-w', '-o', join(folder, 'a'), join(folder, 'a.cpp')]);
      command('sh', ['-c', `"${folder}/a" < "${folder}/in" > "${folder}/out"`]);
      return new Float64Array(new Uint8Array(readFileSync(join(folder, 'out'))).buffer);
    });
    check('C++', all, output, [...expected, ...expectedSingles]);
  });

  it('is known by its name in compiled functions, in float64 and float32, and may be hidden by another', async () => {
    for (const [values, results] of [[args, expected], [singles, expectedSingles]] as const) {
      const Kind = results.constructor as typeof Float32Array;
      const columns = [0, 1, 2].map((i) => Kind.from(values, (each) => each[i]!)) as [Float32Array, Float32Array, Float32Array];
      check('map', values, await kernel.map((x, y, z) => fma(x, y, z), columns, { backend: 'wasm' }), results);
    }
    assert.deepEqual(await kernel.map('(x) => { const fma = (a, b, c) => a - b - c; return fma(x, 1, 2); }', [Float64Array.of(5)]), Float64Array.of(2));
    assert.deepEqual(await kernel.map('(x) => x + fma(0.1, 10, -1)', [0]), Float64Array.of(2 ** -54));
    await assert.rejects(kernel.map('(x) => fma(x, 2)', [1]), /fma takes 3 arguments, not 2/);
    assert.throws(() => fma(1, '2' as never, 3), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
  });

  it('gives equations the same bits on all back ends', async () => {
    const equation = stencil.define({ dimensions: 1, fields: ['u'], parameters: ['c'], method: 'ssprk2',
      rate: ({ u }, { c }) => ({ u: fma(c, u(-1) + u(1), -2 * c * u()) }) });
    const states = await Promise.all((['javascript', 'wasm', 'cpp'] as const).map(async (backend) => {
      await using run = await stencil.simulate(equation, { shape: [9], dt: 0.1, boundary: 'periodic', parameters: { c: 0.7 },
        initial: { u: (x) => Math.sqrt(x) }, backend });
      await run.advance(5);
      return (await run.state()).u;
    }));
    for (const state of states.slice(1)) assert.deepEqual(state, states[0]);
  });
});
