// denoise, segment and register from flags: files in, files out, pictures, and what is refused before anything runs.
import { deepStrictEqual, equal, match, ok } from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { decode } from 'fast-png';
import sharp from 'sharp';
import { main } from '../../lib/cli/main.ts';
import { readLabels } from '../../lib/jobs/images/input.ts';
import { addNoise, dice, discs, psnr, readImage, registrationPair, segment, sheppLogan, writeImage, type Image } from '../../lib/imaging/index.ts';

async function run(argv: string[], signal = new AbortController().signal) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await main(argv, { out, err, signal });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

describe('warploom denoise, segment, register', function () {
  this.timeout(60_000);
  let folder: string;
  before(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-cli-images-')); });
  after(() => rm(folder, { recursive: true, force: true }));
  const at = (name: string) => join(folder, name);
  const flags = (line: string) => run([...line.split(' ').map((word) => word.replace(/^@/, `${folder}/`)), '--backend', 'cpu']);

  it('denoise a 16-bit PNG, with before and after', async () => {
    const clean = sheppLogan(64);
    const noisy = addNoise(clean, { sigma: 0.08, seed: 1 });
    await writeImage(at('noisy.png'), noisy, { sampleType: 'uint16' });
    const { code, out, err } = await flags('denoise @noisy.png -o @new/clean.png --weight 0.06 --preview @preview.png');
    equal(code, 0, err);
    match(out, /noisy\.png 64 × 64, primal-dual, \d+ iterations.*on cpu.*relative duality gap/);
    const { image, meta } = await readImage(at('new/clean.png'));
    equal(meta.sampleType, 'uint16');
    ok(psnr(image, clean) > psnr((await readImage(at('noisy.png'))).image, clean) + 1.5);
    const { width, height } = decode(await readFile(at('preview.png')));
    deepStrictEqual([width, height], [2 * 320 + 6, 320]);
    deepStrictEqual(await readdir(at('new')), ['clean.png']);
  });

  it('denoise a volume with an orientation and numbers of its own', async () => {
    const affine = [-2, 0, 0, 9, 0, 2, 0, 8, 0, 0, 3, 7, 0, 0, 0, 1];
    const head = sheppLogan(20, { dimensions: 3 });
    const counts = { ...head, data: head.data.map((value) => 1000 * value - 200) };
    await writeImage(at('head.nii.gz'), counts, { sampleType: 'int16', affine });
    const { code, err } = await flags('denoise @head.nii.gz -o @head-tv.nii --method flow --weight 0.01 --iterations 20');
    equal(code, 0, err);
    const { image, meta } = await readImage(at('head-tv.nii'));
    deepStrictEqual([meta.affine, meta.sampleType], [affine, 'float32']);
    ok(psnr(image, counts, 1000) > 25 && image.data.some((value) => value > 600), 'in the numbers of the file');
    const phantom = await flags('denoise phantom:shepp-logan,size=16,dimensions=3 --add-noise gaussian:sigma=0.1,seed=2 --sigma 0.1 -o @phantom.tif');
    equal(phantom.code, 0, phantom.err);
    match(phantom.out, /PSNR [\d.]+ → [\d.]+ dB/);
    equal((await readImage(at('phantom.tif'))).image.depth, 16);
  });

  it('segment: mask, level set, outline, contours as SVG and JSON, agreement with a given mask', async () => {
    const { image, mask } = discs(64);
    await writeImage(at('discs.png'), addNoise(image, { sigma: 0.1, seed: 3 }));
    await writeImage(at('truth.png'), { ...image, data: Float32Array.from(mask) });
    const { code, out, err } = await flags('segment @discs.png -o @mask.png --mu 0.1 --level-set @level.npy --contours @lines.svg --preview @outline.png --truth @truth.png');
    equal(code, 0, err);
    ok(Number(/Dice ([\d.]+)/.exec(out)![1]) > 0.98, out);
    const found = (await readImage(at('mask.png'))).image.data;
    ok(Math.max(dice(found, mask), dice(found.map((v) => 1 - v), mask)) > 0.98);
    const level = (await readImage(at('level.npy'))).image.data;
    ok(level.every((value, i) => (value > 0) === (found[i]! > 0)), 'positive inside');
    match(await readFile(at('lines.svg'), 'utf8'), /<path d="M[\d.]+,[\d.]+L.*Z"/);
    ok(decode(await readFile(at('outline.png'))).width > 640);
    equal((await flags('segment @discs.png -o @mask.npy --contours @lines.json --initial ball --iterations 5')).code, 0);
    const lines = JSON.parse(await readFile(at('lines.json'), 'utf8')) as [number, number][][];
    ok(lines.length > 0 && lines.every((line) => line.length > 2 && line.every(([x, y]) => x >= -1 && x <= 64 && y >= -1 && y <= 64)));
    for (const [place, expected] of [
      ['ball:x=20,y=9,radius=7', { kind: 'ball', centre: [20, 9], radius: 7 }], ['box:x0=3,y0=4,x1=30,y1=20', { kind: 'box', low: [3, 4], high: [30, 20] }],
      ['checkerboard:square=9', { kind: 'checkerboard', square: 9 }],
    ] as const) {
      equal((await flags(`segment @discs.png -o @mask.png --level-set @level.npy --iterations 1 --initial ${place}`)).code, 0, place);
      const alike = await segment((await readImage(at('discs.png'))).image as Image<Float32Array>, { iterations: 1, initial: expected });
      deepStrictEqual([...(await readImage(at('level.npy'))).image.data], [...alike.levelSet], place);
    }
  });

  it('denoise a JPEG of a camera into WebP, PNG and JPEG', async () => {
    const pixels = Buffer.from(Array.from({ length: 32 * 24 * 3 }, (_, i) => 60 + 2 * (Math.floor(i / 3) % 32) + 40 * (i % 3) + (i * 7919) % 23));
    await writeFile(at('photo.jpg'), await sharp(pixels, { raw: { width: 32, height: 24, channels: 3 } }).jpeg({ quality: 95 }).withMetadata({ orientation: 8 }).toBuffer());
    for (const ending of ['webp', 'png', 'jpg']) {
      const { code, out, err } = await flags(`denoise @photo.jpg -o @clean.${ending} --weight 0.1`);
      equal(code, 0, err);
      match(out, /photo\.jpg 24 × 32, 3 channels/);
      const { image } = await readImage(at(`clean.${ending}`));
      deepStrictEqual([image.width, image.height, image.channels], [24, 32, 3]);
    }
  });

  it('say what reading changed, and of equal images that nothing is left to do', async () => {
    const pixels = Uint8Array.from({ length: 12 * 12 * 4 }, (_, i) => (i >= 432 ? 200 : (i * 37) % 256));
    await writeImage(at('rgba.png'), { data: pixels, width: 12, height: 12, channels: 4 });
    match((await flags('denoise @rgba.png -o @opaque.png --weight 0.1')).err, /rgba\.png: its alpha channel was dropped/);
    const equal_ = await flags('register @rgba.png @rgba.png -o @same.png --json');
    const { accuracy } = JSON.parse(equal_.out) as { accuracy: { value: number } };
    equal(accuracy.value, 1);
    // What JPEG makes of the black part of a mask is not inside.
    const mask = Buffer.from(Array.from({ length: 24 * 24 }, (_, i) => (i % 24 < 10 ? 255 : 0)));
    await writeFile(at('mask.jpg'), await sharp(mask, { raw: { width: 24, height: 24, channels: 1 } }).jpeg({ quality: 40 }).toBuffer());
    const region = await readLabels(at('mask.jpg'), { data: new Float32Array(576), width: 24, height: 24 }, 'mask'); // of three channels
    deepStrictEqual([...region], Array.from(mask, (value) => Number(value > 0)));
  });

  it('register two files, and a generated pair', async () => {
    const { reference, template } = registrationPair(48);
    await writeImage(at('r.tif'), reference);
    await writeImage(at('t.tif'), template);
    const { code, out, err } = await flags('register @r.tif @t.tif -o @warped.tif --displacement @u.npy --grid @grid.svg --preview @pair.png --levels 2 --iterations 30');
    equal(code, 0, err);
    match(out, /curvature registration.*least Jacobian 0\.\d+/);
    const warped = (await readImage(at('warped.tif'))).image;
    ok(psnr(warped, reference) > psnr(template, reference) + 10);
    const u = await readImage(at('u.npy'));
    deepStrictEqual([u.image.channels, u.image.width], [2, 48]);
    match(await readFile(at('grid.svg'), 'utf8'), /<path/);
    equal(decode(await readFile(at('pair.png'))).width, 5 * 336 + 4 * 6);
    const pair = await flags('register phantom:registration-pair,size=32,dimensions=3 -o @pair.nii.gz --iterations 10 --levels 2');
    equal(pair.code, 0, pair.err);
    match(pair.out, /mean error of the displacement, pixels 0\.\d+/);
  });

  it('register colours after an alignment', async () => {
    const [n, points] = [48, 48 * 48];
    const spot = (x: number, y: number, cx: number, cy: number) => Math.exp(-((x - cx) ** 2 / 60 + (y - cy) ** 2 / 20));
    const colours = (x: number, y: number) => [spot(x, y, 20, 18), spot(x, y, 30, 28), 0.2 + 0.5 * spot(x, y, 26, 24)];
    const image = (dx: number, dy: number): Image<Float32Array> => ({ width: n, height: n, channels: 3, data: Float32Array.from({ length: 3 * points }, (_, i) =>
      colours(i % n + dx, Math.floor(i / n) % n + dy)[Math.floor(i / points)]!) });
    await writeImage(at('rgb-r.png'), image(-7, 5));
    await writeImage(at('rgb-t.png'), image(0, 0));
    const { code, out, err } = await flags('register @rgb-r.png @rgb-t.png -o @rgb.png --displacement @rgb-u.npy --align translation --weights 1,1,0.5 --preview @rgb-p.svg');
    equal(code, 0, err);
    match(out, /3 channels, translation alignment, curvature/);
    match(await readFile(at('rgb-p.svg'), 'utf8'), />template<.*>mean squared difference 0\.0\d+<.*>warped template<.*>mean squared difference /);
    const warped = (await readImage(at('rgb.png'))).image;
    ok(psnr(warped, image(-7, 5)) > psnr(image(0, 0), image(-7, 5)) + 15, `${psnr(warped, image(-7, 5))}`);
    const u = (await readImage(at('rgb-u.npy'))).image.data;
    ok(Math.abs(u[24 * n + 24]! + 7) < 0.2 && Math.abs(u[points + 24 * n + 24]! - 5) < 0.2, `${u[24 * n + 24]}, ${u[points + 24 * n + 24]}`);
  });

  it('refuse bad flags and bad files with code 2, by name, and write nothing', async () => {
    await writeFile(at('broken.png'), (await readFile(at('noisy.png'))).subarray(0, 99));
    const empty = await mkdtemp(join(folder, 'empty-'));
    await writeImage(at('wide.png'), { data: new Uint8Array(4096), width: 128, height: 32 });
    const cases: [string, RegExp][] = [
      ['denoise', /one image/], ['denoise @noisy.png', /-o FILE/], ['denoise @noisy.png @noisy.png -o OUT.png', /one image/], ['denoise @noisy.png -o OUT.gif', /\.png/],
      ['denoise @noisy.png -o OUT.png --weight x', /--weight/], ['denoise @noisy.png -o OUT.png --weight -1', /weight/], ['denoise @noisy.png -o OUT.png --noise pink', /noise/],
      ['denoise @absent.png -o OUT.png', /absent/], ['denoise @broken.png -o OUT.png', /broken\.png: .*PNG/], ['denoise @noisy.png -o OUT.png --max-pixels 100', /maxPixels/],
      ['denoise phantom:moon,size=9 -o OUT.png', /input/], ['denoise phantom:discs,size -o OUT.png', /key=value/], ['denoise @noisy.png -o OUT.png --range 1,0', /range/],
      ['denoise @noisy.png -o OUT.png --range x', /--range/], ['denoise @noisy.png -o OUT.png --raw 3x3:uint8:odd', /--raw/],
      ['denoise @noisy.png -o OUT.png --add-noise gaussian:colour=3', /addNoise.*colour/],
      ['denoise @head.nii.gz -o OUT.png', /image\.depth.*PNG/], ['segment @noisy.png -o OUT.png --preview OUT.png', /--out and --preview/],
      ['register @noisy.png @noisy.png -o OUT.npy --displacement OUT.npy', /--out and --displacement/],
      ['denoise @noisy.png -o OUT.png --mask @wide.png', /mask.*64 × 64.*128 × 32/],
      ['segment @noisy.png -o OUT.png --initial star', /initial/], ['denoise @noisy.png -o OUT.png --preview a.jpg', /--preview.*\.svg/],
      ['segment @noisy.png -o OUT.png --initial ball:colour=3', /initial/], ['segment @noisy.png -o OUT.png --iterations 0', /--iterations/],
      ['register @noisy.png -o OUT.png', /reference and a template/],
      ['register @noisy.png @discs.png -o OUT.png --measure mi', /measure/], ['register @noisy.png @noisy.png -o OUT.png --weights 1,x', /--weights/],
      ['register @noisy.png @noisy.png -o OUT.png --weights 1,2', /weights/], ['register @noisy.png @noisy.png -o OUT.png --align bend', /align/],
      ['register @noisy.png @head.nii.gz -o OUT.png', /template/],
    ];
    for (const [line, what] of cases) {
      const { code, err } = await flags(line.replaceAll('OUT', `${empty}/out`));
      equal(code, 2, `${line}: ${err}`);
      match(err, what, line);
    }
    const tpu = await run(['denoise', at('noisy.png'), '-o', join(empty, 'a.png'), '--backend', 'tpu']);
    match(tpu.err, /--backend/);
    deepStrictEqual(await readdir(empty), []);
  });

  it('stop when interrupted, with code 130 and no file', async () => {
    const stop = new AbortController();
    stop.abort();
    const { code } = await run(['denoise', at('noisy.png'), '-o', at('never.png'), '--backend', 'cpu'], stop.signal);
    equal(code, 130);
    ok(!(await readdir(folder)).includes('never.png'));
  });
});
