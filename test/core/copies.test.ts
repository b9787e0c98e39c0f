// Copies of typed arrays, small ones by the engine and large ones by the addon's threads.
import assert from 'node:assert/strict';
import { runInNewContext } from 'node:vm';
import { typedCopy } from '../../lib/core/arrays.ts';
import { missingReason } from '../../lib/core/binding.ts';

const kinds = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array] as const;
const megabyte = 2 ** 20;

function patterned(bytes: Uint8Array): void {
  for (let i = 0, state = 1; i < bytes.length; ++i) bytes[i] = state = (state * 75 + 74) % 65_537;
}

describe('copies of typed arrays', () => {
  before(function () { if (missingReason() !== undefined) this.skip(); });

  for (const Kind of kinds) {
    it(Kind.name, () => {
      const each = Kind.BYTES_PER_ELEMENT;
      for (const bytes of [0, each, megabyte, 4 * megabyte - each, 4 * megabyte, 4 * megabyte + each, 9 * megabyte + 3 * each]) {
        const memory = new ArrayBuffer(bytes + 8 * each);
        patterned(new Uint8Array(memory));
        for (const offset of [0, each, 5 * each]) {
          const view = new Kind(memory, offset, bytes / each);
          const copy = typedCopy(view);
          assert.ok(copy instanceof Kind && copy.length === view.length && copy.buffer !== memory);
          assert.equal(Buffer.compare(new Uint8Array(copy.buffer, copy.byteOffset, copy.byteLength), new Uint8Array(memory, offset, bytes)), 0);
        }
      }
    });
  }

  it('big integers, shared memory, detached arrays and those of another realm', () => {
    const big = new BigInt64Array(megabyte).map((_, i) => BigInt(i));
    assert.deepEqual(typedCopy(big), big);
    const shared = new Float32Array(new SharedArrayBuffer(8 * megabyte)).fill(3);
    const copy = typedCopy(shared);
    assert.ok(copy.buffer instanceof ArrayBuffer && copy.every((x) => x === 3) && copy.length === 2 * megabyte);
    const foreign = runInNewContext('new Float64Array(2 ** 20).fill(5)') as Float64Array;
    assert.ok(typedCopy(foreign) instanceof Float64Array && typedCopy(foreign).every((x) => x === 5));
    const gone = new Float64Array(megabyte);
    structuredClone(gone, { transfer: [gone.buffer] });
    assert.equal(typedCopy(gone).length, 0);
  });

  it('does not change when the original does', () => {
    const view = new Int32Array(2 * megabyte).fill(7);
    const copy = typedCopy(view);
    view.fill(8);
    assert.ok(copy.every((x) => x === 7));
  });
});
