// 10,000 calls with random mixtures of right and wrong arguments: each succeeds or is refused in the library's
// own words, nothing crashes or leaks, and memory outside the arrays' windows keeps its contents.
// WARPLOOM_FUZZ_CALLS and WARPLOOM_FUZZ_SEED ask for more of them.
import { ok, strictEqual } from 'node:assert/strict';
import { addon } from '../../lib/core/binding.ts';
import { type Device, DeviceArray, openDevice } from '../../lib/core/device.ts';
import { WarploomError } from '../../lib/core/errors.ts';
import { Random } from '../support/random.ts';
import { coveredOperations, validParameters, type LooseParameters, type LooseView } from '../support/valid-parameters.ts';

const calls = Number(process.env.WARPLOOM_FUZZ_CALLS ?? 10_000);
const seed = Number(process.env.WARPLOOM_FUZZ_SEED ?? 20261121);
const canary = 0x5a;

/** Numbers near every edge that a size, an offset or a stride can meet. */
const numbers: readonly number[] = [
  0, 1, 2, 3, 4, 5, 6, 7, 14, 15, 16, -1, -2, -5, -15, 1.5, NaN, Infinity,
  2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 52, 2 ** 53 - 1, 2 ** 53, -(2 ** 53),
];

/** Typed arrays inside larger buffers whose other bytes are canaries. */
class Arena {
  readonly #buffers: Uint8Array[] = [];
  readonly #windows: [number, number][] = [];

  make(random: Random): Float64Array | Float32Array | Int32Array | BigInt64Array | Uint8Array {
    const kinds = [Float64Array, Float64Array, Float64Array, Float32Array, Int32Array, BigInt64Array, Uint8Array] as const;
    const kind = kinds[random.integer(0, kinds.length - 1)]!;
    const length = random.integer(0, 40);
    const memory = random.integer(0, 4) === 0 ? new SharedArrayBuffer(128 + length * 8) : new ArrayBuffer(128 + length * 8);
    const bytes = new Uint8Array(memory).fill(canary);
    const array = new kind(memory as ArrayBuffer, 64, length);
    bytes.fill(0, 64, 64 + array.byteLength);
    this.#buffers.push(bytes);
    this.#windows.push([64, 64 + array.byteLength]);
    return array;
  }

  check(): void {
    for (const [at, bytes] of this.#buffers.entries()) {
      const [begin, end] = this.#windows[at]!;
      const intact = bytes.every((byte, index) => byte === canary || (index >= begin && index < end));
      ok(intact, 'a byte outside an array changed');
    }
  }
}

const words = ['float32', 'float64', 'complex64', 'complex128', 'auto', 'transpose', 'positive-definite', 'pivoting',
  'regpack', 'cholesky', 'max', 'x'] as const;

function mutate(
  parameters: LooseParameters, names: readonly string[], arrays: readonly unknown[], arena: Arena, random: Random,
): void {
  const name = names[random.integer(0, names.length - 1)]!;
  const value = parameters[name];
  const pick = <T>(list: readonly T[]): T => list[random.integer(0, list.length - 1)]!;
  const anyArray = (): unknown => random.integer(0, 1) === 0 ? arena.make(random) : pick(arrays);
  if (typeof value === 'number') parameters[name] = pick(numbers);
  else if (typeof value === 'boolean') parameters[name] = !value;
  else if (typeof value === 'string') parameters[name] = pick(words);
  else if (ArrayBuffer.isView(value)) parameters[name] = anyArray();
  else if (typeof value === 'object' && value !== null && !(value instanceof DeviceArray)) {
    const view = { ...(value as LooseView) };
    const part = pick(['data', 'imaginary', 'offset', 'extents', 'strides'] as const);
    const dimensions = (): number[] => Array.from({ length: random.integer(0, 5) }, () => pick(numbers));
    view[part] = (part === 'data' || part === 'imaginary' ? anyArray() : part === 'offset' ? pick(numbers) : dimensions()) as never;
    parameters[name] = random.integer(0, 9) === 0 ? parameters[pick(names)] : view;
  } else {
    parameters[name] = anyArray();
  }
  if (random.integer(0, 30) === 0) delete parameters[name];
}

describe('random arguments', function () {
  this.timeout(120000 + calls * 10);
  this.slow(60000);
  let device: Device;

  before(async () => {
    device = await openDevice({ backend: 'cpu', threads: 1 });
  });
  after(() => device.close());

  it(`${calls} calls end as they should (seed ${seed})`, async () => {
    const random = new Random(seed);
    const arrays = await Promise.all([device.array('float64', 15), device.array('float64', 40), device.array('float32', 15),
      device.array('int32', 3), device.array('uint8', 1280), device.array('complex128', 15)]);
    const inUse = device.memory().inUseBytes;
    let succeeded = 0;
    for (let call = 0; call < calls; call += 1) {
      const operation = coveredOperations[random.integer(0, coveredOperations.length - 1)]!;
      const names = addon().operations()[operation]!.fields.map((field) => field.name);
      const parameters = validParameters(operation);
      const arena = new Arena();
      for (let count = random.integer(1, 4); count > 0; count -= 1) mutate(parameters, names, arrays, arena, random);
      const outcome = await device.run(operation, parameters).then(() => undefined, (error: unknown) => error);
      if (outcome === undefined) {
        succeeded += 1;
      } else {
        const known = outcome instanceof WarploomError && outcome.code !== 'ERR_WARPLOOM_INTERNAL';
        ok(known, `call ${call}, ${operation}: ${String(outcome)}`);
      }
      arena.check();
    }
    ok(succeeded > calls / 50 && succeeded < calls, `${succeeded} succeeded`);
    await device.trim();
    strictEqual(device.memory().inUseBytes, inUse);
    for (const array of arrays) array.dispose();
  });
});
