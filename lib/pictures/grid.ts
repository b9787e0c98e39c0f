// Grids of numbers as PNG pictures.
import { interpolateInferno } from 'd3-scale-chromatic';
import { decode, encode } from 'fast-png';
import { elementAt, required } from '../core/known.ts';

/** 256 colours of the perceptually uniform inferno colour map, as RGB bytes. */
const RAMP = new Uint8Array(256 * 3);
for (let level = 0; level < 256; ++level) {
  const hex = interpolateInferno(level / 255);
  for (let part = 0; part < 3; ++part) {
    RAMP[3 * level + part] = parseInt(hex.slice(1 + 2 * part, 3 + 2 * part), 16);
  }
}
const MISSING = [128, 128, 128];

/** Smallest and largest finite value; [0, 1] if there is none. */
export function finiteRange(values: ArrayLike<number>): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (let i = 0; i < values.length; ++i) {
    const value = required(values[i]);
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

/** A range that holds more than one number: about the value of a constant, whose colour is then the one in the middle. */
export function spreadRange([low, high]: readonly [number, number]): [number, number] {
  if (low !== high) return [low, high];
  const around = Math.abs(low) / 2 || 0.5;
  return [low - around, high + around];
}

/**
 * Range between the quantiles `share` and 1 - `share` of the finite values, so that a few extreme values do not leave the rest of a picture
 * dark. [0, 1] if there is no finite value.
 */
export function clippedRange(values: ArrayLike<number>, share = 0.005): [number, number] {
  const finite = Float64Array.from(values).filter(Number.isFinite).sort();
  if (finite.length === 0) return [0, 1];
  const at = Math.floor(share * (finite.length - 1));
  return [elementAt(finite, at), elementAt(finite, finite.length - 1 - at)];
}

/**
 * The PNG of a grid, dark for `range[0]` to bright for `range[1]`; values that are not finite are grey.
 * @param values row by row, width*height of them
 */
export function gridPng(values: ArrayLike<number>, width: number, height: number,
  range: readonly [number, number] = finiteRange(values)): Uint8Array {
  const data = new Uint8Array(width * height * 3);
  const scale = range[1] > range[0] ? 255 / (range[1] - range[0]) : 0;
  for (let i = 0; i < width * height; ++i) {
    const value = required(values[i]);
    if (!Number.isFinite(value)) {
      data.set(MISSING, 3 * i);
      continue;
    }
    const level = Math.min(255, Math.max(0, Math.round((value - range[0]) * scale)));
    data.set(RAMP.subarray(3 * level, 3 * level + 3), 3 * i);
  }
  return encode({ width, height, data, channels: 3, depth: 8 });
}

/** Luminance (Rec. 709, 0…1) of each pixel of a PNG, row by row. */
export function pngLuminance(bytes: Uint8Array): { width: number; height: number; values: Float64Array } {
  const { width, height, data, channels, depth, palette } = decode(bytes);
  const values = new Float64Array(width * height);
  const full = 2 ** depth - 1;
  for (let i = 0; i < values.length; ++i) {
    const at = i * channels;
    if (palette === undefined && channels < 3) {
      values[i] = (data[at] ?? NaN) / full;
      continue;
    }
    const [red = NaN, green = NaN, blue = NaN] = palette?.[data[i] ?? NaN] ?? [data[at], data[at + 1], data[at + 2]];
    const white = palette === undefined ? full : 255;
    values[i] = (0.2126 * red + 0.7152 * green + 0.0722 * blue) / white;
  }
  return { width, height, values };
}

/** Colours by level: grey for what is missing, white, and the colour map from level 2 on. */
export const levelColours: readonly (readonly [number, number, number])[] = Array.from({ length: 256 }, (_, level) => {
  if (level < 2) return level === 0 ? [128, 128, 128] : [255, 255, 255];
  const at = 3 * Math.round(((level - 2) * 255) / 253);
  return [elementAt(RAMP, at), elementAt(RAMP, at + 1), elementAt(RAMP, at + 2)];
});
/** The level of white. */
export const whiteLevel = 1;

/** The levels of values between the ends of a range, for pictures with the palette {@link levelColours}. */
export function levelsOf(values: ArrayLike<number>, range: readonly [number, number]): Uint8Array {
  const scale = range[1] > range[0] ? 253 / (range[1] - range[0]) : 0;
  return Uint8Array.from(values, (value) =>
    (Number.isFinite(value) ? 2 + Math.min(253, Math.max(0, Math.round((value - range[0]) * scale))) : 0));
}
