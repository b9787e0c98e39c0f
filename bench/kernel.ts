// Functions on arrays (kernel.map, kernel.reduce) against a plain copy of as many bytes, and the latency of small calls.
//
//   map/<arrays>x<n>/<types>/<kind>      on device arrays; the limit is a copy that reads and writes as many bytes together
//   reduce/<arrays>x<n>/<types>/<kind>   the same; the limit is the copy's rate
//   call/<where>/<what>                  a whole call: from the call to the settled promise
import type { BenchContext } from './domain.ts';
import { copyFloor, streamFloor } from './floor.ts';
import { summarise } from './statistics.ts';
import type { Device, DeviceArray } from '../lib/core/device.ts';
import type { ListedLaunch } from '../lib/core/module.ts';
import * as kernel from '../lib/kernel/index.ts';
import { compiledFor } from '../lib/kernel/call/compiled.ts';
import { mapLaunch, reduceLaunches, type DeviceKernels } from '../lib/kernel/call/device.ts';
import { plainStrides, type Operand, type View } from '../lib/kernel/call/operands.ts';
import { kindsOf, resultTypes, sourceOf } from '../lib/kernel/call/point.ts';
import { elementAt } from '../lib/core/known.ts';

/** Launches of a repeat. */
const launchesEach = 10;
const repeats = 9;

async function timeLaunches(kernels: DeviceKernels, launches: readonly ListedLaunch[]): Promise<{ seconds: number; spread: number }> {
  const all = Array.from({ length: launchesEach }, () => launches).flat();
  await kernels.module.launchAll(all);
  const found: number[] = [];
  for (let i = 0; i < repeats; ++i) found.push((await kernels.module.launchAll(all)).deviceSeconds / launchesEach);
  const { median, spread } = summarise(found);
  return { seconds: median, spread };
}

const viewOf = (data: DeviceArray, shape: readonly number[] = [data.length], strides = plainStrides(shape)): View =>
  ({ name: 'x', type: data.type as 'float64', data, offset: 0, shape, strides });

interface MapCase {
  readonly id: string;
  readonly f: (...args: number[]) => number;
  readonly operands: readonly Operand[];
  readonly shape: readonly number[];
  readonly to: DeviceArray;
  /** Bytes that are read and written. */
  readonly bytes: number;
}

async function mapRow(context: BenchContext, { id, f, operands, shape, to, bytes }: MapCase, rate: number, floor?: number): Promise<void> {
  if (!context.wanted(id)) return;
  const { device } = context;
  const compiled = compiledFor(sourceOf(f), kindsOf(operands));
  const isPlain = operands.every((operand) => typeof operand === 'number' || operand.shape.length === 1);
  const request = { results: resultTypes(compiled.point, undefined), rank: isPlain ? 0 : shape.length };
  const kernels = await compiled.onDevice(device, request, undefined);
  const launch = mapLaunch(kernels, operands, [viewOf(to, shape)], shape, [0, to.length]);
  const { seconds, spread } = await timeLaunches(kernels, [launch]);
  const limit = bytes / rate;
  const peers = { copy: limit, ...(floor === undefined ? {} : { stream: floor }) };
  context.emit({ id, value: seconds, unit: 's', limit, fraction: limit / seconds, peers, spread });
}

async function reduceRow(
  context: BenchContext, id: string, f: (...args: number[]) => number, arrays: readonly DeviceArray[], rate: number, bytes: number,
): Promise<void> {
  if (!context.wanted(id)) return;
  const { device } = context;
  const operands = arrays.map((array) => viewOf(array));
  const count = elementAt(arrays, 0).length;
  const kernels = await compiledFor(sourceOf(f), kindsOf(operands)).onDevice(
    device, { results: ['f64'], rank: 0, reduction: { combination: 'sum', preparation: 'none' } }, undefined);
  const blocks = Math.ceil(count / 4096);
  using partial = await device.array('float64', blocks);
  using more = await device.array('float64', Math.ceil(blocks / 4096));
  const { seconds, spread } = await timeLaunches(kernels,
    reduceLaunches(device, kernels, { operands, shape: [count], count, results: 1 }, partial, more));
  const limit = bytes / rate;
  context.emit({ id, value: seconds, unit: 's', limit, fraction: limit / seconds, peers: { copy: limit }, spread });
}

async function deviceRows(context: BenchContext, n: number): Promise<void> {
  const { device } = context;
  const size = n >= 2 ** 20 ? `2^${Math.log2(n)}` : String(n);
  const host = Float64Array.from({ length: n }, (_, i) => 1 + (i % 1000) / 1000);
  const [a, b, c, d, to] = await Promise.all(Array.from({ length: 5 }, () => device.array(host))) as
    [DeviceArray, DeviceArray, DeviceArray, DeviceArray, DeviceArray];
  const single = await Promise.all([device.array(Float32Array.from(host)), device.array('float32', n)]);
  try {
    const plain = device.backend === 'cuda' ? await streamFloor(device, 'float64', [{ from: [a], to }]) : await copyFloor(device, 16 * n);
    const rate = 16 * n / plain.seconds;
    const floor = device.backend === 'cuda' ? (await streamFloor(device, 'float64', [{ from: [a, b, c, d], to }])).seconds : undefined;
    context.say(`copy ${(rate / 1e12).toFixed(3)} TB/s`);
    const map = (id: string, f: MapCase['f'], operands: readonly Operand[], bytes: number, more: Partial<MapCase> = {}) =>
      mapRow(context, { id, f, operands, shape: [n], to, bytes, ...more }, rate, bytes === 40 * n ? floor : undefined);
    await map(`map/5x${size}/float64/products`, (x, y, z, w) => x! * y! + z! * w!, [a, b, c, d].map((each) => viewOf(each)), 40 * n);
    await map(`map/2x${size}/float64/polynomial`, (x, s) => s! * x! * x! + x!, [viewOf(a), 2], 16 * n);
    await map(`map/2x${size}/float64/sine`, (x, s) => s! * x! * x! + Math.sin(x!), [viewOf(a), 2], 16 * n);
    await map(`map/2x${size}/float32/polynomial`, (x, s) => s! * x! * x! + x!, [viewOf(single[0]), 2], 8 * n, { to: single[1] });
    const rows = 2 ** Math.floor(Math.log2(n) / 2);
    const outer = [viewOf(a, [rows, 1]), viewOf(b, [n / rows])];
    await map(`map/2x${size}/float64/outer`, (x, y) => x! * y!, outer, 8 * n, { shape: [rows, n / rows] });
    await reduceRow(context, `reduce/2x${size}/float64/dot`, (x, y) => x! * y!, [a, b], rate, 16 * n);
    await reduceRow(context, `reduce/1x${size}/float64/sum`, (x) => x!, [a], rate, 8 * n);
    await reduceRow(context, `reduce/1x${size}/float32/sum`, (x) => x!, [single[0]], rate, 4 * n);
  } finally {
    for (const array of [a, b, c, d, to, ...single]) array.dispose();
  }
}

/** Median seconds of a call, from many of them. */
async function latency(call: () => Promise<unknown>, seconds: number): Promise<{ value: number; spread: number }> {
  await call();
  const found: number[] = [];
  for (const end = performance.now() + 1000 * seconds; found.length < 5 || (performance.now() < end && found.length < 2000);) {
    const began = performance.now();
    await call();
    found.push((performance.now() - began) / 1000);
  }
  const { median, spread } = summarise(found);
  return { value: median, spread };
}

/** Four arrays in, one out; the limit is a copy by one core that reads and writes as many bytes. */
async function fiveRow(context: BenchContext, n: number, seconds: number): Promise<void> {
  const id = `call/host/map-5x${n}`;
  if (!context.wanted(id)) return;
  const [a, b, c, d, out] = Array.from({ length: 5 }, () => new Float64Array(n).fill(1)) as [Float64Array, Float64Array, Float64Array,
    Float64Array, Float64Array];
  const copied = await latency(() => Promise.resolve(out.set(a)), seconds);
  const limit = 2.5 * copied.value;
  const { value, spread } = await latency(() => kernel.map((x, y, z, w) => x * y + z * w, [a, b, c, d], { out }), seconds);
  context.emit({ id, unit: 's', value, spread, limit, fraction: limit / value });
}

async function callRows(context: BenchContext): Promise<void> {
  const { device, quick } = context;
  const seconds = quick ? 0.05 : 0.5;
  const n = quick ? 4096 : 2 ** 22;
  const one = Float64Array.of(1), many = new Float64Array(n).fill(1), to = new Float64Array(n);
  const onDevice = device.backend === 'cpu' ? undefined : await device.array(one);
  const out = device.backend === 'cpu' ? undefined : await device.array(one);
  const row = async (id: string, call: () => Promise<unknown>): Promise<void> => {
    if (context.wanted(id)) context.emit({ id, unit: 's', ...await latency(call, seconds) });
  };
  await row('call/host/map-1', () => kernel.map((x, s) => s * x + 1, [one, 2]));
  await row('call/host/reduce-1', () => kernel.reduce((x) => x * x, [one], 'sum'));
  await row(`call/host/map-${n}`, () => kernel.map((x, s) => s * x + 1, [many, 2], { out: to }));
  await fiveRow(context, n, seconds);
  await row(`call/host/sine-${n}`, () => kernel.map((x) => Math.sin(x), [many], { out: to }));
  await row(`call/host/dot-${n}`, () => kernel.reduce((x, y) => x * y, [many, to], 'sum'));
  if (onDevice === undefined || out === undefined) return;
  await row('call/device/map-1', () => kernel.map((x, s) => s * x + 1, [onDevice, 2], { out }));
  await row('call/device/reduce-1', () => kernel.reduce((x) => x * x, [onDevice], 'sum'));
  onDevice.dispose();
  out.dispose();
  await axisRows(context, quick || device.backend === 'simt' ? 2 ** 7 : 2 ** 13, seconds);
}

/** Sums of a square matrix along each axis, on the device: whole calls; the limit is the time of reading it once. */
async function axisRows(context: BenchContext, side: number, seconds: number): Promise<void> {
  const { device } = context;
  const bytes = 8 * side * side;
  const rate = bytes / (await copyFloor(device, bytes)).seconds;
  using matrix = await device.array('float64', side * side);
  for (const axis of [0, 1]) {
    const id = `call/device/sum-${side}x${side}/axis${axis}`;
    if (!context.wanted(id)) continue;
    const input = { data: matrix, shape: [side, side] };
    const { value, spread } = await latency(async () => {
      (await kernel.reduce((x) => x, [input], 'sum', { axis }) as DeviceArray).dispose();
    }, seconds);
    const limit = bytes / rate;
    context.emit({ id, unit: 's', value, spread, limit, fraction: limit / value });
  }
}

async function compileRow(context: BenchContext, device: Device): Promise<void> {
  if (device.backend === 'cpu' || !context.wanted('compile/cold')) return;
  using array = await device.array(Float64Array.of(1, 2, 3));
  // A constant of its own, so that no earlier run has compiled it.
  const text = `(x) => x * ${Math.random()} + Math.sin(x)`;
  const began = performance.now();
  (await kernel.map(text, [array]) as DeviceArray).dispose();
  const cold = (performance.now() - began) / 1000;
  context.emit({ id: 'compile/cold', value: cold, unit: 's', spread: 0, note: 'from the text to the first result' });
  const again = performance.now();
  (await kernel.map(`${text} // again`, [array]) as DeviceArray).dispose();
  const cached = (performance.now() - again) / 1000;
  context.emit({ id: 'compile/cached', value: cached, unit: 's', spread: 0, note: 'the module comes from the cache on disk' });
}

/** All rows of the domain on the context's device. */
export async function benchmarkKernel(context: BenchContext): Promise<void> {
  const { device, quick } = context;
  if (device.backend !== 'cpu') await deviceRows(context, quick || device.backend === 'simt' ? 2 ** 14 : 2 ** 26);
  await callRows(context);
  await compileRow(context, device);
}
