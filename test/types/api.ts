// The public types: this file is compiled (npm run lint), never run. Each @ts-expect-error is a misuse that must
// stay one.
import {
  kernel, openDevice, scan, stencil, swept, tridiagonal, type Device, type DeviceArray, type DeviceModule, type WarploomError,
} from '../../lib/index.ts';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function expectType<Expected, Actual>(..._same: Equal<Expected, Actual> extends true ? [] : ['types differ']): void {}

export async function devicesAndArrays(): Promise<void> {
  using device = await openDevice({ backend: 'auto', memoryLimit: 2 ** 30 });
  expectType<Device, typeof device>();
  using array = await device.array(new Float64Array(4));
  expectType<DeviceArray<Float64Array>, typeof array>();
  const values = await array.read();
  expectType<Float64Array, typeof values>();
  void values;
  const pairs = await device.array('complex64', 16);
  expectType<DeviceArray<Float32Array>, typeof pairs>();
  const any: DeviceArray = pairs; // where the type does not matter
  void any;
  const solved = await tridiagonal.solve({ lower: 0, diagonal: 1, upper: 0, rhs: array });
  expectType<DeviceArray<Float64Array>, typeof solved.solution>();
  void solved;
  // @ts-expect-error the elements are float64
  await array.write(new Float32Array(4));
  // @ts-expect-error a length is needed beside an element type
  await device.array('float32');
  // @ts-expect-error no such backend
  await openDevice({ backend: 'gpu' });
  // @ts-expect-error no such option
  await openDevice({ backends: 'cpu' });
  // @ts-expect-error read-only
  array.length = 3;
  // @ts-expect-error no such element type
  await device.array('float16', 3);
}

export async function modules(device: Device, data: DeviceArray): Promise<void> {
  await using module = await device.module({ source: '', kernels: ['a'], headers: { 'b.h': '' } });
  expectType<DeviceModule, typeof module>();
  const done = await module.launch('a', { blocks: 1, threads: 32, arguments: [data, { i32: 1 }, { i64: 2n }, { f32: 0.5 }, { f64: 1 }] });
  expectType<number, typeof done.deviceSeconds>();
  void done;
  await module.launchAll([{ kernel: 'a', blocks: 1, threads: 32 }], { times: 2 });
  const resident = module.kernels.get('a')?.residentBlocks(32);
  expectType<number | undefined, typeof resident>();
  void resident;
  // @ts-expect-error threads are needed
  await module.launch('a', { blocks: 1 });
  // @ts-expect-error no such type
  await module.launch('a', { blocks: 1, threads: 32, arguments: [{ u8: 1 }] });
  // @ts-expect-error 32-bit numbers are no bigint
  await module.launch('a', { blocks: 1, threads: 32, arguments: [{ i32: 1n }] });
}

export async function solves(device: Device, onDevice: DeviceArray): Promise<void> {
  const bands = { lower: -1, diagonal: 4, upper: -1, n: 4, batch: 1, device };
  const host = await tridiagonal.solve({ ...bands, rhs: new Float64Array(4) });
  expectType<Float64Array<ArrayBuffer>, typeof host.solution>();
  void host;
  const there = await tridiagonal.solve({ ...bands, rhs: onDevice });
  expectType<DeviceArray, typeof there.solution>();
  void there;
  expectType<Float64Array | undefined, typeof host.backwardError>();
  // @ts-expect-error rhs is needed
  await tridiagonal.solve({ ...bands });
  // @ts-expect-error no such algorithm
  await tridiagonal.solve({ ...bands, rhs: onDevice, algorithm: 'gauss' });
  // @ts-expect-error bands are numbers or arrays
  await tridiagonal.solve({ ...bands, lower: '1', rhs: onDevice });
  const controller = new AbortController();
  await tridiagonal.solve({ ...bands, rhs: onDevice, signal: controller.signal, onProgress: (done, total) => void (done / total) });
}

export async function scans(): Promise<void> {
  const { result } = await scan(new Float32Array(4), { operator: 'max', exclusive: true });
  expectType<Float32Array<ArrayBuffer>, typeof result>();
  void result;
  // @ts-expect-error integers are not scanned
  await scan(new Int32Array(4));
  // @ts-expect-error no such operator
  await scan(new Float32Array(4), { operator: 'min' });
}

export async function simulations(device: Device): Promise<void> {
  await using rod = await swept.heat({ n: 65, fourier: 0.4, initial: 'parabola', boundary: { left: { kind: 'dirichlet', value: 1 }, right: 'reflective' }, device });
  const state = await rod.read();
  expectType<Float32Array | Float64Array, typeof state>();
  void state;
  await rod.advance(10, { onProgress: (done, total) => void (done / total) });
  using tube = await swept.euler({ n: 65, cfl: 0.4, initial: { kind: 'riemann', left: gas, right: gas }, limiter: 'mc' });
  const { density, conserved } = await tube.read();
  expectType<typeof density, typeof conserved>();
  void [density, conserved];
  for await (const { step, time, state: at } of tube.snapshots({ every: 10, until: 100 })) void (step + time + at.pressure[0]!);
  await swept.kuramotoSivashinsky({ n: 64, dx: 0.5, dt: 0.005, initial: new Float32Array(64) });
  const { mass } = await tube.totals();
  expectType<number, typeof mass>();
  void mass;
  // @ts-expect-error no such limiter
  await swept.euler({ n: 65, cfl: 0.4, initial: 'sod', limiter: 'superbee' });
  // @ts-expect-error heat has no outflow end's gas state
  await swept.heat({ n: 65, dt: 1, initial: 'ramp', boundary: { kind: 'dirichlet', value: gas } });
  // @ts-expect-error no such option
  await swept.heat({ n: 65, dt: 1, initial: 'ramp', cfl: 1 });
  // @ts-expect-error simulations are made by the functions of the namespace
  new swept.HeatSimulation();
  const again = await swept.restore('file', { device, parameters: { n: 65 } });
  expectType<swept.AnySimulation, typeof again>();
  void again;
}

export async function equations(device: Device): Promise<void> {
  const grayScott = stencil.define({
    dimensions: 2, fields: ['u', 'v'], parameters: ['F', 'k'], coefficients: ['c'],
    rate: ({ u, v, c }, { F, k }, { laplacian, dx, t }) => ({ u: F * laplacian(u) * c(1, 0), v: k * v(-1, 0) * dx * t }),
    admissible: ({ u }, { F }) => u > F,
  });
  expectType<stencil.Equation<'u' | 'v', 'F' | 'k', 'c'>, typeof grayScott>();
  const given = { shape: [8, 8], dt: 1, initial: { u: 1, v: (x: number, y: number) => x * y }, coefficients: { c: 1 } };
  await using run = await stencil.simulate(grayScott, { ...given, parameters: { F: [1, 2], k: 3 }, device });
  const { u, v } = await run.state();
  void u;
  expectType<Float32Array | Float64Array, typeof u>();
  for await (const { time, state } of run.snapshots({ every: 10, until: 100 })) void (time + state.v[0]! + v[0]!);
  // @ts-expect-error no such field
  void (await run.state()).w;
  // @ts-expect-error a parameter is missing
  await stencil.simulate(grayScott, { ...given, parameters: { F: 1 } });
  // @ts-expect-error parameters are missing
  await stencil.simulate(grayScott, given);
  // @ts-expect-error a field has no initial values
  await stencil.simulate(grayScott, { ...given, parameters: { F: 1, k: 1 }, initial: { u: 0 } });
  // @ts-expect-error no such method
  stencil.define({ dimensions: 1, fields: ['u'], rate: ({ u }) => ({ u: u(1) }), method: 'rk5' });
  // @ts-expect-error no such parameter
  stencil.define({ dimensions: 1, fields: ['u'], parameters: ['a'], rate: ({ u }, { b }) => ({ u: b * u() }) });
  // @ts-expect-error no such field in the result
  stencil.define({ dimensions: 1, fields: ['u'], rate: ({ u }) => ({ v: u() }) });
  const plain = stencil.define({ dimensions: 1, fields: ['u'], step: ({ u }, _, { before, dt }) => ({ u: before.u() + dt * u(1) }) });
  await stencil.simulate(plain, { shape: [8], dt: 1, initial: { u: 1 }, boundary: { low: 'mirror', high: { kind: 'dirichlet', value: ({ t }) => t } } });
  // @ts-expect-error no such boundary
  await stencil.simulate(plain, { shape: [8], dt: 1, initial: { u: 1 }, boundary: 'open' });
}

const gas = { density: 1, velocity: 0, pressure: 1 };

export function errors(error: WarploomError): boolean {
  // @ts-expect-error no such code
  return error.code === 'ERR_WARPLOOM_NOTHING';
}

export async function functionsOnArrays(xs: Float64Array, ys: Float32Array, there: DeviceArray, many: Float64Array[]): Promise<void> {
  const plain = await kernel.map((x, a) => a * x, [xs, 2]);
  expectType<Float64Array<ArrayBuffer>, typeof plain>();
  const single = await kernel.map((x, a) => a * x, [ys, 2]);
  expectType<Float32Array<ArrayBuffer>, typeof single>();
  const mixed = await kernel.map((x, y) => ({ sum: x + y, isBigger: x > y }), [xs, ys]);
  expectType<Float64Array<ArrayBuffer>, typeof mixed.sum>();
  expectType<Int32Array<ArrayBuffer>, typeof mixed.isBigger>();
  const stays = await kernel.map((x, y) => [x, y] as const, [there, { data: xs, shape: [3] }]);
  expectType<DeviceArray, (typeof stays)[0]>();
  const asked = await kernel.map((x) => x, [xs], { type: 'int32' });
  expectType<Int32Array<ArrayBuffer>, typeof asked>();
  const given = await kernel.map((x) => x, [xs], { out: ys });
  expectType<Float32Array, typeof given>();
  const sums = await kernel.reduce((x) => ({ first: x, second: 2 * x }), [xs], 'sum');
  expectType<number, typeof sums.first>();
  await kernel.map((...all: number[]) => Math.max(...all), many);
  await kernel.map('(x) => x', [xs]);
  const compiled = await kernel.compile((x, a) => a * x, ['float64', 'number']);
  await compiled.map([xs, 2]);
  // @ts-expect-error one input is missing
  await compiled.map([xs]);
  // @ts-expect-error one input is missing
  await kernel.map((x: number, y: number) => x * y, [xs]);
  // @ts-expect-error one input too many
  await kernel.map((x) => x, [xs, 2]);
  // @ts-expect-error a function of numbers gives numbers
  await kernel.map((x) => `${x}`, [xs]);
  // @ts-expect-error no such reduction
  await kernel.reduce((x) => x, [xs], 'median');
  const along = await kernel.reduce((x) => ({ first: x }), [{ data: xs, shape: [2, 3] }], 'sum', { axis: 1 });
  expectType<Float64Array<ArrayBuffer>, typeof along.first>();
  const places = await kernel.reduce((x) => x, [{ data: xs, shape: [2, 3] }], 'argmin', { axis: 1 });
  expectType<Int32Array<ArrayBuffer>, typeof places>();
  // @ts-expect-error no such kind
  await kernel.compile((x) => x, ['float16']);
  void [plain, single, mixed, stays, asked, given, sums, along, places];
}
