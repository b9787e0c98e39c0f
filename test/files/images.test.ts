// Image files: those of independent writers (data/make.py) read sample by sample, what is written read back by other readers.
import { deepStrictEqual, equal, ok, rejects, strictEqual } from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { decode as decodePng, encode as encodePng } from 'fast-png';
import { NIFTI1 } from 'nifti-reader-js';
import { decode as decodeTiff } from 'tiff';
import UTIF from 'utif2';
import { parseNpy } from '../../lib/files/npy.ts';
import { readImage, writeImage, type Image, type ImageMeta, type ReadOptions } from '../../lib/imaging/index.ts';

const folder = fileURLToPath(new URL('data/', import.meta.url));
const fixture = (name: string) => join(folder, name);
type HostImage = Image<Float32Array | Float64Array>;

/** The number that data/make.py puts there. */
const sample = (x: number, y: number, z: number, c: number) => (7 * x + 13 * y + 29 * z + 53 * c + 1) % 251;

/** Compares every pixel of an image with a formula; `digits` relative. */
function holds(image: HostImage, size: readonly number[], formula: (x: number, y: number, z: number, c: number) => number, what: string) {
  const { data, width, height, depth = 1, channels = 1 } = image;
  deepStrictEqual([width, height, depth, channels], [...size, 1, 1].slice(0, 4), what);
  const round = data instanceof Float32Array ? Math.fround : Number;
  for (let c = 0, i = 0; c < channels; c += 1) {
    for (let z = 0; z < depth; z += 1) {
      for (let y = 0; y < height; y += 1) {
        for (let x = 0; x < width; x += 1, i += 1) {
          const expected = round(formula(x, y, z, c));
          if (!Object.is(data[i], expected)) equal(data[i], expected, `${what} at (${x}, ${y}, ${z}, ${c})`);
        }
      }
    }
  }
}

type Formula = (x: number, y: number, z: number, c: number) => number;
const times = (factor: number, offset = 0): Formula => (x, y, z, c) => sample(x, y, z, c) * factor + offset;

/** 16 bits as 0 to 1. */
const unit16: Formula = (x, y, z, c) => sample(x, y, z, c) * 261 * (1 / 65535);

const refused = (name: string, code: string, what: RegExp, options: ReadOptions = {}) =>
  rejects(readImage(fixture(name), options), (error: { code: string; message: string }) => {
    strictEqual(error.code, `ERR_WARPLOOM_${code}`, `${name}: ${error.message}`);
    ok(what.test(error.message), `${name}: ${error.message}`);
    return true;
  });

describe('reading files of other writers', () => {
  const stored = { values: 'stored' } as const;
  const png: [string, number[], Formula, ReadOptions, string][] = [
    ['gray8.png', [13, 7], times(1), stored, 'uint8'], ['rgb8.png', [13, 7, 1, 3], times(1), stored, 'uint8'],
    ['rgba8.png', [13, 7, 1, 4], times(1), { ...stored, alpha: 'keep' }, 'uint8'], ['rgba8.png', [13, 7, 1, 3], times(1), stored, 'uint8'],
    ['la8.png', [13, 7], times(1), stored, 'uint8'], ['gray16.png', [13, 7], times(261), stored, 'uint16'],
    ['gray1.png', [13, 7], (x, y) => sample(x, y, 0, 0) % 2, stored, 'uint8'],
    ['palette.png', [13, 7, 1, 3], (x, y, _z, c) => 30 * (sample(x, y, 0, 0) % 5) + 10 * c + 10, stored, 'uint8'],
    ['gray8.png', [13, 7], times(1 / 255), {}, 'uint8'], ['gray16.png', [13, 7], unit16, { type: 'float64' }, 'uint16'],
  ];
  const tiff: typeof png = [
    ['uint8.tif', [13, 7], times(1), stored, 'uint8'], ['uint16-stack.tif', [13, 7, 3], times(261), stored, 'uint16'],
    ['uint16-stack.tif', [13, 7, 3], unit16, { type: 'float64' }, 'uint16'],
    ['uint16-stack.tif', [13, 7], (x, y) => 261 * sample(x, y, 2, 0), { ...stored, page: 2 }, 'uint16'],
    ['int16-stack.tif', [13, 7, 3], times(100, -100), {}, 'int16'],
    ['int8.tif', [13, 7], (x, y) => ((sample(x, y, 0, 0) - 100 + 128) & 255) - 128, {}, 'int8'],
    ['uint32.tif', [13, 7], times(1e7), { ...stored, type: 'float64' }, 'uint32'],
    ['int32-big-endian.tif', [13, 7], times(8e6, -100), { type: 'float64' }, 'int32'],
    ['float32-zlib-predictor.tif', [13, 7, 3], times(0.25), {}, 'float32'],
    ['float64-big-endian.tif', [13, 7], times(0.1), {}, 'float64'],
    ['rgb8-lzw-predictor.tif', [13, 7, 1, 3], times(1), stored, 'uint8'], ['uint16-lzw.tif', [130, 70], times(261), stored, 'uint16'],
    ['rgb8-planar.tif', [13, 7, 1, 3], times(1), stored, 'uint8'], ['rgba8.tif', [13, 7, 1, 3], times(1), stored, 'uint8'],
    ['rgba8.tif', [13, 7, 1, 4], times(1), { ...stored, alpha: 'keep' }, 'uint8'],
    ['uint8-packbits.tif', [13, 7], (x, y) => Math.floor(sample(x, y, 0, 0) / 64), stored, 'uint8'],
    ['uint16-tiled-zlib.tif', [37, 21], times(261), stored, 'uint16'], ['strips.tif', [13, 7], times(1), stored, 'uint8'],
    ['white-is-zero.tif', [13, 7], (x, y) => 255 - sample(x, y, 0, 0), stored, 'uint8'],
    ['imagej-stack.tif', [13, 7, 3], times(261), stored, 'uint16'],
  ];
  const nifti: typeof png = [
    ['int8.nii', [11, 7, 5], (x, y, z) => Math.floor(sample(x, y, z, 0) / 2) - 60, {}, 'int8'], ['uint8.nii', [11, 7, 5], times(1), {}, 'uint8'],
    ['int16.nii', [11, 7, 5], times(100, -100), {}, 'int16'], ['uint16.nii', [11, 7, 5], times(261), {}, 'uint16'],
    ['int32.nii', [11, 7, 5], times(8e6, -100), { type: 'float64' }, 'int32'], ['uint32.nii', [11, 7, 5], times(1e7), { type: 'float64' }, 'uint32'],
    ['int64.nii', [11, 7, 5], times(2 ** 40, -100), { type: 'float64' }, 'int64'], ['uint64.nii', [11, 7, 5], times(2 ** 50), {}, 'uint64'],
    ['float32.nii', [11, 7, 5], times(0.25), {}, 'float32'], ['float64.nii', [11, 7, 5], times(0.1), {}, 'float64'],
    ['scaled.nii.gz', [11, 7, 5], times(0.5, -10), {}, 'int16'], ['scaled.nii.gz', [11, 7, 5], times(1), stored, 'int16'],
    ['big-endian.nii', [11, 7, 5], times(100, -100), {}, 'int16'], ['second.nii', [11, 7, 5], times(0.25), {}, 'float32'],
    ['series.nii.gz', [11, 7, 5, 4], (x, y, z, c) => sample(x, y, z, 0) + 1000 * c, {}, 'int16'], ['rgb.nii', [11, 7, 5, 3], times(1), {}, 'uint8'],
  ];
  const dicom: typeof png = [
    ['series', [11, 7, 4], times(5, -60), {}, 'int16'], ['series', [11, 7, 4], times(10, -100), stored, 'int16'],
    ['implicit.dcm', [11, 7], times(1), {}, 'uint16'], ['big-endian.dcm', [11, 7], times(261), {}, 'uint16'],
    ['rgb.dcm', [11, 7, 1, 3], times(1), {}, 'uint8'], ['overlay.dcm', [11, 7], times(1), {}, 'uint16'],
  ];
  const npy: typeof png = [
    ['uint16.npy', [13, 7, 3], times(261), {}, 'uint16'], ['colour.npy', [13, 7, 1, 3], times(1), { axes: 'yxc' }, 'float32'],
  ];
  for (const [kind, table] of Object.entries({ png, tiff, nifti, dicom, npy })) {
    it(`${kind}: every sample of ${new Set(table.map(([name]) => name)).size} files, by path and by bytes`, async () => {
      for (const [name, size, formula, options, type] of table) {
        const { image, meta } = await readImage(fixture(name), options);
        holds(image, size, formula, name);
        deepStrictEqual([meta.format, meta.sampleType], [kind, type], name);
        if (name === 'series') continue;
        deepStrictEqual((await readImage(new Uint8Array(await readFile(fixture(name))), options)).image, image, name);
      }
    });
  }

  it('interlaced PNG, as plain', async () => {
    const data = Uint8Array.from({ length: 13 * 7 * 3 }, (_, i) => sample(Math.floor(i / 3) % 13, Math.floor(i / 39), 0, i % 3));
    holds((await readImage(encodePng({ width: 13, height: 7, channels: 3, data }, { interlace: 'Adam7' }), { values: 'stored' })).image, [13, 7, 1, 3], times(1), 'Adam7');
  });

  it('orientation: sform, qform, DICOM positions, spacing', async () => {
    const affine = [-2, 0, 0.5, 10, 0, 3, 0, -20, 0.25, 0, 4, 30, 0, 0, 0, 1];
    for (const name of ['int16.nii', 'scaled.nii.gz', 'big-endian.nii', 'second.nii']) deepStrictEqual((await readImage(fixture(name))).meta.affine, affine, name);
    const expected = parseNpy(await readFile(fixture('qform-affine.npy'))).data as Float64Array;
    const { affine: turned } = (await readImage(fixture('qform.nii'))).meta;
    ok(turned!.every((value, i) => Math.abs(value - expected[i]!) < 1e-6), `${turned}`);
    const { meta } = await readImage(fixture('series'));
    deepStrictEqual(meta.affine, [-3, 0, 0, -10, 0, -2, 0, -20, 0, 0, 5, -7, 0, 0, 0, 1]);
    deepStrictEqual(meta.spacing, [3, 2, 5]);
    strictEqual((await readImage(fixture('scaled.nii.gz'))).meta.description, 'scaled by half');
  });

  it('refuse what is not read, and say what it is', async () => {
    await refused('jpeg.tif', 'UNSUPPORTED', /JPEG/);
    await refused('big.tif', 'UNSUPPORTED', /BigTIFF/);
    await refused('complex.nii', 'UNSUPPORTED', /complex/);
    await refused('fortran.npy', 'INVALID_ARGUMENT', /C order/);
    await refused('make.py', 'UNSUPPORTED', /not PNG, JPEG, WebP, TIFF, NIfTI, DICOM or \.npy/);
    await refused('colour.npy', 'INVALID_ARGUMENT', /rank 4/, { axes: 'czyx' });
    await refused('uint16-stack.tif', 'INVALID_ARGUMENT', /0 to 2/, { page: 3 });
    await refused('series', 'UNSUPPORTED', /series 9\.9/, { series: '9.9' });
    await refused('uint8.tif', 'DAMAGED_FILE', /PNG/, { format: 'png' });
    await rejects(readImage(fixture('none.png')), { code: 'ERR_WARPLOOM_FILE', systemCode: 'ENOENT' });
  });

  it('refuse wrong options by name', async () => {
    const cases: [object, RegExp][] = [
      [{ format: 'bmp' }, /^format/], [{ maxPixels: 0 }, /^maxPixels/], [{ maxPixels: 90 }, /^maxPixels.*91/], [{ type: 'int8' }, /^type/],
      [{ values: 'raw' }, /^values/], [{ alpha: true }, /^alpha/], [{ page: -1 }, /^page/], [{ series: 5 }, /^series/], [{ axes: 'xy' }, /^axes/],
      [{ raw: { width: 1, height: 1, sampleType: 'uint8' } }, /^format.*raw/], [{ size: 3 }, /^size/], [{ format: 'raw' }, /^raw/],
      [{ format: 'raw', raw: { width: 1, height: 1 } }, /^raw\.sampleType/], [{ format: 'raw', raw: { width: 1, height: 0, sampleType: 'uint8' } }, /^raw\.height/],
    ];
    for (const [options, what] of cases) {
      await rejects(readImage(fixture('gray8.png'), options as ReadOptions), (error: { code: string; message: string }) => {
        strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
        ok(what.test(error.message), error.message);
        return true;
      });
    }
    await rejects(readImage(7 as never), /^ArgumentError: source/);
  });
});

describe('writing files', () => {
  let out: string;
  beforeEach(async () => { out = await mkdtemp(join(tmpdir(), 'warploom-images-')); });
  afterEach(() => rm(out, { recursive: true, force: true }));

  const image = (type: 'float32' | 'float64', size: readonly number[], formula: Formula): HostImage => {
    const [width, height, depth, channels] = [...size, 1, 1] as [number, number, number, number];
    const values = Float64Array.from({ length: width * height * depth * channels }, (_, i) =>
      formula(i % width, Math.floor(i / width) % height, Math.floor(i / (width * height)) % depth, Math.floor(i / (width * height * depth))));
    return { data: type === 'float64' ? values : Float32Array.from(values), width, height, depth, channels };
  };

  it('come back as they were: every file of this folder with its meta, samples to the bit', async () => {
    const endings: Record<string, string> = { png: '.png', tiff: '.tif', nifti: '.nii', npy: '.npy' };
    let count = 0;
    for (const name of readdirSync(folder).filter((file) => /\.(png|tif|nii|nii\.gz|npy)$/.test(file))) {
      const options: ReadOptions = { type: 'float64', alpha: 'keep', ...(name === 'colour.npy' ? { axes: 'yxc' } : {}) };
      const first = await readImage(fixture(name), options).catch((error: { code: string }) => error.code);
      if (typeof first === 'string') continue;
      const path = join(out, `copy-${count}${name.endsWith('.gz') ? '.nii.gz' : endings[first.meta.format]}`);
      if (/^(uint64\.nii|gray1\.png|palette\.png)$/.test(name)) continue; // beyond 2⁵³; packed; a palette becomes colours
      await writeImage(path, first.image, first.meta);
      const again = await readImage(path, { ...options, axes: undefined });
      deepStrictEqual([again.image.data, again.meta.sampleType], [first.image.data, first.meta.sampleType], name);
      deepStrictEqual([again.image.width, again.image.height, again.image.depth ?? 1], [first.image.width, first.image.height, first.image.depth ?? 1]);
      if (first.meta.format === 'nifti') deepStrictEqual(again.meta.affine, first.meta.affine);
      count += 1;
    }
    ok(count > 30, `${count}`);
    deepStrictEqual((await readdir(out)).length, count, 'no temporary file is left');
  });

  it('NIfTI keeps header, extensions and byte order byte by byte', async () => {
    for (const name of ['scaled.nii.gz', 'big-endian.nii']) {
      const before = name.endsWith('.gz') ? gunzipSync(await readFile(fixture(name))) : await readFile(fixture(name));
      const { image: volume, meta } = await readImage(fixture(name));
      await writeImage(join(out, 'copy.nii'), volume, meta);
      const after = await readFile(join(out, 'copy.nii'));
      ok(after.equals(before), name);
      // Other samples: only type, bits and scale change.
      await writeImage(join(out, 'float.nii'), volume, { ...meta, sampleType: 'float32', slope: 1, intercept: 0 });
      const floats = await readFile(join(out, 'float.nii'));
      const changed = [...before.subarray(0, meta.header!.length)].flatMap((byte, i) => (byte === floats[i] ? [] : [i]));
      ok(changed.every((i) => (i >= 70 && i < 74) || (i >= 112 && i < 120)), `${changed}`);
      deepStrictEqual((await readImage(join(out, 'float.nii'))).image, volume);
    }
  });

  it('NIfTI of this library is what another reader expects', async () => {
    const volume = image('float64', [5, 4, 3], times(0.1));
    const affine = [-2, 0, 0, 10, 0, 3, 0, -20, 0, 0, 4, 30, 0, 0, 0, 1];
    await writeImage(join(out, 'new.nii'), volume, { affine, description: 'new' });
    const file = await readFile(join(out, 'new.nii'));
    const header = new NIFTI1();
    header.readHeader(file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer);
    deepStrictEqual([header.dims.slice(0, 4), header.datatypeCode, header.numBitsPerVoxel, header.vox_offset], [[3, 5, 4, 3], 64, 64, 352]);
    deepStrictEqual(header.affine.flat(), affine);
    deepStrictEqual(header.pixDims.slice(1, 4), [2, 3, 4]);
    deepStrictEqual(new Float64Array(file.buffer.slice(file.byteOffset + 352, file.byteOffset + file.length)), volume.data);
    await writeImage(join(out, 'flat.nii.gz'), image('float32', [5, 4, 1, 2], times(1)), { spacing: [1, 2, 3] });
    const flat = await readImage(join(out, 'flat.nii.gz'));
    deepStrictEqual([flat.image.channels, flat.meta.spacing], [2, [1, 2, 3]]);
  });

  it('TIFF of this library is what two other readers expect', async () => {
    const kinds = [
      ['uint8', [13, 7]], ['uint16', [13, 7, 3]], ['uint8', [5, 4, 1, 3]], ['uint16', [5, 4, 2, 4]], ['float32', [13, 7, 2]], ['float64', [5, 4]],
    ] as const;
    for (const [sampleType, size] of kinds) {
      const volume = image('float64', size, times(1));
      await writeImage(join(out, 'a.tif'), volume, { sampleType, slope: 1 });
      const file = await readFile(join(out, 'a.tif'));
      const pages = decodeTiff(file);
      const directories = UTIF.decode(file);
      strictEqual(pages.length, volume.depth);
      strictEqual(directories.length, volume.depth);
      pages.forEach((page, z) => {
        const { width, height, channels = 1 } = volume;
        deepStrictEqual([page.width, page.height, page.samplesPerPixel], [width, height, channels]);
        const expected = Array.from({ length: width * height * channels }, (_, i) =>
          sample(Math.floor(i / channels) % width, Math.floor(i / (channels * width)), z, i % channels));
        deepStrictEqual([...page.data], expected, sampleType);
        UTIF.decodeImage(file, directories[z]!);
        const { data } = directories[z] as unknown as { data: Uint8Array };
        const bytes = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
        const typed = { uint8: Uint8Array, uint16: Uint16Array, float32: Float32Array, float64: Float64Array }[sampleType];
        deepStrictEqual([...new typed(bytes as ArrayBuffer)].slice(0, expected.length), expected, `UTIF ${sampleType}`);
      });
    }
  });

  it('PNG of this library is what another reader expects: 8 and 16 bits, clamped, NaN as 0', async () => {
    const tones = { data: Float32Array.of(0, 0.5, 1, 2, -1, NaN), width: 3, height: 2 };
    await writeImage(join(out, 'a.png'), tones);
    deepStrictEqual([...decodePng(await readFile(join(out, 'a.png'))).data], [0, 128, 255, 255, 0, 0]);
    await writeImage(join(out, 'a.png'), tones, { sampleType: 'uint16' });
    deepStrictEqual([...decodePng(await readFile(join(out, 'a.png'))).data], [0, 32768, 65535, 65535, 0, 0]);
    await writeImage(join(out, 'c.png'), image('float32', [2, 2, 1, 3], times(1)), { slope: 1 });
    deepStrictEqual([...decodePng(await readFile(join(out, 'c.png'))).data], [0, 1, 2, 3].flatMap((i) => [0, 1, 2].map((c) => sample(i % 2, i >> 1, 0, c))));
  });

  it('raw layouts of both byte orders, planes or pixels together, behind a header', async () => {
    const volume = image('float32', [5, 4, 2, 3], times(1));
    await writeImage(join(out, 'a.raw'), volume, { sampleType: 'int16' });
    const raw = { width: 5, height: 4, depth: 2, channels: 3, sampleType: 'int16' as const };
    deepStrictEqual((await readImage(join(out, 'a.raw'), { format: 'raw', raw })).image.data, volume.data);
    const file = await readFile(join(out, 'a.raw'));
    const swapped = Buffer.concat([Buffer.from('seven b'), Buffer.from(file).swap16()]);
    deepStrictEqual((await readImage(swapped, { format: 'raw', raw: { ...raw, littleEndian: false, offset: 7 } })).image.data, volume.data);
    const together = await readImage(file, { format: 'raw', raw: { ...raw, interleaved: true } });
    strictEqual(together.image.data[1], file.readInt16LE(6));
    await rejects(readImage(file, { format: 'raw', raw: { ...raw, depth: 3 } }), { code: 'ERR_WARPLOOM_DAMAGED_FILE' });
  });

  it('arrays of 8 and 16 bits as the samples that they are', async () => {
    for (const [data, type, endings] of [
      [Uint8Array.from({ length: 48 }, (_, i) => 5 * i), 'uint8', ['png', 'tif', 'nii.gz', 'npy', 'raw']],
      [Uint8ClampedArray.from({ length: 48 }, (_, i) => 5 * i), 'uint8', ['png', 'npy']],
      [Uint16Array.from({ length: 48 }, (_, i) => 1365 * i), 'uint16', ['png', 'tif', 'nii', 'npy']],
      [Int8Array.from({ length: 48 }, (_, i) => 5 * i - 128), 'int8', ['tif', 'nii', 'npy']],
      [Int16Array.from({ length: 48 }, (_, i) => 1365 * i - 32_768), 'int16', ['tif', 'nii', 'npy']],
    ] as const) {
      for (const ending of endings) {
        const path = join(out, `samples.${ending}`);
        await writeImage(path, { data, width: 8, height: 6 });
        const raw = ending === 'raw' ? { format: 'raw', raw: { width: 8, height: 6, sampleType: type } } as const : {};
        const { image: read, meta } = await readImage(path, { values: 'stored', ...raw });
        deepStrictEqual([meta.sampleType, ...read.data as Float32Array], [type, ...data], `${type} ${ending}`);
      }
    }
    const data = Int16Array.of(-5, 0, 7, 100);
    await writeImage(join(out, 'scaled.nii'), { data, width: 4, height: 1 }, { slope: 0.1, intercept: 3 });
    const { image: read, meta } = await readImage(join(out, 'scaled.nii'));
    deepStrictEqual([meta.sampleType, ...(await readImage(join(out, 'scaled.nii'), { values: 'stored' })).image.data as Float32Array], ['int16', ...data]);
    ok(Math.abs((read.data as Float32Array)[3]! - 13) < 1e-5);
    await rejects(writeImage(join(out, 'samples.png'), { data: new Int16Array(4), width: 2, height: 2 }), { argument: 'meta.sampleType' });
    await rejects(writeImage(join(out, 'samples.png'), { data: new Uint8Array(3), width: 2, height: 2 }), { argument: 'image.data' });
  });

  it('refuse what a format cannot hold, and leave no file', async () => {
    const volume = image('float32', [5, 4, 2], times(1));
    const cases: [string, HostImage, Partial<ImageMeta>, RegExp][] = [
      ['a.png', volume, {}, /image\.depth/], ['a.png', { ...volume, depth: 1, channels: 2, height: 4 }, { sampleType: 'float32' }, /meta\.sampleType/],
      ['a.gif', volume, {}, /path.*\.png/], ['a.tif', volume, { sampleType: 'int64' }, /meta\.sampleType/], ['a.nii', volume, { slope: 0 }, /meta\.slope/],
      ['a.nii', volume, { affine: [1, 2] }, /meta\.affine/], ['a.nii', volume, { header: new Uint8Array(348) }, /meta\.header/],
      ['a.nii', volume, { scale: 2 } as never, /meta\.scale/], ['a.npy', { ...volume, width: 6 }, {}, /image\.data/], ['a.dcm', volume, {}, /path/],
      ['a.nii', { data: new Float32Array(40_000), width: 40_000, height: 1 }, {}, /32767/],
    ];
    for (const [name, what, meta, message] of cases) {
      await rejects(writeImage(join(out, name), what, meta), (error: { code: string; message: string }) => {
        strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT', error.message);
        ok(message.test(error.message), error.message);
        return true;
      });
    }
    await writeFile(join(out, 'kept.png'), 'before');
    await rejects(writeImage(join(out, 'kept.png'), volume));
    deepStrictEqual([await readdir(out), await readFile(join(out, 'kept.png'), 'utf8')], [['kept.png'], 'before']);
  });
});
