// Contours: areas, orientation, holes, borders, saddles.
import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { contourPolygons, contourRings, ringArea, segment, type Ring } from '../../lib/imaging/index.ts';
import { normalNumbers } from '../../lib/imaging/noise.ts';
import { deviceOf } from '../support/backends.ts';

function field(width: number, height: number, value: (x: number, y: number) => number, depth = 1) {
  const data = new Float64Array(width * height * depth);
  for (let i = 0; i < data.length; i += 1) data[i] = value(i % width, Math.floor(i / width) % height);
  return { data, width, height, depth };
}

/** Longest distance of a ring's points from a circle. */
const farFrom = (ring: Ring, x0: number, y0: number, radius: number) =>
  Math.max(...ring.map(([x, y]) => Math.abs(Math.hypot(x - x0, y - y0) - radius)));

describe('imaging contours', () => {
  it('follow a circle to a hundredth of a pixel, with its area', () => {
    const rings = contourRings(field(64, 60, (x, y) => 21.3 - Math.hypot(x - 30.2, y - 28.7)));
    strictEqual(rings.length, 1);
    ok(farFrom(rings[0]!, 30.2, 28.7, 21.3) < 0.01);
    ok(Math.abs(ringArea(rings[0]!) / (Math.PI * 21.3 ** 2) - 1) < 1e-3, `area ${ringArea(rings[0]!)}`);
  });

  it('turn holes the other way and put them into their polygons', () => {
    const ring = (x: number, y: number, x0: number, outer: number, inner: number) => {
      const distance = Math.hypot(x - x0, y - 30);
      return Math.min(outer - distance, distance - inner);
    };
    const image = field(120, 60, (x, y) => Math.max(ring(x, y, 30, 25, 12), ring(x, y, 30, 6, -1), ring(x, y, 90, 20, 8)));
    const polygons = contourPolygons(image);
    strictEqual(polygons.length, 3);
    const sorted = polygons.map(({ outer, holes }) => [ringArea(outer), ...holes.map(ringArea)]).sort((a, b) => b[0]! - a[0]!);
    deepStrictEqual(sorted.map((areas) => areas.length), [2, 2, 1]);
    const expected = [[25, -12], [20, -8], [6]];
    sorted.forEach((areas, i) => areas.forEach((area, k) => {
      const radius = expected[i]![k]!;
      ok(Math.abs(area / (Math.sign(radius) * Math.PI * radius ** 2) - 1) < 0.01, `area ${area} of radius ${radius}`);
    }));
  });

  it('close at the border of the image, half a pixel outside', () => {
    const all = contourRings(field(7, 4, () => 2));
    strictEqual(all.length, 1);
    const [xs, ys] = [all[0]!.map(([x]) => x), all[0]!.map(([, y]) => y)];
    deepStrictEqual([Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)], [-0.5, 6.5, -0.5, 3.5]);
    ok(Math.abs(ringArea(all[0]!) - (28 - 0.5)) < 1e-12, 'corners are cut');
    const half = contourRings(field(10, 6, (x) => 4.25 - x));
    strictEqual(half.length, 1);
    ok(Math.abs(ringArea(half[0]!) - (4.75 * 6 - 0.25)) < 0.2);
  });

  it('decide saddles by the mean', () => {
    const saddle = (a: number, b: number) => field(4, 4, (x, y) => (x === 1 && y === 1 || x === 2 && y === 2 ? a : -b));
    strictEqual(contourRings(saddle(1, 3)).length, 2);
    strictEqual(contourRings(saddle(3, 1)).length, 1);
  });

  it('take one pixel, empty images, volumes, infinite values and other levels', () => {
    strictEqual(contourRings(field(1, 1, () => 1)).length, 1);
    strictEqual(contourRings(field(1, 1, () => -1)).length, 0);
    strictEqual(contourRings(field(5, 5, () => NaN)).length, 0);
    strictEqual(contourRings(field(5, 5, (x) => (x > 2 ? Infinity : -Infinity))).length, 1);
    strictEqual(contourRings(field(9, 9, (x, y) => 9 - Math.hypot(x - 4, y - 4)), { level: 6.5 }).length, 1);
    const volume = field(6, 5, () => 0, 3);
    volume.data.fill(1, 30, 60);
    deepStrictEqual([0, 1, 2].map((slice) => contourRings(volume, { slice }).length), [0, 1, 0]);
    strictEqual(contourRings(volume).length, 1);
  });

  it('give every crossing once and end where they began', () => {
    let state = 7;
    const noise = field(41, 37, () => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return (state >>> 8) / 2 ** 24 - 0.5;
    });
    const rings = contourRings(noise);
    const points = rings.flatMap((ring) => ring.map(([x, y]) => `${x},${y}`));
    strictEqual(new Set(points).size, points.length);
    for (const ring of rings) {
      ring.forEach(([x, y], i) => {
        const [u, v] = ring[(i + 1) % ring.length]!;
        ok(Math.hypot(x - u, y - v) <= Math.SQRT2 + 1e-12);
      });
    }
    const inside = noise.data.reduce((sum, value) => sum + Number(value > 0), 0);
    const area = rings.reduce((sum, ring) => sum + ringArea(ring), 0);
    ok(Math.abs(area / inside - 1) < 0.15, `${area} for ${inside} pixels`);
  });

  it('refuse what they cannot take', () => {
    const image = field(4, 4, () => 1);
    const refused = (call: () => unknown, argument: string) => throws(call, (error: { argument?: string; code?: string }) =>
      error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT' && error.argument === argument);
    refused(() => contourRings(image, { slice: 1 }), 'slice');
    refused(() => contourRings(image, { level: NaN }), 'level');
    refused(() => contourRings(image, { levels: 1 } as never), 'levels');
    refused(() => contourRings({ ...image, width: 5 }), 'levelSet.data');
    refused(() => contourRings({ ...image, width: 2, height: 4, channels: 2 }), 'levelSet.channels');
  });

  it('of a segmentation are traced when they are asked for, with turns of the event loop in between, until they are aborted', async () => {
    const device = await deviceOf('cpu');
    const noise = normalNumbers(512 * 512, 3);
    const image = { data: noise, width: 512, height: 512 };
    const found = await segment(image, { initial: noise, iterations: 0, device });
    ok(!('contours' in (JSON.parse(JSON.stringify(found)) as object)), 'nothing but a function');
    found.levelSet.fill(-1);
    strictEqual((await found.contours()).length, 0, 'the level set as it is when they are asked for');
    found.levelSet.set(noise);
    const expected = contourRings(image);
    const traced = found.contours();
    found.levelSet.fill(-1); // the call has taken what it reads
    let turns = 0;
    let settled = false;
    const counting = (async () => {
      for (; !settled; turns += 1) await new Promise((settle) => { setImmediate(settle); });
    })();
    deepStrictEqual(await traced.finally(() => { settled = true; }), expected);
    await counting;
    ok(turns > 2, `${turns} turns of the event loop`);
    found.levelSet.set(noise);
    const stop = new AbortController();
    const aborted = found.contours({ signal: stop.signal });
    stop.abort(new Error('enough'));
    await rejects(aborted, /enough/);
    await rejects(found.contours({ level: NaN }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'level' });
    await rejects(segment(image, { contours: true, device } as never), { argument: 'contours', message: /await result\.contours\(\)/ });
  });

  it('has no area without points', () => {
    strictEqual(ringArea([]), 0);
  });
});
