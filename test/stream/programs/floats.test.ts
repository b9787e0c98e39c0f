// Programs on floats: within 1e-5 of the stream's scale of direct sums in double precision.
import assert from 'node:assert/strict';
import * as reference from './references.ts';
import { assertClose, program, randoms, run, signal } from './support.ts';

const groups = (items: readonly number[], size: number): number[][] =>
  Array.from({ length: items.length / size }, (_, i) => items.slice(i * size, (i + 1) * size));

describe('transforms', () => {
  it('FFT (coarse) is a DFT of 64 points', () => {
    const x = signal(4 * 256);
    assertClose(run(program('fft-coarse'), x).output, groups(x, 128).flatMap((block) => reference.dft(block)));
  });

  it('FFT (fine) is a DFT of 32 points', () => {
    const x = signal(8 * 64);
    assertClose(run(program('fft-fine'), x).output, groups(x, 64).flatMap((block) => reference.dft(block)));
  });

  it('DCT is the inverse DCT of 16x16, rounded', () => {
    const x = randoms(4 * 256).map((each, i) => (i % 256 === 0 ? each % 4096 : (each % 601) - 300));
    const exact = groups(x, 256).flatMap((block) => reference.inverseDct2(block, 16));
    const { output } = run(program('dct'), x);
    assert.equal(output.length, exact.length);
    for (const [i, y] of output.entries()) {
      assert.ok(Number.isInteger(y));
      assert.ok(Math.abs(y - exact[i]!) <= 0.5 + 1e-3, `item ${i} is ${y} instead of ${exact[i]}`);
    }
  });

  it('TDE convolves every channel', () => {
    const x = signal(2 * 1080);
    assertClose(run(program('tde'), x).output, groups(x, 1080).flatMap((block) => reference.equalise(block)));
  });
});

describe('MatrixMult', () => {
  it('is the product', () => {
    const x = signal(5 * 252);
    assertClose(run(program('matrix-mult'), x).output, groups(x, 252).flatMap((block) => reference.matrixProduct(block)));
  });
});

describe('Filterbank', () => {
  const x = signal(400);
  const { output } = run(program('filterbank'), x);

  it('is the direct double sum', () => {
    assertClose(output, reference.filterbank(x));
  });

  it('gives the input back, 31 samples later', () => {
    assertClose(output, [...new Array<number>(31).fill(0), ...x].slice(0, x.length));
  });
});

describe('ChannelVocoder', function () {
  this.timeout(60_000);

  it('is voicing and bands by definition, on speech-like sound and on noise', () => {
    const noise = signal(700);
    const x = noise.map((each, i) => (i < 400 ? Math.fround(Math.cos(i * 0.1) + 0.5 * Math.cos(i * 0.8) + 0.1 * each) : each));
    assertClose(run(program('channel-vocoder'), x).output, reference.vocoder(x));
  });
});

describe('FMRadio', function () {
  this.timeout(60_000);

  it('is the receiver by definition, on noise', () => {
    const x = signal(900);
    assertClose(run(program('fm-radio'), x).output, reference.fmRadio(x));
  });

  it('gives back the sound that a carrier was modulated with', () => {
    const sound = (t: number): number => 0.6 * Math.sin(2 * Math.PI * 700 * t) + 0.3 * Math.cos(2 * Math.PI * 1900 * t);
    let phase = 0;
    const x = Array.from({ length: 6000 }, (_, n) => {
      phase += (2 * Math.PI * (12000 + 4000 * sound(n / 240000))) / 240000;
      return Math.fround(Math.cos(phase));
    });
    const { output } = run(program('fm-radio'), x);
    // Half of the taps at 240 kHz and at 48 kHz, and half a sample of the demodulator.
    const sent = output.map((_, n) => sound((n + 63 / 10 + 0.5 + 31.5) / 48000));
    const product = (a: readonly number[], b: readonly number[]): number => a.reduce((total, each, i) => total + each * b[i]!, 0);
    const similarity = product(output, sent) / Math.sqrt(product(output, output) * product(sent, sent));
    assert.ok(similarity > 0.99, `correlation ${similarity}`);
  });
});
