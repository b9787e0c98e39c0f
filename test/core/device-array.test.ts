// Device arrays: contents, misuse, disposal, and what the garbage collector knows of them.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { elementTypes, makeTypedArray, type TypedArray } from '../../lib/core/arrays.ts';
import { openDevice, type Device } from '../../lib/core/device.ts';
import { ArgumentError, DisposedError } from '../../lib/core/errors.ts';
import { eachBackend } from '../support/backends.ts';

function counting(array: TypedArray): TypedArray {
  for (let at = 0; at < array.length; at += 1) array[at] = (array instanceof BigInt64Array ? BigInt(at % 200) : at % 200) as never;
  return array;
}

describe('DeviceArray', () => {
  eachBackend((_, deviceOf) => {
    it('gives back what was written, for every type and length', async () => {
      const device = await deviceOf();
      for (const type of elementTypes) {
        for (const length of [0, 1, 2, 33, 1000, 100_003]) {
          const data = counting(makeTypedArray(type, length));
          using array = await device.array(data, type);
          strictEqual(array.length, length);
          strictEqual(array.type, type);
          strictEqual(array.bytes, data.byteLength);
          strictEqual(array.device, device);
          deepStrictEqual(await array.read(), data, `${type} ${length}`);
          using zeros = await device.array(type, length);
          deepStrictEqual(await zeros.read(), makeTypedArray(type, length));
          await zeros.copyFrom(array);
          deepStrictEqual(await zeros.read(), data);
        }
      }
    });

    it('reads and writes parts, into plain, shared and pinned memory', async () => {
      const device = await deviceOf();
      using array = await device.array('float64', 100);
      await array.write(Float64Array.of(1, 2, 3), 10);
      const shared = new Float64Array(new SharedArrayBuffer(24));
      shared.set([4, 5, 6]);
      await array.write(shared, 97);
      const pinned = await device.pinned('float64', 5) as Float64Array;
      strictEqual(await array.read(pinned, 9), pinned);
      deepStrictEqual([...pinned], [0, 1, 2, 3, 0]);
      strictEqual(await array.read(shared, 10), shared);
      deepStrictEqual([...shared], [1, 2, 3]);
      deepStrictEqual([...(await array.read(undefined, 96))], [0, 4, 5, 6]);
    });

    it('takes the data at the call', async () => {
      const device = await deviceOf();
      const data = new Float64Array(50_000).fill(1);
      const pending = device.array(data);
      data.fill(2);
      using array = await pending;
      const writing = array.write(data);
      data.fill(3);
      await writing;
      ok((await array.read() as Float64Array).every((value) => value === 2));
    });
  }, { cases: 3 });

  describe('misuse', () => {
    let device: Device;
    before(async () => {
      device = await openDevice({ backend: 'cpu', threads: 1 });
    });
    after(() => device.close());

    const refused = (argument: string) => (error: unknown): boolean => {
      ok(error instanceof ArgumentError, String(error));
      strictEqual(error.argument, argument);
      return true;
    };

    it('of array() is refused by name', async () => {
      for (const type of ['float16', '', 'Float64', null, 3, {}]) {
        await rejects(device.array(type as never, 3), refused(typeof type === 'string' ? 'type' : 'data'));
      }
      for (const length of [undefined, -1, 1.5, NaN, Infinity, '3', null, 2 ** 53]) {
        await rejects(device.array('float64', length as never), refused('length'));
        await rejects(device.pinned('float64', length as never), refused('length'));
      }
      await rejects(device.array(new Float64Array(3), 'complex128'), refused('data'));
      await rejects(device.array(new Float64Array(4), 'float32'), refused('data'));
      await rejects(device.array(new Int16Array(4) as never), refused('data'));
      await rejects(device.array(new Float64Array(4), 'nothing' as never), refused('type'));
      const gone = new Float64Array(4);
      structuredClone(gone.buffer, { transfer: [gone.buffer] });
      await rejects(device.array(gone), refused('source'));
    });

    it('of read, write and copyFrom is refused by name', async () => {
      using array = await device.array('float64', 10);
      for (const wrong of [null, 3, [1], new Float32Array(3), new Int32Array(3), new ArrayBuffer(8)]) {
        await rejects(array.write(wrong as never), refused('source'));
        await rejects(array.read(wrong as never), refused('target'));
        await rejects(array.copyFrom(wrong as never), refused('other'));
      }
      await rejects(array.write(new Float64Array(11)), refused('source'));
      await rejects(array.read(new Float64Array(3), 8), refused('target'));
      for (const offset of [-1, 1.5, NaN, 11, '1', null]) {
        await rejects(array.write(new Float64Array(1), offset as never), refused('offset'));
      }
      using shorter = await device.array('float64', 9);
      await rejects(array.copyFrom(shorter), refused('from'));
      using integers = await device.array('int32', 10);
      await rejects(array.copyFrom(integers), refused('from'));
      const other = await openDevice({ backend: 'cpu', threads: 1 });
      using foreign = await other.array('float64', 10);
      await rejects(array.copyFrom(foreign), refused('from'));
      await other.close();
    });

    it('after disposal is an error, disposing again is not', async () => {
      const array = await device.array(new Float64Array(4));
      using other = await device.array('float64', 4);
      const reading = array.read();
      array.dispose();
      array.dispose();
      ok(array.disposed);
      strictEqual((await reading).length, 4);
      const gone = (error: unknown): boolean => error instanceof DisposedError;
      await rejects(array.read(), gone);
      await rejects(array.write(new Float64Array(4)), gone);
      await rejects(array.copyFrom(other), gone);
      await rejects(other.copyFrom(array), gone);
    });

    it('of a target in flight is refused, and a detached one fails its own read', async () => {
      using array = await device.array(new Float64Array(20_000).fill(1)); // too many to be read at once
      const target = new Float64Array(20_000);
      const first = array.read(target);
      await rejects(array.read(target), refused('target'));
      await rejects(array.write(target), refused('source'));
      await first;
      const second = array.read(target);
      structuredClone(target.buffer, { transfer: [target.buffer] });
      await rejects(second, refused('target'));
    });
  });

  it('is collected when dropped', async () => {
    const device = await openDevice({ backend: 'cpu', threads: 1 });
    const arrays: unknown[] = [];
    for (let i = 0; i < 8; i += 1) arrays.push(await device.array('float64', 2 ** 17));
    strictEqual(device.memory().inUseBytes, 8 * 2 ** 20);
    arrays.length = 0;
    for (let i = 0; i < 200 && device.memory().inUseBytes > 0; i += 1) {
      gc!();
      await new Promise((resolve) => setTimeout(resolve, 10));
      await device.trim();
    }
    strictEqual(device.memory().inUseBytes, 0);
    await device.close();
  });

  it('makes the collector run in time: its size counts as external memory', async function () {
    this.timeout(60000);
    const device = await openDevice({ backend: 'cpu', threads: 1 });
    const bytes = 2 ** 22;
    const count = 400;
    for (let i = 0; i < count; i += 1) {
      await device.array('uint8', bytes);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const { peakBytes } = device.memory();
    ok(peakBytes < (count * bytes) / 2, `${peakBytes / bytes} of ${count} dropped arrays were alive at once`);
    await device.close();
  });
});
