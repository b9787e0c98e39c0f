// What travels with a call: the inputs there and the results back, and nothing else. Counted in bytes, for every
// operation of the registry.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { addon, type FieldDescription } from '../../lib/core/binding.ts';
import { elementTypeOf, type TypedArray } from '../../lib/core/arrays.ts';
import { openDevice, type Device, type DeviceArray } from '../../lib/core/device.ts';
import { eachBackend } from '../support/backends.ts';
import {
  coveredOperations, smallBatch, smallN, validParameters, viewOf, type LooseParameters, type LooseView,
} from '../support/valid-parameters.ts';

interface Given {
  readonly field: FieldDescription;
  readonly array: TypedArray;
}

/** Typed arrays of a call, by field. */
function arraysOf(operation: string, parameters: LooseParameters): Given[] {
  const found: Given[] = [];
  for (const field of addon().operations()[operation]!.fields) {
    const value = parameters[field.name];
    if (value === undefined || (field.kind !== 'view' && field.kind !== 'array')) continue;
    found.push({ field, array: (field.kind === 'view' ? (value as LooseView).data : value) as TypedArray });
  }
  return found;
}

const bytesOf = (arrays: readonly Given[]): number => arrays.reduce((sum, { array }) => sum + array.byteLength, 0);

/** Bytes of results that an operation leaves as they were, in part at least: looked up on arrays of the device, filled in two ways. */
async function keptResults(device: Device, operation: string): Promise<Set<string>> {
  const kept = new Set<string>();
  const results = new Map<string, string[]>();
  for (const fill of [0x5a, 0xa5]) {
    const parameters = validParameters(operation);
    const outputs = arraysOf(operation, parameters).filter(({ field, array }) => field.role === 'output' && array.length > 0);
    const arrays: DeviceArray[] = [];
    for (const { field, array } of outputs) {
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).fill(fill);
      const onDevice = await device.array(array);
      arrays.push(onDevice);
      parameters[field.name] = field.kind === 'view' ? { ...(parameters[field.name] as LooseView), data: onDevice } : onDevice;
    }
    await device.run(operation, parameters);
    for (const [at, { field }] of outputs.entries()) {
      const read = await arrays[at]!.read();
      const text = Buffer.from(read.buffer, read.byteOffset, read.byteLength).toString('hex');
      results.set(field.name, [...results.get(field.name) ?? [], text]);
      arrays[at]!.dispose();
    }
  }
  for (const [name, [one, other]] of results) if (one !== other) kept.add(name);
  return kept;
}

interface Counted {
  readonly taken: number;
  readonly returned: number;
  readonly report: Readonly<Record<string, unknown>>;
}

async function measured(device: Device, operation: string, parameters: LooseParameters): Promise<Counted> {
  const before = addon().traffic();
  const { report } = await device.run(operation, parameters);
  const after = addon().traffic();
  return { taken: after.taken - before.taken, returned: after.returned - before.returned, report };
}

/** Bytes of the tables in a report. */
function tableBytes(operation: string, report: Readonly<Record<string, unknown>>): number {
  return addon().operations()[operation]!.report.reduce((sum, { name, kind, columns = [] }) => {
    const rows = report[name] === undefined ? 0 : kind === 'rows' ? (report[name] as { length: number }).length : 1;
    return sum + 8 * rows * columns.length;
  }, 0);
}

describe('bytes that travel with a call', function () {
  this.timeout(120_000);

  eachBackend((backend) => {
    let device: Device;
    before(async () => {
      device = await openDevice({ backend });
    });
    after(() => device.close());

    for (const operation of coveredOperations) {
      it(`${operation}: its inputs, and no old contents of results`, async () => {
        // Opaque bytes with gaps; `tridiagonal.plan` keeps them on the device.
        const kept = await keptResults(device, operation);
        const parameters = validParameters(operation);
        const arrays = arraysOf(operation, parameters);
        const up = arrays.filter(({ field }) =>
          field.role === 'input' || field.role === 'inOut' || kept.has(field.name) || field.name === 'factors');
        const readOnly = operation === 'tridiagonal.multiply' ? bytesOf(up.filter(({ field }) => field.role === 'inOut')) : 0;  // beta is 0
        const { taken, returned, report } = await measured(device, operation, parameters);
        strictEqual(taken, bytesOf(up) - readOnly, `results left as they were: ${[...kept].join(', ') || 'none'}`);
        strictEqual(returned, bytesOf(arrays.filter(({ field }) => field.role !== 'input')) + tableBytes(operation, report));
      });
    }

    it('with results in a window of an array: the array travels there and back, and is kept around the window', async () => {
      const result = new Float64Array(10).fill(7);
      const values = Float64Array.of(1, 2, 3);
      const { taken } = await measured(device, 'scan.prefix', {
        type: 'float64', n: 3, batch: 1, values: { data: values }, result: { data: result, offset: 4, extents: [3] },
      });
      strictEqual(taken, values.byteLength + result.byteLength);
      deepStrictEqual(result, Float64Array.of(7, 7, 7, 7, 1, 3, 6, 7, 7, 7));
    });

    it('with results that a call reads, and with gaps between rows or systems: old contents travel there, and stay', async () => {
      const adding = { ...validParameters('tridiagonal.multiply'), beta: 1 };
      const read = await measured(device, 'tridiagonal.multiply', adding);
      strictEqual(read.taken, bytesOf(arraysOf('tridiagonal.multiply', adding)));
      for (const strides of [[2 * smallN, 2], [smallN + 1, 1], [1, smallBatch]]) {
        const solution = new Float64Array(2 * smallN * smallBatch).fill(7);
        const parameters = { ...validParameters('tridiagonal.solve'), solution: { data: solution, extents: [smallBatch, smallN], strides } };
        const inputs = arraysOf('tridiagonal.solve', parameters).filter(({ field }) => field.role === 'input');
        const { taken } = await measured(device, 'tridiagonal.solve', parameters);
        strictEqual(taken, bytesOf(inputs) + solution.byteLength, `strides ${strides.join(', ')}`);
        strictEqual(solution.filter((value) => value === 7).length, solution.length - smallN * smallBatch);
      }
      const whole = new Float64Array(smallN * smallBatch);
      const interleaved = { ...validParameters('tridiagonal.solve'), solution: { data: whole, extents: [smallBatch, smallN], strides: [1, smallBatch] } };
      const inputs = arraysOf('tridiagonal.solve', interleaved).filter(({ field }) => field.role === 'input');
      strictEqual((await measured(device, 'tridiagonal.solve', interleaved)).taken, bytesOf(inputs), 'without gaps, in any order');
    });

    it('of shared and pinned memory: none', async () => {
      const shared = new Float64Array(new SharedArrayBuffer(24));
      const pinned = await device.pinned('float64', 3) as Float64Array;
      shared.fill(1);
      const { taken, returned } = await measured(device, 'scan.prefix', { type: 'float64', n: 3, batch: 1, values: { data: shared }, result: { data: pinned } });
      deepStrictEqual({ taken, returned }, { taken: 0, returned: 0 });
      deepStrictEqual(pinned.slice(), Float64Array.of(1, 2, 3));
    });

    it('take staging memory that is there from the call before, whatever the size', async () => {
      const n = 3 * 2 ** 20 + 5;  // 25 MB: above every piece
      const call = { type: 'float64', n, batch: 1, values: viewOf(new Float64Array(n).fill(1), n), result: viewOf(new Float64Array(n), n) };
      for (let round = 0; round < 4; round += 1) await device.run('scan.prefix', call);
      const before = addon().traffic().fresh;
      for (let round = 0; round < 3; round += 1) await device.run('scan.prefix', call);
      strictEqual(addon().traffic().fresh, before);
      ok(device.memory().pooledBytes >= 8 * n, 'the memory is shown as pooled');
      await device.trim();
      ok(device.memory().pooledBytes < 8 * n, 'trim gives it back');
      strictEqual(elementTypeOf(call.result.data as TypedArray), 'float64');
    });
  });
});
