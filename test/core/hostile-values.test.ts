// Arrays of other realms, things that only look like arrays, sizes that no memory has, devices that are not there.
import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { runInNewContext } from 'node:vm';
import { chooseFrom } from '../../lib/core/devices.ts';
import type { DeviceDescription } from '../../lib/core/device.ts';
import { ArgumentError, Device, DeviceArray, imaging, openDevice, OutOfMemoryError, scan, stream, swept, tridiagonal } from '../../lib/index.ts';
import { viewOf } from '../support/valid-parameters.ts';

const n = 5;
type Make = (values: readonly number[]) => Float64Array;
const own: Make = (values) => Float64Array.from(values);
const foreign = runInNewContext('(values) => Float64Array.from(values)') as Make;
const foreignBytes = runInNewContext('(values) => Uint8Array.from(values)') as (values: readonly number[]) => Uint8Array;
const ramp = (length: number): number[] => Array.from({ length }, (_, i) => (i % 7) / 7);
const row = (value: number): number[] => new Array<number>(n).fill(value);

/** One call of each kind of function with arrays of `make`; the numbers that come out. */
const uses: Readonly<Record<string, (make: Make, device: Device) => Promise<unknown>>> = {
  'device.array': async (make, device) => (await device.array(make(ramp(n)))).read(),
  'write and read': async (make, device) => {
    const array = await device.array('float64', n);
    await array.write(make(ramp(n)));
    return array.read(make(row(0)));
  },
  'device.run': async (make, device) => {
    const solution = make(row(0));
    await device.run('tridiagonal.solve', {
      type: 'float64', n, batch: 1, lower: viewOf(make(row(-1)), n, 1), diagonal: viewOf(make(row(4)), n, 1), upper: viewOf(make(row(-1)), n, 1),
      rhs: viewOf(make(ramp(n)), n, 1), solution: viewOf(solution, n, 1),
    });
    return solution;
  },
  'solve': async (make, device) =>
    (await tridiagonal.solve({ lower: make(row(-1)), diagonal: make(row(4)), upper: make(row(-1)), rhs: make(ramp(n)), out: make(row(0)), device })).solution,
  'solve, new result': async (make, device) =>
    (await tridiagonal.solve({ lower: make(row(-1)), diagonal: make(row(4)), upper: make(row(-1)), rhs: make(ramp(n)), device })).solution,
  'HeatAdi': async (make, device) => {
    using plate = await tridiagonal.HeatAdi.create({ width: n, height: 2, initial: make(ramp(2 * n)), diffusivity: 1, dt: 0.1, device });
    await plate.advance(1);
    return plate.read();
  },
  'cubicSpline': async (make, device) => (await tridiagonal.cubicSpline(make([0, 1, 2, 4]), make(ramp(8)), { device })).curvature,
  'scan': async (make, device) => (await scan(make(ramp(n)), { device, flags: make === foreign ? foreignBytes([0, 1, 0, 1, 0]) : Uint8Array.of(0, 1, 0, 1, 0) })).result,
  'denoise': async (make, device) => (await imaging.denoise({ data: make(ramp(64)), width: 8, height: 8 }, { weight: 0.1, iterations: 20, device })).image.data,
  'segment': async (make, device) => (await imaging.segment({ data: make(ramp(64)), width: 8, height: 8 }, { iterations: 4, device })).levelSet,
  'ssim': async (make) => imaging.ssim({ data: make(ramp(256)), width: 16, height: 16 }, { data: make(ramp(256).reverse()), width: 16, height: 16 }),
  'swept.heat': async (make, device) => {
    using rod = await swept.heat({ n: 8, dx: 1, dt: 0.1, diffusivity: 1, initial: make(ramp(8)), device });
    await rod.advance(2);
    return rod.read();
  },
  'stream.run': async (make) => {
    const { graph } = await stream.elaborate('float->float filter Scale { work pop 1 push 1 { push(2 * pop()); } }');
    return Array.from((await stream.run(graph, { input: make(ramp(n)) })).output);
  },
};

const lookAlikes = (): readonly (readonly [string, unknown])[] => [
  ['a proxy', new Proxy(own(ramp(n)), {})],
  ['made from the prototype', Object.create(Float64Array.prototype)],
  ['with its own tag', { [Symbol.toStringTag]: 'Float64Array', length: n, 0: 1 }],
  ['a DeviceArray made from the prototype', Object.create(DeviceArray.prototype)],
];

const description = (backend: string, index: number, available = true): DeviceDescription => ({
  backend, index, available, reason: 'x', name: 'x', memoryBytes: 1, computeCapability: 90, multiprocessors: 1, l2Bytes: 0, driver: '',
} as DeviceDescription);

describe('arrays of another realm', function () {
  this.timeout(120_000);
  for (const [name, use] of Object.entries(uses)) {
    it(`are taken by ${name}`, async () => {
      await using device = await openDevice({ backend: 'cpu' });
      ok(!(foreign([1]) instanceof Float64Array));
      const plain = (value: unknown) => (ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : value);
      deepStrictEqual(plain(await use(foreign, device)), plain(await use(own, device)));
    });
  }
});

describe('what only looks like an array', function () {
  this.timeout(120_000);
  for (const [name, use] of Object.entries(uses)) {
    it(`is refused by ${name}`, async () => {
      await using device = await openDevice({ backend: 'cpu' });
      for (const [kind, fake] of lookAlikes()) {
        // Streams take every array-like of numbers; a proxy of an array is one.
        if (name === 'stream.run' || (name === 'cubicSpline' && kind !== 'a DeviceArray made from the prototype')) continue;
        await rejects(async () => use(() => fake as Float64Array, device), (error: unknown) => {
          ok(error instanceof ArgumentError, `${kind}: ${String(error)}`);
          ok(!error.message.endsWith('received a Float64Array'), error.message);
          return true;
        }, kind);
      }
    });
  }

  it('is refused as a device', async () => {
    const device = Object.create(Device.prototype) as Device;
    await rejects(scan(own([1]), { device }), { argument: 'device' });
    await rejects(tridiagonal.solve({ lower: 1, diagonal: own([4]), upper: 1, rhs: own([1]), device }), { argument: 'device' });
  });
});

describe('sizes that no memory has', () => {
  const strides = { systemStride: 0, rowStride: 1 };
  const bands = { lower: own(row(-1)), diagonal: own(row(4)), upper: own(row(-1)), n };
  const cases: Readonly<Record<string, () => unknown>> = {
    'solve of a batch': () => tridiagonal.solve({ ...bands, rhs: own(row(1)), batch: 2 ** 40, layout: strides }),
    'solve of right-hand sides': () => tridiagonal.solve({ ...bands, rhs: own(row(1)), batch: 1, rhsCount: 2 ** 40, layout: strides }),
    'condition': () => tridiagonal.condition({ ...bands, batch: 2 ** 40, layout: strides }),
    'swept.heat': () => swept.heat({ n: 2 ** 32 - 1, batch: 2 ** 10, dx: 1, dt: 0.1, diffusivity: 1, initial: 'parabola' }),
    'sheppLogan': () => imaging.sheppLogan(2 ** 20),
    'discs': () => imaging.discs(2 ** 20),
  };
  for (const [name, call] of Object.entries(cases)) {
    it(`${name}: a typed error with sizes`, async () => {
      await rejects(async () => call(), (error: unknown) => {
        ok(error instanceof OutOfMemoryError || error instanceof ArgumentError, `${name}: ${String(error)}`);
        if (error instanceof OutOfMemoryError) ok(error.requestedBytes > 2 ** 32 && error.limitBytes > 0, error.message);
        return true;
      });
    });
  }
});

describe('the index of a device', () => {
  it('says under auto how many GPUs there are', () => {
    const cpu = description('cpu', 0);
    const gpus = [0, 1].map((index) => description('cuda', index));
    strictEqual(chooseFrom([gpus[0]!, cpu], 'auto', 0), gpus[0]);
    strictEqual(chooseFrom([...gpus, cpu], 'auto', 1), gpus[1]);
    throws(() => chooseFrom([gpus[0]!, cpu], 'auto', 1), { argument: 'index', message: 'index: expected 0: this machine has 1 GPU, received 1' });
    throws(() => chooseFrom([...gpus, cpu], 'auto', 2), { argument: 'index', message: 'index: expected 0 to 1: this machine has 2 GPUs, received 2' });
    throws(() => chooseFrom([description('cuda', 0, false), cpu], 'auto', 1), /expected 0, the only device of cpu, which auto selects here because no GPU can be used, received 1/);
    throws(() => chooseFrom([cpu], 'cpu', 3), /expected 0, the only device of cpu, received 3/);
  });
});
