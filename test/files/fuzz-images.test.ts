// Files that nobody should trust: damaged at random, cut off, lying about their extents, or blown up.
import { equal, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { readImage, type ReadOptions } from '../../lib/imaging/index.ts';

const folder = fileURLToPath(new URL('data/', import.meta.url));
const load = (name: string): Buffer => readFileSync(`${folder}${name}`);
const typed = new Set(['ERR_WARPLOOM_DAMAGED_FILE', 'ERR_WARPLOOM_UNSUPPORTED', 'ERR_WARPLOOM_INVALID_ARGUMENT']);
/** Small enough that a lying header cannot cost memory here. */
const cap: ReadOptions = { maxPixels: 1_000_000 };

/** Reads; anything but an image within the cap or an error of this library is a failure. */
async function readsOrRefuses(bytes: Uint8Array, what: string, options: ReadOptions = cap): Promise<boolean> {
  try {
    const { image } = await readImage(bytes, options);
    equal(image.data.length, image.width * image.height * (image.depth ?? 1) * (image.channels ?? 1), what);
    ok(image.data.length <= 1_000_000, what);
    return true;
  } catch (error) {
    ok(typed.has((error as { code: string }).code), `${what}: ${(error as Error).stack ?? String(error)}`);
    return false;
  }
}

/** Must be refused with this code, naming this. */
const refused = (bytes: Uint8Array, code: string, what: RegExp, options: ReadOptions = cap) =>
  rejects(readImage(bytes, options), (error: { code: string; message: string }) => {
    strictEqual(error.code, `ERR_WARPLOOM_${code}`, error.message);
    match(error.message, what);
    return true;
  });

describe('damaged image files', () => {
  const names = readdirSync(folder).filter((name) => /\.(png|tif|nii|gz|dcm|npy)$/.test(name));

  it('cut off anywhere: refused, or read where only trailing bytes are missing', async () => {
    for (const name of names) {
      const file = load(name);
      let read = 0;
      for (let k = 0; k < 40; k += 1) read += Number(await readsOrRefuses(file.subarray(0, Math.floor((file.length * k) / 40)), `${name} cut at ${k}/40`));
      // A strip, an end chunk or a checksum may lie at the end of what is needed.
      ok(read <= 12, `${name}: ${read} of 40 cut files were read`);
    }
  });

  it('bytes changed at random: never a crash, never memory beyond the cap', async () => {
    await fc.assert(fc.asyncProperty(
      fc.constantFrom(...names), fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 8 }),
      async (name, changes) => {
        const file = Buffer.from(load(name));
        // Most of what can go wrong stands near the start.
        for (const [at, value] of changes) file[Math.floor(at ** 3 * (file.length - 1))] = value;
        await readsOrRefuses(file, name);
      }), { numRuns: 1000 });
  });

  it('any bytes behind any magic number', async () => {
    const magics = [
      [137, 80, 78, 71, 13, 10, 26, 10], [0x49, 0x49, 42, 0, 8, 0, 0, 0], [0x4d, 0x4d, 0, 42, 0, 0, 0, 8], [0x1f, 0x8b], [0x5c, 1, 0, 0],
      [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0],
    ];
    await fc.assert(fc.asyncProperty(fc.constantFrom(...magics), fc.uint8Array({ maxLength: 600 }), async (magic, rest) => {
      await readsOrRefuses(Uint8Array.from([...magic, ...rest]), `${magic}`);
    }), { numRuns: 500 });
  });
});

/** A PNG of these pixels, whatever the header says. */
function png(width: number, height: number, data: Uint8Array): Buffer {
  const crcTable = Array.from({ length: 256 }, (_, n) => { let c = n; for (let k = 0; k < 8; k += 1) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1; return c >>> 0; });
  const chunk = (type: string, body: Uint8Array) => {
    const text = Buffer.concat([Buffer.from(type, 'latin1'), body]);
    const [head, tail] = [Buffer.alloc(4), Buffer.alloc(4)];
    head.writeUInt32BE(body.length);
    tail.writeUInt32BE((text.reduce((c, byte) => crcTable[(c ^ byte) & 255]! ^ (c >>> 8), 0xffffffff) ^ 0xffffffff) >>> 0);
    return Buffer.concat([head, text, tail]);
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 8;
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

/** A little-endian TIFF of one page with these entries (tag, type, count, value) and bytes behind them, from byte 512 on. */
function tiff(entries: readonly (readonly [number, number, number, number])[], body: Uint8Array, next = 0): Buffer {
  const file = Buffer.alloc(512 + body.length);
  file.set([0x49, 0x49, 42, 0, 8, 0, 0, 0]);
  file.writeUInt16LE(entries.length, 8);
  entries.forEach(([tag, type, count, value], i) => {
    file.writeUInt16LE(tag, 10 + 12 * i);
    file.writeUInt16LE(type, 12 + 12 * i);
    file.writeUInt32LE(count, 14 + 12 * i);
    file.writeUInt32LE(value, 18 + 12 * i);
  });
  file.writeUInt32LE(next, 10 + 12 * entries.length);
  file.set(body, 512);
  return file;
}

const page = (width: number, height: number, compression: number, bytes: number, offset = 512) => [
  [256, 4, 1, width], [257, 4, 1, height], [258, 3, 1, 8], [259, 3, 1, compression], [262, 3, 1, 1], [273, 4, 1, offset], [277, 3, 1, 1], [278, 4, 1, height],
  [279, 4, 1, bytes],
] as const;

describe('lying and bursting image files', () => {
  const zeros = Buffer.alloc(32 * 2 ** 20);

  it('inflate no further than their header announces', async () => {
    const [deflated, gzipped] = [deflateSync(zeros, { level: 1 }), gzipSync(zeros, { level: 1 })];
    await refused(png(4, 4, deflated), 'DAMAGED_FILE', /inflates to more than the 20 bytes/);
    await refused(tiff(page(4, 4, 8, deflated.length), deflated), 'DAMAGED_FILE', /inflates to more than the 16 bytes/);
    // Members of a gzip file follow each other.
    await refused(Buffer.concat([gzipSync(load('uint8.nii')), gzipped]), 'DAMAGED_FILE', /inflates to more than the \d+ bytes/);
    await refused(gzipped, 'DAMAGED_FILE', /not a NIfTI header/);
    await refused(gzipSync(gzipped), 'DAMAGED_FILE', /NIfTI|header/);
  });

  it('announce more than the cap', async () => {
    await refused(png(60_000, 60_000, deflateSync(Buffer.alloc(10))), 'INVALID_ARGUMENT', /maxPixels.*60000 × 60000/, {});
    await refused(tiff(page(60_000, 60_000, 8, 10), Buffer.alloc(10)), 'INVALID_ARGUMENT', /maxPixels/, {});
    const nifti = Buffer.from(load('uint8.nii'));
    for (const at of [42, 44, 46]) nifti.writeInt16LE(30_000, at);
    await refused(nifti, 'INVALID_ARGUMENT', /maxPixels/, {});
    await refused(gzipSync(nifti), 'INVALID_ARGUMENT', /maxPixels/, {});
    const dicom = Buffer.from(load('implicit.dcm'));
    const rows = dicom.indexOf(Buffer.from([0x28, 0, 0x10, 0]));
    dicom.writeUInt16LE(65_535, rows + 8);
    await refused(dicom, 'DAMAGED_FILE', /bytes of pixels/);
    await refused(load('uint16-stack.tif'), 'INVALID_ARGUMENT', /maxPixels/, { maxPixels: 200 });
    await refused(load('uint16.npy'), 'INVALID_ARGUMENT', /maxPixels/, { maxPixels: 272 });
  });

  it('announce more than they hold', async () => {
    await refused(png(10, 10, deflateSync(Buffer.alloc(50))), 'DAMAGED_FILE', /inflates to 50 bytes.*110/);
    await refused(tiff(page(40, 40, 1, 16), Buffer.alloc(16)), 'DAMAGED_FILE', /16 bytes, but its pixels need 1600/);
    await refused(tiff(page(4, 4, 1, 16, 10_000), Buffer.alloc(16)), 'DAMAGED_FILE', /outside the file/);
    await refused(tiff(page(4, 4, 5, 16), Buffer.alloc(16)), 'DAMAGED_FILE', /LZW/);
    await refused(tiff(page(4, 4, 32773, 2), Buffer.from([3, 1])), 'DAMAGED_FILE', /PackBits/);
    const nifti = Buffer.from(load('uint8.nii'));
    nifti.writeInt16LE(100, 42);
    await refused(nifti, 'DAMAGED_FILE', /bytes of voxels/);
    nifti.writeInt16LE(16, 72);
    await refused(nifti, 'DAMAGED_FILE', /16 bits per voxel/);
    const offset = Buffer.from(load('uint8.nii'));
    offset.writeFloatLE(NaN, 108);
    await refused(offset, 'DAMAGED_FILE', /byte NaN/);
  });

  it('go in circles', async () => {
    await refused(tiff(page(4, 4, 1, 16), Buffer.alloc(16), 8), 'DAMAGED_FILE', /form a loop/);
    // Extensions of no length, or of negative length, are not followed.
    const nifti = Buffer.concat([load('uint8.nii').subarray(0, 352), Buffer.alloc(64), load('uint8.nii').subarray(352)]);
    nifti.writeFloatLE(352 + 64, 108);
    nifti[348] = 1;
    nifti.writeInt32LE(-16, 352);
    ok(await readsOrRefuses(nifti, 'negative extension'));
    // Many directories that share one long value.
    const many = Array.from({ length: 40 }, (_, i) => [40_000 + i, 7, 2 ** 31, 0] as const);
    await refused(tiff([...page(4, 4, 1, 16), ...many].slice(0, 40), Buffer.alloc(16)), 'DAMAGED_FILE', /outside the file|longer than the file/);
  });
});
