// All ways to run an equation give the same bits: the functions themselves in JavaScript, the interpreter, WebAssembly on one and several
// threads, and device code on the shim.
import assert from 'node:assert/strict';
import { openDevice, stencil, type Device } from '../../lib/index.ts';
import { casesOf } from '../support/thorough.ts';
import { after, randomCase, randomPasses, same, sequence, type Case } from './support.ts';

const shim = async (): Promise<Device> => openDevice({ backend: 'simt' });

async function agrees(each: Case, seed: number, device?: Device): Promise<void> {
  const what = (name: string): string => `seed ${seed}, ${name}, ${JSON.stringify(each.options.shape)}, method ${each.equation.method}\n${each.text}`;
  const plain = await after(each, { backend: 'javascript' });
  same(await after(each, { backend: 'interpreter' }), plain, what('interpreter'));
  same(await after(each, { backend: 'wasm' }), plain, what('wasm'));
  if (device !== undefined) same(await after(each, { device }), plain, what('simt'));
}

describe('stencil: runs agree', function () {
  this.timeout(120_000);

  const many = Number(process.env['WARPLOOM_RANDOM_EQUATIONS'] ?? casesOf(25, 40));

  it(`in JavaScript, the interpreter and WebAssembly: ${many} random equations, grids and boundary conditions`, async function () {
    this.timeout(2000 * many);
    for (let seed = 0; seed < many; ++seed) await agrees(await randomCase(seed), seed);
  });

  it('in float32 too, in the interpreter and WebAssembly: 20 random equations', async () => {
    for (let seed = 1000; seed < 1020; ++seed) {
      const each = await randomCase(seed);
      same(await after(each, { backend: 'wasm', precision: 'float32' }), await after(each, { backend: 'interpreter',
        precision: 'float32' }), `seed ${seed}\n${each.text}`);
    }
  });

  it('on the shim: random equations in one, two and three dimensions, in both precisions', async () => {
    await using device = await shim();
    for (const dimensions of [1, 2, 3] as const) {
      for (let seed = 2000; seed < 2002; ++seed) {
        const each = await randomCase(seed + dimensions * 10, dimensions);
        await agrees(each, seed, device);
        same(await after(each, { device, precision: 'float32' }), await after(each, { backend: 'interpreter', precision: 'float32' }),
          `seed ${seed}`);
      }
    }
  });

  it('for every method, kind of boundary and number of dimensions', async () => {
    const kinds: readonly stencil.Condition[] = ['periodic', 'mirror', 'odd-mirror', 'outflow', { kind: 'dirichlet', value: 0.5 },
      { kind: 'neumann', value: -0.25 }, { kind: 'robin', alpha: 2, beta: 0.5, value: 1 },
      { kind: 'function', value: ({ u }, { D }, { k }) => D! * u!(0) - k }];
    for (const dimensions of [1, 2, 3] as const) {
      for (const method of stencil.methods) {
        for (const boundary of kinds) {
          const equation = stencil.define({
            dimensions, fields: ['u'], parameters: ['D'], method, boundary: boundary as never,
            rate: ({ u }, { D }, { laplacian }) => ({ u: D * laplacian(u) - u() * u() }),
          });
          const shape = [3, 5, 2].slice(0, dimensions);
          const options = { shape, spacing: 0.5, dt: 0.03, initial: { u: (x: number, y = 0.5, z = 0.5) => x * y - z },
            parameters: { D: 0.4 } };
          await agrees({ equation: equation as never, options, steps: 2, text: String(method) }, 0);
        }
      }
    }
  });

  it('with eight fields, a reach of four, coefficients, place, time, and parameters of every member, on all sizes from 1 to 9', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const;
    const device = await shim();
    for (const dimensions of [1, 2] as const) {
      const next = dimensions === 1 ? '4' : '-3, 4';
      const back = dimensions === 1 ? '-4' : '4, -2';
      const rates = names.map((name, i) => `${name}: r * ${names[(i + 1) % 8]!}(${next}) - 0.5 * ${name}() + 0.1 * k(${back}) * ${names[(i + 3) % 8]!}(${back}) + x * t`);
      const value = dimensions === 1 ? '({ x, t }, { r }) => r * x + t' : '({ y, t }, { r }) => r * y - t';
      const kinds = ['mirror', 'odd-mirror', 'outflow', { kind: 'dirichlet', value }, { kind: 'neumann', value }, { kind: 'robin', alpha: 1, beta: 2, value },
        { kind: 'function', value: '({ b, h }, { r }, { k, t }) => r * b(0) - k * h(2) + t' }, { kind: 'dirichlet', value: 1 }];
      const side = (by: number) => ({ fields: Object.fromEntries(names.map((name, i) => [name, kinds[(i + by) % 8]])) });
      // JavaScript runs functions, not texts.
      const compiled = (of: unknown): unknown => (typeof of === 'string' && of.startsWith('(') ? new Function(`return ${of}`)() as unknown
        : typeof of === 'object' && of !== null ? Object.fromEntries(Object.entries(of).map(([key, each]) => [key, compiled(each)])) : of);
      const boundary = compiled({ x: { low: side(0), high: side(3) }, ...(dimensions === 1 ? {} : { y: { low: side(5), high: side(1) } }) }) as never;
      const equation = stencil.define({
        dimensions, fields: names, parameters: ['r'], coefficients: ['k'], boundary, method: 'ssprk3',
        rate: compiled(`({ ${names.join(', ')}, k }, { r }, { x, t }) => ({ ${rates.join(', ')} })`) as never,
      });
      for (const size of [4, 5, 7, 9]) {
        const shape = dimensions === 1 ? [size] : [size, 13 - size];
        await agrees({ equation: equation as never, steps: 2, text: 'eight fields', options: {
          shape, spacing: 0.5, dt: 0.1, parameters: { r: [0.1, 0.2] }, coefficients: { k: (x: number, y = 0) => x - y },
          initial: Object.fromEntries(names.map((name, i) => [name, (x: number, y = 0) => Math.sin(x + i) - 0.1 * y])),
        } }, size, size === 5 ? device : undefined);
      }
    }
    await device[Symbol.asyncDispose]();
  });

  it('in WebAssembly, where several steps and stages are taken per pass over memory: random equations', async () => {
    let ran = 0, staged = 0;
    for (let seed = 3000; seed < 3024; ++seed) {
      const dimensions = seed % 3 === 0 ? 3 : 2;
      const draw = sequence(seed);
      const from = (least: number, most: number): number => least + ((draw() >>> 5) % (most - least + 1));
      const { equation, options } = randomPasses(seed, dimensions);
      const { definition } = equation;
      const shape = [from(9, 50), from(5, 40), from(5, 9)].slice(0, dimensions);
      const cells = shape.reduce((a, b) => a * b);
      const numbers = Float64Array.from({ length: cells }, (_, i) => Math.sin(7 * i));
      const made = { equation, steps: from(2, 13), text: String(definition.step ?? definition.rate), options: {
        ...options, shape, initial: Object.fromEntries(equation.fields.map((name) => [name, numbers])),
        coefficients: Object.fromEntries(equation.coefficients.map((name) => [name, numbers.map(Math.abs)])),
      } };
      const more = { backend: 'wasm', threads: from(1, 3), depth: from(2, 6) } as const;
      await using run = await stencil.simulate(equation, { ...made.options, ...more } as never);
      if (run.info.variant === 'streaming') {
        ran += 1;
        if (run.info.stages > 1) staged += 1;
      }
      same(await after(made, more), await after(made, { backend: 'wasm', variant: 'classic', threads: 1 }),
        `seed ${seed}, ${shape.join(' × ')}, ${JSON.stringify(more)}, ${run.info.reason}\n${made.text}`);
    }
    assert.ok(ran >= 6 && staged >= 3, `only ${ran} ran, ${staged} with several stages`);
  });

  it('in WebAssembly, with all stages of steps of varying length in a pass', async () => {
    const { wave, shallowWater } = stencil.equations;
    const h = (x: number, y: number): number => 1 + 0.1 * Math.sin(x / 3) * Math.cos(y / 5);
    const cases: readonly (readonly [stencil.Equation, object])[] = [
      [wave.equation(2) as never, { initial: { u: h, v: 0 }, parameters: { c: 1 }, boundary: { x: 'mirror', y: 'periodic' }, dt: 0.3 }],
      [shallowWater.inTwoDimensions() as never, { initial: { h, hu: 0.1, hv: 0 }, parameters: { g: 9.81 }, dt: { cfl: 0.4 } }],
    ];
    for (const [equation, more] of cases) {
      const options = { shape: [60, 7], spacing: 1, ...more };
      const one = { equation, options, steps: 5, text: '' } as never;
      const expected = await after(one, { backend: 'wasm', variant: 'classic', threads: 1 });
      for (const given of [{ threads: 1, depth: 1 }, { threads: 2, depth: 2 }]) {
        await using run = await stencil.simulate(equation, { ...options, backend: 'wasm', ...given } as never);
        assert.equal(run.info.variant, 'streaming');
        same(await after(one, { backend: 'wasm', ...given }), expected, JSON.stringify(given));
      }
    }
  });

  it('in WebAssembly names the first bad step inside a pass', async () => {
    const bursts = stencil.define({ dimensions: 2, fields: ['u'], step: ({ u }) => ({ u: u() * u() + 0 * u(1, 1) }) });
    const initial = { u: (x: number, y: number) => (x > 33 && x < 34 && y > 1 && y < 2 ? 1e50 : 0.5) };
    for (const threads of [1, 2, 3]) {
      await using run = await stencil.simulate(bursts, { shape: [60, 90], dt: 1, initial, backend: 'wasm', threads, depth: 5 });
      assert.equal(run.info.depth, 5);
      await assert.rejects(run.advance(9), /step 3 .* u = Infinity in cell \(33, 1\)/);
      assert.equal(run.stepsDone, 2);
    }
  });

  it('on several threads of WebAssembly, whatever is shared', async () => {
    for (const [shape, members] of [[[997], 1], [[61, 67], 1], [[11, 13, 17], 1], [[64], 5]] as const) {
      const equation = stencil.define({
        dimensions: shape.length as 1, fields: ['u'], parameters: ['D'], method: 'ssprk3', boundary: 'mirror',
        rate: ({ u }, { D }, { laplacian, t }) => ({ u: D * laplacian(u) + t }),
      });
      const options = { shape, dt: 0.1, initial: { u: (x: number) => Math.sqrt(x) }, parameters: { D: members === 1 ? 1 : [1, 2, 0.5, 0.1,
        0.7] } };
      const states = [];
      for (const threads of [1, 3]) {
        await using run = await stencil.simulate(equation, { ...options, backend: 'wasm', threads });
        for (const steps of [1, 300, 2]) await run.advance(steps);
        states.push((await run.state()).u);
      }
      same(states[1]!, states[0]!, `shape ${shape.join()}`);
    }
  });
});
