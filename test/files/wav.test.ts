// WAV files: what is written is read back, and other kinds of samples are read as their header says.
import { deepStrictEqual, match, strictEqual, throws } from 'node:assert/strict';
import { formatWav, parseWav } from '../../lib/files/wav.ts';

const refused = (call: () => unknown, argument: RegExp, what: RegExp): void => throws(call, (error: { code: string; argument: string; message: string }) => {
  strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
  match(error.argument, argument);
  match(error.message, what);
  return true;
});

describe('wav files', () => {
  it('come back as they were written, to 16 bits, with rate and channels', () => {
    const { numbers, rate, channels } = parseWav(formatWav([0, 0.5, -0.5, 1, -1, 2], 44_100, 2));
    deepStrictEqual([rate, channels], [44_100, 2]);
    deepStrictEqual([...numbers], [0, 0.5, -0.5, 1, -1, 1].map((x) => Math.round(x * 32767) / 32768));
  });

  it('have the header of the format, byte by byte', () => {
    const header = Buffer.from(formatWav([1], 8000).subarray(0, 44)).toString('latin1');
    strictEqual(header, 'RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x02\0\0\0');
  });

  it('are read behind chunks of other kinds, and as far as a cut-off file goes', () => {
    const plain = formatWav([0.25, 0.5, 0.75], 8000);
    const odd = Buffer.from('LIST\x03\0\0\0abc\0', 'latin1');
    const behind = Buffer.concat([plain.subarray(0, 12), odd, plain.subarray(12)]);
    deepStrictEqual([...parseWav(behind).numbers], [...parseWav(plain).numbers]);
    strictEqual(parseWav(plain.subarray(0, plain.length - 2)).numbers.length, 2);
  });

  it('are refused by name where they are none, or of kinds that are not read', () => {
    refused(() => parseWav(Buffer.from('OggS'), 'sound.wav'), /sound\.wav/, /a WAV file/);
    refused(() => parseWav('sound.wav' as never), /wav/, /bytes of a WAV file/);
    refused(() => parseWav(formatWav([0], 8000).subarray(0, 36)), /wav/, /with samples/);
    const eight = formatWav([0], 8000);
    eight[34] = 8;
    refused(() => parseWav(eight), /wav/, /format 1 with 8 bits/);
    refused(() => formatWav([0], 0), /rate/, /whole number/);
    refused(() => formatWav([0], 8000, 1.5), /channels/, /whole number/);
    refused(() => formatWav(['1'] as never, 8000), /numbers\[0\]/, /a number/);
  });
});
