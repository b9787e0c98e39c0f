// Programs on integers: exact against sorting, DES and MPEG-2 as their standards state them.
import assert from 'node:assert/strict';
import { createCipheriv } from 'node:crypto';
import { benchmarkPrograms, randomInput } from '../../../examples/stream/programs.ts';
import { encrypt } from './des-reference.ts';
import { decodeMacroblock, dequantise, inverseDct, MotionDecoder } from './mpeg2-reference.ts';
import { inverseDct2 } from './references.ts';
import { program, randoms, run } from './support.ts';

const groups = (items: readonly number[], size: number): number[][] =>
  Array.from({ length: items.length / size }, (_, i) => items.slice(i * size, (i + 1) * size));

describe('sorting', () => {
  for (const name of ['bitonic', 'bitonic-rec']) {
    it(`${name} sorts random keys, equal ones and the ends of the range among them`, () => {
      const keys = randoms(80 * 8).map((x, i) => (i % 5 === 0 ? x % 4 : i % 31 === 0 ? 2147483647 : i % 37 === 0 ? -2147483648 : x - 16384));
      assert.deepEqual(run(program(name), keys).output, groups(keys, 8).flatMap((group) => group.sort((a, b) => a - b)));
    });

    it(`${name} sorts every list of zeros and ones, so it sorts everything`, () => {
      const keys = Array.from({ length: 256 }, (_, mask) => Array.from({ length: 8 }, (__, i) => (mask >> i) & 1)).flat();
      assert.deepEqual(run(program(name), keys).output, groups(keys, 8).flatMap((group) => group.sort((a, b) => a - b)));
    });
  }
});

const bitsOf = (bytes: Uint8Array): number[] => [...bytes].flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((i) => (byte >> i) & 1));
const word = (bytes: Uint8Array, at: number): string => `0x${Buffer.from(bytes.subarray(at, at + 4)).toString('hex')}`;

describe('DES', () => {
  const plain = Uint8Array.from(randoms(16 * 8), (x) => x & 255);
  const keys = ['133457799bbcdff1', '0123456789abcdef', 'fedcba9876543210', '8f2a6c01b3e45d97'].map((hex) => Uint8Array.from(Buffer.from(hex, 'hex')));

  for (const key of keys) {
    it(`16 rounds are node:crypto's with key ${Buffer.from(key).toString('hex')}`, () => {
      const text = `int->int pipeline Full { add Cipher(16, ${word(key, 0)}, ${word(key, 4)}); }`;
      const cipher = createCipheriv('des-ede3', Buffer.concat([key, key, key]), null).setAutoPadding(false);
      const expected = bitsOf(Buffer.concat([cipher.update(plain), cipher.final()]));
      assert.deepEqual(run(program('des', { entry: 'Full', text }), bitsOf(plain)).output, expected);
      assert.deepEqual(groups(bitsOf(plain), 64).flatMap((block) => encrypt(block, bitsOf(key), 16)), expected);
    });
  }

  it('4 rounds are those of the reference', () => {
    const bits = bitsOf(plain);
    assert.deepEqual(run(program('des'), bits).output, groups(bits, 64).flatMap((block) => encrypt(block, bitsOf(keys[0]!), 4)));
  });
});

describe('MPEG2Subset', () => {
  const numbers = [...randomInput(benchmarkPrograms.find(({ name }) => name === 'mpeg2-subset')!, 20 * 403, 7)];
  const motion = new MotionDecoder();
  const expected = groups(numbers, 403).flatMap((each) => decodeMacroblock(each, motion));

  it('decodes macroblocks exactly', () => {
    assert.deepEqual(run(program('mpeg2-subset'), numbers).output, expected.map((x) => x + 0));
  });

  it("keeps the inverse transform within 1 of the exact one, as Annex A's test demands", () => {
    let [errors, squares, count] = [0, 0, 0];
    for (const block of groups(numbers, 403).flatMap((each) => groups(each.slice(0, 384), 64))) {
      const coefficients = dequantise(block).map((x) => x / 4);
      const whole = coefficients.map(Math.trunc);
      const exact = inverseDct2(whole, 8);
      for (const [i, x] of inverseDct(whole).entries()) {
        const error = x - Math.round(exact[i]!);
        assert.ok(Math.abs(error) <= 1, `${x} instead of ${exact[i]}`);
        [errors, squares, count] = [errors + error, squares + error * error, count + 1];
      }
    }
    assert.ok(Math.abs(errors / count) <= 0.0015 && squares / count <= 0.02, `mean ${errors / count}, square ${squares / count}`);
  });
});
