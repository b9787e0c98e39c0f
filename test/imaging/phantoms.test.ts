// Phantoms and noise: known sums, known symmetry, the same numbers in every run.
import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import { addNoise, discs, psnr, registrationPair, sheppLogan } from '../../lib/imaging/index.ts';
import { normalNumbers } from '../../lib/imaging/noise.ts';

const sum = (values: Iterable<number>): number => {
  let total = 0;
  for (const value of values) total += value;
  return total;
};
const near = (value: number, expected: number, tolerance: number, what: string) => ok(Math.abs(value - expected) <= tolerance, `${what}: ${value}, expected ${expected}`);

describe('phantoms', () => {
  it('Shepp–Logan: the voxel sums of the literature, values 0 to 1, either type', () => {
    const head = sheppLogan(64, { dimensions: 3, type: 'float64' });
    near(sum(head.data), 20584.6, 1e-6, '64³');
    near(sum(sheppLogan(128, { dimensions: 3, type: 'float64' }).data), 164651.4, 1e-5, '128³');
    ok(head.data.every((value) => value >= 0 && value <= 1));
    deepStrictEqual([head.width, head.height, head.depth], [64, 64, 64]);
    const { data } = sheppLogan(64, { dimensions: 3 });
    ok(data instanceof Float32Array && data.every((value, i) => value === Math.fround(head.data[i]!)));
  });

  it('Shepp–Logan in the plane: skull, brain, ventricles and the empty border where they belong', () => {
    const { data, width, height, depth } = sheppLogan(256);
    deepStrictEqual([width, height, depth], [256, 256, undefined]);
    const at = (x: number, y: number) => data[Math.round(((y + 1) * 256 - 1) / 2) * 256 + Math.round(((x + 1) * 256 - 1) / 2)]!;
    const points: [number, number, number][] = [[0, 0.9, 1], [0.95, 0, 0], [0.4, 0.5, 0.2], [0.22, 0, 0], [-0.22, 0, 0], [0, 0.35, 0.3], [0, 0.1, 0.3], [-0.08, -0.605, 0.3]];
    for (const [x, y, value] of points) near(at(x, y), value, 1e-6, `(${x}, ${y})`);
  });

  it('discs: areas of the circles, two brightnesses; balls likewise', () => {
    const { image: { data }, mask } = discs(400);
    const area = Math.PI * (0.25 ** 2 - 0.1 ** 2 + 0.186 ** 2 + 0.06 ** 2);
    near(sum(mask) / 160_000, area, 2e-4, 'area');
    ok(data.every((value, i) => value === Math.fround(mask[i] === 1 ? 0.8 : 0.2)));
    const balls = discs(60, { dimensions: 3 });
    near(sum(balls.mask) / 216_000, (4 / 3) * Math.PI * (0.25 ** 3 - 0.1 ** 3 + 0.186 ** 3 + 0.06 ** 3), 6e-4, 'volume');
  });

  for (const dimensions of [2, 3] as const) {
    it(`registration pair in ${dimensions} dimensions: the template at the displaced point is the reference`, () => {
      const size = dimensions === 2 ? 128 : 48;
      const { reference, template, displacement, mask } = registrationPair(size, { dimensions, type: 'float64' });
      const points = size ** dimensions;
      deepStrictEqual([displacement.channels, mask.length], [dimensions, points]);
      const largest = displacement.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      ok(largest <= size / 32 && largest > size / 64, `${largest}`);
      // Interpolated linearly, the images agree to the interpolation's error.
      const strides = [1, size, size * size].slice(0, dimensions);
      let [squares, counted] = [0, 0];
      for (let i = 0; i < points; i += 1) {
        let value = 0;
        const place = strides.map((stride, axis) => (Math.floor(i / stride) % size) + displacement.data[axis * points + i]!);
        if (place.some((p) => p < 0 || p > size - 1)) continue;
        for (let corner = 0; corner < 2 ** dimensions; corner += 1) {
          let [weight, index] = [1, 0];
          place.forEach((p, axis) => {
            const low = Math.min(Math.floor(p), size - 2);
            weight *= corner & (1 << axis) ? p - low : 1 - (p - low);
            index += (low + Number((corner & (1 << axis)) !== 0)) * strides[axis]!;
          });
          value += weight * template.data[index]!;
        }
        squares += (value - reference.data[i]!) ** 2;
        counted += 1;
      }
      const rms = Math.sqrt(squares / counted);
      ok(rms < (dimensions === 2 ? 0.004 : 0.02), `${rms}`);
      ok(sum(mask) > 0.1 * points && sum(mask) < 0.5 * points);
    });
  }

  it('noise: the right moments, the same numbers whatever the size, another seed other numbers', () => {
    const numbers = normalNumbers(100_000, 7);
    const mean = sum(numbers) / 1e5;
    near(mean, 0, 0.01, 'mean');
    near(Math.sqrt(sum(numbers.map((v) => (v - mean) ** 2)) / 1e5), 1, 0.01, 'deviation');
    near(sum(numbers.map((v) => v ** 3)) / 1e5, 0, 0.05, 'skewness');
    near(sum(numbers.map((v) => v ** 4)) / 1e5, 3, 0.1, 'kurtosis');
    near(sum(numbers.map((v, i) => v * numbers[(i + 1) % 1e5]!)) / 1e5, 0, 0.015, 'neighbours');
    deepStrictEqual(normalNumbers(10, 7), numbers.slice(0, 10));
    ok(normalNumbers(1000, 8).every((v, i) => v !== numbers[i]));
    deepStrictEqual([...normalNumbers(4, 1)].map((v) => Number(v.toFixed(6))), [-0.575116, -1.040474, -0.66807, 0.487698]);
    const flat = { data: new Float64Array(1e5).fill(0.5), width: 1000, height: 100 };
    near(psnr(addNoise(flat, { sigma: 0.1, seed: 3 }), flat), 20, 0.05, 'psnr');
    const { data } = addNoise(flat, { kind: 'impulsive', amount: 0.2, seed: 3 });
    near(data.filter((v) => v === 1).length, 1e4, 400, 'hot pixels');
    near(data.filter((v) => v === 0).length, 1e4, 400, 'dead pixels');
    strictEqual(data.filter((v) => v !== 0 && v !== 1 && v !== 0.5).length, 0);
    deepStrictEqual(addNoise(flat, { sigma: 0 }).data, flat.data);
  });

  it('refuse wrong arguments by name', () => {
    const argument = (name: string) => ({ code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: name });
    throws(() => sheppLogan(0), argument('size'));
    throws(() => sheppLogan(8, { dimensions: 4 as never }), argument('dimensions'));
    throws(() => discs(8.5), argument('size'));
    throws(() => discs(8, { noise: 1 } as never), argument('noise'));
    throws(() => registrationPair(8, { amplitude: -1 }), argument('amplitude'));
    throws(() => registrationPair(8, { type: 'int8' as never }), argument('type'));
    const flat = { data: new Float32Array(4), width: 2, height: 2 };
    throws(() => addNoise(flat, { sigma: -1 }), argument('sigma'));
    throws(() => addNoise(flat, { amount: 2 }), argument('amount'));
    throws(() => addNoise(flat, { kind: 'poisson' as never }), argument('kind'));
    throws(() => addNoise(flat, { seed: 1.5 }), argument('seed'));
    throws(() => normalNumbers(-1), argument('count'));
  });
});
