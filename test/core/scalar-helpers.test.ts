// Every exported function that takes numbers and gives numbers without an operation, with every kind of wrong value in every place: a typed
// error, or an answer of finite numbers.
import { ok, strictEqual } from 'node:assert/strict';
import { imaging, scratchpad, swept, tridiagonal, WarploomError } from '../../lib/index.ts';
import { eachBackend } from '../support/backends.ts';

const cyclic: Record<string, unknown> = { length: 3 };
cyclic['self'] = cyclic;

/** Wrong in most places; where one is right, the answer must be finite. */
const strange: readonly unknown[] = [
  undefined, null, true, '', 'x', '1', 0, -0, 1, -1, 0.5, 1e-300, 1e300, 2 ** 31, 2 ** 53, -(2 ** 40), NaN, Infinity, -Infinity, 3n, Symbol('x'), () => 1,
  [], [NaN], ['x'], [1, 'x'], [1n], {}, { length: -1 }, { length: 2 ** 60 }, { length: 2, 0: 1, 1: 'x' }, cyclic, Object.create(null),
  new Float64Array(2), Float64Array.of(NaN, 1), new BigInt64Array(2), new Int32Array(3), new Uint8Array(0), new ArrayBuffer(8), new Date(NaN), new Map(),
  new Proxy(new Float64Array(2), {}), new Proxy([1, 2], {}), Object.create(Float64Array.prototype),
];

const gas = { density: 1, velocity: 0, pressure: 1 };
const sod = swept.exactRiemann(gas, { density: 0.125, velocity: 0, pressure: 0.1 });
const image = { data: Float64Array.from({ length: 64 }, (_, i) => Math.sin(i)), width: 8, height: 8 };
const other = { ...image, data: image.data.map((value) => value * value) };
const mask = Uint8Array.from(image.data, (value) => Number(value > 0));
const adi = { width: 4, height: 5, diffusivity: 1, dt: 0.1, dx: 1, dy: 2 };
const spline = new tridiagonal.CubicSpline(Float64Array.of(0, 1, 2), Float64Array.of(1, 2, 0), Float64Array.of(0, 1, 0), 'natural');

/** Good arguments by exported name. */
const helpers: Readonly<Record<string, { readonly call: (...values: never[]) => unknown; readonly good: readonly unknown[] }>> = {
  'swept.exactRiemann': { call: swept.exactRiemann, good: [gas, { ...gas, pressure: 0.1 }, 1.4] },
  'swept.RiemannSolution': { call: (speed: number) => sod.at(speed), good: [0.3] },
  'swept.heatModeFactor': { call: swept.heatModeFactor, good: [3, { n: 20, fourier: 0.3, periodic: true }] },
  'swept.heatSeries': { call: swept.heatSeries, good: [0.3, 2, { initial: 'ramp', length: 1, diffusivity: 0.1, amplitude: 3 }] },
  'swept.kuramotoSivashinskyGrowth': { call: swept.kuramotoSivashinskyGrowth, good: [0.7, { dx: 0.5, dt: 0.005 }] },
  'swept.kuramotoSivashinskyLimit': { call: (dx: number) => Math.min(swept.kuramotoSivashinskyLimit(dx), 1e308), good: [0.5] },
  'tridiagonal.stateOf': { call: tridiagonal.stateOf, good: [1] },
  'tridiagonal.wasResolvedByPivoting': { call: tridiagonal.wasResolvedByPivoting, good: [256] },
  'tridiagonal.model': { call: tridiagonal.model, good: [{
    size: 512, depth: 8, type: 'float32', architecture: 'paper', coefficients: { alpha: 1, beta: 2, gamma: 3, gammaPerRow: 4, lambda: 5 },
  }] },
  'tridiagonal.modelCoefficients': { call: tridiagonal.modelCoefficients, good: ['paper', 'float32'] },
  'tridiagonal.fitModel': { call: tridiagonal.fitModel, good: [[{ depth: 4, registersPerThread: 30 }, { depth: 8, registersPerThread: 46 }]] },
  'tridiagonal.HeatAdi': { call: (...values: Parameters<typeof tridiagonal.HeatAdi.modeFactor>) => tridiagonal.HeatAdi.modeFactor(...values), good: [1, 2, adi] },
  'tridiagonal.CubicSpline': { call: (...values: Parameters<typeof spline.evaluate>) => spline.evaluate(...values), good: [[0.5, 1.5], { series: 0, order: 1 }] },
  'scratchpad.occupancy': { // its limits are Infinity where a kernel needs none of a resource
    call: (...values: Parameters<typeof scratchpad.occupancy>) => ({ ...scratchpad.occupancy(...values), limits: undefined }),
    good: [{ threads: 128, registers: 40, sharedBytes: 1024, carveout: 2048 }, 'sm_90'],
  },
  'scratchpad.interference': {
    call: scratchpad.interference,
    good: [{ blocks: ['a', 'b'].map((name) => ({ name, bytes: 4, alignment: 4, live: [{ begin: 0, end: 2 }] })), conflicts: [[0, 1]] }],
  },
  'imaging.ringArea': { call: imaging.ringArea, good: [[[0, 0], [1, 0], [0, 1]]] },
  'imaging.contourRings': { call: imaging.contourRings, good: [image, { level: 0.1, slice: 0 }] },
  'imaging.contourPolygons': { call: imaging.contourPolygons, good: [image, { level: 0.1, slice: 0 }] },
  'imaging.addNoise': { call: imaging.addNoise, good: [image, { kind: 'gaussian', sigma: 0.1, amount: 0.2, seed: 1 }] },
  'imaging.sheppLogan': { call: imaging.sheppLogan, good: [4, { type: 'float32', dimensions: 2 }] },
  'imaging.discs': { call: imaging.discs, good: [4, { type: 'float32', dimensions: 2 }] },
  'imaging.registrationPair': { call: imaging.registrationPair, good: [4, { type: 'float32', dimensions: 2, amplitude: 0.1 }] },
  'imaging.meanSquaredError': { call: imaging.meanSquaredError, good: [image, other] },
  'imaging.psnr': { call: imaging.psnr, good: [image, other, 1] },
  'imaging.ssim': { call: imaging.ssim, good: [image, other, { window: 3, range: 1 }] },
  'imaging.ncc': { call: imaging.ncc, good: [image, other] },
  'imaging.dice': { call: imaging.dice, good: [mask, mask] },
  'imaging.diceEitherWay': { call: imaging.diceEitherWay, good: [mask, mask] },
  'imaging.hausdorff': { call: imaging.hausdorff, good: [mask, mask, { width: 8, height: 8, depth: 1 }] },
  'imaging.rofEnergy': { call: imaging.rofEnergy, good: [image, other, 0.1] },
  'imaging.targetRegistrationError': { call: imaging.targetRegistrationError, good: [image, other, mask] },
};

/** Functions and classes of the namespaces that are operations, read files or hold a device: they have misuse tests of their own. */
const operations = new Set([
  'swept.euler', 'swept.heat', 'swept.kuramotoSivashinsky', 'swept.restore', 'swept.Simulation', 'swept.GasSimulation', 'swept.HeatSimulation',
  'swept.WaveSimulation', 'swept.Figures', 'tridiagonal.solve', 'tridiagonal.workspace', 'tridiagonal.plan', 'tridiagonal.Plan',
  'tridiagonal.multiply', 'tridiagonal.condition', 'tridiagonal.vjp', 'tridiagonal.cubicSpline', 'tridiagonal.tune', 'tridiagonal.formatPolicy',
  'tridiagonal.readPolicy', 'tridiagonal.writePolicy', 'tridiagonal.SystemStatuses', 'imaging.readImage', 'imaging.writeImage',
  'imaging.cosineTransform', 'imaging.align', 'imaging.composeDisplacements', 'imaging.invertDisplacement',
  'imaging.warp', 'imaging.jacobian', 'imaging.register', 'imaging.curvature', 'imaging.denoise', 'imaging.segment',
]);

/** Why an answer is none; undefined for a good one. */
function unfit(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${value}`;
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    for (const item of value as unknown as Iterable<unknown>) {
      const reason = unfit(item);
      if (reason !== undefined) return reason;
    }
  } else if (typeof value === 'object' && value !== null) {
    return unfit(Object.values(value));
  }
  return undefined;
}

/** The good arguments with one value in them, at any depth, replaced by each strange one. */
function* spoiled(good: unknown): Generator<unknown> {
  yield* strange;
  if (typeof good !== 'object' || good === null || ArrayBuffer.isView(good)) return;
  for (const [key, value] of Object.entries(good)) {
    for (const wrong of spoiled(value)) yield Array.isArray(good) ? good.with(Number(key), wrong) : { ...good, [key]: wrong };
  }
  if (!Array.isArray(good)) yield { ...good, colour: 1 };
}

describe('scalar helpers', function () {
  this.timeout(60_000);
  it('are all known to this test', () => {
    for (const [space, names] of Object.entries({ swept, tridiagonal, imaging })) {
      for (const [name, value] of Object.entries(names)) {
        if (typeof value !== 'function') continue;
        ok(`${space}.${name}` in helpers || operations.has(`${space}.${name}`), `${space}.${name} is neither a helper here nor an operation`);
      }
    }
  });

  let calls = 0;
  let refused = 0;
  let done = 0;
  for (const [name, { call, good }] of Object.entries(helpers)) {
    it(`${name} refuses what is wrong or answers with finite numbers`, async () => {
      const reason = unfit(await call(...good as never[]));
      strictEqual(reason, undefined, 'good arguments');
      done += 1;
      for (const [place, value] of good.entries()) {
        for (const wrong of spoiled(value)) {
          calls += 1;
          const values = good.with(place, wrong);
          let answer: unknown;
          try {
            answer = await call(...values as never[]);
          } catch (error) {
            ok(error instanceof WarploomError, `argument ${place}: ${String((error as Error).stack)}`);
            refused += 1;
            continue;
          }
          strictEqual(unfit(answer), undefined, `argument ${place}, call ${calls}: the answer`);
        }
      }
    });
  }

  after(() => {
    ok(done < Object.keys(helpers).length || (calls > 5000 && refused > calls / 2), `${calls} calls, ${refused} refused`);
    console.log(`      ${calls} calls, ${refused} refused`);
  });

  eachBackend((_, device) => {
    it('and what goes to a device refuses the same values', async () => {
      const on = await device();
      const x = [0, 1, 2, 3];
      const wrong = async (call: () => Promise<unknown>, label: string) => {
        const error: unknown = await call().then(() => undefined, (thrown: unknown) => thrown);
        ok(error instanceof WarploomError && error.code === 'ERR_WARPLOOM_INVALID_ARGUMENT', `${label}: ${String(error)}`);
      };
      const spline = (options: unknown, knots: unknown = x, values: unknown = x) =>
        wrong(() => tridiagonal.cubicSpline(knots as never, values as never, options as never), String(Object.entries(options ?? {})));
      for (const slopes of [[NaN, 0], ['x', 0], [0], [0, 0, 0], 3, null, [1n, 0]]) await spline({ boundary: 'clamped', slopes, device: on });
      for (const options of [null, 3, { device: {} }, { device: 'cpu' }, { device: on, signal: 3 }, { device: on, boundary: 'x' }]) await spline(options);
      await spline({ device: on, colour: 1 });
      for (const value of [3, 'abcd', null, ['0', '1', '2', '3'], [0, 1, NaN, 3], [0n], new Proxy(new Float64Array(4), {})]) {
        await spline({ device: on }, value);
        await spline({ device: on }, x, value);
      }
      const create = (options: unknown) => wrong(() => tridiagonal.HeatAdi.create(options as never), String(options));
      for (const options of [null, 3, {}, { ...adi, initial: [1] }, { ...adi, initial: new Float64Array(3) }]) await create(options);
      await create({ ...adi, initial: new Float64Array(20), device: 3 });
      using plate = await tridiagonal.HeatAdi.create({ ...adi, initial: new Float64Array(20).fill(1), device: on });
      for (const control of [null, 3, { onProgress: 'x' }, { signal: {} }, { colour: 1 }]) await wrong(() => plate.advance(1, control as never), String(control));
      for (const count of [-1, 0.5, '1', null, undefined, NaN]) await wrong(() => plate.advance(count as never), String(count));
      strictEqual(plate.steps, 0);
    });
  });
});
