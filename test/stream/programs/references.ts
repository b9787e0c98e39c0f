// What the signal-processing programs compute, written directly in double precision.

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const sum = (terms: readonly number[]): number => terms.reduce((total, x) => total + x, 0);

/** Windowed-sinc low-pass filter with a Hamming window. */
export function lowPass(rate: number, cutoff: number, taps: number): number[] {
  const w = (2 * Math.PI * cutoff) / rate;
  return range(taps).map((i) => {
    const t = i - (taps - 1) / 2;
    const ideal = t === 0 ? w / Math.PI : Math.sin(w * t) / (Math.PI * t);
    return ideal * (0.54 - 0.46 * Math.cos((2 * Math.PI * i) / (taps - 1)));
  });
}

/** The mirrored low-pass filter, its spectrum shifted by half the rate. */
export function highPass(rate: number, cutoff: number, taps: number): number[] {
  return lowPass(rate, rate / 2 - cutoff, taps).map((h, i) => (i % 2 === 0 ? h : -h));
}

/** Inner products of h with every `step`-th window of x that is whole. */
export function correlate(h: readonly number[], x: readonly number[], step = 1): number[] {
  const count = Math.max(0, Math.floor((x.length - h.length) / step) + 1);
  return range(count).map((m) => h.reduce((total, each, i) => total + each * x[m * step + i]!, 0));
}

/** Real and imaginary parts in turn; `sign` -1 forwards, 1 backwards; not scaled. */
export function dft(x: readonly number[], sign = -1): number[] {
  const n = x.length / 2;
  return range(n).flatMap((k) => {
    let [real, imaginary] = [0, 0];
    for (let i = 0; i < n; ++i) {
      const angle = (sign * 2 * Math.PI * ((i * k) % n)) / n;
      real += x[2 * i]! * Math.cos(angle) - x[2 * i + 1]! * Math.sin(angle);
      imaginary += x[2 * i]! * Math.sin(angle) + x[2 * i + 1]! * Math.cos(angle);
    }
    return [real, imaginary];
  });
}

/** Two-dimensional inverse DCT of a square block, orthonormal, by its double sum. */
export function inverseDct2(block: readonly number[], size: number): number[] {
  const basis = (n: number, k: number): number => Math.sqrt((k === 0 ? 1 : 2) / size) * Math.cos(((2 * n + 1) * k * Math.PI) / (2 * size));
  return range(size).flatMap((y) => range(size).map((x) => {
    let total = 0;
    for (let v = 0; v < size; ++v) for (let u = 0; u < size; ++u) total += block[v * size + u]! * basis(y, v) * basis(x, u);
    return total;
  }));
}

/** The channel vocoder: voicing and 16 bands, in turn, every 50 samples. */
export function vocoder(x: readonly number[]): number[] {
  const [rate, taps, bands, decimation] = [8000, 64, 16, 50];
  const speech = correlate(lowPass(rate, 3400, taps), x);
  const clipped = speech.map((s) => Math.sign(s) * Math.max(0, Math.abs(s) - 0.25));
  const voicing = range(Math.max(0, Math.floor((clipped.length - 100) / decimation) + 1)).map((m) => {
    const window = clipped.slice(m * decimation, m * decimation + 100);
    const lags = range(80).map((lag) => sum(window.slice(lag + 20).map((s, i) => s * window[i]!)) / 100);
    return Math.max(0, ...lags);
  });
  const channels = range(bands).map((band) => {
    const low = 100 + 200 * band;
    const passed = correlate(highPass(rate, low, taps), correlate(lowPass(rate, low + 200, taps), speech));
    return range(Math.floor(passed.length / decimation)).map((m) => passed[m * decimation]!);
  });
  const count = Math.min(voicing.length, channels[0]!.length);
  return range(count).flatMap((m) => [voicing[m]!, ...channels.map((channel) => channel[m]!)]);
}

/** The FM receiver with its equaliser, a sum of differences of low-pass filters. */
export function fmRadio(x: readonly number[]): number[] {
  const [rate, taps, cuts] = [48000, 64, 11];
  const base = correlate(lowPass(5 * rate, 22000, taps), x, 5);
  const gain = -1 / Math.atan(0.5 * Math.sin((2 * Math.PI * 4000) / rate));
  const sound = base.slice(1).map((each, i) => gain * Math.atan(each * base[i]!));
  const filters = range(cuts).map((i) => lowPass(rate, 55 * (5600 / 55) ** (i / (cuts - 1)), taps));
  const response = range(taps).map((n) => sum(range(cuts - 1).map((i) => {
    const weight = 1 + Math.abs(i + 1 - cuts / 2) / cuts;
    return weight * (filters[i + 1]![n]! - filters[i]![n]!);
  })));
  return correlate(response, sound);
}

/** Malvar's extended lapped transform: basis functions of `bands` channels and 4 times as many taps. */
export function lappedTransform(bands: number): number[][] {
  return range(bands).map((k) => range(4 * bands).map((n) => {
    const window = Math.sqrt(0.5 / bands) * (Math.cos(((n + 0.5) * Math.PI) / (2 * bands)) - Math.SQRT1_2);
    return window * Math.cos(((n + (bands + 1) / 2) * (k + 0.5) * Math.PI) / bands);
  }));
}

/** Analysis by causal filters, every eighth sample kept, synthesis by the same functions: one sum per sample and band. */
export function filterbank(x: readonly number[]): number[] {
  const bands = 8;
  const basis = lappedTransform(bands);
  const output = new Array<number>(x.length).fill(0);
  for (let m = 0; m * bands < x.length; ++m) {
    for (const s of basis) {
      const kept = sum(s.map((each, j) => each * (x[m * bands - 31 + j] ?? 0)));
      for (let j = 0; j < s.length && m * bands + j < x.length; ++j) output[m * bands + j]! += kept * s[j]!;
    }
  }
  return output;
}

/** Convolution of each of 15 channels' 36 complex samples with the equaliser's 5 taps, cut to 36 samples. */
export function equalise(x: readonly number[]): number[] {
  const [samples, channels] = [36, 15];
  const taps = [[0.05, 0.02], [-0.2, 0.1], [0.9, 0], [0.2, -0.1], [-0.05, 0.02]] as const;
  return range(samples).flatMap((n) => range(channels).flatMap((channel) => {
    let [real, imaginary] = [0, 0];
    for (const [i, [a, b]] of taps.entries()) {
      if (i > n) continue;
      const at = 2 * ((n - i) * channels + channel);
      real += a * x[at]! - b * x[at + 1]!;
      imaginary += a * x[at + 1]! + b * x[at]!;
    }
    return [real, imaginary];
  }));
}

/** The product of 12x12 and 12x9, both row by row in one list. */
export function matrixProduct(x: readonly number[]): number[] {
  const b = x.slice(144);
  return range(12).flatMap((i) => range(9).map((j) => sum(range(12).map((k) => x[i * 12 + k]! * b[k * 9 + j]!))));
}
