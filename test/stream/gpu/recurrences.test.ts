// Recurrences of floats as scans (option `algebraic`): close to doubles, and with the same bits however the work is divided.
import assert from 'node:assert/strict';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { compileForDevice, elaborate, run, type StreamGraph } from '../../../lib/stream/index.ts';
import { algebraicGraph } from '../../../lib/stream/algebra/index.ts';
import { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import { Random } from '../emit/random-programs.ts';
import { compileTogether } from './support.ts';

/** Filters with state. In majorants all factors are positive, so that their output for absolute input bounds all sums. */
const programs: Readonly<Record<string, { readonly source: string; readonly majorant?: string; readonly names: readonly string[] }>> = {
  'a running sum': {
    source: 'float->float filter Sum { float s; work pop 1 push 1 { s += pop(); push(s); } } float->float pipeline Main { add Sum; }', names: ['Sum'],
  },
  'a smoothing filter': {
    source: 'float->float filter Smooth { float y; work pop 1 push 1 { y = 0.9 * y - 0.1 * pop(); push(y); } } float->float pipeline Main { add Smooth; }',
    majorant: 'float->float filter Smooth { float y; work pop 1 push 1 { y = 0.9 * y + 0.1 * pop(); push(y); } } float->float pipeline Main { add Smooth; }',
    names: ['Smooth'],
  },
  'a resonator with two fields, behind a window': {
    source: `float->float filter Window { work pop 1 push 1 peek 5 { push(peek(4) * 0.5 + peek(0) * peek(1)); pop(); } }
      float->float filter Ring { float a; float b; work pop 1 push 1 { float y = 1.6 * a - 0.8 * b + pop(); b = a; a = y; push(y * 2); } }
      float->float pipeline Main { add Window; add Ring; }`,
    majorant: `float->float filter Window { work pop 1 push 1 peek 5 { push(peek(4) * 0.5 + peek(0) * peek(1)); pop(); } }
      float->float filter Ring { float a; float b; work pop 1 push 1 { float y = 0.9 * a + pop() * 8; b = a; a = y; push(y * 2); } }
      float->float pipeline Main { add Window; add Ring; }`,
    names: ['Ring'],
  },
  'an array, several items a firing, and one recurrence behind another': {
    source: `float->float filter Both { float[2] y; work pop 3 push 2 { for (int i = 0; i < 2; i++) y[i] = y[i] / 4 + pop() * (i + 1); push(y[0] + pop()); push(y[1]); } }
      float->float filter Level { float level; work pop 1 push 1 { float x = abs(pop()); level = level + 0.05 * (x - level); push(x - level); } }
      float->float pipeline Main { add Both; add Level; }`,
    majorant: `float->float filter Both { float[2] y; work pop 3 push 2 { for (int i = 0; i < 2; i++) y[i] = y[i] / 4 + pop() * (i + 1); push(y[0] + pop()); push(y[1]); } }
      float->float filter Level { float level; work pop 1 push 1 { float x = abs(pop()); level = 0.95 * level + 0.05 * x; push(x + level); } }
      float->float pipeline Main { add Both; add Level; }`,
    names: ['Both', 'Level'],
  },
};

/** Recurrences that stay on the CPU, and what the note says. */
const others: Readonly<Record<string, string>> = {
  'that grow': 'float->float filter F { float y; work pop 1 push 1 { y = 1.1 * y + pop(); push(y); } } float->float pipeline Main { add F; }',
  'with factors that are items': 'float->float filter F { float y; work pop 2 push 1 { y = pop() * y + pop(); push(y); } } float->float pipeline Main { add F; }',
  'that are not linear': 'float->float filter F { float y; work pop 1 push 1 { y = abs(y) * 0.5 + pop(); push(y); } } float->float pipeline Main { add F; }',
  'that the state itself decides': 'float->float filter F { float y; work pop 1 push 1 { if (y > 1) y = 0; y = y * 0.5 + pop(); push(y); } } float->float pipeline Main { add F; }',
};

const length = 40_013;
const input = Float32Array.from({ length }, (_, i) => Math.fround(Math.sin(i * i * 0.013) + 0.25));
const graphOf = async (source: string): Promise<StreamGraph> => (await elaborate(source)).graph;
const bits = (output: ArrayLike<number>, items = output.length): number[] => [...new Int32Array(Float32Array.from(output).buffer, 0, items)];

/** A recurrence whose powers stay small, with random factors; or its majorant. */
function randomRecurrence(seed: number, type: 'float' | 'double', isMajorant: boolean): string {
  const r = new Random(seed + 1), size = 1 + seed % 4;
  const factor = (most: number): string => {
    const x = (r.below(2001) - 1000) / 1000 * most;
    return isMajorant ? Math.abs(x).toFixed(6) : `(${x.toFixed(6)})`;
  };
  const sum = (most: number): string => Array.from({ length: size }, (_, i) => `${factor(most / size)} * y${i}`).join(' + ');
  const lines = Array.from({ length: size }, (_, i) => `${type} z${i} = ${sum(0.97)} + x * ${factor(1)};`);
  return `${type}->${type} filter Step { ${Array.from({ length: size }, (_, i) => `${type} y${i};`).join(' ')}
    work pop 1 push 1 { ${type} x = pop(); ${lines.join(' ')} ${Array.from({ length: size }, (_, i) => `y${i} = z${i};`).join(' ')} push(${sum(2)}); } }
    ${type}->${type} pipeline Main { add Step; }`;
}

describe('recurrences of floats on a device', function () {
  this.timeout(120_000);
  let device: Device;
  before(async () => { device = await openDevice({ backend: 'simt' }); });
  after(() => device.close());

  for (const [what, { source, majorant = source, names }] of Object.entries(programs)) {
    it(`${what}: close to doubles, and the same bits for parts of the input`, async () => {
      const graph = await graphOf(source);
      const found = await run(graph, { input, device, algebraic: true });
      assert.equal(found.backend, 'simt', found.note);
      assert.deepEqual(found.recurrences, names);
      const exact = await run(await graphOf(source.replaceAll('float', 'double')), { input: Float64Array.from(input), backend: 'wasm' });
      const most = await run(await graphOf(majorant), { input: input.map(Math.abs), backend: 'wasm' });
      assert.equal(found.output.length, exact.output.length);
      let worst = 0;
      for (let i = 0; i < exact.output.length; ++i) {
        worst = Math.max(worst, Math.abs(found.output[i]! - exact.output[i]!) / (2 ** -24 * most.output[i]!));
      }
      assert.ok(worst < 300, `${worst} units of the bound`);
      // Not the bits of the CPU, or nothing was reordered.
      const strict = await run(graph, { input, backend: 'wasm' });
      assert.notDeepEqual(bits(found.output), bits(strict.output));
      const again = await run(graph, { input, device, algebraic: true });
      assert.deepEqual(bits(again.output), bits(found.output));
      for (const items of [length - 1, 30_007, 21_000]) {
        const part = await run(graph, { input: input.subarray(0, items), device, algebraic: true });
        assert.equal(part.backend, 'simt', part.note);
        assert.deepEqual(bits(part.output), bits(found.output, part.output.length));
      }
      const refused = await run(graph, { input, device });
      assert.deepEqual([refused.backend, refused.recurrences], ['wasm', undefined]);
    });
  }

  it('have the same bits on any number of multiprocessors, and whatever the length of launches', async () => {
    const { graph } = await algebraicGraph(await graphOf(programs['a resonator with two fields, behind a window']!.source));
    const expected = await run(graph, { input, device });
    for (const threads of [1, 3]) {
      await using other = await openDevice({ backend: 'simt', threads });
      const { description } = other;
      for (const multiprocessors of [1, 5, 64]) {
        Object.defineProperty(other, 'description', { value: { ...description, multiprocessors }, configurable: true });
        using compiled = await CompiledGpu.compileDefault(graph, other);
        const found = await compiled.run(input, {});
        assert.ok(found.deviceSeconds !== undefined);
        assert.deepEqual(bits(found.output), bits(expected.output));
      }
    }
  });

  it('random ones of one to four fields', async () => {
    const sources = Array.from({ length: 8 }, (_, seed) => randomRecurrence(seed, 'float', false));
    const graphs = await Promise.all(sources.map(async (source) => (await algebraicGraph(await graphOf(source))).graph));
    const compiled = await compileTogether(device, graphs.map((graph) => ({ graph })));
    for (const [seed, made] of compiled.entries()) {
      assert.ok(made !== undefined, sources[seed]);
      assert.deepEqual(made.program.state?.reordered, ['Step']);
      const found = await made.run(input, {});
      assert.ok(found.deviceSeconds !== undefined, found.note);
      const exact = await run(await graphOf(randomRecurrence(seed, 'double', false)), { input: Float64Array.from(input), backend: 'wasm' });
      const most = await run(await graphOf(randomRecurrence(seed, 'double', true)), { input: Float64Array.from(input, Math.abs), backend: 'wasm' });
      for (let i = 0; i < exact.output.length; ++i) {
        const [a, b, bound] = [found.output[i]!, exact.output[i]!, 300 * 2 ** -24 * most.output[i]!];
        assert.ok(Math.abs(a - b) <= bound, `item ${i}: ${a}, not ${b}, at most ${bound} off\n${sources[seed]}`);
      }
    }
  });

  it('cannot be tuned, as layouts would give other bits', async () => {
    const graph = await graphOf(programs['a running sum']!.source);
    await assert.rejects(compileForDevice(graph, { device, algebraic: true, tune: true }),
      { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'tune' });
    using program = await compileForDevice(graph, { device, algebraic: true });
    const onArrays = await program.run(await device.array(input));
    const expected = await run(graph, { input, device, algebraic: true });
    assert.deepEqual(bits(await onArrays.output.read() as Float32Array), bits(expected.output));
  });

  for (const [what, source] of Object.entries(others)) {
    it(`${what} stay on the CPU`, async () => {
      const graph = await graphOf(source);
      const [found, expected] = [await run(graph, { input, device, algebraic: true }), await run(graph, { input, backend: 'wasm' })];
      assert.equal(found.backend, 'wasm');
      assert.match(found.note!, /keeps 'y'/);
      assert.deepEqual(bits(found.output), bits(expected.output));
    });
  }
});
