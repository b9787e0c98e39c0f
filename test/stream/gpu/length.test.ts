// How long the text of a program for a device may be, and what becomes of programs whose text is longer.
import assert from 'node:assert/strict';
import type { Device } from '../../../lib/core/device.ts';
import { required } from '../../../lib/core/known.ts';
import { compileForDevice, run } from '../../../lib/stream/index.ts';
import { mostText } from '../../../lib/stream/targets/cuda-length.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { eachBackend } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { isThorough } from '../../support/thorough.ts';
import { agrees, compileTogether, firstState, inputItems } from './support.ts';

const sources = {
  window: 'float->float filter Fir { float[40] c; init { for (int i = 0; i < 40; i++) c[i] = sin(i * 0.7); } '
    + 'work pop 1 push 1 peek 40 { float sum = 0; for (int i = 0; i < 40; i++) sum += peek(i) * c[i]; push(sum); pop(); } } '
    + 'float->float pipeline Main { add Fir; add Fir; }',
  state: 'int->int filter Fir { work pop 1 push 1 peek 40 { int sum = 0; for (int i = 0; i < 40; i++) sum += peek(i) * (i + 3); '
    + 'push(sum); pop(); } } int->int filter Sum { int n; work pop 1 push 1 { n = (n + pop()) & 255; push(n); } } '
    + 'int->int pipeline Main { add Fir; add Sum; }',
};

/** Filters of different code, one for each branch. */
function branches(count: number): string {
  const parts = ['x = x * 3;', 'x = x ^ 21;', 'x = x + 7;', 'if (x > 9) x = x - 5;', 'x = x / 3;', 'x = x & 255;', 'x = x - 77;', 'x = x | 6;',
    'x = x % 100;', 'x = -x;', 'x = ~x;'];
  const names = Array.from({ length: count }, (_, i) => `F${i}`);
  const filters = names.map((name, i) => `int->int filter ${name} { work pop 1 push 1 { int x = pop(); ${
    parts.filter((__, bit) => (i + 1 >> bit & 1) !== 0).join(' ')} push(x); } }`);
  return `${filters.join('\n')}\nint->int splitjoin Main { split roundrobin; ${names.map((name) => `add ${name};`).join(' ')} join roundrobin; }`;
}

describe('the length of programs for devices', function () {
  this.timeout(120_000);

  it('is far below the limit for the longest of the twelve programs, and less where loops are kept', () => {
    const graph = program('channel-vocoder');
    const { length } = fusedProgram(graph, { hasTables: false }).source;
    assert.ok(length < mostText / 3, `${length}`);
    assert.ok(fusedProgram(graph, { hasTables: false, mostText: length - 1 }).source.length < length / 2);
    // Branches share code where the text is long otherwise.
    assert.equal(fusedProgram(graph).source, fusedProgram(graph, { hasTables: true }).source);
  });

  it('is refused beyond the limit', () => {
    const graph = graphOf(sources.window);
    const { length } = fusedProgram(graph, { isCompact: true, width: 1 }).source;
    assert.equal(fusedProgram(graph, { mostText: length }).source.length, length);
    assert.throws(() => fusedProgram(graph, { mostText: length - 1 }), { code: 'ERR_WARPLOOM_UNSUPPORTED',
      message: `its text for the device has ${length} characters, and at most ${length - 1} are compiled: run it with the interpreter` });
  });

  it('cuts a group that moves many items into slices', () => {
    // The first group of this program moves 403 items, and the compiler must not hold them all at once.
    const slices = fusedProgram(program('mpeg2-subset')).source.match(/^WARPLOOM_DEVICE void group_0_\d+\(/gm) ?? [];
    assert.ok(slices.length >= 8, `${slices.length}`);
  });

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    it('changes no bits where loops are kept for it', async () => {
      const samples = Object.values(sources).map((source) => {
        const graph = graphOf(source);
        const options = { isCompact: true, width: 1 };
        assert.notEqual(fusedProgram(graph, options).source, fusedProgram(graph).source);
        return { graph, options };
      });
      const made = await compileTogether(device, samples);
      for (const [i, { graph }] of samples.entries()) {
        const compiled = required(made[i]);
        for (const more of [1, 2 * compiled.program.states + 3]) {
          const items = inputItems(compiled, firstState(compiled) + more) + 1;
          await agrees(compiled, graph, Int32Array.from({ length: items }, (_, k) => k * 7919 % 1013 - 500));
        }
      }
      made[0]?.dispose();
    });

    it('leaves longer programs to the CPU, and says why', async () => {
      const graph = graphOf(branches(1600));
      const input = Int32Array.from({ length: 3 * 1600 + 7 }, (_, i) => i * 31 - 5000);
      const expected = await run(graph, { input, backend: 'wasm' });
      for (const mode of isThorough ? ['fused', 'swp'] as const : ['fused'] as const) {
        const made = await run(graph, { input, device, mode });
        assert.match(required(made.note), /its text for the device has \d{7} characters, and at most 1000000 are compiled/);
        assert.notEqual(made.backend, backend);
        assert.deepEqual(made.output, expected.output);
      }
      await assert.rejects(compileForDevice(graph, { device, mode: 'swp' }), { code: 'ERR_WARPLOOM_UNSUPPORTED', message: /its text for the device/ });
    });
  }, { backends: ['simt', 'cuda'], cases: 2 });
});
