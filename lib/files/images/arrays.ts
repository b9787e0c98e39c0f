// Arrays without an image's header: .npy, and raw samples of a described layout.
import { choice, truth, whole } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { needed, normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { formatNpy, parseNpy } from '../npy.ts';
import type { CheckedImage } from '../image.ts';
import {
  allocatePixels, axisOrders, bytesOfSample, damaged, decodeSamples, encodeSamples, pixelTypeFor, requireExtents, sampleTypes, spread,
  type AxisOrder, type ImageMeta, type RawLayout, type ReadResult, type SampleType, type Source,
} from './common.ts';

const defaultOrders: Readonly<Record<number, AxisOrder>> = { 2: 'yx', 3: 'zyx', 4: 'czyx' };

/** Reads a .npy file; its rank determines its axes, unless the option `axes` does. */
export function readNpy(source: Source): ReadResult {
  const { bytes, name, options } = source;
  const { type, shape, data: stored } = parseNpy(bytes, name);
  if (type.startsWith('complex')) throw refusal(name, 'real numbers', type);
  const order = options.axes ?? defaultOrders[shape.length];
  if (order !== undefined) choice(axisOrders)(order, 'axes');
  if (order?.length !== shape.length) {
    const rank = order === undefined ? 'an array of rank 2, 3 or 4' : `an array of rank ${order.length} (axes ${order})`;
    throw refusal(name, rank, `shape (${shape.join(', ')})`);
  }
  const extent = (axis: string) => (order.includes(axis) ? elementAt(shape, order.indexOf(axis)) : 1);
  const [width, height, depth, channels] = [extent('x'), extent('y'), extent('z'), extent('c')];
  requireExtents(source, [width, height, depth, channels]);
  const points = width * height * depth;
  const data = allocatePixels(pixelTypeFor(source, type as SampleType), points * channels);
  const samples = stored instanceof BigInt64Array ? Float64Array.from(stored, Number) : stored;
  spread(samples, data, { channels, keep: channels, interleaved: order.endsWith('c'), slope: 1, intercept: 0, points, first: 0 });
  return {
    image: { data, width, height, ...(order.includes('z') ? { depth } : {}), ...(order.includes('c') ? { channels } : {}) },
    meta: { format: 'npy', sampleType: type as SampleType, slope: 1, intercept: 0 },
  };
}

/** The bytes of a .npy file of shape (height, width), (depth, height, width) or (channels, depth, height, width). */
export function formatNpyImage(image: CheckedImage<Float32Array | Float64Array>, meta: Partial<ImageMeta>): Uint8Array {
  const { width, height, depth, channels, data } = image;
  const sampleType = meta.sampleType ?? image.type;
  if (sampleType === 'uint64') throw refusal('meta.sampleType', 'another type than uint64 (.npy)', sampleType);
  const shape = channels > 1 ? [channels, depth, height, width] : depth > 1 ? [depth, height, width] : [height, width];
  if (sampleType === image.type) return formatNpy({ type: sampleType, shape, data });
  const bytes = encodeSamples(data, sampleType, true, { slope: meta.slope ?? 1, intercept: meta.intercept ?? 0 });
  // The header depends on type and shape only; the samples are laid behind it.
  const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
  const stored = sampleType === 'int64' ? new BigInt64Array(copy) : decodeSamples(bytes, sampleType, true);
  return formatNpy({ type: sampleType, shape, data: stored });
}

const extent = whole(1, 2 ** 30);
const layoutFields = optionsOf('a raw layout', {
  width: needed(extent), height: needed(extent), depth: normally(extent, 1), channels: normally(extent, 1),
  sampleType: needed(choice(sampleTypes)), littleEndian: normally(truth, true), offset: normally(whole(0), 0),
  interleaved: normally(truth, false),
} satisfies ChecksOf<RawLayout>);

/** Checks the layout that a caller describes. */
function checkLayout(layout: RawLayout | undefined): Required<RawLayout> {
  if (layout === undefined) throw refusal('raw', 'the layout of the raw file: { width, height, sampleType, … }', 'none');
  return layoutFields.read(layout, 'raw');
}

/** Reads raw samples. */
export function readRaw(source: Source): ReadResult {
  const { width, height, depth, channels, sampleType, littleEndian, offset, interleaved } = checkLayout(source.options.raw);
  const samples = requireExtents(source, [width, height, depth, channels]);
  const expected = samples * bytesOfSample(sampleType);
  if (source.bytes.length < offset + expected) {
    throw damaged(source.name, `${source.bytes.length} bytes where the layout needs ${offset + expected}`);
  }
  const points = width * height * depth;
  const data = allocatePixels(pixelTypeFor(source, sampleType), samples);
  spread(decodeSamples(source.bytes.subarray(offset, offset + expected), sampleType, littleEndian), data, {
    channels, keep: channels, interleaved, slope: 1, intercept: 0, points, first: 0,
  });
  return {
    image: { data, width, height, ...(depth > 1 ? { depth } : {}), ...(channels > 1 ? { channels } : {}) },
    meta: { format: 'raw', sampleType, slope: 1, intercept: 0 },
  };
}

/** Little-endian samples of the image's planes. */
export function formatRaw(image: CheckedImage<Float32Array | Float64Array>, meta: Partial<ImageMeta>): Uint8Array {
  return encodeSamples(image.data, meta.sampleType ?? image.type, true, { slope: meta.slope ?? 1, intercept: meta.intercept ?? 0 });
}
