// The job kinds denoise, segment and register: what they write, what they say of it, and what is refused before anything runs.
import { deepStrictEqual, equal, match, ok } from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { decode } from 'fast-png';
import { main } from '../../lib/cli/main.ts';
import { formatNpy, parseNpy } from '../../lib/files/npy.ts';
import { discs, psnr, readImage, registrationPair, sheppLogan, targetRegistrationError, writeImage } from '../../lib/imaging/index.ts';

const images = fileURLToPath(new URL('../files/data/', import.meta.url));

async function run(argv: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await main(argv, { out, err, signal: new AbortController().signal });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

interface Result { summary: string; figures: Record<string, number>; accuracy: { value: number; meaning: string }; files: string[]; hash: string }

describe('image jobs', function () {
  this.timeout(60_000);
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-image-jobs-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const job = async (name: string, content: object) => {
    const path = join(folder, `${name}.json`);
    await writeFile(path, JSON.stringify({ name, device: { backend: 'cpu' }, ...content }));
    return path;
  };
  const start = async (name: string, content: object) => run(['run', await job(name, content), '--results', join(folder, 'results')]);
  const resultOf = async (name: string, item = 'all') =>
    JSON.parse(await readFile(join(folder, 'results', name, item, 'result.json'), 'utf8')) as Result;
  const at = (name: string, file: string, item = 'all') => join(folder, 'results', name, item, file);

  it('denoise a phantom: figures against the truth, pictures, a volume', async () => {
    const phantom = { phantom: 'shepp-logan', size: 24, dimensions: 3 };
    const { code, err } = await start('head', { kind: 'denoise', input: phantom, addNoise: { sigma: 0.1, seed: 1 }, weight: 0.06 });
    equal(code, 0, err);
    const { accuracy, figures, files, summary } = await resultOf('head');
    deepStrictEqual(files, ['denoised.tif', 'before-after.svg', 'before.png', 'after.png', 'convergence.svg']);
    match(summary, /shepp-logan 24 × 24 × 24, primal-dual, \d+ iterations, float32/);
    const clean = sheppLogan(24, { dimensions: 3 });
    const { image } = await readImage(at('head', 'denoised.tif'));
    ok(Math.abs(psnr(image, clean) - figures['psnr']!) < 1e-3);
    ok(Math.abs(10 ** (-figures['psnr']! / 20) - accuracy.value) < 1e-12 && accuracy.meaning.startsWith('root mean square error'));
    ok(figures['psnr']! > figures['psnrBefore']! + 2 && figures['ssim']! > figures['ssimBefore']!, JSON.stringify(figures));
    const picture = await readFile(at('head', 'before-after.svg'), 'utf8');
    const png = decode(Buffer.from(/base64,([^"]+)/.exec(picture)![1]!, 'base64'));
    deepStrictEqual([png.width, png.height], [3 * (24 * 13 + 6) - 6, 3 * 24 * 13 + 12]);
    deepStrictEqual([...picture.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text), [
      'before', `PSNR ${figures['psnrBefore']!.toFixed(1)} dB, SSIM ${figures['ssimBefore']!.toFixed(3)}`,
      'after', `PSNR ${figures['psnr']!.toFixed(1)} dB, SSIM ${figures['ssim']!.toFixed(3)}`, 'ground truth',
    ]);
    match(await readFile(at('head', 'convergence.svg'), 'utf8'), /^<svg/);
  });

  it('denoise a file with a sweep over the weight, in its own format and numbers', async () => {
    await copyFile(join(images, 'scaled.nii.gz'), join(folder, 'in.nii.gz'));
    const { code, err } = await start('sweep', { kind: 'denoise', input: 'in.nii.gz', iterations: 30, sweep: { weight: [0.01, 0.5] } });
    equal(code, 0, err);
    const before = await readImage(join(folder, 'in.nii.gz'));
    const spreads = await Promise.all(['weight=0.01', 'weight=0.5'].map(async (item) => {
      const { image, meta } = await readImage(at('sweep', 'denoised.nii.gz', item));
      deepStrictEqual([meta.affine, meta.description, meta.sampleType], [before.meta.affine, 'scaled by half', 'float32']);
      return Math.max(...image.data) - Math.min(...image.data);
    }));
    ok(spreads[0]! > spreads[1]!, `a larger weight is smoother: ${spreads}`);
  });

  it('segment: mask, level set, contours, and Dice against a phantom or a given mask', async () => {
    const content = { kind: 'segment', input: { phantom: 'discs', size: 64 }, addNoise: { sigma: 0.1, seed: 2 }, mu: 0.1 };
    const { code, err } = await start('discs', content);
    equal(code, 0, err);
    const { accuracy, figures, files } = await resultOf('discs');
    deepStrictEqual(files, ['mask.png', 'level-set.npy', 'before-after.svg', 'before.png', 'after.png', 'contours.svg', 'energy.svg']);
    ok(figures['dice']! > 0.98 && Math.abs(1 - figures['dice']! - accuracy.value) < 1e-12, JSON.stringify(figures));
    ok(figures['meanInside'] !== undefined && Math.abs(figures['meanInside'] - figures['meanOutside']!) > 0.5);
    const { data, shape } = parseNpy(await readFile(at('discs', 'level-set.npy')));
    const mask = decode(await readFile(at('discs', 'mask.png'))).data;
    deepStrictEqual(shape, [64, 64]);
    ok((data as Float32Array).every((value, i) => (value > 0) === (mask[i] === 255)));
    match(await readFile(at('discs', 'contours.svg'), 'utf8'), /^<svg.*<path d="M/s);
    const { image, mask: truth } = discs(32, { dimensions: 3 });
    await writeImage(join(folder, 'balls.nii'), image);
    await writeImage(join(folder, 'truth.nii'), { ...image, data: Float32Array.from(truth) });
    const volume = await start('balls', { kind: 'segment', input: 'balls.nii', truth: 'truth.nii', mu: 0.05, iterations: 100 });
    equal(volume.code, 0, volume.err);
    ok((await resultOf('balls')).figures['dice']! > 0.97, JSON.stringify((await resultOf('balls')).figures));
    const found = await readImage(at('balls', 'mask.nii.gz'));
    deepStrictEqual([found.image.depth, found.meta.sampleType, Math.max(...found.image.data)], [32, 'uint8', 1]);
  });

  it('register a generated pair and two files with landmarks', async () => {
    const { code, err } = await start('pair', { kind: 'register', reference: { phantom: 'registration-pair', size: 64 } });
    equal(code, 0, err);
    const { accuracy, figures, files } = await resultOf('pair');
    deepStrictEqual(files, ['warped.png', 'displacement.npy', 'before-after.svg', 'before.png', 'after.png', 'grid.svg', 'measure.svg']);
    const exact = registrationPair(64);
    const { data, shape } = parseNpy(await readFile(at('pair', 'displacement.npy')));
    deepStrictEqual(shape, [2, 64, 64]);
    const own = await targetRegistrationError({ ...exact.displacement, data: data as Float32Array }, exact.displacement, exact.mask);
    ok(Math.abs(own.mean - accuracy.value) < 1e-9 && own.mean < 0.3 && figures['leastJacobian']! > 0, JSON.stringify(figures));
    await writeImage(join(folder, 'r.npy'), exact.reference);
    await writeImage(join(folder, 't.npy'), exact.template);
    const place = 20 * 64 + 30;
    const there = [30 + exact.displacement.data[place]!, 20 + exact.displacement.data[4096 + place]!];
    await writeFile(join(folder, 'marks.npy'), formatNpy({ type: 'float64', shape: [1, 2, 2], data: Float64Array.of(30, 20, ...there) }));
    const files2 = await start('files', { kind: 'register', reference: 'r.npy', template: 't.npy', landmarks: 'marks.npy', measure: 'ncc' });
    equal(files2.code, 0, files2.err);
    const marked = await resultOf('files');
    ok(marked.figures['meanErrorPixels']! < 0.5 && marked.figures['nccRatio']! < 0.1, JSON.stringify(marked.figures));
    deepStrictEqual(marked.files[0], 'warped.npy');
  });

  it('a DICOM folder is one input: a finished item is skipped, a changed slice runs again', async () => {
    await mkdir(join(folder, 'series'));
    for (const name of await readdir(join(images, 'series'))) await copyFile(join(images, 'series', name), join(folder, 'series', name));
    const content = { kind: 'denoise', input: 'series', iterations: 5 };
    equal((await start('ct', content)).code, 0);
    deepStrictEqual((await resultOf('ct')).files[0], 'denoised.nii.gz');
    match((await start('ct', content)).err, /skipped/);
    const before = (await resultOf('ct')).hash;
    const slice = await readFile(join(folder, 'series', 'a.dcm'));
    slice[slice.length - 2]! ^= 1;
    await writeFile(join(folder, 'series', 'a.dcm'), slice);
    equal((await start('ct', content)).code, 0);
    ok((await resultOf('ct')).hash !== before);
  });

  it('are refused by name before anything runs', async () => {
    const phantom = { phantom: 'discs', size: 16 };
    const bad: [object, RegExp][] = [
      [{ kind: 'denoise' }, /input/], [{ kind: 'denoise', input: 'none.png' }, /none\.png/], [{ kind: 'denoise', input: phantom, weight: 0 }, /weight/],
      [{ kind: 'denoise', input: { phantom: 'discs' } }, /input/], [{ kind: 'denoise', input: { ...phantom, noise: 1 } }, /input/],
      [{ kind: 'denoise', input: phantom, method: 'median' }, /method/], [{ kind: 'segment', input: phantom, mu: -1 }, /mu/],
      [{ kind: 'segment', input: phantom, initial: 'star' }, /initial/], [{ kind: 'register', reference: phantom }, /registration-pair|reference/],
      [{ kind: 'register', reference: { phantom: 'registration-pair', size: 8 }, template: 'x.png' }, /x\.png/],
      [{ kind: 'register', reference: 'marks.npy' }, /template/],
    ];
    await writeFile(join(folder, 'marks.npy'), formatNpy({ type: 'float64', shape: [4, 4], data: new Float64Array(16) }));
    for (const [content, what] of bad) {
      const { code, err } = await start('bad', content);
      equal(code, 2, JSON.stringify(content));
      match(err, what);
    }
  });
});
