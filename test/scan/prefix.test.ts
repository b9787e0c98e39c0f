// scan: every algorithm, depth, radix, type and operator on every backend, against a plain loop.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { ArgumentError } from '../../lib/core/errors.ts';
import type { Device, DeviceArray } from '../../lib/core/device.ts';
import {
  scan, scanDepths, scanOperators, type ScanAlgorithm, type ScanDepth, type ScanOperator, type ScanOptions,
} from '../../lib/scan/index.ts';
import { eachBackend, type BackendName } from '../support/backends.ts';
import { Random } from '../support/random.ts';

type Values = Float32Array | Float64Array;

const starts = { sum: 0, product: 1, max: -Infinity };

function combine(operator: ScanOperator, a: number, b: number): number {
  if (operator === 'sum') return a + b;
  if (operator === 'product') return a * b;
  return a > b || Number.isNaN(a) ? a : b;
}

/** The definition, in double precision. */
function reference(values: Values, { operator = 'sum', exclusive = false, flags, batch = 1 }: ScanOptions): Float64Array {
  const n = values.length / Math.max(batch, 1);
  const result = new Float64Array(values.length);
  let running = 0;
  for (let i = 0; i < values.length; i += 1) {
    if (i % n === 0 || (flags as Uint8Array | undefined)?.[i]) running = starts[operator];
    if (exclusive) result[i] = running;
    running = combine(operator, running, values[i]!);
    if (!exclusive) result[i] = running;
  }
  return result;
}

/** Compares bit for bit; deepStrictEqual takes seconds on long arrays. */
function sameBits(actual: Values, expected: Float64Array, what: string): void {
  const wanted = actual instanceof Float32Array ? Float32Array.from(expected) : expected;
  if (Buffer.compare(new Uint8Array(actual.buffer), new Uint8Array(wanted.buffer)) === 0) return;
  const i = wanted.findIndex((value, at) => !Object.is(value, actual[at]));
  throw new Error(`${what}: element ${i} is ${actual[i]}, expected ${wanted[i]}`);
}

/** Values whose sums, products and maxima are exact in every order. */
function exactValues(type: 'float32' | 'float64', count: number, operator: ScanOperator, random: Random): Values {
  const values = type === 'float32' ? new Float32Array(count) : new Float64Array(count);
  for (let i = 0; i < count; i += 1) {
    values[i] = operator === 'product' ? (random.next() < 0.5 ? -1 : 1) : Math.floor(random.next() * 17) - 8;
  }
  return values;
}

function randomFlags(count: number, random: Random): Uint8Array {
  return Uint8Array.from({ length: count }, () => (random.next() < 0.1 ? 1 + Math.floor(random.next() * 255) : 0));
}

const methods: { algorithm: ScanAlgorithm; depth?: ScanDepth; radix?: 2 | 4 }[] = [
  { algorithm: 'auto' }, { algorithm: 'auto', radix: 4 }, { algorithm: 'shared' },
  ...scanDepths.flatMap((depth) => ([2, 4] as const).map((radix) => ({ algorithm: 'regpack' as const, depth, radix }))),
];

function testDefinition(backend: BackendName, device: () => Promise<Device>): void {
  const small = [1, 2, 3, 31, 33, 64, 511, 513, 1025];
  const large = [7, 32, 127, 255, 256, 257, 512, 1023, 4095, 4096, 4097, 65537, 140_001];

  for (const method of methods) {
    it(`matches the definition: ${JSON.stringify(method)}`, async () => {
      const random = new Random(11);
      const all = backend === 'cuda' || (backend === 'cpu' && method === methods[0]);  // cpu has one algorithm
      for (const n of all ? [...small, ...large] : small) {
        for (const operator of scanOperators) {
          const type = n % 2 === 0 ? 'float32' : 'float64';
          const batch = n < 100 ? 9 : 2;
          const values = exactValues(type, n * batch, operator, random);
          const flags = n % 3 === 0 ? randomFlags(n * batch, random) : undefined;
          for (const exclusive of [false, true]) {
            const options = { operator, exclusive, batch, ...(flags ? { flags } : {}), ...method };
            const before = values.slice();
            const { result, info } = await scan(values, { ...options, device: await device() });
            sameBits(result, reference(values, options), `n ${n} ${operator} exclusive ${exclusive}`);
            sameBits(values, Float64Array.from(before), 'values are kept');
            deepStrictEqual([info.n, info.batch, info.type, info.backend], [n, batch, type, backend]);
          }
        }
      }
    });
  }
}

function testRounding(backend: BackendName, device: () => Promise<Device>): void {
  it('stays within the rounding error of pairwise sums', async () => {
    const random = new Random(3);
    const values = Float64Array.from({ length: backend === 'simt' ? 5000 : 200_000 }, () => random.next());
    const { result } = await scan(values, { device: await device() });
    let exact = 0n;  // fixed point with 2^-60
    for (let i = 0; i < values.length; i += 1) {
      exact += BigInt(Math.round(values[i]! * 2 ** 53)) << 7n;
      const error = Math.abs(Number(BigInt(Math.round(result[i]! * 2 ** 36)) - (exact >> 24n))) / 2 ** 36;
      ok(error <= 1e-10 * Math.max(1, result[i]!), `element ${i} is off by ${error}`);
    }
  });

  it('gives the same bits again, and for a row alone as in a batch', async () => {
    const random = new Random(5);
    const values = Float64Array.from({ length: 6 * 777 }, () => random.next() - 0.5);
    const options = { device: await device(), batch: 6 };
    const first = await scan(values, options);
    deepStrictEqual((await scan(values, options)).result, first.result);
    for (let row = 0; row < 6; row += 1) {
      const alone = await scan(values.slice(row * 777, (row + 1) * 777), { device: await device() });
      deepStrictEqual(alone.result, first.result.slice(row * 777, (row + 1) * 777), `row ${row}`);
    }
  });
}

function testValues(_backend: BackendName, device: () => Promise<Device>): void {
  it('keeps NaN, infinities and signed zeros where they belong', async () => {
    const d = await device();
    const values = Float64Array.of(1, NaN, 2, 3, Infinity, 4);
    const flags = Uint8Array.of(0, 0, 0, 1, 0, 0);
    deepStrictEqual((await scan(values, { flags, device: d })).result, Float64Array.of(1, NaN, NaN, 3, Infinity, Infinity));
    deepStrictEqual((await scan(values, { flags, operator: 'max', device: d })).result,
      Float64Array.of(1, NaN, NaN, 3, Infinity, Infinity));
    deepStrictEqual((await scan(values, { batch: 3, exclusive: true, operator: 'max', device: d })).result,
      Float64Array.of(-Infinity, 1, -Infinity, 2, -Infinity, Infinity));
    deepStrictEqual((await scan(Float64Array.of(-0, -0, 0), { device: d })).result, Float64Array.of(-0, -0, 0));
    deepStrictEqual((await scan(Float64Array.of(-0, -0), { exclusive: true, device: d })).result, Float64Array.of(0, 0));
  });
}

function testArrays(_backend: BackendName, device: () => Promise<Device>): void {
  it('works in place, into a given array and on device arrays', async () => {
    const d = await device();
    const values = Float32Array.from({ length: 3000 }, (_, i) => i % 5);
    const expected = Float32Array.from(reference(values, {}));
    const out = new Float32Array(3000);
    strictEqual((await scan(values, { out, device: d })).result, out);
    deepStrictEqual(out, expected);
    const copy = values.slice();
    await scan(copy, { out: copy, device: d });
    deepStrictEqual(copy, expected);
    using on = await d.array(values);
    const { result } = await scan<DeviceArray>(on);
    deepStrictEqual(await result.read(), expected);
    result.dispose();
    await scan<DeviceArray>(on, { out: on });
    deepStrictEqual(await on.read(), expected);
  });

  it('takes empty rows and empty batches', async () => {
    for (const options of [{}, { batch: 0 }, { batch: 5 }, { flags: new Uint8Array(0) }]) {
      const { result, info } = await scan(new Float64Array(0), { ...options, device: await device() });
      strictEqual(result.length, 0);
      strictEqual(info.n, 0);
    }
  });
}

function testRandomCalls(backend: BackendName, device: () => Promise<Device>): void {
  it('agrees with the definition for random calls', async () => {
    await fc.assert(fc.asyncProperty(fc.record({
      n: fc.integer({ min: 1, max: backend === 'simt' ? 300 : 3000 }), batch: fc.integer({ min: 1, max: 5 }),
      operator: fc.constantFrom(...scanOperators), exclusive: fc.boolean(), segmented: fc.boolean(),
      method: fc.constantFrom(...methods), type: fc.constantFrom('float32' as const, 'float64' as const), seed: fc.nat(1e6),
    }), async ({ n, batch, operator, exclusive, segmented, method, type, seed }) => {
      const random = new Random(seed);
      const values = exactValues(type, n * batch, operator, random);
      const options = { operator, exclusive, batch, ...(segmented ? { flags: randomFlags(n * batch, random) } : {}), ...method };
      const { result } = await scan(values, { ...options, device: await device() });
      sameBits(result, reference(values, options), 'a random call');
    }), { numRuns: backend === 'simt' ? 40 : 150, seed: 20_261_121 });
  });

  it('rejects with the reason of an aborted signal', async () => {
    const reason = new Error('enough');
    await rejects(scan(new Float64Array(10), { signal: AbortSignal.abort(reason), device: await device() }), reason);
  });
}

const misuse: [string, unknown, object][] = [
  ['values', [1, 2, 3], {}], ['values', new Int32Array(3), {}], ['values', undefined, {}],
  ['values', new Float64Array(5), { batch: 2 }], ['values', new Float64Array(5), { batch: 0 }],
  ['operator', new Float64Array(4), { operator: 'min' }], ['exclusive', new Float64Array(4), { exclusive: 1 }],
  ['flags', new Float64Array(4), { flags: new Uint8Array(3) }], ['flags', new Float64Array(4), { flags: new Int8Array(4) }],
  ['flags', new Float64Array(4), { flags: [0, 1, 0, 0] }], ['batch', new Float64Array(4), { batch: -1 }],
  ['batch', new Float64Array(4), { batch: 1.5 }], ['batch', new Float64Array(4), { batch: NaN }],
  ['algorithm', new Float64Array(4), { algorithm: 'cr' }], ['depth', new Float64Array(4), { algorithm: 'regpack', depth: 3 }],
  ['depth', new Float64Array(4), { depth: 8 }], ['radix', new Float64Array(4), { radix: 3 }],
  ['radix', new Float64Array(4), { algorithm: 'shared', radix: 4 }], ['out', new Float64Array(4), { out: new Float64Array(3) }],
  ['out', new Float64Array(4), { out: new Float32Array(4) }], ['out', new Float64Array(4), { out: {} }],
  ['device', new Float64Array(4), { device: {} }], ['signal', new Float64Array(4), { signal: {} }],
  ['onProgress', new Float64Array(4), { onProgress: true }], ['depht', new Float64Array(4), { depht: 2 }],
  ['options', new Float64Array(4), null as unknown as object],
];

describe('scan', function () {
  this.timeout(120_000);
  eachBackend((backend, device) => {
    testDefinition(backend, device);
    testRounding(backend, device);
    testValues(backend, device);
    testArrays(backend, device);
    testRandomCalls(backend, device);
  });

  for (const [argument, values, options] of misuse) {
    it(`refuses ${argument}: ${JSON.stringify(options)}`, async () => {
      await rejects(scan(values as Float64Array, options), (error: unknown) => {
        ok(error instanceof ArgumentError);
        strictEqual(error.argument, argument);
        strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
        return true;
      });
    });
  }

  it('refuses arrays that overlap halfway', async () => {
    const memory = new SharedArrayBuffer(8 * 12);
    await rejects(scan(new Float64Array(memory, 0, 8), { out: new Float64Array(memory, 16, 8) }),
      (error: unknown) => error instanceof ArgumentError);
  });
});
