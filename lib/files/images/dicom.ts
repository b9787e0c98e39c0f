// DICOM images and series: one file, or a folder whose slices are sorted by their position in the patient.
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
// A CommonJS package: its names are known as properties of the default import only.
import dicom, { type DataSet } from 'dicom-parser';
import { describeFile, listFolder, readBytes } from '../../core/files.ts';
import { elementAt, required } from '../../core/known.ts';
import {
  allocatePixels, damaged, decodeSamples, guarded, pixelTypeFor, requireExtents, scaleFor, spread, unsupported,
  type ReadResult, type SampleType, type Source,
} from './common.ts';
import { isDicom } from './detect.ts';
import { compressions, decompressed, type Decompressed } from './dicom-frames.ts';

const deflated = '1.2.840.10008.1.2.1.99';

/** Little endian? */
const readable: Readonly<Record<string, boolean>> = {
  '1.2.840.10008.1.2': true, '1.2.840.10008.1.2.1': true, '1.2.840.10008.1.2.2': false, [deflated]: true,
};
const directory = '1.2.840.10008.1.3.10';

type Vector = [number, number, number];

/** One file: its pixels, and where they are in the patient. */
interface Slice {
  readonly name: string;
  readonly set: DataSet;
  readonly columns: number;
  readonly rows: number;
  readonly frames: number;
  readonly channels: number;
  readonly syntax: string;
  readonly littleEndian: boolean;
  /** Samples of all frames, where the file has them compressed. */
  readonly decompressed?: Decompressed;
  readonly series: string;
  readonly slope: number;
  readonly intercept: number;
  readonly position: Vector | undefined;
  /** Directions of a row and of a column. */
  readonly across: Vector;
  readonly down: Vector;
  readonly spacing: readonly [number, number];
  readonly thickness: number;
  readonly instance: number;
}

const cross = (a: Vector, b: Vector): Vector => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a: Vector, b: Vector): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** Numbers of a text element; undefined unless there are so many, all finite. */
function numbersOf(set: DataSet, tag: string, count: number): number[] | undefined {
  const values = Array.from({ length: count }, (_, i) => set.floatString(tag, i) ?? NaN);
  return values.every(Number.isFinite) ? values : undefined;
}

/** How the file is written; refuses what nothing here reads before any parser touches it. Undefined for a DICOMDIR. */
function syntaxOf(bytes: Uint8Array, name: string): { readonly syntax: string; readonly littleEndian: boolean } | undefined {
  const head = dicom.readPart10Header(bytes);
  if (head.string('x00020002') === directory) return undefined;
  const syntax = head.string('x00020010') ?? '';
  const littleEndian = readable[syntax] ?? (syntax in compressions ? true : undefined);
  if (littleEndian === undefined) {
    throw unsupported(name, `a DICOM file of transfer syntax ${syntax}; decompress it first (gdcmconv --raw)`);
  }
  return { syntax, littleEndian };
}

/** A parsed file, decompressed; undefined for one without pixels. The parser's accessors throw too, some of them strings. */
async function sliceOf(source: Source): Promise<Slice | undefined> {
  const { bytes, name, options } = source;
  const slice = guarded(name, 'dicom-parser', () => parseSlice(bytes, name, options.maxPixels));
  if (slice === undefined || !(slice.syntax in compressions)) return slice;
  requireExtents(source, [slice.columns, slice.rows, slice.frames, slice.channels]);
  const { type } = guarded(name, 'dicom-parser', () => sampleFormat(slice));
  return { ...slice, decompressed: await decompressed(slice, type) };
}

/** The whole file with its deflated part inflated, to at most what an image of `most` samples takes. */
const inflated = (file: Uint8Array, position: number, most: number): Uint8Array =>
  Buffer.concat([file.subarray(0, position), inflateRawSync(file.subarray(position), { maxOutputLength: 8 * most + 2 ** 24 })]);

function parseSlice(bytes: Uint8Array, name: string, maxPixels: number): Slice | undefined {
  const written = syntaxOf(bytes, name);
  if (written === undefined) return undefined;
  const set = dicom.parseDicom(bytes, { inflater: (file, position) => inflated(file, position, maxPixels) });
  if (set.elements['x7fe00010'] === undefined) return undefined;
  const number = (tag: string, fallback: number) => numbersOf(set, tag, 1)?.[0] ?? fallback;
  const orientation = numbersOf(set, 'x00200037', 6) ?? [1, 0, 0, 0, 1, 0];
  return {
    name, set, ...written,
    columns: set.uint16('x00280011') ?? 0, rows: set.uint16('x00280010') ?? 0, frames: number('x00280008', 1),
    channels: set.uint16('x00280002') ?? 1, series: set.string('x0020000e') ?? '',
    slope: number('x00281053', 1), intercept: number('x00281052', 0),
    position: numbersOf(set, 'x00200032', 3) as Vector | undefined,
    across: orientation.slice(0, 3) as Vector, down: orientation.slice(3) as Vector,
    spacing: (numbersOf(set, 'x00280030', 2) ?? [1, 1]) as [number, number],
    thickness: number('x00180088', number('x00180050', 1)), instance: number('x00200013', 0),
  };
}

/** Type, significant bits and their place of a slice's samples. */
function sampleFormat({ set, name, channels, syntax }: Slice): { type: SampleType; stored: number; shift: number; signed: boolean } {
  const [allocated, signed] = [set.uint16('x00280100') ?? 0, set.uint16('x00280103') === 1];
  const stored = set.uint16('x00280101') ?? allocated;
  const high = set.uint16('x00280102') ?? stored - 1;
  if (![8, 16, 32].includes(allocated)) throw unsupported(name, `a DICOM file of ${allocated}-bit samples`);
  if (stored < 1 || stored > allocated || high < stored - 1 || high >= allocated) {
    throw damaged(name, `DICOM samples of ${stored} bits below bit ${high} of ${allocated}`);
  }
  const photometric = set.string('x00280004') ?? '';
  const known = channels === 1 ? /^MONOCHROME[12]$/ : /^RGB$/;
  if (!known.test(photometric) && !(channels === 3 && compressions[syntax]?.colours?.includes(photometric))) {
    throw unsupported(name, `a DICOM file with photometric interpretation ${photometric || '(none)'} and ${channels} components`);
  }
  return { type: `${signed ? 'int' : 'uint'}${allocated}` as SampleType, stored, shift: high + 1 - stored, signed };
}

/** The samples of a slice's frames. */
function samplesOf(slice: Slice): ArrayLike<number> {
  const { set, name, columns, rows, frames, channels, littleEndian, decompressed: own } = slice;
  const { type, stored, shift, signed } = sampleFormat(slice);
  const element = required(set.elements['x7fe00010']);
  if (own === undefined && element.encapsulatedPixelData === true) throw unsupported(name, 'a DICOM file with encapsulated pixels');
  const allocated = Number(required(/\d+/.exec(type))[0]);
  const expected = (columns * rows * frames * channels * allocated) / 8;
  if (own === undefined && (element.length < expected || element.dataOffset + expected > set.byteArray.length)) {
    const there = Math.min(element.length, set.byteArray.length - element.dataOffset);
    throw damaged(name, `${there} bytes of pixels, but its header announces ${expected}`);
  }
  const bytes = own?.bytes ?? set.byteArray.subarray(element.dataOffset, element.dataOffset + expected);
  const samples = decodeSamples(bytes, type, littleEndian);
  if (stored === allocated) return samples;
  // Other bits of the word may hold overlays.
  const unused = 32 - stored;
  for (let i = 0; i < samples.length; i += 1) {
    const word = (samples[i]! >> (own === undefined ? shift : 0)) << unused;
    samples[i] = signed ? word >> unused : word >>> unused;
  }
  return samples;
}

/** Slices in the order of their places along the normal, and their distance. */
function sortSlices(slices: Slice[], name: string): { sorted: Slice[]; distance: number; notes: string[] } {
  const [first] = slices as [Slice];
  const normal = cross(first.across, first.down);
  const placed = slices.every(({ position }) => position !== undefined);
  if (!placed) {
    const sorted = [...slices].sort((a, b) => a.instance - b.instance);
    return { sorted, distance: first.thickness, notes: slices.length > 1 ? ['slices without a position: sorted by their numbers'] : [] };
  }
  for (const { across, down, name: file } of slices) {
    if (dot(across, first.across) < 0.999 || dot(down, first.down) < 0.999) {
      throw unsupported(file, 'a DICOM slice with another orientation than the first one');
    }
  }
  const at = (slice: Slice) => dot(required(slice.position), normal);
  const sorted = [...slices].sort((a, b) => at(a) - at(b));
  const gaps = sorted.slice(1).map((slice, i) => at(slice) - at(elementAt(sorted, i)));
  if (gaps.length === 0) return { sorted, distance: first.thickness, notes: [] };
  const distance = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const [least, most] = gaps.reduce<[number, number]>(([low, high], gap) => [Math.min(low, gap), Math.max(high, gap)], [Infinity, 0]);
  if (least < 1e-3 * Math.max(distance, 1e-9)) {
    throw unsupported(name, 'DICOM slices, two of which are at the same position (several time points or echoes?)');
  }
  const uneven = most - least > 0.01 * distance;
  return { sorted, distance, notes: uneven ? [`slices ${least.toPrecision(4)} to ${most.toPrecision(4)} mm apart`] : [] };
}

/** Pixel to patient, with DICOM's axes (left, back, head) turned to right, front, head. */
function affineOf({ position, across, down, spacing: [rowStep, columnStep] }: Slice, distance: number): number[] | undefined {
  if (position === undefined) return undefined;
  const normal = cross(across, down);
  const turn = [-1, -1, 1];
  const rows = turn.map((sign, i) =>
    [elementAt(across, i) * columnStep, elementAt(down, i) * rowStep, elementAt(normal, i) * distance, elementAt(position, i)]
      .map((value) => value * sign + 0));
  return [...rows.flat(), 0, 0, 0, 1];
}

function volumeOf(slices: Slice[], source: Source): ReadResult {
  const { sorted, distance, notes } = sortSlices(slices, source.name);
  const [first] = sorted as [Slice];
  const { columns, rows, frames, channels } = first;
  if (sorted.length > 1 && frames > 1) throw unsupported(source.name, 'several DICOM files of several frames each');
  requireExtents(source, [columns, rows, frames * sorted.length, channels]);
  for (const slice of sorted) {
    for (const key of ['columns', 'rows', 'channels'] as const) {
      if (slice[key] !== first[key]) {
        throw damaged(slice.name, `a DICOM slice of ${slice[key]} ${key}, but the first one has ${first[key]}`);
      }
    }
  }
  const { type } = sampleFormat(first);
  const depth = frames * sorted.length;
  const points = columns * rows * depth;
  const data = allocatePixels(pixelTypeFor(source, type), points * channels);
  sorted.forEach((slice, z) => {
    const interleaved = slice.decompressed?.interleaved ?? slice.set.uint16('x00280006') !== 1;
    const scale = scaleFor(source, slice.slope, slice.intercept);
    const samples = samplesOf(slice);
    const each = columns * rows * channels;
    for (let frame = 0; frame < frames; frame += 1) {
      const part = (samples as Float64Array).subarray(frame * each, (frame + 1) * each);
      spread(part, data, { channels, keep: channels, interleaved, ...scale, points, first: (z + frame) * columns * rows });
    }
  });
  if (first.set.string('x00280004') === 'MONOCHROME1') notes.push('larger numbers are darker (MONOCHROME1)');
  const affine = affineOf(first, distance);
  const { slope, intercept } = scaleFor(source, first.slope, first.intercept);
  return {
    image: { data, width: columns, height: rows, ...(depth > 1 ? { depth } : {}), ...(channels > 1 ? { channels } : {}) },
    meta: {
      format: 'dicom', sampleType: type, slope, intercept, spacing: [first.spacing[1], first.spacing[0], distance],
      ...(affine === undefined ? {} : { affine }), ...(notes.length > 0 ? { notes } : {}),
    },
  };
}

/** Reads one DICOM file. */
export async function readDicom(source: Source): Promise<ReadResult> {
  const slice = await sliceOf(source);
  if (slice === undefined) throw unsupported(source.name, 'a DICOM file without pixels');
  return guarded(source.name, 'dicom-parser', () => volumeOf([slice], source));
}

/** Reads the series of a folder; files that are not DICOM are skipped. */
export async function readDicomFolder(folder: string, options: Source['options']): Promise<ReadResult> {
  const names = (await listFolder(folder)).map(({ name }) => name);
  const slices: Slice[] = [];
  let bytes = 0;
  for (const name of names) {
    const path = join(folder, name);
    const info = await describeFile(path);
    if (!info.isFile()) continue;
    bytes += info.size;
    if (bytes > 8 * options.maxPixels + 2 ** 20 * names.length) requireExtents({ bytes: new Uint8Array(), name: folder, options }, [bytes]);
    const file = await readBytes(path);
    if (!isDicom(file)) continue;
    const slice = await sliceOf({ bytes: file, name: path, options });
    if (slice !== undefined) slices.push(slice);
  }
  if (slices.length === 0) throw unsupported(folder, 'a folder without DICOM images');
  const series = [...new Set(slices.map((slice) => slice.series))];
  const wanted = options.series ?? elementAt(series, 0);
  if (options.series === undefined && series.length > 1) {
    throw unsupported(folder, `a folder of ${series.length} DICOM series (choose one with the option series: ${series.join(', ')})`);
  }
  const chosen = slices.filter((slice) => slice.series === wanted);
  if (chosen.length === 0) throw unsupported(folder, `a folder without the DICOM series ${wanted}`);
  return guarded(folder, 'dicom-parser', () => volumeOf(chosen, { bytes: new Uint8Array(), name: folder, options }));
}
