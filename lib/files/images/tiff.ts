// TIFF images and stacks: 8, 16, 32 and 64 bits, integer and floating point; one page is one slice.
import type { TiffIfd } from 'tiff';
import { refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import {
  allocatePixels, bytesOfSample, damaged, decodeSamples, fieldOr, guarded, limitsOf, pixelTypeFor, requireExtents, scaleFor, spread,
  unsupported, type ReadResult, type SampleType, type Source,
} from './common.ts';
import { tiffDirectories } from './tiff-directory.ts';
import { expand, unpredict } from './tiff-strips.ts';

/** A page's fields, checked. */
interface Page {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly type: SampleType;
  readonly photometric: number;
  readonly planar: boolean;
  readonly compression: number;
  readonly predictor: number;
  readonly hasAlpha: boolean;
  readonly tiled: boolean;
  readonly palette: readonly (readonly [number, number, number])[] | undefined;
  /** Extents of a strip or tile, and the position of each. */
  readonly blockWidth: number;
  readonly blockHeight: number;
  readonly offsets: ArrayLike<number>;
  readonly counts: ArrayLike<number>;
  readonly description: string | undefined;
}

const typesByFormat: Readonly<Record<number, string>> = { 1: 'uint', 2: 'int', 3: 'float' };

function sampleTypeOf(ifd: TiffIfd, name: string): SampleType {
  const bits = ifd.get('BitsPerSample') as number | ArrayLike<number> | undefined;
  const all = typeof bits === 'number' || bits === undefined ? [bits ?? 1] : Array.from(bits);
  const format = typesByFormat[ifd.sampleFormat];
  const type = `${format}${all[0]}`;
  const known = /^u?int(8|16|32)$|^float(32|64)$/.test(type);
  if (!known || all.some((b) => b !== all[0])) {
    throw unsupported(name, `a TIFF file of ${all.join(', ')}-bit samples of format ${ifd.sampleFormat}`);
  }
  return type as SampleType;
}

/** Whether a field of a directory is there; the library's types do not tell. */
const isList = (value: unknown): boolean => value !== undefined;

function checkPage(ifd: TiffIfd, source: Source): Page {
  const { name } = source;
  const { width, height, samplesPerPixel: channels, compression, predictor, planarConfiguration } = ifd;
  const photometric = fieldOr(ifd.type, 1);
  const orientation = fieldOr(ifd.orientation, 1);
  requireExtents(source, [width, height, channels]);
  if (photometric > 3) {
    throw unsupported(name, `a TIFF file with photometric interpretation ${photometric} (only grey, RGB and palettes are supported)`);
  }
  if (orientation !== 1) throw unsupported(name, `a TIFF file with orientation ${orientation}`);
  if (ifd.fillOrder !== 1) throw unsupported(name, 'a TIFF file with reversed bits');
  const type = sampleTypeOf(ifd, name);
  const palette = photometric === 3 ? ifd.palette : undefined;
  if (photometric === 3 && (palette === undefined || !type.startsWith('uint') || channels !== 1)) {
    throw damaged(name, 'a TIFF palette that does not fit its pixels');
  }
  const { tiled } = ifd;
  const blockWidth = tiled ? required(ifd.tileWidth) : width;
  const blockHeight = tiled ? required(ifd.tileHeight) : Math.min(ifd.rowsPerStrip, height);
  const [offsets, counts] = tiled
    ? [ifd.tileOffsets, ifd.tileByteCounts] : [ifd.stripOffsets, ifd.stripByteCounts];
  if (!(blockWidth >= 1 && blockHeight >= 1 && Number.isSafeInteger(blockWidth * blockHeight))) {
    throw damaged(name, 'TIFF strips or tiles without extent');
  }
  requireExtents(source, [blockWidth, blockHeight, channels]);
  if (!isList(offsets) || !isList(counts)) throw damaged(name, 'a TIFF page that does not say where its pixels are');
  const planar = planarConfiguration === 2 && channels > 1;
  const blocks = Math.ceil(width / blockWidth) * Math.ceil(height / blockHeight) * (planar ? channels : 1);
  if (offsets.length < blocks || counts.length < blocks) {
    throw damaged(name, `a TIFF page of ${blocks} strips or tiles that lists ${offsets.length}`);
  }
  const colours = photometric === 2 ? 3 : 1;
  return {
    width, height, channels, type, photometric, planar, compression, predictor, palette, tiled, blockWidth, blockHeight, offsets, counts,
    hasAlpha: channels > colours, description: typeof ifd.imageDescription === 'string' ? ifd.imageDescription : undefined,
  };
}

/** The samples of one page, components of a pixel together or in planes as the file has them. */
async function pageSamples(page: Page, source: Source, littleEndian: boolean): Promise<ArrayLike<number>> {
  const { width, height, channels, type, planar, blockWidth, blockHeight } = page;
  const { bytes, name } = source;
  const step = planar ? 1 : channels;
  const size = bytesOfSample(type) as 1 | 2 | 4 | 8;
  const [across, down] = [Math.ceil(width / blockWidth), Math.ceil(height / blockHeight)];
  const samples = allocatePixels(size === 8 || type.endsWith('int32') ? 'float64' : 'float32', width * height * channels);
  for (let block = 0; block < across * down * (planar ? channels : 1); block += 1) {
    const plane = Math.floor(block / (across * down));
    const [bx, by] = [block % across, Math.floor(block / across) % down];
    // The last strip ends with the image, the last tile does not.
    const rows = page.tiled ? blockHeight : Math.min(blockHeight, height - by * blockHeight);
    const [offset, count] = [elementAt(page.offsets, block), elementAt(page.counts, block)];
    if (offset + count > bytes.length) throw damaged(name, 'a TIFF strip or tile outside the file');
    const expected = blockWidth * rows * step * size;
    const raw = await expand(bytes.subarray(offset, offset + count), page.compression, expected, name);
    const layout = { rows, samples: blockWidth * step, step, bytes: size, littleEndian };
    const whole = unpredict(raw, page.predictor, type.startsWith('float'), layout, name);
    const values = decodeSamples(whole.data, type, whole.littleEndian);
    const base = plane * width * height;
    for (let y = 0; y < rows && by * blockHeight + y < height; y += 1) {
      const target = base + ((by * blockHeight + y) * width + bx * blockWidth) * step;
      const used = Math.min(blockWidth, width - bx * blockWidth) * step;
      for (let i = 0; i < used; i += 1) samples[target + i] = values[y * blockWidth * step + i]!;
    }
  }
  return samples;
}

/** Slices of an ImageJ stack, which stand behind the first one without pages of their own; 1 for all others. */
function hiddenSlices(page: Page): number {
  const images = /^ImageJ=.*\n(?:.*\n)*?images=(\d+)/.exec(page.description ?? '')?.[1];
  return images === undefined || page.compression !== 1 ? 1 : Number(images);
}

/** Colours 0 to 1 of indexed pixels. */
function applyPalette(samples: ArrayLike<number>, palette: NonNullable<Page['palette']>): Float32Array {
  const colours = new Float32Array(3 * samples.length);
  for (let i = 0; i < samples.length; i += 1) for (let c = 0; c < 3; c += 1) colours[3 * i + c] = palette[samples[i]!]![c]!;
  return colours;
}

async function readPages(pages: readonly Page[], source: Source, littleEndian: boolean): Promise<ReadResult> {
  const first = elementAt(pages, 0);
  const { width, height, type } = first;
  const channels = first.palette === undefined ? first.channels : 3;
  const sampleType = first.palette === undefined ? type : 'uint16';
  const keep = first.hasAlpha && source.options.alpha !== 'keep' ? (first.photometric === 2 ? 3 : 1) : channels;
  requireExtents(source, [width, height, pages.length, channels]);
  const points = width * height * pages.length;
  const data = allocatePixels(pixelTypeFor(source, sampleType), points * keep);
  const most = limitsOf(sampleType)?.[1] ?? 1;
  const unsigned = sampleType.startsWith('u');
  const scale = scaleFor(source, unsigned ? 1 / most : 1, 0);
  for (const [z, page] of pages.entries()) {
    const samples = await pageSamples(page, source, littleEndian);
    if (page.photometric === 0 && unsigned) for (let i = 0; i < samples.length; i += 1) (samples as Float64Array)[i] = most - samples[i]!;
    spread(page.palette === undefined ? samples : applyPalette(samples, page.palette), data, {
      channels, keep, interleaved: !page.planar, ...scale, points, first: z * width * height,
    });
  }
  const { description } = first;
  return {
    image: { data, width, height, ...(pages.length > 1 ? { depth: pages.length } : {}), ...(keep > 1 ? { channels: keep } : {}) },
    meta: {
      format: 'tiff', sampleType, ...scale, ...(description === undefined ? {} : { description }),
      ...(keep < channels ? { notes: ['channels beyond grey or red, green and blue were dropped'] } : {}),
    },
  };
}

/** Reads a TIFF file. */
export async function readTiff(source: Source): Promise<ReadResult> {
  const { name, options } = source;
  const { pages: ifds, littleEndian } = tiffDirectories(source);
  const { page: wanted } = options;
  if (wanted !== undefined && wanted >= ifds.length) throw refusal('page', `a page from 0 to ${ifds.length - 1}`, String(wanted));
  let pages = (wanted === undefined ? ifds : [elementAt(ifds, wanted)]).map((ifd) => guarded(name, 'tiff', () => checkPage(ifd, source)));
  const first = elementAt(pages, 0);
  for (const [index, page] of pages.entries()) {
    for (const key of ['width', 'height', 'channels', 'type', 'photometric'] as const) {
      if (page[key] === first[key]) continue;
      throw unsupported(name, `a TIFF file whose page ${index} has another ${key} than page 0 (choose one with the option page)`);
    }
  }
  const hidden = pages.length === 1 ? hiddenSlices(first) : 1;
  if (hidden > 1) {
    requireExtents(source, [first.width, first.height, hidden, first.channels]);
    const bytes = first.width * first.height * first.channels * bytesOfSample(first.type);
    pages = Array.from({ length: hidden }, (_, z) => ({
      ...first, tiled: false, blockWidth: first.width, blockHeight: first.height,
      offsets: [elementAt(first.offsets, 0) + z * bytes], counts: [bytes],
    }));
  }
  return readPages(pages, source, littleEndian);
}
