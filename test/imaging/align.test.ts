// imaging.align: known translations, turns and affine maps are found again, in lengths, over channels, and inside a mask.
import { deepStrictEqual, ok, rejects } from 'node:assert/strict';
import { align, register, warp, type AlignOptions, type Image } from '../../lib/imaging/index.ts';
import { eachBackend } from '../support/backends.ts';

type Point = readonly number[];
const flat = [44, 40, 1] as const;
const deep = [26, 24, 12] as const;

/** A smooth scene in lengths from the centre. */
const scene = (p: Point, channel: number): number => [[-9, 3, 2], [7, -6, -4], [4, 9, 3], [-5, -8, 0]].reduce((sum, c, k) =>
  sum + (0.4 + 0.2 * ((k + channel) % 3)) * Math.exp(-p.reduce((s, at, a) => s + (at - c[a]!) ** 2, 0) / (18 + 6 * k)), 0);

/** The scene after a map of pixels: value(x) = scene(position of map(x)). */
function picture(extents: Point, spacing: Point, map: (x: Point) => Point, channels = 1): Image<Float64Array> {
  const [width, height, depth] = extents as [number, number, number];
  const axes = depth > 1 ? 3 : 2;
  const points = width * height * depth;
  const data = new Float64Array(channels * points);
  for (let i = 0; i < points; i += 1) {
    const x = [i % width, Math.floor(i / width) % height, Math.floor(i / width / height)].slice(0, axes);
    const p = map(x).map((at, a) => (at - (extents[a]! - 1) / 2) * spacing[a]!);
    for (let c = 0; c < channels; c += 1) data[c * points + i] = scene(p, c);
  }
  return { data, width, height, depth, channels, spacing: spacing as [number, number, number] };
}
/** A turn about the last axis and shifts, in pixels of a grid with this spacing. */
function turned(extents: Point, spacing: Point, angle: number, shift: Point): (x: Point) => Point {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return (x) => {
    const p = x.map((at, a) => (at - (extents[a]! - 1) / 2) * spacing[a]!);
    const q = [cos * p[0]! - sin * p[1]!, sin * p[0]! + cos * p[1]!, p[2] ?? 0].slice(0, x.length);
    return q.map((at, a) => at / spacing[a]! + (extents[a]! - 1) / 2 + shift[a]!);
  };
}
/** The largest error of a matrix at the corners of the middle half. */
function errorOf(matrix: Float64Array, extents: Point, map: (x: Point) => Point): number {
  const axes = matrix.length === 6 ? 2 : 3;
  let most = 0;
  for (let corner = 0; corner < 2 ** axes; corner += 1) {
    const x = Array.from({ length: axes }, (_, a) => (extents[a]! - 1) * ((corner >> a) % 2 === 0 ? 0.25 : 0.75));
    const found = x.map((_at, a) => x.reduce((sum, at, b) => sum + matrix[a * (axes + 1) + b]! * at, matrix[a * (axes + 1) + axes]!));
    map(x).forEach((at, a) => { most = Math.max(most, Math.abs(at - found[a]!)); });
  }
  return most;
}
const still = (x: Point): Point => x;
const one = [1, 1, 1];

describe('imaging.align', function () {
  this.timeout(60_000);

  it('finds known maps again', async () => {
    const sheared = (x: Point) => x.map((at, a) => (extent: Point) => at + 0.06 * ((x[(a + 1) % 2] ?? 0) - extent[(a + 1) % 2]! / 2) + 1.5)
      .map((f) => f(flat));
    const cases: readonly [string, Point, Point, (x: Point) => Point, AlignOptions][] = [
      ['a shift', flat, one, turned(flat, one, 0, [4.3, -3.6]), { model: 'translation' }],
      ['a turn', flat, one, turned(flat, one, 0.2, [2, -1.5]), { model: 'rigid' }],
      ['a shear', flat, one, sheared, {}],
      ['a turn of a scan whose pixels are not square', flat, [1, 1.6], turned(flat, [1, 1.6], 0.15, [1, 1]), { model: 'rigid' }],
      ['a turn in space', deep, [1, 1, 2], turned(deep, [1, 1, 2], 0.15, [1.2, -0.8, 0.6]), { model: 'rigid' }],
      ['a map in space', deep, one, turned(deep, one, -0.1, [1, 0.5, -0.7]), { model: 'affine' }],
    ];
    for (const [name, extents, spacing, map, options] of cases) {
      // template(map(x)) = reference(x): the reference is the scene behind the map.
      const [reference, template] = [picture(extents, spacing, map), picture(extents, spacing, still)];
      const { matrix, converged, status, measure, initialMeasure } = await align(reference, template, options);
      ok(converged, `${name}: ${status.message}`);
      ok(errorOf(matrix, extents, map) < 0.05, `${name}: off by ${errorOf(matrix, extents, map)} pixels`);
      ok(measure < 0.02 * initialMeasure, `${name}: ${measure} of ${initialMeasure}`);
    }
  });

  it('over channels, other intensities, and inside a mask', async () => {
    const map = turned(flat, one, 0.12, [2, 1]);
    const [reference, template] = [picture(flat, one, map, 3), picture(flat, one, still, 3)];
    const scaled = { ...template, data: template.data.map((value) => 3 * value - 1) as Float64Array };
    const found = await align(reference, scaled, { model: 'rigid', measure: 'ncc' });
    ok(errorOf(found.matrix, flat, map) < 0.05, `off by ${errorOf(found.matrix, flat, map)}`);
    const mask = Uint8Array.from({ length: flat[0] * flat[1] }, (_, i) => (i % flat[0] < 40 ? 1 : 0));
    const spoilt = { ...reference, data: reference.data.map((value, i) => (mask[i % mask.length] === 1 ? value : 9)) as Float64Array };
    const inside = await align(spoilt, template, { model: 'rigid', mask });
    ok(errorOf(inside.matrix, flat, map) < 0.05, `off by ${errorOf(inside.matrix, flat, map)}`);
  });

  eachBackend((_, device) => {
    it('gives a displacement for warp and register', async () => {
      const on = { device: await device() };
      const map = turned(flat, one, 0.2, [2, -1.5]);
      const [reference, template] = [picture(flat, one, map), picture(flat, one, still)];
      const { displacement, measure } = await align(reference, template, { model: 'rigid' });
      const { image } = await warp(template, displacement, on);
      const off = image.data.reduce((sum, value, i) => sum + (value - reference.data[i]!) ** 2, 0) / image.data.length;
      ok(off < 2e-4 && measure < 2e-4, `${off}, ${measure}`);
      const { initialMeasure } = await register(reference, template, { initial: displacement, iterations: 2, ...on });
      ok(Math.abs(initialMeasure - off) < 1e-9, `${initialMeasure}`);
      const array = await on.device.array(reference.data);
      const there = await align({ ...reference, data: array as never }, template as never, { model: 'rigid', ...on });
      deepStrictEqual(await (there.displacement.data as unknown as typeof array).read(), displacement.data);
      array.dispose();
      (there.displacement.data as unknown as typeof array).dispose();
    });
  });

  it('refuses what cannot be aligned, and says what did not converge', async () => {
    const image = picture(flat, one, still);
    await rejects(align(image, picture(deep, one, still)), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    await rejects(align(image, { ...image, data: new Float64Array(image.data.length).fill(NaN) }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT' });
    await rejects(align(image, image, { model: 'elastic' as never }), { argument: 'model' });
    const far = picture(flat, one, turned(flat, one, 0.2, [3, 3]));
    const { converged, status } = await align(far, image, { iterations: 1, levels: 1 });
    ok(!converged && /not converged after 1 iteration:.*raise iterations/.test(status.message), status.message);
    const constant = { ...image, data: new Float64Array(image.data.length) };
    ok(Array.from((await align(constant, constant)).matrix).every(Number.isFinite), 'constant images stay where they are');
  });

  it('weighs channels, and reports progress, alone and before a registration', async () => {
    const [left, right] = [1.5, -2].map((by) => picture(flat, one, turned(flat, one, 0, [by, 0])));
    const here = picture(flat, one, still);
    const both = (a: Image<Float64Array>, b: Image<Float64Array>) => ({ ...a, channels: 2, data: Float64Array.from([...a.data, ...b.data]) });
    const [reference, template] = [both(left!, right!), both(here, here)];
    const told: [number, number][] = [];
    const onProgress = (done: number, total: number) => { told.push([done, total]); };
    for (const [weights, shift] of [[[1, 0], 1.5], [[0, 2], -2]] as const) {
      const { matrix, measure } = await align(reference, template, { model: 'translation', weights, onProgress, levels: 1, iterations: 20 });
      ok(Math.abs(matrix[2]! - shift) < 1e-3 && measure < 1e-5, `${matrix}, ${measure}`);
      deepStrictEqual([told[0], told.at(-1)], [[0, 20], [20, 20]]);
      told.length = 0;
    }
    const { alignment } = await register(reference, template, { align: 'translation', weights: [1, 0], iterations: [3], onProgress });
    ok(Math.abs(alignment!.matrix[2]! - 1.5) < 1e-3, `${alignment!.matrix}`);
    const total = told[0]![1];
    deepStrictEqual([told.at(-1), total], [[total, total], 53]);
    told.forEach(([done, all], i) => { ok(all === total && done >= (told[i - 1]?.[0] ?? 0)); });
    const stop = new AbortController();
    const aborted = register(reference, template, { align: 'affine', signal: stop.signal, onProgress: () => { stop.abort(new Error('enough')); } });
    await rejects(aborted, /enough/);
    await rejects(align(here, here, { weights: [1, 2] }), { argument: 'weights' });
  });
});
