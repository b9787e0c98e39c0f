// imaging.register on every backend: known displacements, both measures, both variants, misuse.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Device, DeviceArray, openDevice } from '../../lib/core/device.ts';
import { targetRegistrationError } from '../../lib/imaging/metrics.ts';
import { registrationPair } from '../../lib/imaging/phantoms.ts';
import { warp } from '../../lib/imaging/warp.ts';
import { register } from '../../lib/imaging/register.ts';
import type { RegisterOptions, RegisterResult } from '../../lib/imaging/register-options.ts';
import { Random } from '../support/random.ts';
import { deviceOf, eachBackend, hasBackend, type BackendName } from '../support/backends.ts';

type Result = RegisterResult<Float32Array | Float64Array>;
type Options = RegisterOptions<Float32Array | Float64Array>;

const bitsOf = ({ displacement, warped, history, jacobian, tre }: Result) => ({ displacement, warped, history, jacobian, tre });

async function registered(device: Device, size: number, options: Options & { type?: 'float32' | 'float64'; dimensions?: 2 | 3 } = {}) {
  const { type = 'float32', dimensions = 2, ...rest } = options;
  const pair = registrationPair(size, { type, dimensions });
  const result = await register<Float32Array | Float64Array>(pair.reference, pair.template, { device, ...rest });
  return { pair, result, error: await targetRegistrationError(result.displacement, pair.displacement, pair.mask) };
}

/** The mean length of the exact displacement within the object. */
async function startOf({ displacement, mask }: ReturnType<typeof registrationPair>): Promise<number> {
  const { mean } = await targetRegistrationError({ ...displacement, data: new Float32Array(displacement.data.length) },
    { ...displacement, data: Float32Array.from(displacement.data) }, mask);
  return mean;
}

/** Steps that a test on the shim can afford. */
const sizeOn = (backend: BackendName, size: number, small: number) => (backend === 'simt' ? small : size);

function testKnown(backend: BackendName, device: () => Promise<Device>): void {
  it('a smooth displacement in the plane, both types', async function cases() {
    this.timeout(120_000);
    const size = sizeOn(backend, 128, 32);
    for (const type of ['float32', 'float64'] as const) {
      const { pair, result, error } = await registered(await device(), size, { type, iterations: sizeOn(backend, 60, 15) });
      const start = await startOf(pair as never);
      ok(error.mean < (backend === 'simt' ? 0.35 : 0.03) * start, `mean error ${error.mean} of ${start}`);
      ok(result.measure < (backend === 'simt' ? 0.2 : 0.01) * result.initialMeasure, `measure ${result.initialMeasure} to ${result.measure}`);
      ok(result.jacobian.min > 0 && result.jacobian.folded === 0, 'no folds');
      if (backend === 'cpu' || !hasBackend('cpu')) continue;
      const same = await registered(await deviceOf('cpu'), size, { type, iterations: sizeOn(backend, 60, 15) });
      deepStrictEqual(bitsOf(result), bitsOf(same.result), 'bits of the cpu backend');
    }
  });

  it('a smooth displacement of a volume', async function cases() {
    this.timeout(120_000);
    const size = sizeOn(backend, 32, 12);
    const { pair, result, error } = await registered(await device(), size, { dimensions: 3, iterations: sizeOn(backend, 40, 4) });
    ok(error.mean < (backend === 'simt' ? 0.9 : 0.4) * await startOf(pair as never), `mean error ${error.mean} of ${await startOf(pair as never)}`);
    ok(result.measure < (backend === 'simt' ? 0.8 : 0.2) * result.initialMeasure, `measure ${result.initialMeasure} to ${result.measure}`);
    if (backend === 'cpu' || !hasBackend('cpu')) return;
    const same = await registered(await deviceOf('cpu'), size, { dimensions: 3, iterations: sizeOn(backend, 40, 4) });
    deepStrictEqual(bitsOf(result), bitsOf(same.result), 'bits of the cpu backend');
  });

  it('affine motion costs nothing: a translation and a stretch, at any alpha', async function cases() {
    this.timeout(120_000);
    const n = sizeOn(backend, 64, 24);
    const blob = (x: number, y: number) => Math.exp(-((x - 0.45 * n) ** 2 + 2 * (y - 0.55 * n) ** 2) / (0.02 * n * n));
    const make = (at: (x: number, y: number) => number) => Float64Array.from({ length: n * n }, (_, i) => at(i % n, Math.floor(i / n)));
    const template = { data: make(blob), width: n, height: n };
    const moves: ((x: number, y: number) => readonly number[])[] = [() => [1.5, -1], (x, y) => [0.04 * (x - n / 2), -0.03 * (y - n / 2)]];
    for (const move of moves) {
      const reference = { data: make((x, y) => blob(x + move(x, y)[0]!, y + move(x, y)[1]!)), width: n, height: n };
      const { displacement, measure, initialMeasure } = await register(reference, template, {
        device: await device(), alpha: 10, iterations: sizeOn(backend, 150, 40), tolerance: 0,
      });
      ok(measure < (backend === 'simt' ? 0.6 : 0.2) * initialMeasure, `measure ${initialMeasure} to ${measure}`);
      const center = Math.round(0.45 * n) + n * Math.round(0.55 * n);
      const expected = move(center % n, Math.floor(center / n));
      ok(Math.hypot(displacement.data[center]! - expected[0]!, displacement.data[n * n + center]! - expected[1]!)
        < (backend === 'simt' ? 1 : 0.3), `at the blob ${displacement.data[center]} ${displacement.data[n * n + center]}`);
    }
  });
}

function testMeasures(backend: BackendName, device: () => Promise<Device>): void {
  it('ncc does not mind intensities, and finds what ssd finds', async function cases() {
    this.timeout(120_000);
    const size = sizeOn(backend, 64, 24);
    const pair = registrationPair(size, { type: 'float64' });
    const scaled = { ...pair.template, data: pair.template.data.map((value) => 40 * value - 7) };
    const options = { device: await device(), measure: 'ncc', iterations: sizeOn(backend, 40, 8), tolerance: 0 } as const;
    const plain = await register(pair.reference, pair.template, options);
    const other = await register(pair.reference, scaled, options);
    const { mean } = await targetRegistrationError(plain.displacement, pair.displacement, pair.mask);
    ok(mean < (backend === 'simt' ? 0.9 : 0.1) * await startOf(pair as never), `mean error ${mean}`);
    const difference = Math.max(...plain.displacement.data.map((value, i) => Math.abs(value - other.displacement.data[i]!)));
    ok(difference < 1e-6, `displacements differ by ${difference}`);
    ok(plain.initialMeasure > 0 && plain.measure < (backend === 'simt' ? 0.5 : 0.1) * plain.initialMeasure && plain.measure > 0,
      `measure ${plain.initialMeasure} to ${plain.measure}`);
  });

  it('identical images stay where they are; a constant image exerts no force', async () => {
    const { reference } = registrationPair(24);
    const still = await register(reference, reference, { device: await device(), iterations: 12, tolerance: 1e-3 });
    ok(still.displacement.data.every((value) => value === 0));
    deepStrictEqual([still.measure, still.converged, still.jacobian.min, still.jacobian.max], [0, true, 1, 1]);
    deepStrictEqual(still.warped.data, reference.data);
    const flat = { ...reference, data: new Float32Array(24 * 24).fill(0.5) };
    for (const measure of ['ssd', 'ncc'] as const) {
      const { displacement } = await register(reference, flat, { device: await device(), measure, iterations: 3 });
      ok(displacement.data.every((value) => value === 0), measure);
    }
  });

  it('the explicit variant approaches the same displacement', async function cases() {
    this.timeout(120_000);
    const size = sizeOn(backend, 32, 16);
    const common = { device: await device(), levels: 1, alpha: 0.01, tolerance: 0 } as const;
    const pair = registrationPair(size, { type: 'float64', amplitude: 0.5 });
    const implicit = await register(pair.reference, pair.template, { ...common, iterations: sizeOn(backend, 400, 60) });
    const explicit = await register(pair.reference, pair.template, { ...common, variant: 'explicit', iterations: sizeOn(backend, 4000, 60) });
    ok(explicit.measure < (backend === 'simt' ? 1 : 0.3) * explicit.initialMeasure, `measure ${explicit.initialMeasure} to ${explicit.measure}`);
    if (backend === 'simt') return;
    const { mean } = await targetRegistrationError(explicit.displacement, implicit.displacement, pair.mask);
    ok(mean < 0.1, `mean difference ${mean}, measures ${implicit.measure} ${explicit.measure}`);
  });
}

function testControl(device: () => Promise<Device>): void {
  it('the measure falls without the extrapolation; history, iterations and the stopping rule', async () => {
    const { result } = await registered(await device(), 24, { accelerate: false, levels: 1, iterations: 15, tolerance: 0 });
    const [level] = result.history;
    strictEqual(result.history.length, 1);
    deepStrictEqual([level!.iterations, level!.values.length, level!.converged], [15, 16, false]);
    level!.values.forEach((value, i) => ok(i === 0 || value < level!.values[i - 1]!, `iteration ${i}`));
    deepStrictEqual([level!.values[0], level!.values.at(-1)], [result.initialMeasure, result.measure]);
    const stopped = await registered(await device(), 24, { levels: 1, iterations: 500, tolerance: 0.5 });
    ok(stopped.result.converged && stopped.result.iterations < 200);
    deepStrictEqual((await registered(await device(), 64, { iterations: [3, 2] })).result.history.map((each) => each.iterations), [3, 2]);
  });

  it('pixels that are no numbers count for nothing', async () => {
    const pair = registrationPair(32);
    const options = { device: await device(), iterations: 10, tolerance: 0 };
    const data = Float32Array.from(pair.reference.data);
    const template = Float32Array.from(pair.template.data);
    for (let i = 0; i < 40; i += 1) data[i * 3] = i % 2 === 0 ? NaN : Infinity;
    template[900] = NaN;
    const found = await register({ ...pair.reference, data }, { ...pair.template, data: template }, { ...options, levels: 1 });
    ok(found.displacement.data.every(Number.isFinite));
    ok(found.measure < 0.5 * found.initialMeasure);
    const nothing = await register({ ...pair.reference, data: data.map(() => NaN) }, pair.template, { ...options, tolerance: 1e-3 });
    ok(nothing.displacement.data.every((value) => value === 0) && Number.isNaN(nothing.measure));
  });
}

function testSteps(backend: BackendName, device: () => Promise<Device>): void {
  it('the same bits where few calls may wait, one step after the other', async () => {
    await using short = await openDevice({ backend, queueLimit: 4 });
    const options = { iterations: 3, tolerance: 0 };
    const [one, other] = [await registered(await device(), 64, options), await registered(short, 64, options)];
    deepStrictEqual(bitsOf(one.result), bitsOf(other.result));
  });

  it('the seconds on the device are those of all steps', async () => {
    const seconds: number[] = [];
    const listen = (message: unknown) => {
      const { operation, deviceSeconds } = message as { operation: string; deviceSeconds?: number };
      if (operation.startsWith('imaging.') && deviceSeconds !== undefined) seconds.push(deviceSeconds);
    };
    const channel = 'tracing:warploom:run:asyncEnd';
    subscribe(channel, listen);
    const { result } = await registered(await device(), 64, { iterations: 3, tolerance: 0 });
    unsubscribe(channel, listen);
    const sum = seconds.reduce((all, each) => all + each, 0);
    ok(seconds.length >= 8, `${seconds.length} steps`);
    ok(Math.abs(result.info.deviceSeconds - sum) <= 1e-9 * sum, `${result.info.deviceSeconds} s for ${sum} s`);
  });

  it('what onLevel throws ends the call, and nothing is left of it', async () => {
    await using own = await openDevice({ backend });
    const stop = new Error('enough');
    let calls = 0;
    const onLevel = () => {
      calls += 1;
      throw stop;
    };
    await rejects(registered(own, 64, { iterations: 2, onLevel }), (error) => error === stop);
    strictEqual(calls, 1);
    await own.trim();
    strictEqual(own.memory().inUseBytes, 0);
  });
}

function testArguments(backend: BackendName, device: () => Promise<Device>): void {
  it('landmarks, initial displacement, device arrays, `out`, repeatability', async () => {
    const { pair, result } = await registered(await device(), 40, { iterations: 10 });
    const again = await registered(await device(), 40, { iterations: 10 });
    deepStrictEqual(bitsOf(again.result), bitsOf(result));
    const points = 1600;
    const marks = [210, 805, 1010].map((i) => [i % 40, Math.floor(i / 40)]);
    const exact = marks.map(([x, y]) => [x! + pair.displacement.data[y! * 40 + x!]!, y! + pair.displacement.data[points + y! * 40 + x!]!]);
    const { tre } = await register(pair.reference, pair.template, {
      device: await device(), initial: pair.displacement, iterations: 0, landmarks: { reference: marks.flat(), template: exact.flat() },
    });
    ok(tre!.max < 1e-5 && tre!.mean <= tre!.p95 && tre!.p95 <= tre!.max);
    const slope = Float32Array.from({ length: 2 * points }, (_, i) => (i < points ? 0.1 * (i % 40) - 2 : 1.5));
    const carried = await register(pair.reference, pair.template, { device: await device(), initial: slope, levels: 2, iterations: 0 });
    strictEqual(carried.history.length, 2);
    for (const i of [410, 830, points + 410]) ok(Math.abs(carried.displacement.data[i]! - slope[i]!) < 1e-5, `${carried.displacement.data[i]}`);
    using fixed = await (await device()).array(pair.reference.data);
    using moving = await (await device()).array(pair.template.data);
    const kept = await register({ data: fixed, width: 40, height: 40 }, { data: moving, width: 40, height: 40 }, { iterations: 10 });
    const { displacement: { data: field }, warped: { data: image } } = kept;
    ok(field instanceof DeviceArray && image instanceof DeviceArray);
    deepStrictEqual(await field.read(), result.displacement.data);
    deepStrictEqual(await image.read(), result.warped.data);
    field.dispose();
    image.dispose();
    const out = { displacement: new Float32Array(2 * points), warped: new Float32Array(points) };
    const into = await registered(await device(), 40, { iterations: 10, out });
    strictEqual(into.result.displacement.data, out.displacement);
    deepStrictEqual([out.displacement, out.warped], [result.displacement.data, result.warped.data]);
  });

  it('progress over all levels, and an end by the signal', async () => {
    const seen: [number, number][] = [];
    const levels: number[] = [];
    await using own = await openDevice({ backend });
    await registered(own, 64, {
      iterations: 4, tolerance: 0, onProgress: (done, total) => seen.push([done, total]), onLevel: ({ width }) => levels.push(width),
    });
    deepStrictEqual([seen.at(-1), levels], [[8, 8], [32, 64]]);
    ok(seen.every(([done], i) => i === 0 || done >= seen[i - 1]![0]));
    const controller = new AbortController();
    const call = registered(own, 64, {
      iterations: 100_000, tolerance: 0, signal: controller.signal, onProgress: () => controller.abort(new Error('enough')),
    });
    await rejects(call, /enough/);
    await rejects(registered(own, 16, { signal: AbortSignal.abort(new Error('at once')) }), /at once/);
    await registered(own, 16, { iterations: 2 });
    await own.trim(); // memory is given back behind the calls that use it
    strictEqual(own.memory().inUseBytes, 0);
  });

  it('smallest images', async () => {
    for (const [width, height, depth] of [[1, 1, 1], [2, 1, 1], [1, 3, 1], [3, 5, 1], [1, 1, 2], [2, 3, 4]] as const) {
      const count = width * height * depth;
      const make = (seed: number) => ({ data: Float32Array.from({ length: count }, (_, i) => Math.sin(seed * (i + 1))), width, height, depth });
      const { displacement, warped } = await register(make(1), make(2), { device: await device(), iterations: 4 });
      ok(displacement.data.every(Number.isFinite) && warped.data.every(Number.isFinite), `${width}x${height}x${depth}`);
    }
  });
}

/** Planes of noise over a slope, some samples missing. */
function planes(type: 'float32' | 'float64', seed: number, [width, height, depth]: readonly [number, number, number], channels: number) {
  const random = new Random(seed);
  const values = Array.from({ length: width * height * depth * channels }, (_, i) => (i % 53 === 7 ? NaN : 0.05 * (i % width) + random.uniform(0, 0.3)));
  return { data: type === 'float32' ? Float32Array.from(values) : Float64Array.from(values), width, height, depth, channels };
}

function testForces(device: () => Promise<Device>): void {
  it('one step is the mean of the forces of all channels, by their weights', async () => {
    const [width, height, channels] = [7, 5, 3];
    const points = width * height;
    const [reference, other] = [planes('float64', 1, [width, height, 1], channels), planes('float64', 2, [width, height, 1], channels)];
    const template = { ...other, data: other.data.map((value: number) => (Number.isNaN(value) ? 0.4 : value)) };
    for (const weights of [undefined, [0, 0.5, 4]]) {
      const { displacement, initialMeasure } = await register<Float32Array | Float64Array>(reference, template, {
        device: await device(), levels: 1, iterations: 1, accelerate: false, tau: 1, alpha: 1e-13, tolerance: 0, ...(weights && { weights }),
      });
      const force = new Float64Array(2 * points);
      let [squares, count] = [0, 0];
      for (let i = 0; i < points * channels; i += 1) {
        const [x, y, c] = [i % width, Math.floor(i / width) % height, Math.floor(i / points)];
        const value = (dx: number, dy: number) => template.data[
          c * points + Math.min(height - 1, Math.max(0, y + dy)) * width + Math.min(width - 1, Math.max(0, x + dx))]!;
        const off = reference.data[i]! - value(0, 0);
        const slopes = [(value(1, 0) - value(-1, 0)) / 2, (value(0, 1) - value(0, -1)) / 2];
        const around = [off, ...slopes];
        if (!around.every(Number.isFinite)) continue;
        const weight = weights?.[c] ?? 1;
        [squares, count] = [squares + weight * off * off, count + 1];
        slopes.forEach((slope, a) => { force[a * points + (i % points)]! += weight * off * slope / channels; });
      }
      ok(Math.abs(initialMeasure - squares / count) < 1e-12, `${initialMeasure}, not ${squares / count}`);
      displacement.data.forEach((value, i) => ok(Math.abs(value - force[i]!) < 1e-9, `${i}: ${value}, not ${force[i]}`));
    }
  });
}

function testChannels(backend: BackendName, device: () => Promise<Device>): void {
  it('channels have the bits of the cpu backend; equal ones move as one of them', async function cases() {
    this.timeout(120_000);
    const options = { iterations: 5, tolerance: 0 } as const;
    if (backend !== 'cpu' && hasBackend('cpu')) {
      for (const [type, size, channels, measure] of [
        ['float32', [37, 35, 1], 3, 'ssd'], ['float64', [33, 40, 1], 2, 'ncc'], ['float32', [9, 8, 7], 2, 'ncc'], ['float64', [5, 9, 6], 4, 'ssd'],
      ] as const) {
        const pair = [planes(type, 3, size, channels), planes(type, 4, size, channels)] as const;
        const found = await register<Float32Array | Float64Array>(...pair, { ...options, measure, device: await device() });
        const same = await register<Float32Array | Float64Array>(...pair, { ...options, measure, device: await deviceOf('cpu') });
        deepStrictEqual(bitsOf(found), bitsOf(same), `${type} ${size.join(' × ')}`);
        ok(found.warped.channels === channels && found.warped.data.length === pair[0].data.length);
      }
    }
    const { reference, template } = registrationPair(32, { type: 'float64' });
    const thrice = (image: typeof reference) => ({ ...image, data: Float64Array.from([...image.data, ...image.data, ...image.data]), channels: 3 });
    const mask = Uint8Array.from({ length: 1024 }, (_, i) => (i % 32 < 28 ? 1 : 0));
    for (const rest of [{}, { measure: 'ncc' }, { mask, levels: 2 }] as const) {
      const one = await register(reference, template, { ...options, ...rest, device: await device() });
      const all = await register(thrice(reference), thrice(template), { ...options, ...rest, device: await device() });
      one.displacement.data.forEach((value, i) => ok(Math.abs(value - all.displacement.data[i]!) < 1e-9, `${i}`));
      ok(Math.abs(one.measure - all.measure) < 1e-12);
      deepStrictEqual(all.warped.data.slice(1024, 2048), all.warped.data.slice(0, 1024));
    }
  });
}

function testAligned(backend: BackendName, device: () => Promise<Device>): void {
  it('an alignment first: both together, with the template\'s own pixels', async function cases() {
    this.timeout(120_000);
    const n = 48;
    const blob = (x: number, y: number) => Math.exp(-((x - 24) ** 2 / 90 + (y - 22) ** 2 / 25)) + 0.3 * Math.exp(-((x - 33) ** 2 + (y - 33) ** 2) / 12);
    const [cos, sin] = [Math.cos(0.7), Math.sin(0.7)];
    const exact = (x: number, y: number) => [cos * (x - 23.5) - sin * (y - 23.5) - x + 26, sin * (x - 23.5) + cos * (y - 23.5) - y + 22] as const;
    const make = (at: (x: number, y: number) => number) => ({
      data: Float32Array.from({ length: n * n }, (_, i) => at(i % n, Math.floor(i / n))), width: n, height: n });
    const template = make(blob);
    const reference = make((x, y) => blob(x + exact(x, y)[0], y + exact(x, y)[1]));
    const landmarks = { reference: [24, 24], template: [24 + exact(24, 24)[0], 24 + exact(24, 24)[1]] };
    const on = { device: await device(), iterations: backend === 'simt' ? 3 : 30 };
    const found = await register(reference, template, { ...on, align: 'rigid', landmarks });
    ok(found.tre!.max < 0.1, `${found.tre!.max} pixels off`);
    ok(found.measure < 1e-3 * found.initialMeasure, `${found.initialMeasure} to ${found.measure}`);
    ok(found.alignment!.converged && Math.abs(found.alignment!.matrix[0]! - cos) < 0.02, `${found.alignment!.matrix}`);
    deepStrictEqual(found.warped.data, (await warp(template, found.displacement, { device: on.device })).image.data);
    using moving = await on.device.array(template.data);
    using fixed = await on.device.array(reference.data);
    const kept = await register({ ...reference, data: fixed }, { ...template, data: moving }, { ...on, align: 'rigid' });
    deepStrictEqual(await (kept.displacement.data as DeviceArray).read(), found.displacement.data);
    for (const { data } of [kept.displacement, kept.warped]) data.dispose();
  });
}

describe('imaging.register', () => {
  eachBackend((backend, device) => {
    testKnown(backend, device);
    testMeasures(backend, device);
    testControl(device);
    testSteps(backend, device);
    testArguments(backend, device);
    testForces(device);
    testChannels(backend, device);
    testAligned(backend, device);
  }, { cases: 14 });

  it('refuses what does not fit', async () => {
    const image = { data: new Float32Array(64), width: 8, height: 8 };
    const refused = (options: object, argument: string, template: object = image, reference: object = image) =>
      rejects(register(reference as never, template as never, options), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
    await refused({}, 'template.width', { ...image, width: 4, height: 16 });
    await refused({}, 'template.data', { ...image, data: new Float64Array(64) });
    await refused({}, 'template.channels', { ...image, data: new Float32Array(128), channels: 2 });
    for (const weights of [[1, 1], [], [0], [-1], [NaN], ['1'], 1]) await refused({ weights }, 'weights');
    await refused({ weights: [1], measure: 'ncc' }, 'weights');
    await refused({ align: 'none' }, 'align');
    await refused({ align: 'rigid', initial: new Float32Array(128) }, 'initial');
    await refused({}, 'reference.data', image, { ...image, data: [1, 2] });
    for (const [option, value] of [
      ['measure', 'mi'], ['alpha', 0], ['alpha', NaN], ['tau', -1], ['levels', 0], ['iterations', 1.5], ['tolerance', -1], ['variant', 'x'],
      ['accelerate', 1], ['onLevel', 1], ['device', {}], ['landmarks', 3], ['smoothing', 1], ['signal', 1], ['out', 1], ['iterations', []],
    ] as const) await refused({ [option]: value }, option);
    await refused({ variant: 'explicit', accelerate: true }, 'accelerate');
    await refused({ initial: new Float32Array(64) }, 'initial');
    await refused({ iterations: [1, 2, 3, 4] }, 'iterations');
    await refused({ iterations: [1, -2] }, 'iterations[1]');
    await refused({ out: { warped: new Float32Array(63) } }, 'out.warped');
    await refused({ out: { displacement: new Float32Array(64) } }, 'out.displacement');
    await refused({ landmarks: { reference: [1, 2, 3], template: [1, 2, 3] } }, 'landmarks.reference');
    await refused({ landmarks: { reference: [1, 2], template: [1, 2, 3, 4] } }, 'landmarks.template');
    await refused({ landmarks: { reference: [1, NaN], template: [1, 2] } }, 'landmarks.reference');
  });
});
