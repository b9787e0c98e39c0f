// Small calls of imaging for the tools of compute-sanitizer (see sanitized.test.ts): grids that end within a tile, every variant.
import { deepStrictEqual, ok } from 'node:assert/strict';
import { imaging, type Device } from '../../lib/index.ts';
import { eachBackend } from '../support/backends.ts';
import { Random } from '../support/random.ts';

type Host = imaging.Image<Float32Array | Float64Array>;

const grids = [[5, 3, 1], [37, 19, 1], [132, 70, 1], [9, 7, 5], [36, 33, 17]] as const;
const planes = grids.filter(([, , depth]) => depth === 1);
const types = ['float32', 'float64'] as const;

/** Smooth shapes with noise, so that no kernel meets constants only. */
function picture(type: 'float32' | 'float64', [width, height, depth]: readonly [number, number, number], channels = 1): Host {
  const random = new Random(width + channels);
  const length = width * height * depth * channels;
  const data = type === 'float32' ? new Float32Array(length) : new Float64Array(length);
  for (let i = 0; i < length; i += 1) {
    data[i] = (Math.hypot((i % width) - width / 2, (Math.floor(i / width) % height) - height / 2) < height / 3 ? 0.8 : 0.2)
      + random.uniform(-0.1, 0.1);
  }
  return { data, width, height, depth, channels };
}

/** Runs `call` on grids in both types; what the variants of one call give must be the same bits. */
async function sameBits(
  channels: number, variants: readonly string[], call: (image: Host, variant: string) => Promise<Float32Array | Float64Array>,
  on: readonly (readonly [number, number, number])[] = grids,
): Promise<void> {
  for (const type of types) {
    for (const grid of on) {
      const image = picture(type, grid, channels);
      const first = await call(image, variants[0]!);
      ok(first.every(Number.isFinite), `${grid.join('×')} ${type}`);
      for (const variant of variants.slice(1)) deepStrictEqual(await call(image, variant), first, `${variant} ${grid.join('×')} ${type}`);
    }
  }
}

type Case = readonly [name: string, run: (device: Device, backend: string) => Promise<void>];

const direct = (backend: string, ...others: string[]) => (backend === 'cpu' ? ['auto'] : ['direct', ...others]);
const cases: readonly Case[] = [
  ['curvature', (device, backend) => sameBits(1, direct(backend, 'tile', 'march'), async (image, variant) =>
    (await imaging.curvature(image, { variant: variant as 'auto', device })).image.data)],
  ['curvature of colours', (device) => sameBits(3, ['auto'], async (image) => (await imaging.curvature(image, { device })).image.data)],
  ...(['primal-dual', 'flow'] as const).map((method): Case => [`denoise by ${method}`, (device, backend) =>
    sameBits(1, direct(backend, 'march'), async (image, variant) => (await imaging.denoise(image, {
      method, weight: 0.1, iterations: 7, checkEvery: 3, tolerance: 0, variant: variant as 'auto', device })).image.data)]),
  ['denoise impulses in colours', (device) => sameBits(3, ['auto'], async (image) =>
    (await imaging.denoise(image, { noise: 'impulse', weight: 0.8, iterations: 6, checkEvery: 3, tolerance: 0, device })).image.data)],
  ['denoise with an estimated noise', (device) => sameBits(1, ['auto'], async (image) =>
    (await imaging.denoise(image, { iterations: 6, checkEvery: 3, device })).image.data)],
  ...(['semi-implicit', 'explicit'] as const).map((step): Case => [`segment by ${step} steps`, (device, backend) =>
    sameBits(1, direct(backend, 'march'), async (image, variant) => (await imaging.segment(image, {
      mu: 0.1, step, iterations: 7, energyEvery: 3, tolerance: 0, reinitializeEvery: 4, variant: variant as 'auto', device })).levelSet,
    planes)]),
  ...[1, 3].map((channels): Case => [`segment volumes of ${channels} channels`, (device) => sameBits(channels, ['auto'], async (image) =>
    (await imaging.segment(image, { mu: 0.1, iterations: 5, tolerance: 0, device })).levelSet)]),
  ...(['ssd', 'ncc'] as const).map((measure): Case => [`register by ${measure}`, (device) =>
    sameBits(1, ['semi-implicit'], async (image) => (await imaging.register(image, { ...image, data: image.data.map((v) => v ** 1.1) as
      Float32Array }, { measure, levels: 2, iterations: 4, tolerance: 0, device })).displacement.data)]),
  ['register by explicit steps', (device) => sameBits(1, ['explicit'], async (image, variant) =>
    (await imaging.register(image, { ...image, data: image.data.map((v) => v ** 1.1) as Float32Array }, {
      variant: variant as 'explicit', levels: 2, iterations: 4, tolerance: 0, device })).displacement.data)],
  ['cosine transform', (device) => sameBits(2, ['auto'], async (image) =>
    (await imaging.cosineTransform(image, { inverse: true, device })).image.data)],
];

describe('sanitized: imaging', function () {
  this.timeout(600_000);
  eachBackend((backend, device) => {
    for (const [name, run] of cases) it(`${name}`, async () => run(await device(), backend));
  }, { backends: ['simt', 'cuda'] }); // where there are kernels
});
