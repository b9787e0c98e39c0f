// Calls in slices on a device with memory of its own (the shim as WARPLOOM_SIMT_DISCRETE): the same bits as whole, whatever the
// slices; a call that fails in one leaves everything alone. WARPLOOM_SLICE makes slices of so many bytes.
import { deepStrictEqual, ok, rejects, strictEqual, throws } from 'node:assert/strict';
import { addon } from '../../lib/core/binding.ts';
import { openDevice, type Device } from '../../lib/core/device.ts';
import { scan } from '../../lib/scan/index.ts';
import { condition, multiply, plan, solve, vjp, type SolveOptions } from '../../lib/tridiagonal/index.ts';
import { hasBackend, skipCases } from '../support/backends.ts';
import { makeProblem, type Problem, type ProblemSpec } from '../support/problem.ts';
import { Random } from '../support/random.ts';

async function openedWith(backend: 'cpu' | 'simt', variables: Record<string, string>): Promise<Device> {
  Object.assign(process.env, variables);
  try {
    return await openDevice({ backend });
  } finally {
    for (const name of Object.keys(variables)) delete process.env[name];
  }
}

const opened = (slice: number, environment: Record<string, string> = {}): Promise<Device> =>
  openedWith('simt', { WARPLOOM_SIMT_DISCRETE: '1', WARPLOOM_SLICE: `${slice}`, ...environment });

const whole = 2 ** 40;
const slices = (): number => addon().traffic().slices;

/** Everything that a result says, but for times and launches. */
function comparable(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) =>
    [key, key === 'deviceSeconds' || key === 'launches' ? undefined : comparable(field)]));
}
const outcomeOf = (result: { readonly status: { readonly words: Int32Array; readonly rows: Int32Array } }): unknown =>
  comparable({ ...result, status: { words: result.status.words, rows: result.status.rows } });

/** A call to be made on several devices. */
interface Case {
  readonly name: string;
  readonly spec: Partial<ProblemSpec>;
  readonly run: (problem: Problem, device: Device) => Promise<unknown>;
}

const solving = (method: Partial<SolveOptions> = {}) => async ({ options, rhs }: Problem, device: Device): Promise<unknown> =>
  outcomeOf(await solve({ ...options, ...method, rhs: rhs.vector, device } as SolveOptions));

const planning = (settings: Record<string, unknown>) => async ({ options: { rhsCount, ...matrix }, rhs }: Problem, device: Device): Promise<unknown> => {
  strictEqual(rhsCount, 1);
  await using factored = await plan({ ...matrix, ...settings, device } as Parameters<typeof plan>[0]);
  return outcomeOf(await factored.solve({ rhs: rhs.vector }));
};

const oneMatrix = (n: number) => ({
  lower: new Float64Array(n).fill(-1), diagonal: Float64Array.from({ length: n }, (_, i) => 3 + (i % 5)), upper: new Float64Array(n).fill(-1),
});
const sharing = (options: Partial<SolveOptions> = {}) => async ({ spec: { n }, rhs }: Problem, device: Device): Promise<unknown> =>
  outcomeOf(await solve({ ...oneMatrix(n), ...options, rhs: rhs.vector, n, device } as SolveOptions));
const types = ['float32', 'float64', 'complex64', 'complex128'] as const;
const cases: Case[] = [
  ...types.map((type) => ({ name: `solve ${type}`, spec: { type }, run: solving() })),
  { name: 'solve, sizes of no power of two', spec: { n: 33, batch: 67 }, run: solving() },
  { name: 'solve by auto, a batch that fills the device and slices that do not', spec: { n: 128, batch: 300 }, run: solving() },
  { name: 'solve by auto in float32, likewise', spec: { type: 'float32', n: 100, batch: 400 }, run: solving() },
  ...(['cr', 'pcr', 'cr-pcr', 'pcr-thomas', 'thomas', 'cr-regpack', 'partition', 'pivoting'] as const).map((algorithm) =>
    ({ name: `solve by ${algorithm}`, spec: {}, run: solving({ algorithm }) })),
  { name: 'solve of large systems', spec: { n: 9001, batch: 5 }, run: solving() },
  { name: 'solve of large systems by pcr-thomas', spec: { n: 9001, batch: 5 }, run: solving({ algorithm: 'pcr-thomas' }) },
  { name: 'solve of large systems by pivoting', spec: { n: 9001, batch: 4 }, run: solving({ stable: true }) },
  { name: 'periodic', spec: { periodic: true }, run: solving() },
  { name: 'periodic, stable', spec: { periodic: true }, run: solving({ stable: true }) },
  { name: 'transposed', spec: { transpose: 'transpose' }, run: solving() },
  { name: 'conjugated', spec: { type: 'complex128', transpose: 'conjugate' }, run: solving() },
  { name: 'positive definite', spec: { structure: 'positive-definite' }, run: solving() },
  { name: 'checked', spec: {}, run: solving({ check: true }) },
  { name: 'checked, all solved again', spec: {}, run: solving({ check: true, tolerance: 1e-30 }) },
  { name: 'refined', spec: {}, run: solving({ refine: true }) },
  { name: 'stable', spec: {}, run: solving({ stable: true }) },
  { name: 'several right-hand sides', spec: { rhsCount: 3 }, run: solving({ check: true }) },
  { name: 'padded', spec: { layout: 'padded', rhsCount: 2 }, run: solving() },
  { name: 'real and imaginary parts apart', spec: { type: 'complex128', layout: 'split' }, run: solving() },
  { name: 'in place', spec: {}, run: async ({ options, rhs }, device) => {
    const both = (rhs.vector as Float64Array).slice();
    return outcomeOf(await solve({ ...options, rhs: both, out: both, device }));
  } },
  { name: 'one matrix for the batch', spec: {}, run: sharing() },
  { name: 'one periodic matrix for the batch', spec: {}, run: sharing({ periodic: true }) },
  { name: 'one matrix, systems of some length', spec: { n: 256, batch: 150 }, run: sharing() },
  { name: 'sizes off the powers of two, a batch that fills the device', spec: { n: 130, batch: 300 }, run: solving() },
  { name: 'constant bands', spec: {}, run: async ({ spec: { n }, rhs }, device) =>
    outcomeOf(await solve({ lower: -1, diagonal: 3, upper: -1, rhs: rhs.vector, n, device })) },
  { name: 'multiply', spec: {}, run: async ({ options, rhs }, device) => comparable(await multiply({ ...options, x: rhs.vector, device })) },
  { name: 'multiply and add', spec: { periodic: true }, run: async ({ options, rhs }, device) => {
    const y = (rhs.vector as Float64Array).map((value) => 2 * value);
    return comparable(await multiply({ ...options, x: rhs.vector, y, alpha: 0.5, beta: -3, device }));
  } },
  { name: 'condition', spec: {}, run: async ({ options, rhs }, device) =>
    comparable(await condition({ ...options, rhs: rhs.vector, solution: rhs.vector, device })) },
  { name: 'vjp', spec: { rhsCount: 2 }, run: async ({ options, rhs }, device) =>
    outcomeOf(await vjp({ ...options, solution: rhs.vector, cotangent: rhs.vector, device })) },
  { name: 'vjp, positive definite', spec: { structure: 'positive-definite', type: 'complex128' }, run: async ({ options, rhs }, device) =>
    outcomeOf(await vjp({ ...options, solution: rhs.vector, cotangent: rhs.vector, device })) },
  ...['none', 'regpack', 'pivoted'].flatMap((factorisation) => [false, true].map((periodic) =>
    ({ name: `plan ${factorisation}${periodic ? ', periodic' : ''}`, spec: { periodic }, run: planning({ factorisation }) }))),
  { name: 'plan cholesky', spec: { structure: 'positive-definite' as const }, run: planning({ factorisation: 'cholesky' }) },
  { name: 'plan of large systems', spec: { n: 9001, batch: 4 }, run: planning({}) },
  ...[false, true].map((periodic) => ({ name: `plan, checked, periodic ${periodic}`, spec: { periodic }, run: planning({ check: true }) })),
  { name: 'plan of one matrix', spec: {}, run: async ({ spec: { n }, rhs }, device) => {
    await using factored = await plan({ ...oneMatrix(n), n, batch: (rhs.vector as Float64Array).length / n, device } as Parameters<typeof plan>[0]);
    return outcomeOf(await factored.solve({ rhs: rhs.vector }));
  } },
];

/** Ragged systems of 0 to 60 rows. */
function ragged(batch: number): { offsets: Int32Array; rows: number } {
  const offsets = new Int32Array(batch + 1);
  for (let s = 0; s < batch; s += 1) offsets[s + 1] = offsets[s]! + ((s * 37) % 61);
  return { offsets, rows: offsets[batch]! };
}
const wave = (length: number, factor: number, mean = 0): Float64Array => Float64Array.from({ length }, (_, i) => mean + Math.sin(i * factor));
function raggedMatrix(batch: number): { offsets: Int32Array; lower: Float64Array; diagonal: Float64Array; upper: Float64Array; rhs: Float64Array } {
  const { offsets, rows } = ragged(batch);
  return { offsets, lower: wave(rows, 0.7), diagonal: wave(rows, 0.3, 4), upper: wave(rows, 1.1), rhs: wave(rows, 2.3) };
}

const flatCases: readonly { readonly name: string; readonly run: (device: Device) => Promise<unknown> }[] = [
  { name: 'ragged solve', run: async (device) => outcomeOf(await solve({ ...raggedMatrix(97), check: true, device })) },
  { name: 'ragged periodic solve', run: async (device) => outcomeOf(await solve({ ...raggedMatrix(97), periodic: true, device })) },
  { name: 'ragged vjp', run: async (device) => {
    const { rhs, ...matrix } = raggedMatrix(97);
    return outcomeOf(await vjp({ ...matrix, solution: rhs, cotangent: rhs, device }));
  } },
  ...['regpack', 'pivoted'].map((factorisation) => ({ name: `ragged plan ${factorisation}`, run: async (device: Device) => {
    const { rhs, ...matrix } = raggedMatrix(97);
    await using factored = await plan({ ...matrix, factorisation, device } as Parameters<typeof plan>[0]);
    return outcomeOf(await factored.solve({ rhs }));
  } })),
  ...(['float32', 'float64'] as const).flatMap((type) => [31, 64, 5000].map((n) => ({ name: `scan ${type} of ${n}`, run: async (device: Device) => {
    const values = wave(n * 41, 0.37, 0.2);
    return comparable(await scan(type === 'float32' ? Float32Array.from(values) : values, { batch: 41, exclusive: n === 64, device }));
  } }))),
  { name: 'segmented scan', run: async (device) => comparable(await scan(wave(77 * 41, 0.37), {
    batch: 41, flags: Uint8Array.from({ length: 77 * 41 }, (_, i) => (i % 7 === 0 ? 1 : 0)), device })) },
];

const usual: ProblemSpec = { type: 'float64', layout: 'contiguous', n: 64, batch: 101, rhsCount: 1 };

describe('calls in slices', function () {
  this.timeout(300_000);
  this.slow(20_000);
  if (!hasBackend('simt')) {
    skipCases('simt: slices need the shim', cases.length + flatCases.length + 13);
    return;
  }
  let reference: Device;
  before(async () => {
    reference = await opened(whole);
  });
  after(() => reference.close());
  afterEach(() => addon().faults!.disarm());

  const compare = async (run: (device: Device) => Promise<unknown>): Promise<void> => {
    const { taken, returned, slices: begun } = addon().traffic();
    let before = begun;
    const expected = await run(reference);
    const bytes = addon().traffic().taken - taken + addon().traffic().returned - returned;
    strictEqual(slices(), before);
    for (const size of [Math.ceil(bytes / 9.3), Math.ceil(bytes / 61)]) {
      await using device = await opened(size);
      before = slices();
      deepStrictEqual(await run(device), expected, `slices of ${size} bytes`);
      ok(slices() - before >= 3, `${slices() - before} slices of ${size} bytes`);
    }
  };

  for (const { name, spec, run } of cases) {
    it(`have the bits of the whole: ${name}`, async () => {
      const problem = makeProblem({ ...usual, ...spec }, new Random(7));
      await compare((device) => run(problem, device));
    });
  }
  for (const { name, run } of flatCases) {
    it(`have the bits of the whole: ${name}`, () => compare(run));
  }

  const n = 16, batch = 200;
  const arrays = () => ({
    lower: new Float64Array(n * batch).fill(-1), diagonal: wave(n * batch, 0.3, 4), upper: new Float64Array(n * batch).fill(-1),
    rhs: wave(n * batch, 1.7),
  });

  it('take their inputs at the call, and give results the caller sees only in the end', async () => {
    await using device = await opened(3000, { WARPLOOM_SIMT_DELAY: '2' });
    const expected = (await solve({ ...arrays(), n, device: reference })).solution;
    for (let round = 0; round < 3; round += 1) {
      const given = arrays();
      const before = slices();
      const call = solve({ ...given, n, device });
      for (const array of Object.values(given)) array.fill(NaN);
      deepStrictEqual((await call).solution, expected);
      ok(slices() - before > 20);
    }
    strictEqual(device.memory().inUseBytes, 0);
  });

  it('use pinned and shared memory where it is', async () => {
    await using device = await opened(3000, { WARPLOOM_SIMT_DELAY: '1' });
    const expected = (await solve({ ...arrays(), n, device: reference })).solution;
    const given = arrays();
    const pinned = async (values: Float64Array): Promise<Float64Array> => {
      const array = await device.pinned('float64', values.length) as Float64Array;
      array.set(values);
      return array;
    };
    const shared = (values: Float64Array): Float64Array => {
      const array = new Float64Array(new SharedArrayBuffer(values.byteLength));
      array.set(values);
      return array;
    };
    const out = await pinned(new Float64Array(n * batch).fill(5));
    const taken = addon().traffic().taken;
    const before = slices();
    await solve({ lower: await pinned(given.lower), diagonal: shared(given.diagonal), upper: await pinned(given.upper), rhs: shared(given.rhs), out, n, device });
    deepStrictEqual(out.slice(), expected);
    const sharedOut = shared(out);
    sharedOut.fill(9);
    await solve({ lower: await pinned(given.lower), diagonal: await pinned(given.diagonal), upper: shared(given.upper), rhs: await pinned(given.rhs), out: sharedOut, n, device });
    deepStrictEqual(sharedOut.slice(), expected);
    ok(addon().traffic().taken - taken < 100, 'words alone');
    ok(slices() - before > 40);
  });

  it('hold a few slices on the device, not the call', async () => {
    const peak = async (slice: number): Promise<number> => {
      await using device = await opened(slice);
      const pinned = async (): Promise<Float64Array> => (await device.pinned('float64', n * batch) as Float64Array).fill(1);
      const [lower, diagonal, upper, rhs, out] = await Promise.all([pinned(), pinned(), pinned(), pinned(), pinned()]);
      await solve({ lower: lower!, diagonal: diagonal!.fill(4), upper: upper!, rhs: rhs!, out: out!, n, device });
      return device.memory().peakBytes;
    };
    const [few, all] = [await peak(4096), await peak(whole)];
    ok(few < all / 4, `${few} of ${all} bytes`);
  });

  it('count failures over all slices, and name the first', async () => {
    const rows = 8, systems = 6000; // words beyond what comes back with every call
    const diagonal = new Float64Array(rows * systems).fill(4);
    const rhs = new Float64Array(rows * systems).fill(1);
    diagonal[3001 * rows] = 0;
    diagonal[5999 * rows] = 0;
    rhs[4444 * rows + 3] = NaN;
    const given = { lower: 0, diagonal, upper: 0, rhs, n: rows, algorithm: 'thomas' as const };
    await using device = await opened(8 * rows * 100);
    const expected = await solve({ ...given, device: reference });
    const before = slices();
    const { status } = await solve({ ...given, device });
    ok(slices() - before > 50);
    deepStrictEqual([...status.failures()].map(({ system, state, row }) => ({ system, state, row })), [
      { system: 3001, state: 'zero-pivot', row: 0 }, { system: 4444, state: 'non-finite', row: 3 }, { system: 5999, state: 'zero-pivot', row: 0 },
    ]);
    deepStrictEqual(status.words, expected.status.words);
    deepStrictEqual(status.rows, expected.status.rows);
    throws(() => status.throwIfFailed(), /3001/);
  });

  it('report progress over the whole call', async () => {
    await using device = await opened(3000);
    const seen: number[] = [];
    await solve({ ...arrays(), n, device, onProgress: (done, total) => seen.push(done / total) });
    ok(seen.every((part, i) => part >= 0 && part <= 1 && part >= (seen[i - 1] ?? 0)), seen.join(' '));
    ok(seen.length > 10);
  });

  it('stop between slices, and leave results alone', async () => {
    await using device = await opened(3000, { WARPLOOM_SIMT_DELAY: '10' });
    for (let round = 0; round < 2; round += 1) await solve({ ...arrays(), n, device }); // page-locked memory is there
    const out = new Float64Array(n * batch).fill(7);
    const stop = new AbortController();
    const before = slices();
    const call = solve({ ...arrays(), n, out, device, signal: stop.signal, onProgress: (done) => { if (done >= 5) stop.abort(); } });
    await rejects(call, { name: 'AbortError' });
    ok(slices() - before < 40, `${slices() - before} slices`);
    ok(out.every((value) => value === 7));
    deepStrictEqual((await solve({ ...arrays(), n, device })).solution, (await solve({ ...arrays(), n, device: reference })).solution);
    strictEqual(device.memory().inUseBytes, 0);
  });

  it('stay whole where the batch is summed, lies across memory or overlaps', async () => {
    await using device = await opened(3000);
    const before = slices();
    const { rhs, lower, diagonal, upper } = arrays();
    const one = (value: number): Float64Array => new Float64Array(n).fill(value);
    await vjp({ lower: one(-1), diagonal: one(4), upper: one(-1), solution: rhs, cotangent: rhs, n, device });
    await solve({ lower, diagonal, upper, rhs, n, layout: 'interleaved', device });
    strictEqual(slices(), before);
  });

  for (const [name, error, code] of [
    ['out of memory', 2, 'ERR_WARPLOOM_OUT_OF_MEMORY'], ['launch out of resources', 701, 'ERR_WARPLOOM_INTERNAL'],
    ['illegal address', 700, 'ERR_WARPLOOM_DEVICE_LOST'],
  ] as const) {
    for (const direct of [false, true]) {
      it(`leave everything alone when a runtime call fails: ${name}, ${direct ? 'results at once' : 'into a given array'}`, async () => {
        const faults = addon().faults!;
        const expected = (await solve({ ...arrays(), n, device: reference })).solution;
        const attempt = async (device: Device, skip: number): Promise<number> => {
          const out = direct ? undefined : new Float64Array(n * batch).fill(7);
          const before = faults.calls();
          if (skip >= 0) faults.arm(skip, error, false);
          const [outcome] = await Promise.allSettled([solve({ ...arrays(), n, device, ...(out === undefined ? {} : { out }) })]);
          faults.disarm();
          if (outcome.status === 'fulfilled') {
            deepStrictEqual(outcome.value.solution, expected);
          } else {
            strictEqual((outcome.reason as { code: string }).code, code);
            ok(out?.every((value) => value === 7) ?? true);
          }
          return faults.calls() - before;
        };
        let device = await opened(9000);
        for (let round = 0; round < 3; round += 1) await attempt(device, -1);
        const count = await attempt(device, -1);
        ok(count > 60, `${count} runtime calls`);
        for (let skip = 0; skip < count; skip += 1) {
          await attempt(device, skip);
          if (error === 700) {
            await device.close();
            device = await opened(9000);
          } else {
            await attempt(device, -1);
            await device.trim();
            strictEqual(device.memory().inUseBytes, 0, `call ${skip}`);
          }
        }
        await device.close();
      });
    }
  }
});

describe('calls in slices on devices in host memory', function () {
  this.timeout(120_000);
  const sliced = /^(?!plan|vjp|condition|.* (plan|vjp))/;
  for (const backend of ['cpu', 'simt'] as const) {
    if (!hasBackend(backend)) {
      skipCases(`${backend}: slices need the backend`, cases.length + flatCases.length + 2);
      continue;
    }
    let reference: Device;
    let device: Device;
    before(async () => {
      reference = await openedWith(backend, { WARPLOOM_SLICE: `${whole}` });
      device = await openedWith(backend, { WARPLOOM_SLICE: '2000' });
    });
    after(() => Promise.all([reference.close(), device.close()]));

    const compare = async (name: string, batch: number, run: (device: Device) => Promise<unknown>): Promise<void> => {
      const expected = await run(reference);
      const before = slices();
      deepStrictEqual(await run(device), expected);
      // Whole: what the backend does not cut, and batches of few.
      const least = sliced.test(name) && batch >= 64 ? 2 : 0;
      ok(slices() - before >= least, `${slices() - before} slices`);
    };
    for (const { name, spec, run } of cases) {
      const problem = { ...usual, ...spec };
      it(`${backend}: have the bits of the whole: ${name}`, () =>
        compare(name, name.startsWith('in place') || name.includes('constant') || name.includes('one ') ? 0 : problem.batch,
          (on) => run(makeProblem(problem, new Random(7)), on)));
    }
    for (const { name, run } of flatCases) {
      it(`${backend}: have the bits of the whole: ${name}`, () => compare(name, name.includes('scan') ? 0 : 97, run));
    }

    it(`${backend}: count failures over all slices`, async () => {
      const [rows, systems] = [8, 6000];
      const filled = (value: number): Float64Array => new Float64Array(rows * systems).fill(value);
      const [lower, diagonal, upper, rhs] = [filled(0), filled(4), filled(0), filled(1)];
      diagonal[3001 * rows] = 0;
      rhs[5999 * rows + 3] = NaN;
      const before = slices();
      const call = solve({ lower, diagonal, upper, rhs, n: rows, algorithm: 'thomas', device });
      for (const array of [lower, diagonal, upper, rhs]) array.fill(NaN);
      const { status } = await call;
      ok(slices() - before > 100);
      deepStrictEqual([...status.failures()].map(({ system, state, row }) => ({ system, state, row })),
        [{ system: 3001, state: 'zero-pivot', row: 0 }, { system: 5999, state: 'non-finite', row: 3 }]);
    });

    it(`${backend}: write results that nobody else sees while they run`, async () => {
      const matrix = { lower: wave(2 ** 16, 0.1), diagonal: wave(2 ** 16, 0.3, 4), upper: wave(2 ** 16, 0.2), rhs: wave(2 ** 16, 1.1), n: 64 };
      const before = addon().traffic().returned;
      const { solution } = await solve({ ...matrix, device });
      const direct = addon().traffic().returned - before;
      const out = new Float64Array(2 ** 16);
      await solve({ ...matrix, out, device });
      deepStrictEqual(solution, out);
      ok(direct < out.byteLength / 4 && addon().traffic().returned - before - direct >= out.byteLength, `${direct} bytes`);
    });
  }
});
