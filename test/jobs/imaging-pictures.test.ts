// Pictures of images, pixel by pixel, and what jobs make of files before they compute.
import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decode } from 'fast-png';
import { psnr, writeImage } from '../../lib/imaging/index.ts';
import { loadImage, outputFormat, rescale } from '../../lib/jobs/images/input.ts';
import { panelsFile, panelsSvg } from '../../lib/jobs/images/labelled.ts';
import { gridLines, historyPlot, linesSvg, panelsPng } from '../../lib/jobs/images/pictures.ts';
import { denoiseJobSchema, type DenoiseJob } from '../../lib/jobs/kinds/denoise.ts';

const grey = (values: number[], width: number, height: number, depth = 1) => ({ data: Float32Array.from(values), width, height, depth });

describe('pictures of images', () => {
  it('set panels side by side, pixel for pixel, with greys for what is not finite', () => {
    const values = Array.from({ length: 320 * 2 }, (_, i) => (i === 1 ? NaN : i % 2));
    const { width, height, data, channels } = decode(panelsPng([{ image: grey(values, 320, 2) }, { image: grey(values, 320, 2), shades: [0, 2] }]));
    deepStrictEqual([width, height, channels], [646, 2, 3]);
    deepStrictEqual([...data.subarray(0, 9)], [0, 0, 0, 128, 128, 128, 0, 0, 0]);
    deepStrictEqual([...data.subarray(3 * 320, 3 * 326)], Array.from({ length: 18 }, () => 255), 'the gap is white');
    deepStrictEqual([...data.subarray(3 * 329, 3 * 330)], [128, 128, 128], 'half of the way to white');
  });

  it('have labels and measures above their columns, in SVG', () => {
    const panels = [
      { image: grey([0, 1], 2, 1), label: 'one & <two>', measure: 'PSNR 3.0 dB' },
      { image: grey([1, 0], 2, 1), label: 'a label that is much too long for a column of this width'.repeat(2) },
    ];
    const svg = panelsSvg(panels);
    match(svg, /^<svg[^>]*width="646" height="198"/); // 160 pixels and two lines
    match(svg, /<title>one &#38; &#60;two&#62; \(PSNR 3.0 dB\); a label/);
    match(svg, /<text x="0" y="13" font-size="13" font-weight="600">one &#38; &#60;two&#62;<\/text><text x="0" y="29"[^>]*>PSNR 3.0 dB</);
    match(svg, /<text x="326" y="13" font-size="[0-9.]{3,4}"/);
    const [, png = ''] = /base64,([^"]+)/.exec(svg) ?? [];
    deepStrictEqual(Buffer.from(png, 'base64'), Buffer.from(panelsPng(panels)));
    deepStrictEqual([panelsFile('a.SVG', panels), Buffer.from(panelsFile('a.png', panels))], [svg, Buffer.from(panelsPng(panels))]);
  });

  it('enlarge small images, thin large ones, and keep colours', () => {
    const colour = { data: Float32Array.of(1, 0, 0, 1, 0, 0), width: 2, height: 1, channels: 3 };
    const small = decode(panelsPng([{ image: colour }]));
    deepStrictEqual([small.width, small.height], [320, 160]);
    deepStrictEqual([...small.data.subarray(0, 3)], [255, 0, 0]);
    deepStrictEqual([...small.data.subarray(3 * 319, 3 * 320)], [0, 255, 0]);
    deepStrictEqual(decode(panelsPng([{ image: grey(new Array(3000).fill(0), 3000, 1) }])).width, 1000);
  });

  it('show the three middle planes of a volume, the head up', () => {
    const volume = grey(Array.from({ length: 320 * 4 * 2 }, (_, i) => Number(i >= 320 * 4)), 320, 4, 2);
    const { height, width, data } = decode(panelsPng([{ image: volume }]));
    deepStrictEqual([width, height], [320, 4 + 6 + 2 + 6 + 2]);
    strictEqual(data[0], 255, 'the middle slice, z = 1');
    deepStrictEqual([data[3 * 320 * 10], data[3 * 320 * 11]], [255, 0], 'xz: the upper row is the highest slice');
  });

  it('outline labels in red', () => {
    const image = grey(new Array(320 * 5).fill(0.5), 320, 5);
    const labels = Uint8Array.from({ length: 1600 }, (_, i) => Number(i % 320 >= 100 && i % 320 < 110 && i >= 320 && i < 4 * 320));
    const { data } = decode(panelsPng([{ image, outline: labels }]));
    const at = (x: number, y: number) => [...data.subarray(3 * (y * 320 + x), 3 * (y * 320 + x) + 3)];
    deepStrictEqual([at(100, 1), at(105, 2), at(105, 3), at(99, 1)], [[255, 59, 48], [255, 255, 255], [255, 59, 48], [255, 255, 255]], 'with a white halo');
    deepStrictEqual([at(98, 1), at(105, 0), at(99, 0)], [[128, 128, 128], [255, 255, 255], [128, 128, 128]]);
  });

  it('give pixels the shape of the voxels', () => {
    const size = (image: ReturnType<typeof grey>, spacing?: [number, number, number]) => {
      const { width, height } = decode(panelsPng([{ image }], spacing));
      return [width, height];
    };
    const volume = grey(Array.from({ length: 100 * 60 * 20 }, (_, i) => Math.floor(i / 6000) % 2), 100, 60, 20);
    deepStrictEqual(size(volume), [300, 180 + 6 + 60 + 6 + 60]);
    deepStrictEqual(size(volume, [1, 1, 3]), [300, 180 + 6 + 180 + 6 + 180]);
    deepStrictEqual(size(volume, [0.5, 0.5, 1.5]), size(volume, [1, 1, 3]));
    for (const bad of [[0, 1, 1], [NaN, 1, 1], [1, -1, 1], [1, Infinity, 1]]) deepStrictEqual(size(volume, bad as [number, number, number]), size(volume));
    // Every voxel of the xz plane is three pixels by nine, the highest slice at the top.
    const { data, width } = decode(panelsPng([{ image: volume }], [1, 1, 3]));
    const column = Array.from({ length: 180 }, (_, j) => data[3 * ((186 + j) * width + 7)]);
    deepStrictEqual(column, Array.from({ length: 180 }, (_, j) => ((19 - Math.floor(j / 9)) % 2) * 255));
    deepStrictEqual(size(grey(new Array(513 * 7).fill(NaN), 513, 7), [1, 2, 50]), [513, 14]);
    deepStrictEqual(size(grey([0.5], 1, 1), [3, 1, 1]), [321, 107]);
    deepStrictEqual(size(grey(new Array(900).fill(0), 900, 1, 1), [1, 0.001, 1]), [1024, 1], 'at least a pixel');
  });

  it('draw contours and grids as SVG', () => {
    const image = grey(new Array(12).fill(0.5), 4, 3);
    const svg = linesSvg(image, [[[0, 0], [1.234567, 0], [1, 1]]], { closed: true, title: 'a <b>' });
    match(svg, /^<svg [^>]*viewBox="-0\.5 -0\.5 4 3"/);
    match(svg, /d="M0,0L1\.23,0L1,1Z"/);
    match(svg, /<title>a {2}b <\/title>|<title>a +b/);
    strictEqual(decode(Buffer.from(/base64,([^"]+)/.exec(svg)![1]!, 'base64')).width, 320);
    const moved = { data: Float32Array.from({ length: 24 }, (_, i) => (i < 12 ? 0.5 : -0.25)), width: 4, height: 3, channels: 2 };
    const lines = gridLines(moved, 2);
    deepStrictEqual([lines.length, lines[0]![1], lines[2]![0]], [4, [1.5, -0.25], [0.5, -0.25]]);
  });

  it('chart histories without the values that a logarithm does not take', () => {
    const chart = historyPlot('t', { a: [1, 0.1, 0, NaN], b: [2] }, { every: 5, log: true }) as { data: { values: { iteration: number; series: string }[] } };
    deepStrictEqual(chart.data.values.map(({ iteration, series }) => [series, iteration]), [['a', 5], ['a', 10], ['b', 5]]);
    strictEqual((historyPlot('t', { a: Array.from({ length: 5000 }, () => 1) }) as typeof chart).data.values.length, 1000);
  });
});

describe('inputs of image jobs', () => {
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-inputs-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));
  const job = (fields: object) => denoiseJobSchema.parse({ kind: 'denoise', name: 'x', input: 'x', ...fields }) as DenoiseJob;
  const load = (fields: Record<string, unknown>) => loadImage(job(fields).input, job(fields), (path) => join(folder, path));

  it('scale files to 0 to 1 and back, phantoms and pictures not at all', async () => {
    await writeImage(join(folder, 'a.nii'), grey([-100, 0, 100, 300], 2, 2), { affine: [1, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7, 0, 0, 0, 1] });
    const own = await load({ input: 'a.nii' });
    deepStrictEqual([[...own.image.data], own.range], [[0, 0.25, 0.5, 1], [-100, 300]]);
    deepStrictEqual([...rescale(own.image, own.range, true).data], [-100, 0, 100, 300]);
    deepStrictEqual([...(await load({ input: 'a.nii', range: [0, 200] })).image.data], [-0.5, 0, 0.5, 1.5]);
    deepStrictEqual([...(await load({ input: 'a.nii', range: 'unit', precision: 'float64' })).image.data], [-100, 0, 100, 300]);
    deepStrictEqual([outputFormat(own).ending, outputFormat(own).meta.affine?.[3]], ['.nii.gz', 5]);
    await writeImage(join(folder, 'a.png'), grey([0, 0.2, 0.4, 1], 2, 2));
    const picture = await load({ input: 'a.png' });
    deepStrictEqual([picture.range, outputFormat(picture).ending], [[0, 1], '.png']);
    await writeImage(join(folder, 'a.tif'), grey([5, 7, 9, 9], 2, 2));
    deepStrictEqual([...(await load({ input: 'a.tif' })).image.data], [0, 0.5, 1, 1]);
    await rejects(load({ input: 'a.tif', range: [2, 1] }), { argument: 'range' });
    const phantom = await load({ input: { phantom: 'discs', size: 16, dimensions: 3 } });
    deepStrictEqual([phantom.label, phantom.mask!.length, outputFormat(phantom).ending], ['discs 16 × 16 × 16', 4096, '.tif']);
  });

  it('add noise to files and phantoms, and keep what was there as the truth', async () => {
    await writeImage(join(folder, 'a.png'), grey(new Array(4096).fill(0.5), 64, 64));
    for (const input of ['a.png', { phantom: 'shepp-logan', size: 64 }]) {
      const { image, truth } = await load({ input, addNoise: { sigma: 0.1, seed: 3 } });
      ok(Math.abs(psnr(image, truth!) - 20) < 0.5);
    }
    strictEqual((await load({ input: 'a.png' })).truth, undefined);
  });
});
