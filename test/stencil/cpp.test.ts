// Equations as C++ give the bits of all other back ends: random equations in tiles of every size, and runs through the public interface.
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findCompiler } from '../../lib/core/compile/compiler.ts';
import { ArgumentError, devices, InstabilityError, stencil } from '../../lib/index.ts';
import { blockedText } from '../../lib/stencil/compile/blocked.ts';
import { stencilProgram } from '../../lib/stencil/compile/program.ts';
import type { Adaptive } from '../../lib/stencil/adaptive.ts';
import { CppEngine, type CppParts } from '../../lib/stencil/engines/cpp.ts';
import { readRequest } from '../../lib/stencil/simulate.ts';
import { one, three, two } from './flux-equations.ts';
import { after, joined, randomCase, same, sequence, type Case } from './support.ts';

const hasGpu = devices().some(({ backend, available }) => backend === 'cuda' && available);

/** Everything that an engine takes, as `simulate` would make it. */
function partsOf(each: Case, precision: 'float32' | 'float64' = 'float64'): CppParts & { readonly adaptive: Adaptive | undefined } {
  const request = readRequest(each.equation, { ...each.options, precision });
  const { places: { shape, cells, spacing, origin }, rules, members, initial, parameters, coefficients, adaptive } = request;
  const short = precision === 'float32' ? 'f32' as const : 'f64' as const;
  const target = { spacing, origin, rules, precision: short, isAdaptive: adaptive !== undefined };
  const made = stencilProgram(each.equation, target);
  const grid = { shape, cells, members, fields: each.equation.fields.length };
  const content = { grid, initial, parameters, coefficients, precision: short };
  return { made, target, content, threads: 1, depth: undefined, adaptive };
}

/** [member][field][cell] of a state by field. */
function arranged({ equation, options }: Case, all: stencil.RealArray): stencil.RealArray {
  const cells = options.shape.reduce((a, b) => a * b);
  const fields = equation.fields.length, members = all.length / cells / fields;
  const made = all.slice();
  for (let field = 0; field < fields; ++field) {
    for (let m = 0; m < members; ++m) {
      const from = (field * members + m) * cells;
      made.set(all.subarray(from, from + cells), (m * fields + field) * cells);
    }
  }
  return made;
}

function hasCompiler(): boolean {
  try {
    return findCompiler() !== '';
  } catch {
    return false;
  }
}

const heat = stencil.equations.heat.equation(2);
const warm = (x: number, y: number): number => Math.sin(x * 0.7) + Math.cos(y * x * 0.03);

describe('stencil: C++', function () {
  this.timeout(120_000);

  before(function () {
    if (!hasCompiler()) this.skip();
  });

  const many = Math.ceil(Number(process.env['WARPLOOM_RANDOM_EQUATIONS'] ?? 60) / 6);

  it(`gives the bits of the functions in JavaScript, in tiles of any size: ${many} random equations`, async function () {
    this.timeout(5000 * many + 30_000);
    const one = async (seed: number): Promise<void> => {
      const [isMixed, isAdaptive] = [seed % 2 === 1, seed % 3 === 1];
      const random = await randomCase(seed, undefined, { isMixed });
      const draw = sequence(seed + 77);
      const from = (least: number, most: number): number => least + ((draw() >>> 5) % (most - least + 1));
      const precision = seed % 5 === 4 ? 'float32' as const : 'float64' as const;
      const dt = isAdaptive ? { cfl: 0.4, diffusion: 0.3 } : 0.125;
      const each = { ...random, options: { ...random.options, dt }, steps: from(1, 9) };
      await using plain = await stencil.simulate(each.equation, { ...each.options, precision,
        backend: precision === 'float32' ? 'interpreter' : 'javascript' } as never);
      await plain.advance(each.steps);
      const shape = { depth: from(1, 5), tile: [from(1, 6), from(1, 6), from(1, 9)] as const };
      const parts = partsOf(each, precision);
      const engine = await CppEngine.begin({ ...parts, threads: from(1, 3), shape, compiler: { effort: 1 } });
      const limits = parts.adaptive && { limits: { ...parts.adaptive, time: 0, until: Infinity } };
      const outcome = await engine.advance({ steps: each.steps, originTime: 0, from: 0, unit: 0.125, dt: 0.125, ...limits });
      const what = `seed ${seed}, ${each.options.shape.join(' × ')}, ${each.equation.method}, ${JSON.stringify(shape)}\n${each.text}`;
      assert.equal(outcome.completed, each.steps, what);
      if (isAdaptive) assert.deepEqual([outcome.clock?.time, outcome.clock?.dt], [plain.time, plain.dt], what);
      same(await engine.read(), arranged(each, joined(await plain.state())), what);
      engine.dispose();
    };
    // The first ones have groups of one, two and four rows, and all kinds of passes.
    for (let seed = 3; seed < many + 3; seed += 2) await Promise.all([one(seed), one(seed + 1)]);
  });

  it('reads rows where they are in memory, in tiles away from the boundaries, and keeps sums beside conditions along planes', async () => {
    const waves = stencil.equations.wave;
    const ripple = (x: number, y = 0, z = 0): number => Math.sin(x) + 0.3 * Math.cos(1.7 * y) - 0.2 * Math.sin(z);
    const cases: readonly (readonly [stencil.Equation, readonly number[], stencil.Boundary, readonly [number, number, number]])[] = [
      [heat as never, [21, 150], 'periodic', [7, 1, 27]],
      [waves.equation(2) as never, [13, 171], { x: { low: 'mirror', high: 'odd-mirror' }, y: 'periodic' }, [4, 1, 31]],
      [waves.equation(3) as never, [9, 40, 77], 'periodic', [4, 9, 20]],
      [waves.equation(1) as never, [333], { x: { low: 'odd-mirror', high: 'outflow' } }, [1, 1, 49]],
    ];
    await Promise.all(cases.map(async ([equation, shape, boundary, tile]) => {
      const parameters = Object.fromEntries(equation.parameters.map((name) => [name, 0.5]));
      const initial = Object.fromEntries(equation.fields.map((name) => [name, ripple]));
      const each = { equation, steps: 5, text: '', options: { shape, dt: 0.1, spacing: 1, boundary, initial, parameters } } as never as Case;
      const expected = arranged(each, await after(each, { backend: 'wasm', threads: 1 }));
      const { made, target } = partsOf(each);
      // Rows are compiled for wide vectors, too, which not all processors have.
      assert.match(blockedText(made, target), /WL_WIDE static void stage_0_wide/);
      for (const depth of [1, 2]) {
        const engine = await CppEngine.begin({ ...partsOf(each), threads: 2, shape: { depth, tile }, compiler: { effort: 1 } });
        await engine.advance({ steps: 5, originTime: 0, from: 0, unit: 0.1, dt: 0.1 });
        same(await engine.read(), expected, `${shape.join(' × ')}, ${depth} steps per pass`);
        engine.dispose();
      }
    }));
  });

  it('makes the fluxes that neighbours share once, in tiles of any size', async () => {
    const wave = (x: number, y = 0, z = 0): number => Math.sin(x) + 0.3 * Math.cos(1.7 * y) - 0.2 * z;
    const low = { kind: 'dirichlet', value: ({ t }: { t: number }) => 0.2 + t } as const;
    const cases: readonly (readonly [stencil.Equation, readonly number[], object, readonly [number, number, number]])[] = [
      [one as never, [31], { initial: { u: wave, v: (x: number) => x - wave(x) }, coefficients: { c: (x: number) => 1 + 0.1 * x },
        parameters: { k: [0.5, 0.25, 2] }, boundary: { low, high: { fields: { u: 'mirror', v: 'outflow' } } } }, [1, 1, 7]],
      [two as never, [9, 13], { initial: { u: wave }, parameters: { k: 0.5 }, boundary: { x: 'periodic', y: { low: 'odd-mirror', high: low } } },
        [4, 1, 5]],
      [three as never, [7, 3, 12], { initial: { u: wave }, parameters: { k: [0.5, 1] }, boundary: { x: 'mirror', y: 'periodic', z: 'periodic' } },
        [3, 2, 5]],
    ];
    await Promise.all(cases.map(async ([equation, shape, more, tile]) => {
      const each = { equation, steps: 7, text: '', options: { shape, dt: 0.02, spacing: 0.5, ...more } } as never as Case;
      const { made, target } = partsOf(each);
      assert.match(blockedText(made, target), /bool shares\(int s\) \{ return s == 0/);
      const expected = arranged(each, await after(each, { backend: 'wasm', threads: 1 }));
      for (const depth of [1, 3]) {
        const engine = await CppEngine.begin({ ...partsOf(each), threads: 2, shape: { depth, tile }, compiler: { effort: 1 } });
        await engine.advance({ steps: 7, originTime: 0, from: 0, unit: 0.02, dt: 0.02 });
        same(await engine.read(), expected, `${shape.join(' × ')}, ${depth} steps per pass`);
        engine.dispose();
      }
    }));
  });

  it('runs whole equations through simulate: two fields in three dimensions, ensembles, exact times, snapshots', async () => {
    const waves = stencil.define({
      dimensions: 3, fields: ['u', 'v'], parameters: ['c'], coefficients: ['k'], method: 'ssprk2',
      boundary: { x: 'periodic', y: { low: 'mirror', high: { kind: 'dirichlet', value: ({ x, t }) => x * t } }, z: 'odd-mirror' },
      rate: ({ u, v, k }, { c }, { laplacian }) => ({ u: v(), v: c * k(0, 0, 1) * laplacian(u) }),
    });
    const options = {
      shape: [19, 21, 33], spacing: 0.5, dt: 0.05, parameters: { c: [0.3, 0.2] },
      initial: { u: (x: number, y: number, z: number) => Math.sin(x) * y + z, v: 0 }, coefficients: { k: (x: number, y: number) => 1 + 0.1 * x * y },
    };
    const states: stencil.RealArray[] = [];
    for (const more of [{ backend: 'wasm' }, { backend: 'cpp', threads: 2 }, { backend: 'cpp', depth: 3, variant: 'streaming' }] as const) {
      await using run = await stencil.simulate(waves, { ...options, ...more });
      for await (const { state } of run.snapshots({ times: [0.2, 0.37] })) states.push(state.v.slice());
      await run.advance(11);
      states.push((await run.state()).u);
      if (more.backend === 'wasm') continue;
      const { backend, variant, threads, depth, reason } = run.info;
      assert.deepEqual([backend, variant], ['cpp', 'streaming']);
      if ('depth' in more) assert.equal(depth, 3);
      else assert.equal(threads, 2);
      assert.match(reason, /per pass, tiles of \d+ × \d+ × \d+ cells, \d threads?/);
    }
    for (let i = 3; i < 9; ++i) same(states[i]!, states[i % 3]!, `state ${i}`);
  });

  it('takes steps of varying length, and fields that are periodic where others are not, with exact stops and named bad steps', async () => {
    const equation = stencil.define({
      dimensions: 2, fields: ['u', 'v'], parameters: ['nu'], coefficients: ['c'], method: 'rk4', admissible: ({ u }) => u < 5,
      boundary: { x: { fields: { u: 'periodic', v: 'mirror' } }, y: { fields: { u: { kind: 'dirichlet', value: ({ x }) => x }, v: 'periodic' } } },
      rate: ({ u, v, c }, { nu }, { laplacian, t }) => ({ u: nu * laplacian(u) + c(1, -1) * u(1, 1) * v() + t, v: nu * laplacian(v) - u(-1, 1) }),
      speed: ({ u, v }, _, { t }) => ({ x: u() + t, y: -2 * v() }), diffusivity: ({ c }, { nu }) => nu * c(),
    });
    const options = {
      shape: [23, 17], spacing: [0.1, 0.2], dt: { cfl: 0.4, diffusion: 0.3 }, parameters: { nu: [0.01, 0.02] },
      coefficients: { c: (x: number) => 1 + x }, initial: { u: (x: number, y: number) => Math.sin(3 * x) + y, v: (x: number) => Math.cos(x) },
    };
    const found = await Promise.all((['wasm', 'cpp'] as const).map(async (backend) => {
      await using run = await stencil.simulate(equation, { ...options, backend, ...backend === 'cpp' ? { threads: 2 } : {} });
      const all: unknown[] = [];
      for await (const { time, step, state } of run.snapshots({ times: [0.02, 0.07] })) all.push(time, step, joined(state).slice());
      await run.advance(3);
      all.push(run.time, run.dt, joined(await run.state()));
      await assert.rejects(run.advance(1e5), (error: unknown) => {
        assert.ok(error instanceof InstabilityError);
        all.push(error.step, error.time, error.message);
        return true;
      });
      all.push(run.time, run.stepsDone, joined(await run.state()));
      return all;
    }));
    assert.deepEqual(found[1], found[0]);
    await using still = await stencil.simulate(heat, { shape: [8, 8], dt: { diffusion: 0.2 }, initial: { u: warm }, parameters: { D: 0 }, backend: 'cpp' });
    await assert.rejects(still.advance(1), (error: unknown) => error instanceof ArgumentError && error.argument === 'dt.most');
    await still.advanceTo(0.5);
    assert.deepEqual([still.time, still.stepsDone], [0.5, 1]);
  });

  it('goes on as C++ where a default run takes long, with the same bits', async function () {
    if (hasGpu) this.skip(); // a default run takes place there
    const options = { shape: [150, 130], dt: 0.1, initial: { u: warm }, parameters: { D: 1 }, boundary: 'outflow' as const };
    await using run = await stencil.simulate(heat, options);
    // However fast the run and slow the compiler are.
    for (const end = Date.now() + 100_000; run.info.backend === 'wasm' && Date.now() < end; await sleep(10)) await run.advance(100);
    assert.equal(run.info.backend, 'cpp', run.info.reason);
    await run.advance(7);
    await using other = await stencil.simulate(heat, { ...options, backend: 'wasm' });
    await other.advance(run.stepsDone);
    assert.match(other.info.reason, /^\d threads?$/);
    same((await run.state()).u, (await other.state()).u, 'u');
  });

  it('names the first bad step and its place, and stands at the step before', async () => {
    const bursts = (admissible?: ({ u }: stencil.Numbers<'u'>) => boolean) => stencil.define({
      dimensions: 2, fields: ['u'], method: 'euler', ...(admissible === undefined ? {} : { admissible }),
      rate: ({ u }) => ({ u: u() * u() + 0 * u(1, 1) }),
    });
    const initial = { u: (x: number, y: number) => (x > 3 && x < 4 && y > 1 && y < 2 ? 1e100 : 0.5) };
    await using run = await stencil.simulate(bursts(), { shape: [6, 5], dt: 1, initial, backend: 'cpp' });
    await assert.rejects(run.advance(9), (error: unknown) => {
      assert.ok(error instanceof InstabilityError);
      assert.deepEqual([error.step, error.time], [2, 2], error.message);
      assert.match(error.message, /u = Infinity in cell \(3, 1\)/);
      return true;
    });
    assert.equal(run.stepsDone, 1);
    assert.ok([...(await run.state()).u].every(Number.isFinite));
    const start = { u: (x: number, y: number) => (x < 1 && y > 4 ? 0.6 : 0.1) };
    await using low = await stencil.simulate(bursts(({ u }) => u < 1), { shape: [6, 5], dt: 1, initial: start, backend: 'cpp' });
    await assert.rejects(low.advance(9), /step 2 .* in cell \(0, 4\)/);
    assert.equal(low.stepsDone, 1);
  });

  it('is compiled again if the cached program was changed, and says what is in its way otherwise', async () => {
    const cacheFolder = await mkdtemp(join(tmpdir(), 'warploom-cpp-'));
    const { PATH } = process.env;
    try {
      const given = { shape: [9, 9], dt: 0.1, initial: { u: warm }, parameters: { D: 1 } };
      const each = { equation: heat as never, options: given, steps: 1, text: '' };
      const parts = { ...partsOf(each), compiler: { cacheFolder, effort: 1 as const } };
      (await CppEngine.begin(parts)).dispose();
      for (const name of await readdir(cacheFolder)) {
        // A program that may still be ending cannot be written to.
        await rm(join(cacheFolder, name, 'program'));
        await writeFile(join(cacheFolder, name, 'program'), 'damaged');
      }
      const engine = await CppEngine.begin(parts);
      assert.deepEqual(await engine.advance({ steps: 3, originTime: 0, from: 0, unit: 0.1, dt: 0.1 }).then(({ completed }) => completed), 3);
      engine.dispose();
      process.env['PATH'] = cacheFolder;
      await assert.rejects(stencil.simulate(heat, { ...given, backend: 'cpp' }), (error: unknown) =>
        (error as { code: string }).code === 'ERR_WARPLOOM_UNAVAILABLE' && /no C\+\+ compiler/.test(String(error)));
      await using run = await stencil.simulate(heat, { ...given, shape: [90, 90] });
      await run.advance(2);
      assert.equal(run.info.backend, hasGpu ? 'cuda' : 'wasm');
    } finally {
      process.env['PATH'] = PATH;
      await rm(cacheFolder, { recursive: true, force: true });
    }
    const given = { shape: [9, 9], dt: 0.1, initial: { u: 0 }, parameters: { D: 1 }, backend: 'cpp' as const };
    await assert.rejects(stencil.simulate(heat, { ...given, variant: 'classic' }), (error: unknown) => error instanceof ArgumentError
      && error.argument === 'variant');
  });

  it('stops when it is aborted, and rejects with a typed error when its process dies or is late', async () => {
    const each = { equation: heat as never, options: { shape: [60, 60], dt: 0.1, initial: { u: warm }, parameters: { D: 1 } }, steps: 1, text: '' };
    await using run = await stencil.simulate(heat, { ...each.options, backend: 'cpp' } as never);
    const control = new AbortController();
    const reason = new Error('enough');
    await assert.rejects(run.advance(1e9, { signal: control.signal, onProgress: () => { control.abort(reason); } }), reason);
    const { stepsDone } = run;
    await run.advance(1);
    assert.equal(run.stepsDone, stepsDone + 1);
    const engine = await CppEngine.begin({ ...partsOf(each), timeout: 300 });
    const failed = (what: RegExp) => (error: unknown): boolean =>
      (error as { code: string }).code === 'ERR_WARPLOOM_SYSTEM_FAILED' && what.test(String(error));
    await assert.rejects(engine.advance({ steps: 1e9, originTime: 0, from: 0, unit: 0.1, dt: 0.1 }), failed(/took more than 300 ms/));
    await assert.rejects(engine.read(), failed(/died by SIGKILL/));
    const other = await CppEngine.begin(partsOf(each));
    const late = other.advance({ steps: 1e9, originTime: 0, from: 0, unit: 0.1, dt: 0.1 });
    other.dispose();
    await assert.rejects(late, failed(/died by SIGKILL/));
  });
});
