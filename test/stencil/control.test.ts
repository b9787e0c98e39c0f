// Runs: snapshots, exact times, checkpoints, aborts, failures with their place, ensembles, and what is refused.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ArgumentError, FunctionError, InstabilityError, openDevice, stencil } from '../../lib/index.ts';
import { same } from './support.ts';

const growth = stencil.define({
  dimensions: 2, fields: ['u', 'v'], parameters: ['r'], method: 'ssprk2', boundary: 'mirror',
  rate: ({ u, v }, { r }, { laplacian, t }) => ({ u: r * laplacian(u) + 0.01 * t, v: r * laplacian(v) - u() * v() }),
});
const options = {
  shape: [7, 11], spacing: 0.5, dt: 0.1, parameters: { r: 0.3 }, initial: { u: (x: number, y: number) => x + y, v: (x: number) => x * x },
  backend: 'wasm' as const,
};

describe('stencil: runs', function () {
  this.timeout(60_000);
  let folder = '';
  before(() => { folder = mkdtempSync(join(tmpdir(), 'stencil-')); });
  after(() => { rmSync(folder, { recursive: true, force: true }); });

  it('take snapshots at steps and at exact times, and stop where they were told to', async () => {
    await using run = await stencil.simulate(growth, { ...options, steps: 10 });
    const seen: number[] = [];
    for await (const { step, state } of run.snapshots({ every: 4 })) {
      seen.push(step);
      assert.equal(state.u.length, 77);
    }
    assert.deepEqual(seen, [4, 8, 10]);
    assert.equal(run.stepsDone, 10);
    const times: number[] = [];
    for await (const { time } of run.snapshots({ times: [1.05, 1.3] })) times.push(time);
    assert.deepEqual(times, [1.05, 1.3]);
    await using timed = await stencil.simulate(growth, { ...options, until: 0.77 });
    const heard: number[][] = [];
    await timed.finish({ onProgress: (done, total) => { heard.push([done, total]); } });
    assert.equal(timed.time, 0.77);
    assert.deepEqual(heard.at(-1), [8, 8]);
    assert.equal(timed.info.steps, 8);
    await assert.rejects(timed.advanceTo(0.1), (error: unknown) => error instanceof ArgumentError && error.argument === 'time');
    await using endless = await stencil.simulate(growth, options);
    await assert.rejects(endless.finish(), ArgumentError);
  });

  it('begin with functions of the centres of cells, and say where one gives no finite number', async () => {
    const at = (...place: number[]): number => place.reduce((sum, x) => sum * 16 + x, 0);
    for (const shape of [[5], [3, 4], [1, 7], [2, 3, 4], [4, 1, 3]]) {
      const equation = stencil.define({ dimensions: shape.length as 1, fields: ['u'], rate: () => ({ u: 0 }) });
      const given = { shape, spacing: shape.map((_, axis) => 1 + axis / 4), origin: shape.map((_, axis) => axis - 1), dt: 1, backend: 'wasm' as const };
      await using run = await stencil.simulate(equation, { ...given, initial: { u: at } });
      const centre = (index: number, axis: number): number => (index + 0.5) * (1 + axis / 4) + axis - 1;
      const expected: number[] = [];
      const fill = (place: number[]): void => {
        if (place.length === shape.length) expected.push(at(...place));
        else for (let i = 0; i < (shape[place.length] ?? 0); i += 1) fill([...place, centre(i, place.length)]);
      };
      fill([]);
      assert.deepEqual([...(await run.state()).u], expected);
      const last = shape.map((n, axis) => centre(n - 1, axis));
      const broken = (...place: number[]): number => (at(...place) === at(...last) ? NaN : 1);
      await assert.rejects(stencil.simulate(equation, { ...given, initial: { u: broken } }), (error: unknown) =>
        error instanceof ArgumentError && error.argument === 'initial.u' && error.message.includes(`(${last.join(', ')})`));
    }
  });

  it('continue from checkpoints bit for bit, on any backend, and only the same run', async () => {
    const path = join(folder, 'a.checkpoint');
    await using device = await openDevice({ backend: 'simt' });
    await using whole = await stencil.simulate(growth, options);
    await whole.advanceTo(0.55);
    await whole.advance(9);
    const expected = await whole.state();
    await using first = await stencil.simulate(growth, options);
    await first.advanceTo(0.55);
    await first.save(path);
    for (const more of [{}, { backend: 'javascript' as const }, { backend: 'device' as const, device }]) {
      await using second = await stencil.simulate(growth, { ...options, ...more, resume: path });
      assert.equal(second.time, 0.55);
      assert.equal(second.stepsDone, 6);
      await second.advance(9);
      const { u, v } = await second.state();
      same(u, expected.u, 'u');
      same(v, expected.v, 'v');
    }
    await assert.rejects(stencil.simulate(growth, { ...options, parameters: { r: 0.31 }, resume: path }), (error: unknown) =>
      error instanceof ArgumentError && error.argument === 'resume');
    await using fresh = await stencil.simulate(growth, { ...options, resume: join(folder, 'none') });
    assert.equal(fresh.stepsDone, 0);
  });

  it('stop between segments when they are aborted, and continue', async () => {
    await using run = await stencil.simulate(growth, { ...options, shape: [200, 200] });
    const control = new AbortController();
    const reason = new Error('enough');
    const work = run.advance(1e9, { signal: control.signal, onProgress: () => { control.abort(reason); } });
    await assert.rejects(work, reason);
    const { stepsDone } = run;
    assert.ok(stepsDone > 0 && stepsDone < 1e9);
    await run.advance(1);
    assert.equal(run.stepsDone, stepsDone + 1);
    await assert.rejects(run.advance(1, { signal: AbortSignal.abort(reason) }), reason);
    const late = run.advance(1e9);
    run.dispose();
    await assert.rejects(late, (error: unknown) => (error as { code: string }).code === 'ERR_WARPLOOM_DISPOSED');
    await assert.rejects(run.state(), (error: unknown) => (error as { code: string }).code === 'ERR_WARPLOOM_DISPOSED');
  });

  it('name the first bad step and its place, and stand at the step before', async () => {
    await using device = await openDevice({ backend: 'simt' });
    const bursts = (admissible?: ({ u }: stencil.Numbers<'u'>) => boolean) => stencil.define({
      dimensions: 2, fields: ['u'], method: 'euler', ...(admissible === undefined ? {} : { admissible }),
      rate: ({ u }) => ({ u: u() * u() + 0 * u(1, 1) }),
    });
    const initial = { u: (x: number, y: number) => (x > 3 && x < 4 && y > 1 && y < 2 ? 1e100 : 0.5) };
    for (const more of [{ backend: 'wasm' }, { backend: 'interpreter' }, { backend: 'javascript' }, { device,
      variant: 'classic' }] as const) {
      await using run = await stencil.simulate(bursts(), { shape: [6, 5], dt: 1, initial, ...more });
      await assert.rejects(run.advance(9), (error: unknown) => {
        assert.ok(error instanceof InstabilityError);
        assert.deepEqual([error.step, error.time, error.problem], [2, 2, 0], error.message);
        assert.match(error.message, /u = Infinity in cell \(3, 1\)/);
        return true;
      }, JSON.stringify(more.backend));
      assert.equal(run.stepsDone, 1);
      assert.ok([...(await run.state()).u].every(Number.isFinite));
      await using low = await stencil.simulate(bursts(({ u }) => u < 1), { shape: [6, 5], dt: 1, initial: { u: (x,
        y) => (x < 1 && y > 4 ? 0.6 : 0.1) }, ...more });
      await assert.rejects(low.advance(9), /step 2 .* in cell \(0, 4\)/);
      assert.equal(low.stepsDone, 1);
    }
  });

  it('of ensembles give the bits of single runs', async () => {
    const values = [0.1, 0.2, 0.05];
    await using all = await stencil.simulate(growth, { ...options, parameters: { r: values } });
    await all.advance(7);
    const { u } = await all.state();
    assert.equal(u.length, 3 * 77);
    for (const [member, r] of values.entries()) {
      await using one = await stencil.simulate(growth, { ...options, parameters: { r } });
      await one.advance(7);
      same(u.slice(member * 77, (member + 1) * 77), (await one.state()).u, `member ${member}`);
    }
    await using bad = await stencil.simulate(growth, { ...options, parameters: { r: [0.1, 50] } });
    await assert.rejects(bad.advance(1000), (error: unknown) => error instanceof InstabilityError && error.problem === 1);
  });

  it('at once do not disturb each other', async () => {
    const made = await Promise.all([1, 2, 3].map(async (threads) => {
      await using run = await stencil.simulate(growth, { ...options, shape: [61, 67], threads });
      await Promise.all([run.advance(100), run.advance(100), run.advance(1)]);
      return (await run.state()).v;
    }));
    for (const v of made) same(v, made[0]!, 'v');
  });

  it('keep programs, of which each says what its own functions say', async () => {
    const of = (text: string): stencil.Equation<'u'> => stencil.define({ dimensions: 1, fields: ['u'], step: text }) as never;
    const after = async (equation: stencil.Equation<'u'>, more: object = {}): Promise<readonly number[]> => {
      await using run = await stencil.simulate(equation, { shape: [3], dt: 1, initial: { u: Float64Array.of(1, 2, 4) }, backend: 'interpreter', ...more } as never);
      await run.advance(1);
      return [...(await run.state()).u];
    };
    const texts = ['({ u }) => ({ u: u(1) })', '({ u })=>({u:u(1)}) // again', '({ u }) => ({ u: u(-1) })', '({ u }) => ({ u: u(1) * 2 })'];
    const made = [];
    for (const text of [...texts, ...texts]) made.push(await after(of(text)));
    assert.deepStrictEqual(made.slice(0, 4), [[2, 4, 1], [2, 4, 1], [4, 1, 2], [4, 8, 2]]);
    assert.deepStrictEqual(made.slice(4), made.slice(0, 4));
    const kept = of(texts[0]!);
    for (const value of [7, '({ t }) => 8 + t', '({ t }) => 9 + t', -0]) {
      const [, , last] = await after(kept, { boundary: { kind: 'dirichlet', value } });
      assert.strictEqual(last, 2 * (typeof value === 'string' ? Number(value.slice(11, 12)) : value) - 4);
    }
  });

  it('say how they run', async () => {
    await using run = await stencil.simulate(growth, options);
    assert.ok(Number.isNaN(run.info.cellUpdatesPerSecond));
    await run.advance(3);
    const { backend, variant, reach, stages, members, steps } = run.info;
    assert.deepEqual({ backend, variant, reach, stages, members, steps }, { backend: 'wasm', variant: 'classic', reach: [1, 1], stages: 2,
      members: 1, steps: 3 });
    const found = await stencil.inspect(growth);
    assert.deepEqual([found.reach, found.stages, found.leastShape], [[1, 1], 2, [1, 1]]);
    assert.match(found.program, /function rows_1/);
  });
});

describe('stencil: what is refused', () => {
  const heat = stencil.equations.heat.equation(2);
  const given = { shape: [4, 4], dt: 0.1, initial: { u: 0 }, parameters: { D: 1 } };

  it('by define, naming the argument', () => {
    const rate = (): never => { throw new Error('never called'); };
    const cases: readonly (readonly [given: object, argument: string])[] = [
      [{}, 'dimensions'], [{ dimensions: 4, fields: ['u'], rate }, 'dimensions'], [{ dimensions: 1, rate }, 'fields'], [{ dimensions: 1,
        fields: [], rate }, 'fields'],
      [{ dimensions: 1, fields: ['u', 'u'], rate }, 'fields[1]'], [{ dimensions: 1, fields: ['constructor'], rate }, 'fields[0]'],
      [{ dimensions: 1, fields: ['a b'], rate }, 'fields[0]'], [{ dimensions: 1, fields: ['u'] }, 'rate'], [{ dimensions: 1,
        fields: ['u'], rate, step: rate }, 'step'],
      [{ dimensions: 1, fields: ['u'], step: rate, method: 'rk4' }, 'method'], [{ dimensions: 1, fields: ['u'], rate, method: 'rk5' },
        'method'],
      [{ dimensions: 1, fields: ['u'], rate: 7 }, 'rate'], [{ dimensions: 1, fields: ['u'], step: [] }, 'step'], [{ dimensions: 1,
        fields: ['u'], step: [rate, 7] }, 'step[1]'],
      [{ dimensions: 1, fields: ['u'], coefficients: ['u'], rate }, 'coefficients[0]'], [{ dimensions: 1, fields: ['u'], rate,
        admissible: 1 }, 'admissible'],
      [{ dimensions: 1, fields: ['u'], rate, functions: 7 }, 'functions'], [{ dimensions: 1, fields: ['u'], rate, functions: { f: 1 } },
        'functions.f'],
      [{ dimensions: 1, fields: ['u'], rate, functions: { Math: rate } }, 'functions'], [{ dimensions: 1, fields: ['u'], rate,
        functions: { constructor: rate } }, 'functions'],
      [{ dimensions: 1, fields: 'u', rate }, 'fields'], [{ dimensions: 1, fields: ['u'], rate, rates: 1 }, 'rates'],
    ];
    for (const [each, argument] of cases) {
      assert.throws(() => stencil.define(each as never), (error: unknown) => error instanceof ArgumentError
        && error.argument === argument, JSON.stringify(each));
    }
  });

  it('by simulate, naming the argument', async () => {
    const cases: readonly (readonly [more: object, argument: string])[] = [
      [{ shape: [4] }, 'shape'], [{ shape: 4 }, 'shape'], [{ shape: [4, 0] }, 'shape[1]'], [{ shape: [4, 1.5] }, 'shape[1]'],
        [{ shape: [65536, 65536] }, 'shape'],
      [{ dt: 0 }, 'dt'], [{ dt: undefined }, 'dt'], [{ spacing: -1 }, 'spacing'], [{ spacing: [1] }, 'spacing'], [{ origin: [0, NaN] },
        'origin[1]'],
      [{ initial: {} }, 'initial.u'], [{ initial: { u: 0, w: 0 } }, 'initial.w'], [{ initial: { u: new Float64Array(3) } },
        'initial.u.length'],
      [{ initial: { u: Float64Array.of(...Array<number>(15).fill(0), NaN) } }, 'initial.u[15]'], [{ initial: { u: () => NaN } },
        'initial.u'],
      [{ initial: { u: [1, 2] } }, 'initial.u'], [{ parameters: {} }, 'parameters.D'], [{ parameters: { D: 1, E: 2 } }, 'parameters.E'],
      [{ parameters: { D: [] } }, 'parameters.D'], [{ parameters: { D: [1, Infinity] } }, 'parameters.D[1]'], [{ coefficients: { c: 1 } },
        'coefficients.c'],
      [{ boundary: 'open' }, 'boundary'], [{ boundary: { x: 'mirror' } }, 'boundary.y'], [{ boundary: { x: 'mirror', y: 'mirror',
        z: 'mirror' } }, 'boundary.z'],
      [{ boundary: { low: 'periodic', high: 'mirror' } }, 'boundary.high'], [{ boundary: { kind: 'dirichlet' } }, 'boundary.value'],
      [{ boundary: { kind: 'dirichlet', value: Infinity } }, 'boundary.value'], [{ boundary: { kind: 'mirror', value: 1 } },
        'boundary.value'],
      [{ boundary: { kind: 'robin', alpha: 0, beta: 0, value: 1 } }, 'boundary.beta'],
      [{ boundary: { kind: 'robin', alpha: 1, beta: -0.5, value: 1 }, spacing: 1 }, 'boundary.x.low.beta'], [{ boundary: { fields: { v: 'mirror' } } },
        'boundary.fields.v'],
      [{ boundary: { kind: 'function', value: 1 } }, 'boundary.value'], [{ precision: 'float16' }, 'precision'], [{ steps: 1, until: 1 },
        'until'],
      [{ backend: 'gpu' }, 'backend'], [{ backend: 'wasm', variant: 'streaming' }, 'variant'], [{ backend: 'javascript',
        precision: 'float32' }, 'precision'],
      [{ threads: 0 }, 'threads'], [{ device: {} }, 'device'], [{ cfl: 0.5 }, 'cfl'], [{ signal: 1 }, 'signal'],
    ];
    for (const [more, argument] of cases) {
      await assert.rejects(stencil.simulate(heat, { ...given, ...more } as never), (error: unknown) => {
        assert.ok(error instanceof ArgumentError, `${JSON.stringify(more)}: ${String(error)}`);
        assert.equal(error.argument, argument, JSON.stringify(more));
        return true;
      });
    }
    await assert.rejects(stencil.simulate({} as never, given as never), (error: unknown) => error instanceof ArgumentError
      && error.argument === 'equation');
  });

  it('by getters: what they throw is passed on, and options are read once', async () => {
    const reads = new Map<string, number>();
    /** The same object with getters, which give something else from the second time on. */
    const counted = <T extends object>(of: T, name: string): T => Object.defineProperties({}, Object.fromEntries(Object.entries(of).map(([key, value]) =>
      [key, { enumerable: true, get: () => {
        const count = (reads.get(`${name}.${key}`) ?? 0) + 1;
        reads.set(`${name}.${key}`, count);
        return count === 1 ? value as unknown : Symbol(key);
      } }]))) as T;
    const heat = stencil.define(counted({ dimensions: 1 as const, fields: ['u'] as const, parameters: ['D'] as const, method: 'euler' as const,
      rate: ({ u }: never, { D }: never, { laplacian }: never) => ({ u: D * (laplacian as (of: unknown) => number)(u) }) }, 'definition') as never);
    await using run = await stencil.simulate(heat, counted({
      shape: [8], dt: 0.1, spacing: 1, origin: 0, initial: counted({ u: 1 }, 'initial'), parameters: counted({ D: 1 }, 'parameters'),
      boundary: counted({ kind: 'dirichlet' as const, value: 2 }, 'boundary'), backend: 'interpreter' as const, steps: 3,
    }, 'options') as never);
    await run.finish();
    const more = [...reads].filter(([, count]) => count > 1);
    assert.deepEqual(more, []);
    const bad = { get u(): number { throw new RangeError('from a getter'); } };
    await assert.rejects(stencil.simulate(heat, { ...options, shape: [8], spacing: 1, parameters: { D: 1 }, initial: bad } as never), /from a getter/);
    assert.throws(() => stencil.define({ dimensions: 1, get fields(): never { throw new RangeError('from a getter'); } } as never), /from a getter/);
  });

  it('by the boundary: grids with fewer cells than it reads', async () => {
    const far = stencil.define({ dimensions: 1, fields: ['u'], boundary: 'mirror', step: ({ u }) => ({ u: u(-4) + u(4) }) });
    await assert.rejects(stencil.simulate(far, { shape: [3], dt: 1, initial: { u: 0 } }), (error: unknown) =>
      error instanceof ArgumentError && error.argument === 'shape[0]');
    await using run = await stencil.simulate(far, { shape: [4], dt: 1, initial: { u: 1 }, backend: 'wasm' });
    await run.advance(1);
  });

  it('by the compiler, with line, column and a hint', async () => {
    const cases: readonly (readonly [text: string, what: RegExp])[] = [
      ['({ u }) => ({ u: u(5) })', /offset 5; offsets are constant whole numbers from -4 to 4/], ['({ u }) => ({ u: u(0.5) })',
        /offset 0.5/],
      ['({ u }, { p }) => ({ u: u(p) })', /depends on data/], ['({ u }) => ({ u: u(1, 0) })', /u takes 1 offset or none, not 2/],
      ['({ u }) => ({ v: u() })', /has v, which is not a field/], ['({ u }) => ({})', /has no u/], ['({ u }) => u()', /not an object/],
      ['({ u }) => ({ u })', /in place of a number/], ['({ u }, _, { laplacian }) => ({ u: laplacian(1) })', /laplacian takes one field/],
      ['({ w }) => ({ u: 0 })', /has no w/], ['({ u }, { F }) => ({ u: F })', /has no F/], ['({ u }, _, { y }) => ({ u: y })', /has no y/],
      ['({ u }) => { while (true) {} return { u: 1 }; }', /a loop without constant bounds/], ['({ u }) => ({ u: process })',
        /process is not known/],
      ['({ u }) => ({ u: u', /unexpected|unterminated/], ['({ u }, _, { dt }) => ({ u: dt })', /has no dt/],
    ];
    for (const [text, what] of cases) {
      const equation = stencil.define({ dimensions: 1, fields: ['u'], parameters: ['p'], rate: text });
      for (const call of [stencil.inspect(equation), stencil.simulate(equation, { shape: [4], dt: 1, initial: { u: 0 },
        parameters: { p: 1 } })]) {
        await assert.rejects(call, (error: unknown) => {
          assert.ok(error instanceof FunctionError, `${text}: ${String(error)}`);
          assert.match(error.message, what);
          assert.ok(error.line >= 1 && error.hint.length > 0);
          return true;
        });
      }
    }
    const given2 = { shape: [4], dt: 1, initial: { u: 0 } };
    for (const [boundary, what] of [[{ kind: 'dirichlet', value: '(place, p) => place.k' }, /boundary.x.low.value.*has no k/s],
      [{ kind: 'function', value: '({ u }) => u(9)' }, /one constant distance/]] as const) {
      const equation = stencil.define({ dimensions: 1, fields: ['u'], boundary, step: ({ u }) => ({ u: u(1) }) });
      await assert.rejects(stencil.simulate(equation, given2), (error: unknown) => error instanceof FunctionError
        && what.test(error.message));
    }
    for (const [functions, what, argument] of [[{ f: '(x) => x + y' }, /y is not known/, 'functions.f'],
      [{ f: '(x) => f(x)' }, /nested more than/, 'functions.f'], [{ f: '(x, y) => x' }, /takes 2 arguments/, 'step'],
      [{ g: '(x) => x' }, /f is not known/, 'step'], [{ f: '(x) => { for (let i = 0; i >= 0; ++i) {} return x; }' }, /trips/, 'functions.f'],
      [{ f: `(x) => ${'x + '.repeat(1e5)}x` }, /./, 'functions.f']] as const) {
      const equation = stencil.define({ dimensions: 1, fields: ['u'], functions, step: '({ u }) => ({ u: f(u()) })' });
      await assert.rejects(stencil.inspect(equation), (error: unknown) => error instanceof FunctionError && what.test(error.message)
        && error.argument === argument, JSON.stringify(functions).slice(0, 99));
    }
    const checked = stencil.define({ dimensions: 1, fields: ['u'], admissible: '({ u }) => u', step: ({ u }) => ({ u: u(1) }) });
    await assert.rejects(stencil.simulate(checked, given2), (error: unknown) => error instanceof FunctionError
      && error.argument === 'admissible');
  });
});
