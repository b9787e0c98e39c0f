// Files that optional packages decode: JPEG, WebP, and compressed DICOM, each made here by an encoder.
import { deepStrictEqual, equal, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import charls from '@cornerstonejs/codec-charls/wasmjs';
import openjpeg from '@cornerstonejs/codec-openjpeg/wasmjs';
import sharp from 'sharp';
import { missingPackages } from '../../lib/core/optional.ts';
import { readImage, writeImage, type Image } from '../../lib/imaging/index.ts';
import { losslessJpeg } from '../support/lossless-jpeg.ts';

type HostImage = Image<Float32Array | Float64Array>;

/** A photograph of a slope of colours, components of a pixel together. */
const slopes = (width: number, height: number, channels: number): Buffer =>
  Buffer.from(Array.from({ length: width * height * channels }, (_, i) => {
    const [c, x, y] = [i % channels, Math.floor(i / channels) % width, Math.floor(i / channels / width)];
    return Math.round((200 * ((c === 1 ? y : x) / Math.max(width, height))) + 20 * c);
  }));
const raw = (pixels: Buffer, width: number, height: number, channels: 1 | 3 | 4) => sharp(pixels, { raw: { width, height, channels } });

/** Samples of a read image as a file has them, components of a pixel together. */
const together = ({ data, width, height, channels = 1 }: HostImage): number[] =>
  Array.from(data, (_, i) => Math.round(255 * data[(i % channels) * width * height + Math.floor(i / channels)]!));
const farthest = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  equal(a.length, b.length);
  return Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0);
};

describe('JPEG and WebP', function () {
  this.timeout(60_000);
  let folder: string;
  before(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-codecs-')); });
  after(() => rm(folder, { recursive: true, force: true }));
  const at = (name: string) => join(folder, name);

  it('come as grey or RGB from 0 to 1, upright, in sRGB', async () => {
    const [grey, colours] = [slopes(16, 9, 1), slopes(16, 9, 3)];
    const first = await readImage(await raw(grey, 16, 9, 1).toColourspace('b-w').jpeg({ quality: 100 }).toBuffer());
    deepStrictEqual([first.image.width, first.image.height, first.image.channels, first.meta.format, first.meta.sampleType], [16, 9, undefined, 'jpeg', 'uint8']);
    ok(farthest(together(first.image as HostImage), grey) <= 2);
    const turned = await raw(colours, 16, 9, 3).jpeg({ quality: 100, chromaSubsampling: '4:4:4' }).withExif({}).withMetadata({ orientation: 6 }).toBuffer();
    const { image, meta } = await readImage(turned);
    deepStrictEqual([image.width, image.height, image.channels], [9, 16, 3]);
    match(meta.notes!.join(), /EXIF/);
    // Turned by a quarter: column 8 - y of the upright picture is row y of the stored one.
    const [own, stored] = [together(image as HostImage), (x: number, y: number, c: number) => colours[(y * 16 + x) * 3 + c]!];
    ok(own.every((value, i) => Math.abs(value - stored(Math.floor(i / 27), 8 - (Math.floor(i / 3) % 9), i % 3)) <= 4));
    const wide = await raw(Buffer.from([200, 40, 40].flatMap((v) => Array(16).fill(v) as number[])), 4, 4, 3)
      .jpeg({ quality: 100 }).withIccProfile('p3').toBuffer();
    const converted = await readImage(wide);
    match(converted.meta.notes!.join(), /profile to sRGB/);
    const ignored = await sharp(wide, { ignoreIcc: true }).raw().toBuffer();
    ok(together(converted.image as HostImage).some((value, i) => value !== ignored[i]));
    match((await readImage(await raw(colours, 16, 9, 3).toColourspace('cmyk').jpeg().toBuffer())).meta.notes!.join(), /CMYK/);
  });

  it('alpha is dropped or kept, frames are chosen', async () => {
    const pixels = Buffer.from(slopes(8, 6, 4));
    const file = await raw(pixels, 8, 6, 4).webp({ lossless: true, exact: true }).toBuffer();
    const { image, meta } = await readImage(file);
    deepStrictEqual([image.channels, meta.notes], [3, ['its alpha channel was dropped']]);
    deepStrictEqual(together(image as HostImage), [...pixels.filter((_, i) => i % 4 < 3)]);
    const whole = await readImage(file, { alpha: 'keep', values: 'stored', type: 'float64' });
    ok(whole.image.data instanceof Float64Array);
    deepStrictEqual(Array.from(whole.image.data as Float64Array, (_, i) => (whole.image.data as Float64Array)[(i % 4) * 48 + Math.floor(i / 4)]), [...pixels]);
    const film = await sharp(Buffer.concat([slopes(4, 4, 3), slopes(4, 4, 3).map((v) => 255 - v)]), { raw: { width: 4, height: 8, channels: 3, pageHeight: 4 } })
      .webp({ lossless: true, loop: 0, delay: [50, 50] }).toBuffer();
    const [one, two] = [await readImage(film), await readImage(film, { page: 1 })];
    deepStrictEqual([one.image.height, one.meta.notes?.at(-1)], [4, 'the first of 2 frames (choose one with page)']);
    ok(together(one.image as HostImage).every((value, i) => value + together(two.image as HostImage)[i]! === 255));
    await rejects(readImage(film, { page: 2 }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'page' });
  });

  it('are written: WebP to the bit, JPEG nearly', async () => {
    for (const channels of [1, 3, 4] as const) {
      const data = Float32Array.from({ length: 15 * 8 * channels }, (_, i) => (i % 256) / 255);
      const image = { data, width: 15, height: 8, channels };
      await writeImage(at('a.webp'), image);
      const back = (await readImage(at('a.webp'), { alpha: 'keep' })).image;
      const planes = channels === 1 ? 3 : channels; // grey WebP does not exist
      for (let i = 0; i < 120 * planes; i += 1) strictEqual(back.data[i], data[channels === 1 ? i % 120 : i]);
      if (channels === 4) continue;
      const smooth = { ...image, data: data.map((_, i) => 0.2 + 0.5 * ((i % 15) / 15)) };
      await writeImage(at('a.JPEG'), smooth);
      const near = (await readImage(at('a.JPEG'))).image;
      equal(near.channels ?? 1, channels);
      ok(farthest(near.data as Float32Array, smooth.data) < 3 / 255);
    }
    const image: HostImage = { data: new Float32Array(32), width: 4, height: 4, channels: 2 };
    const refused = (path: string, given: HostImage, argument: string, meta = {}) =>
      rejects(writeImage(at(path), given, meta), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
    await refused('b.jpg', image, 'image.channels');
    await refused('b.webp', image, 'image.channels');
    await refused('b.jpg', { ...image, channels: 1, depth: 2 }, 'image.depth');
    await refused('b.jpg', { ...image, channels: 1, height: 8 }, 'meta.sampleType', { sampleType: 'uint16' });
    await refused('b.webp', { data: new Float32Array(16_384), width: 16_384, height: 1 }, 'image');
  });

  it('damaged and oversized files are refused', async () => {
    const file = await raw(slopes(64, 64, 3), 64, 64, 3).jpeg().toBuffer();
    await rejects(readImage(file.subarray(0, file.length >> 1)), { code: 'ERR_WARPLOOM_DAMAGED_FILE' });
    await rejects(readImage(file.subarray(0, 20)), { code: 'ERR_WARPLOOM_DAMAGED_FILE' });
    await rejects(readImage(file, { maxPixels: 64 * 64 }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'maxPixels' });
    const webp = await raw(slopes(64, 64, 3), 64, 64, 3).webp().toBuffer();
    await rejects(readImage(webp.subarray(0, 60)), { code: 'ERR_WARPLOOM_DAMAGED_FILE' });
  });

  it('a missing package is named with the command that installs it', async () => {
    const absent = 'no-such-package-of-codecs';
    const error: unknown = await import(absent).catch((reason: unknown) => reason);
    const { code, message } = missingPackages(error, 'JPEG and WebP need an optional package', absent);
    deepStrictEqual([code, message], ['ERR_WARPLOOM_UNAVAILABLE', `JPEG and WebP need an optional package: npm install ${absent}`]);
    strictEqual(missingPackages(new Error('wrong platform\nmore'), 'They need one', 'x').message,
      'They need one (installed, but not loading: wrong platform): npm install x');
  });
});

interface DicomFields {
  readonly syntax: string;
  readonly columns: number;
  readonly rows: number;
  readonly frames?: number;
  readonly channels?: number;
  readonly allocated?: number;
  readonly stored?: number;
  readonly signed?: boolean;
  readonly photometric?: string;
}

/** A DICOM file whose pixels are in these fragments; `table`: where each frame begins. */
function dicomFile(fields: DicomFields, fragments: readonly Uint8Array[], table: readonly number[] = []): Buffer {
  const { syntax, columns, rows, frames = 1, channels = 1, allocated = 16, stored = allocated, signed = false } = fields;
  const { photometric = channels === 3 ? 'RGB' : 'MONOCHROME2' } = fields;
  const padded = (bytes: Uint8Array, fill = 0) => (bytes.length % 2 === 0 ? Buffer.from(bytes) : Buffer.concat([bytes, Buffer.from([fill])]));
  const element = (group: number, number: number, vr: string, value: Uint8Array | string | number) => {
    const short = Buffer.alloc(2);
    if (typeof value === 'number') short.writeUInt16LE(value);
    const bytes = typeof value === 'number' ? short : padded(Buffer.from(value), vr === 'UI' ? 0 : 32);
    const head = Buffer.alloc(8);
    head.writeUInt16LE(group, 0);
    head.writeUInt16LE(number, 2);
    head.write(vr, 4, 'latin1');
    head.writeUInt16LE(bytes.length, 6);
    return Buffer.concat([head, bytes]);
  };
  const item = (bytes: Uint8Array) => {
    const head = Buffer.from([0xfe, 0xff, 0, 0xe0, 0, 0, 0, 0]);
    const even = padded(bytes);
    head.writeUInt32LE(even.length, 4);
    return Buffer.concat([head, even]);
  };
  const offsets = Buffer.alloc(4 * table.length);
  table.forEach((offset, i) => offsets.writeUInt32LE(offset, 4 * i));
  return Buffer.concat([
    Buffer.alloc(128), Buffer.from('DICM'), element(2, 0x10, 'UI', syntax), element(0x28, 2, 'US', channels), element(0x28, 4, 'CS', photometric),
    ...(channels > 1 ? [element(0x28, 6, 'US', 0)] : []), element(0x28, 8, 'IS', String(frames)),
    element(0x28, 0x10, 'US', rows), element(0x28, 0x11, 'US', columns), element(0x28, 0x100, 'US', allocated), element(0x28, 0x101, 'US', stored),
    element(0x28, 0x102, 'US', stored - 1), element(0x28, 0x103, 'US', signed ? 1 : 0),
    Buffer.from([0xe0, 0x7f, 0x10, 0, ...Buffer.from('OB'), 0, 0, 0xff, 0xff, 0xff, 0xff]), item(offsets), ...fragments.map(item),
    Buffer.from([0xfe, 0xff, 0xdd, 0xe0, 0, 0, 0, 0]),
  ]);
}

const syntaxes = {
  runs: '1.2.840.10008.1.2.5', jpeg: '1.2.840.10008.1.2.4.50', extended: '1.2.840.10008.1.2.4.51', lossless: '1.2.840.10008.1.2.4.70',
  ls: '1.2.840.10008.1.2.4.80', j2k: '1.2.840.10008.1.2.4.90',
} as const;

type Samples = Uint8Array | Uint16Array | Int16Array;

/** The codecs, once; what they are given becomes the instance. */
const silent = () => ({ print: () => undefined, printErr: () => undefined });
const once = <T>(open: () => Promise<T>) => {
  let instance: Promise<T> | undefined;
  return () => (instance ??= open());
};
const opened = { ls: once(() => charls(silent())), j2k: once(() => openjpeg(silent())) };

/** What a codec's encoder makes of samples. */
async function encoded(kind: 'ls' | 'j2k', samples: Samples, columns: number, rows: number, channels = 1): Promise<Buffer> {
  const encoder = kind === 'ls' ? new (await opened.ls()).JpegLSEncoder() : new (await opened.j2k()).J2KEncoder();
  const bitsPerSample = 8 * samples.BYTES_PER_ELEMENT;
  encoder.getDecodedBuffer({
    width: columns, height: rows, bitsPerSample, componentCount: channels, isSigned: samples instanceof Int16Array, isUsingColorTransform: channels > 1,
  }).set(new Uint8Array(samples.buffer));
  encoder.encode();
  const frame = Buffer.from(encoder.getEncodedBuffer());
  encoder.delete();
  return frame;
}

/** Samples with a slope and some noise. */
const noise = (i: number) => (i * 7919) % 61;
const images = 'data/';

describe('compressed DICOM', function () {
  this.timeout(60_000);
  const [columns, rows, points] = [64, 48, 64 * 48];
  const unsigned = Uint16Array.from({ length: points }, (_, i) => 40 * (i % 64) + noise(i));
  const signed = Int16Array.from(unsigned, (value) => value - 1000);
  const bytes = Uint8Array.from({ length: points }, (_, i) => (i % 64) * 2 + noise(i));
  const stored = { values: 'stored' } as const;
  const read = async (fields: Omit<DicomFields, 'columns' | 'rows'>, fragments: readonly Uint8Array[], table?: readonly number[]) =>
    (await readImage(dicomFile({ columns, rows, ...fields }, fragments, table), stored)).image as HostImage;

  it('JPEG 2000, JPEG-LS and lossless JPEG give the samples that were compressed', async () => {
    for (const [name, samples] of [['unsigned', unsigned], ['signed', signed], ['bytes', bytes]] as const) {
      const fields = { allocated: 8 * samples.BYTES_PER_ELEMENT, signed: samples instanceof Int16Array };
      for (const kind of ['ls', 'j2k'] as const) {
        const frame = await encoded(kind, samples, columns, rows);
        deepStrictEqual([...(await read({ ...fields, syntax: syntaxes[kind] }, [frame])).data], [...samples], `${kind} ${name}`);
      }
      const frame = losslessJpeg(samples, columns, rows, samples instanceof Uint8Array ? 8 : 16);
      deepStrictEqual([...(await read({ ...fields, syntax: syntaxes.lossless }, [frame])).data], [...samples], `lossless ${name}`);
    }
    // 12 bits of 16.
    const twelve = Int16Array.from(unsigned, (value) => (value & 4095) - 2048);
    deepStrictEqual([...(await read({ syntax: syntaxes.j2k, stored: 12, signed: true }, [await encoded('j2k', twelve, columns, rows)])).data], [...twelve]);
  });

  it('colours: JPEG, JPEG 2000, JPEG-LS', async () => {
    const pixels = slopes(columns, rows, 3);
    const planes = Float32Array.from({ length: 3 * points }, (_, i) => pixels[(i % points) * 3 + Math.floor(i / points)]!);
    const j2k = await read({ syntax: syntaxes.j2k, channels: 3, allocated: 8, photometric: 'YBR_RCT' }, [await encoded('j2k', pixels, columns, rows, 3)]);
    deepStrictEqual(j2k.data, planes);
    const ls = await read({ syntax: syntaxes.ls, channels: 3, allocated: 8 }, [await encoded('ls', Uint8Array.from(planes), columns, rows, 3)]);
    deepStrictEqual(ls.data, planes);
    const jpeg = await raw(pixels, columns, rows, 3).jpeg({ quality: 100 }).toBuffer();
    for (const syntax of [syntaxes.jpeg, syntaxes.extended]) {
      const { data } = await read({ syntax, channels: 3, allocated: 8, photometric: 'YBR_FULL_422' }, [jpeg]);
      ok(farthest(data, planes) <= 8);
    }
    const grey = await raw(Buffer.from(bytes), columns, rows, 1).toColourspace('b-w').jpeg({ quality: 100 }).toBuffer();
    ok(farthest((await read({ syntax: syntaxes.jpeg, allocated: 8 }, [grey])).data, bytes) <= 2);
  });

  it('run lengths, frames in several fragments, deflated files', async () => {
    for (const name of ['run-lengths.dcm', 'deflated.dcm']) {
      const { image } = await readImage(fileURLToPath(new URL(`${images}${name}`, import.meta.url)));
      deepStrictEqual([...image.data as Float32Array], Array.from({ length: 77 }, (_, i) => (7 * (i % 11) + 13 * Math.floor(i / 11) + 1) % 251), name);
    }
    const frame = await encoded('ls', unsigned, columns, rows);
    const other = await encoded('ls', Uint16Array.from(unsigned, (value) => value + 5), columns, rows);
    const [half, length] = [(frame.length >> 2) * 2, frame.length + (frame.length % 2)];
    const parts = [frame.subarray(0, half), frame.subarray(half), other];
    const film = await read({ syntax: syntaxes.ls, frames: 2 }, parts, [0, length + 16]);
    deepStrictEqual([film.depth, ...film.data], [2, ...unsigned, ...unsigned.map((value) => value + 5)]);
    const plain = await read({ syntax: syntaxes.ls, frames: 2 }, [frame, other]);
    deepStrictEqual(plain.data, film.data);
    deepStrictEqual((await read({ syntax: syntaxes.ls }, parts.slice(0, 2))).data, film.data.slice(0, points));
    // Two colours planes of runs: 1 to 128 equal or different bytes at a time.
    const runs = (values: readonly number[]) => Buffer.from(values);
    const header = Buffer.alloc(64);
    [3, 64, 68, 72].forEach((value, i) => header.writeUInt32LE(value, 4 * i));
    const colour = Buffer.concat([header, runs([253, 9, 128, 128]), runs([1, 1, 2, 255]), Buffer.from([3]), runs([3, 4, 5, 6, 7])]);
    header.writeUInt32LE(68 + 5, 12);
    const whole = Buffer.concat([header, colour.subarray(64)]);
    const { image } = await readImage(dicomFile({ syntax: syntaxes.runs, columns: 2, rows: 2, channels: 3, allocated: 8 }, [whole]), stored);
    deepStrictEqual([...image.data as Float32Array], [9, 9, 9, 9, 1, 2, 3, 3, 4, 5, 6, 7]);
  });

  it('what contradicts its header is refused', async () => {
    const frame = await encoded('j2k', unsigned, columns, rows);
    const refused = (fields: Partial<DicomFields>, fragments: readonly Uint8Array[], code: string, what: RegExp) =>
      rejects(readImage(dicomFile({ syntax: syntaxes.j2k, columns, rows, ...fields }, fragments)), (error: { code: string; message: string }) => {
        equal(error.code, `ERR_WARPLOOM_${code}`, error.message);
        match(error.message, what);
        return true;
      });
    await refused({ columns: 63 }, [frame], 'DAMAGED_FILE', /63 × 48/);
    await refused({ allocated: 8 }, [frame], 'DAMAGED_FILE', /16 bits/);
    await refused({ channels: 3, allocated: 8 }, [frame], 'DAMAGED_FILE', /64 × 48 × 1/);
    await refused({ frames: 2 }, [frame], 'DAMAGED_FILE', /./);
    await refused({}, [Buffer.alloc(40)], 'DAMAGED_FILE', /JPEG 2000/);
    await refused({}, [frame.subarray(0, 90)], 'DAMAGED_FILE', /./);
    await refused({ columns: 60_000, rows: 60_000 }, [frame], 'INVALID_ARGUMENT', /maxPixels/);
    await refused({ syntax: '1.2.840.10008.1.2.4.201' }, [frame], 'UNSUPPORTED', /transfer syntax/);
    await refused({ syntax: syntaxes.runs }, [Buffer.alloc(70)], 'DAMAGED_FILE', /segments/);
    await refused({ syntax: syntaxes.lossless }, [losslessJpeg(unsigned, columns, rows, 16).subarray(0, 300)], 'DAMAGED_FILE', /./);
    await refused({ syntax: syntaxes.ls }, [(await encoded('ls', unsigned, columns, rows)).subarray(0, 200)], 'DAMAGED_FILE', /./);
    const file = await readFile(fileURLToPath(new URL(`${images}deflated.dcm`, import.meta.url)));
    await rejects(readImage(file.subarray(0, file.length - 20)), { code: 'ERR_WARPLOOM_DAMAGED_FILE' });
  });
});
