// The input of a stereo receiver: a melody, multiplexed as in broadcasting and modulated on a carrier. Also measures how well it was
// received.
import { elementAt } from '../../core/known.ts';

/** Samples per second of the modulated signal. */
export const kSignalRate = 240_000;
/** Samples per second of the receivers' output. */
export const kSoundRate = 48_000;

const deviation = 75_000;
const pilot = 19_000;
const emphasis = 50e-6;
const noteSeconds = 0.3;

/**
 * The theme of Beethoven's "Ode to Joy": semitones above c' and lengths in quarter notes. The second voice plays the roots and fifths of
 * its chords.
 */
const melody: readonly (readonly [tone: number, quarters: number])[] = [
  [4, 1], [4, 1], [5, 1], [7, 1], [7, 1], [5, 1], [4, 1], [2, 1], [0, 1], [0, 1], [2, 1], [4, 1], [4, 1.5], [2, 0.5], [2, 2],
  [4, 1], [4, 1], [5, 1], [7, 1], [7, 1], [5, 1], [4, 1], [2, 1], [0, 1], [0, 1], [2, 1], [4, 1], [2, 1.5], [0, 0.5], [0, 2],
];
const bass: readonly (readonly [tone: number, quarters: number])[] = [
  [-12, 4], [-5, 4], [-12, 4], [-5, 4], [-12, 4], [-5, 4], [-12, 4], [-5, 2], [-12, 2],
];

/** The note that sounds in every eighth, and how many eighths it has sounded by then. */
const slots = (notes: typeof melody) => notes.flatMap(([tone, quarters]) =>
  Array.from({ length: 2 * quarters }, (_, i) => ({ frequency: 261.63 * 2 ** (tone / 12), before: i, length: quarters * noteSeconds })));
const melodySlots = slots(melody);
const bassSlots = slots(bass);

/** A voice at a time in seconds, in -1 .. 1: four partials of a plucked string; the theme repeats endlessly. */
function voice(notes: typeof melodySlots, t: number): number {
  const halves = (2 * t) / noteSeconds;
  const { frequency, before, length } = elementAt(notes, Math.floor(halves) % notes.length);
  const seconds = (before + halves - Math.floor(halves)) * (noteSeconds / 2);
  const envelope = Math.min(1, seconds / 0.01) * Math.exp(-2.5 * seconds) * Math.min(1, (length - seconds) / 0.01);
  const w = 2 * Math.PI * frequency * seconds;
  return envelope * (0.55 * Math.sin(w) + 0.25 * Math.sin(2 * w) + 0.13 * Math.sin(3 * w) + 0.07 * Math.sin(4 * w));
}

/** Left and right channel at a time: the melody mostly left, the bass mostly right. */
export function stereoSound(t: number): readonly [left: number, right: number] {
  const [high, low] = [voice(melodySlots, t), voice(bassSlots, t)];
  return [0.8 * high + 0.1 * low, 0.8 * low + 0.1 * high];
}

/**
 * A broadcast as complex samples (alternating real and imaginary parts) at {@link kSignalRate}: sum, pilot, and difference at twice the
 * pilot frequency, modulated with a deviation of 75 kHz. `noise`: standard deviation of the noise added to each part, for a carrier of
 * amplitude 1.
 */
export function stereoBroadcast(
  seconds: number, noise = 0.01, sound: (t: number) => readonly [number, number] = stereoSound,
): Float32Array {
  const count = Math.round(seconds * kSignalRate);
  const signal = new Float32Array(2 * count);
  const keep = Math.exp(-1 / (kSignalRate * emphasis));
  const random = gaussian(1);
  let [phase, lastLeft, lastRight] = [0, 0, 0];
  for (let n = 0; n < count; ++n) {
    const t = n / kSignalRate;
    const [left, right] = sound(t);
    const [l, r] = [(left - keep * lastLeft) / (1 - keep), (right - keep * lastRight) / (1 - keep)];
    [lastLeft, lastRight] = [left, right];
    const angle = 2 * Math.PI * pilot * t;
    const multiplex = 0.9 * ((l + r) / 2 + ((l - r) / 2) * Math.sin(2 * angle)) + 0.1 * Math.sin(angle);
    phase += (2 * Math.PI * deviation * multiplex) / kSignalRate;
    signal[2 * n] = Math.cos(phase) + noise * random();
    signal[2 * n + 1] = Math.sin(phase) + noise * random();
  }
  return signal;
}

/** Normally distributed numbers by Marsaglia's polar method from a linear congruential generator. */
function gaussian(seed: number): () => number {
  let state = seed;
  const uniform = (): number => {
    state = (Math.imul(1664525, state) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
  return () => {
    for (;;) {
      const [u, v] = [uniform(), uniform()];
      const square = u * u + v * v;
      if (square > 0 && square < 1) return u * Math.sqrt((-2 * Math.log(square)) / square);
    }
  };
}

/**
 * Noise and distortion relative to the signal, as an amplitude ratio, in sound received by fm-stereo.str (left and right interleaved, at
 * {@link kSoundRate}) compared with the transmitted melody. The receiver's filters cause a delay of 64 signal samples; its de-emphasis at
 * the sound rate delays by 2 samples less than the transmitter's pre-emphasis at the signal rate. The first tenth of a second is ignored.
 */
export function distortion(received: ArrayLike<number>): number {
  let [error, power] = [0, 0];
  for (let n = kSoundRate / 10; 2 * n < received.length; ++n) {
    const sent = stereoSound(n / kSoundRate + 66 / kSignalRate);
    for (const channel of [0, 1] as const) {
      error += (elementAt(received, 2 * n + channel) / 0.9 - sent[channel]) ** 2;
      power += sent[channel] ** 2;
    }
  }
  return Math.sqrt(error / power);
}
