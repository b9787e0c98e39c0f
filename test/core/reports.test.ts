// What operations report, read back under the names of their C++ report structs: every field of every operation, against
// what follows from the call's arrays.
import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { addon } from '../../lib/core/binding.ts';
import type { Device } from '../../lib/core/device.ts';
import type { OperationName, Reports } from '../../lib/core/operations.gen.ts';
import type { ReportOf } from '../../lib/core/report.ts';
import { Held } from '../../lib/core/pack.ts';
import { Rows } from '../../lib/core/rows.ts';
import { eachBackend, type BackendName } from '../support/backends.ts';
import {
  coveredOperations, smallBatch, smallN, validParameters, viewOf, type LooseParameters, type LooseView,
} from '../support/valid-parameters.ts';

type Call<Name extends OperationName> = Readonly<{ parameters: LooseParameters; report: ReportOf<Name>; backend: BackendName }>;

/** Runs a valid call, changed by `extra`; `array` gives the memory of a parameter. */
async function call<Name extends OperationName>(device: Device, operation: Name, extra: LooseParameters = {}): Promise<Call<Name>> {
  const parameters = { ...validParameters(operation), ...extra };
  const { report } = await device.run(operation, parameters);
  return { parameters, report, backend: device.backend };
}

const numbersOf = (value: unknown): number[] => Array.from((value as LooseView).data as Float64Array);
const close = (found: number, expected: number, tolerance = 1e-12): void =>
  ok(Math.abs(found - expected) <= tolerance * Math.max(1, Math.abs(expected)), `${found}, expected ${expected}`);
const elements = smallN * smallBatch;
const noise = (count = elements): Float64Array => Float64Array.from({ length: count }, (_, i) => ((i * 7919) % 31) / 31 + (i % 5 === 0 ? 1 : 0));
const flat = (data: Float64Array): LooseView => ({ data });

/** What a summary says, from the words themselves. */
function summaryOf(status: Int32Array, row: Int32Array): Reports['tridiagonal.factor']['summary'] {
  const states = Array.from(status, (word) => word & 0xff);
  const count = (state: number): number => states.filter((each) => each === state).length;
  const first = states.findIndex((state) => state !== 0);
  return {
    zeroPivots: count(1), nonFinites: count(2), inaccurates: count(3), resolved: status.filter((word) => word >= 0x100).length,
    firstFailed: first, firstWord: first < 0 ? 0 : status[first]!, firstRow: first < 0 ? -1 : row[first]!,
  };
}

/** One system whose data are not finite, the second of three. */
function poisoned(value = 1): LooseView {
  const data = new Float64Array(elements).fill(value);
  data[smallN + 2] = NaN;
  return viewOf(data);
}

/** Summaries of outcomes, one of them bad; without `summarize` there is none. */
async function summaries(device: Device, operation: 'tridiagonal.solve' | 'tridiagonal.factor' | 'tridiagonal.solve_factored' | 'tridiagonal.vjp',
  extra: LooseParameters): Promise<void> {
  const { parameters, report } = await call(device, operation, extra);
  const status = parameters['status'] as Int32Array;
  ok(status[1] !== 0 && status[0] === 0 && status[2] === 0, `status ${status.join(' ')}`);
  deepStrictEqual(report.summary, summaryOf(status, parameters['row'] as Int32Array));
  strictEqual((await call(device, operation, { ...extra, summarize: false })).report.summary, undefined);
  strictEqual(report.noted, undefined);
  for (const summarize of [true, false]) await notes(device, operation, { ...extra, summarize }, parameters);
}

/** Words without arrays of the caller's: the report has those that are not zero. */
async function notes(
  device: Device, operation: Parameters<typeof summaries>[1], extra: LooseParameters, given: LooseParameters,
): Promise<void> {
  const status = given['status'] as Int32Array, row = given['row'] as Int32Array;
  const held = new Held(status.length);
  const { noted } = (await call(device, operation, { ...extra, status: held, row: held })).report;
  const expected = [...status.keys()].filter((place) => status[place] !== 0)
    .map((place) => ({ place, word: status[place]!, row: row[place]! }));
  ok(expected.length > 0);
  deepStrictEqual([...(noted ?? [])], expected);
  await rejects(call(device, operation, { ...extra, status: new Held(status.length + 1), row: held }), { argument: 'status' });
  const well = 'factors' in extra ? { factors: extra['factors'] } : {};
  strictEqual((await call(device, operation, { ...well, status: held, row: held })).report.noted, undefined, 'all well');
}

async function factors(device: Device): Promise<Uint8Array> {
  return (await call(device, 'tridiagonal.factor')).parameters['factors'] as Uint8Array;
}

/** Every operation with a report; a check gets all its fields, the test compares their names with the metadata. */
const checks: Partial<Record<OperationName, (device: Device) => Promise<object>>> = {
  'tridiagonal.solve': async (device) => {
    await summaries(device, 'tridiagonal.solve', { rhs: poisoned(), check: false, backwardError: undefined });
    const { report } = await call(device, 'tridiagonal.solve', { algorithm: 'cr-regpack', depth: 4, check: false, backwardError: undefined });
    deepStrictEqual([report.algorithm, report.depth], ['cr-regpack', 4]);
    ok(report.threads >= 1 && report.launches >= 1);
    const pivoted = await call(device, 'tridiagonal.solve', { stable: true, check: false, backwardError: undefined });
    strictEqual(pivoted.report.algorithm, 'pivoting');
    return report;
  },
  'tridiagonal.factor': async (device) => {
    await summaries(device, 'tridiagonal.factor', { diagonal: poisoned(4) });
    return (await call(device, 'tridiagonal.factor')).report;
  },
  'tridiagonal.solve_factored': async (device) => {
    const extra = { factors: await factors(device), rhs: poisoned(), check: false, backwardError: undefined };
    await summaries(device, 'tridiagonal.solve_factored', extra);
    return (await call(device, 'tridiagonal.solve_factored', { factors: await factors(device) })).report;
  },
  'tridiagonal.vjp': async (device) => {
    await summaries(device, 'tridiagonal.vjp', { cotangent: poisoned() });
    const { report } = await call(device, 'tridiagonal.vjp', { stable: true });
    strictEqual(report.algorithm, 'pivoting');
    ok(report.depth >= 0 && report.threads >= 1 && report.launches >= 1);
    return report;
  },
  'swept.advance': async (device) => {
    const variant = device.backend === 'cpu' ? 'cpu-classic' : 'classic';
    const ones = (): LooseView => flat(new Float64Array(smallN).fill(1));
    const heat = { equation: 'heat', variant, dt: 0.2, steps: 7, state: ones(), next: ones() };
    const good = await call(device, 'swept.advance', heat);
    deepStrictEqual([good.report.variant, good.report.completed, good.report.firstBad], [variant, 7, 0]);
    ok(good.report.points >= 0 && good.report.depth >= 0 && good.report.threads >= 1);
    const planted = new Float64Array(smallN).fill(1);
    planted[3] = Infinity;
    const bad = await call(device, 'swept.advance', { ...heat, state: flat(planted), next: flat(new Float64Array(smallN)) });
    deepStrictEqual([bad.report.completed, bad.report.firstBad], [0, 1]);
    return good.report;
  },
  'swept.measure': async (device) => {
    const state = noise();
    const { report } = await call(device, 'swept.measure', { state: flat(state) });
    strictEqual(report.rows.length, smallBatch);
    for (let row = 0; row < smallBatch; row += 1) {
      const values = Array.from(state.subarray(row * smallN, (row + 1) * smallN));
      const sum = values.reduce((total, value) => total + value, 0);
      const found = report.rows.at(row);
      close(found.sum, sum);
      close(found.trapezoid, sum - (values[0]! + values[smallN - 1]!) / 2);
      close(found.absoluteSum, sum);
      close(found.squareSum, values.reduce((total, value) => total + value * value, 0));
      deepStrictEqual([found.least, found.most], [Math.min(...values), Math.max(...values)]);
    }
    return report;
  },
  'imaging.jacobian': async (device) => {
    const none = await call(device, 'imaging.jacobian');
    deepStrictEqual(none.report.bounds, { least: 1, most: 1, folded: 0, unknown: 0 });
    const shear = Float64Array.from({ length: 2 * elements }, (_, i) => (i < elements ? -2 * (i % smallN) : 0));
    shear[elements] = NaN;
    const { report, parameters } = await call(device, 'imaging.jacobian', { displacement: flat(shear) });
    const found = numbersOf(parameters['result']);
    const known = found.filter((value) => !Number.isNaN(value));
    deepStrictEqual(report.bounds, {
      least: Math.min(...known), most: Math.max(...known), folded: known.filter((value) => value <= 0).length, unknown: found.length - known.length,
    });
    ok(report.bounds.unknown > 0 && report.bounds.folded > 0);
    return report;
  },
  'imaging.registration': async (device) => {
    const reference = noise();
    const template = Float64Array.from(reference, (value, i) => value + (i % 2 === 0 ? 0.25 : -0.5));
    const { report } = await call(device, 'imaging.registration', { reference: flat(reference), template: flat(template), step: 0.125 });
    deepStrictEqual([report.iterations, report.converged, report.step, report.history.length], [2, false, 0.125, 3]);
    const squares = reference.reduce((sum, value, i) => sum + (value - template[i]!) ** 2, 0);
    close(report.history.at(0).value, squares / elements);
    const same = await call(device, 'imaging.registration', { iterations: 40, tolerance: 0.5 });
    deepStrictEqual([same.report.converged, same.report.history.at(0).value], [true, 0]);
    strictEqual(same.report.history.length, same.report.iterations + 1);
    ok(same.report.iterations < 40);
    return report;
  },
  'imaging.curvature': async (device) => {
    for (const variant of ['direct', 'march'] as const) strictEqual((await call(device, 'imaging.curvature', { variant })).report.variant, variant);
    return (await call(device, 'imaging.curvature')).report;
  },
  'imaging.denoise': async (device) => {
    const image = noise();
    const { report, parameters } = await call(device, 'imaging.denoise', { image: flat(image), variant: 'march', tolerance: 0, iterations: 5 });
    const u = numbersOf(parameters['result']);
    const [x, y] = [(i: number) => i % smallN, (i: number) => Math.floor(i / smallN)];
    const variation = u.reduce((sum, value, i) => sum + Math.hypot(
      x(i) + 1 < smallN ? u[i + 1]! - value : 0, y(i) + 1 < smallBatch ? u[i + smallN]! - value : 0), 0);
    const squares = u.reduce((sum, value, i) => sum + (value - image[i]!) ** 2, 0);
    deepStrictEqual([report.variant, report.iterations, report.converged, report.filled, report.solutions, report.weight, report.sigma, report.dt],
      ['march', 5, false, 0, 1, 0.1, 0, 0]);
    deepStrictEqual([...report.history].map(({ iteration }) => iteration), [2, 4, 5]);
    close(report.energy, 0.1 * variation + squares / 2);
    close(report.residual, Math.sqrt(squares / elements));
    const last = report.history.at(2);
    close(last.energy, report.energy / elements);
    strictEqual(last.measure, report.gap);
    ok(report.gap > 0 && report.gap < report.history.at(0).measure);
    const flow = await call(device, 'imaging.denoise', { method: 'flow', image: flat(image), dt: 0.03125 });
    strictEqual(flow.report.dt, 0.03125);
    const holed = Float64Array.from(image);
    holed[4] = holed[9] = NaN;
    const filled = await call(device, 'imaging.denoise', { image: flat(holed), fill: true });
    strictEqual(filled.report.filled, 2);
    const searched = await call(device, 'imaging.denoise', { image: flat(image), weight: 0, sigma: 0.125, iterations: 500, tolerance: 1e-6 });
    ok(searched.report.solutions > 1 && searched.report.weight > 0);
    strictEqual(searched.report.sigma, 0.125);
    close(searched.report.residual, 0.125, 0.02);
    return report;
  },
  'imaging.segment': async (device) => {
    const image = noise(2 * elements);
    image[3] = NaN;
    const given = Float64Array.from({ length: elements }, (_, i) => (i < elements / 2 ? 1 : -1));
    const { report, parameters } = await call(device, 'imaging.segment', {
      channels: 2, weights: Float64Array.of(1, 2), image: flat(image), given: flat(given), energyEvery: 2,
    });
    const mask = parameters['mask'] as Uint8Array;
    strictEqual(report.variant, device.backend === 'cpu' ? 'cpu' : 'direct');
    deepStrictEqual([report.iterations, report.converged, report.valid], [3, false, elements - 1]);
    strictEqual(report.inside, mask.reduce((sum, value, i) => sum + (i === 3 ? 0 : value), 0));
    strictEqual(report.means.length, 2);
    for (const [channel, means] of [...report.means].entries()) {
      for (const [side, mean] of [[1, means.inside], [0, means.outside]] as const) {
        const values = Array.from(image.subarray(channel * elements, (channel + 1) * elements)).filter((_, i) => i !== 3 && mask[i] === side);
        close(mean, values.reduce((sum, value) => sum + value, 0) / values.length, 1e-9);
      }
    }
    deepStrictEqual([...report.history].map(({ iteration }) => iteration), [0, 2, 3]);
    strictEqual(report.history.at(2).energy, report.energy);
    ok(report.change > 0);
    const still = await call(device, 'imaging.segment', { iterations: 0 });
    deepStrictEqual([still.report.iterations, still.report.change, still.report.history.length], [0, 0, 1]);
    return report;
  },
};

describe('reports', () => {
  eachBackend((_, device) => {
    for (const operation of coveredOperations as OperationName[]) {
      it(`of ${operation}`, async () => {
        const fields = addon().operations()[operation]!.report.map(({ name }) => name);
        const check = checks[operation];
        strictEqual(check === undefined, fields.length === 0, 'every operation with a report has its check here');
        const report = check === undefined ? (await (await device()).run(operation, validParameters(operation))).report : await check(await device());
        deepStrictEqual(Object.keys(report as object), fields);
      });
    }
  });

  it('have rows that can be walked, asked for, and read by column', () => {
    const rows = new Rows<{ a: number; b: number }>(Float64Array.of(1, 2, 3, 4, 5, 6), ['a', 'b']);
    strictEqual(rows.length, 3);
    deepStrictEqual([...rows], [{ a: 1, b: 2 }, { a: 3, b: 4 }, { a: 5, b: 6 }]);
    deepStrictEqual(rows.at(1), { a: 3, b: 4 });
    deepStrictEqual(rows.column('b'), Float64Array.of(2, 4, 6));
    for (const wrong of [-1, 3, 0.5, NaN]) throws(() => rows.at(wrong), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'row' });
    deepStrictEqual([...new Rows<{ a: number }>(new Float64Array(0), ['a'])], []);
  });
});
