import assert from 'node:assert/strict';
import fc from 'fast-check';
import { formatNpy, parseNpy, type NpyArray } from '../../lib/files/npy.ts';

// Written by numpy 2.x: np.save of np.arange(6, dtype='<f4').reshape(2, 3).
const NUMPY_FILE = Buffer.concat([
  Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'),
  Buffer.from("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".padEnd(117, ' ') + '\n', 'latin1'),
  Buffer.from(new Float32Array([0, 1, 2, 3, 4, 5]).buffer),
]);

const refused = (bytes: Uint8Array, what: RegExp) =>
  assert.throws(() => parseNpy(bytes, 'rhs'), (error: { code?: string; message: string }) => {
    assert.equal(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
    assert.match(error.message, /rhs/);
    assert.match(error.message, what);
    return true;
  });

describe('npy files', () => {
  it('reads a file as NumPy writes it', () => {
    const { type, shape, data } = parseNpy(NUMPY_FILE);
    assert.equal(type, 'float32');
    assert.deepEqual(shape, [2, 3]);
    assert.deepEqual([...data as Float32Array], [0, 1, 2, 3, 4, 5]);
  });

  it('writes the bytes NumPy writes', () => {
    const bytes = formatNpy({ type: 'float32', shape: [2, 3], data: new Float32Array([0, 1, 2, 3, 4, 5]) });
    assert.deepEqual(Buffer.from(bytes), NUMPY_FILE);
  });

  it('gives back what was written, for every type and shape, empty ones too', () => {
    const arrays: NpyArray[] = [
      { type: 'float64', shape: [3], data: new Float64Array([1, NaN, -Infinity]) },
      { type: 'complex64', shape: [2], data: new Float32Array([1, 2, 3, 4]) },
      { type: 'complex128', shape: [1, 1], data: new Float64Array([1, 2]) },
      { type: 'int32', shape: [2, 1], data: new Int32Array([-1, 5]) },
      { type: 'int64', shape: [1], data: new BigInt64Array([-(2n ** 60n)]) },
      { type: 'uint8', shape: [4], data: new Uint8Array([0, 1, 254, 255]) },
      { type: 'int8', shape: [2], data: new Int8Array([-128, 127]) },
      { type: 'uint16', shape: [2, 1], data: new Uint16Array([1, 65535]) },
      { type: 'int16', shape: [2], data: new Int16Array([-32768, 32767]) },
      { type: 'uint32', shape: [1], data: new Uint32Array([2 ** 32 - 1]) },
      { type: 'float32', shape: [0, 7], data: new Float32Array(0) },
      { type: 'float64', shape: [], data: new Float64Array([2.5]) },
    ];
    for (const array of arrays) assert.deepEqual(parseNpy(formatNpy(array)), array);
  });

  it('gives back any float64 array bit for bit', () => {
    fc.assert(fc.property(fc.float64Array({ maxLength: 50 }), (data) => {
      const array: NpyArray = { type: 'float64', shape: [data.length], data };
      assert.deepEqual(Buffer.from((parseNpy(formatNpy(array)).data as Float64Array).buffer),
        Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    }));
  });

  it('names the file and what was expected when it refuses', () => {
    refused(Buffer.from('not an array'), /a \.npy file/);
    refused(NUMPY_FILE.subarray(0, 8), /a \.npy file/);
    refused(NUMPY_FILE.subarray(0, 40), /complete header/);
    refused(NUMPY_FILE.subarray(0, NUMPY_FILE.length - 1), /24 bytes of data/);
    const patched = (from: string, to: string) =>
      Buffer.from(NUMPY_FILE.toString('latin1').replace(from, to), 'latin1');
    refused(patched("'<f4'", "'>f4'"), /element type/);
    refused(patched('False', 'True '), /C order/);
    refused(patched('(2, 3)', '(2,-3)'), /whole numbers/);
    refused(patched("'shape'", "'shope'"), /header/);
  });

  it('never crashes on damaged bytes: it parses or refuses with a code', () => {
    fc.assert(fc.property(fc.nat(NUMPY_FILE.length - 1), fc.integer({ min: 0, max: 255 }), (at, value) => {
      const damaged = Buffer.from(NUMPY_FILE);
      damaged[at] = value;
      try {
        parseNpy(damaged);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
      }
    }), { numRuns: 500 });
  });
});
