// What goes wrong behind the last whole steady state, where nothing comes out any more: devices tell it as the CPU does.
import assert from 'node:assert/strict';
import { openDevice, type Device } from '../../../lib/core/device.ts';
import { compileForDevice, open, run, type StreamGraph, type StreamRunOptions } from '../../../lib/stream/index.ts';
import { eachBackend } from '../../support/backends.ts';
import { graphOf } from '../support.ts';
import { deviceBackends } from './support.ts';

// A steady state takes 5 items; the first filter fires before there are so many.
const last = 'int->int filter B { work pop 5 push 1 { int s = 0; for (int i = 0; i < 5; i++) s += pop(); push(s); } }';
const graphs = {
  plain: graphOf(`int->int filter A { work pop 1 push 1 { push(12 / pop()); } } ${last} int->int pipeline Main { add A; add B; }`),
  window: graphOf(`int->int filter A { work pop 1 push 1 peek 3 { push(12 / peek(1) + peek(2)); pop(); } } ${last}
    int->int pipeline Main { add A; add B; }`),
  state: graphOf(`int->int filter A { int s; int[64] t; work pop 1 push 1 { int x = pop(); s = (s + x) & 63; push(t[s] + 12 / x); } } ${last}
    int->int pipeline Main { add A; add B; }`),
};

/** Ones, but for a zero at some place. */
function zeroAt(place: number, length: number): Int32Array {
  const input = new Int32Array(length).fill(1);
  input[place] = 0;
  return input;
}

const outcome = (made: Promise<{ readonly output: ArrayLike<number> }>): Promise<unknown> =>
  made.then(({ output }) => Int32Array.from(output).join(''), (error: unknown) => (error as Error).message);

describe('faults behind the last whole steady state', function () {
  this.timeout(120_000);

  eachBackend((backend, opened) => {
    let device: Device;
    before(async () => { device = await opened(); });

    /** Zeros at the last places of inputs that end at each place in a steady state, with limits and without. */
    async function everywhere(
      graph: StreamGraph, made: (input: Int32Array, limits: Pick<StreamRunOptions, 'items' | 'iterations'>) => Promise<unknown>,
      limits: readonly Pick<StreamRunOptions, 'items' | 'iterations'>[] = [{}],
    ): Promise<void> {
      let faults = 0;
      for (const [length, back] of [[3000, 1], [3001, 1], [3003, 2], [3004, 1], [3004, 4], [3007, 1], [3007, 2]] as const) {
        const input = zeroAt(length - back, length);
        for (const limit of limits) {
          const expected = await outcome(run(graph, { input, ...limit, backend: 'wasm' }));
          if (String(expected).includes('error')) faults += 1;
          assert.deepEqual(await made(input, limit), expected, `${length} ${back} ${JSON.stringify(limit)}`);
        }
      }
      assert.ok(faults >= 3, `${faults} faults`);
    }

    for (const [name, graph] of Object.entries(graphs)) {
      it(`runs of one kernel, and sessions: ${name}`, async () => {
        const limits = [{}, { items: 600 }, { items: 601 }, { items: 900 }, { iterations: 600 }, { iterations: 900 }];
        await everywhere(graph, (input, limit) => outcome(run(graph, { input, ...limit, device })), limits);
        using program = await compileForDevice(graph, { device, tune: false });
        await everywhere(graph, async (input, limit) => {
          using given = await device.array(input);
          return await outcome(program.run(given, limit).then(async (found) => {
            using output = found.output;
            return { output: await output.read() as Int32Array };
          }));
        }, [{}, { items: 700 }]);
        await everywhere(graph, async (input) => {
          await using session = await open<Int32Array>(graph, { device, chunk: 2 ** 16 });
          assert.equal(session.backend, backend);
          const given: number[] = [];
          return await outcome((async () => {
            for await (const block of session.process([input])) given.push(...block);
            return { output: given };
          })());
        });
      });
    }

    it('in the modes of chapters 3 and 4', async () => {
      for (const mode of ['swp', 'synergistic'] as const) {
        using program = await compileForDevice(graphs.window, { device, mode });
        await everywhere(graphs.window, (input, limit) => outcome(program.run(input, limit)));
      }
      using inOrder = await compileForDevice(graphs.state, { device, mode: 'swp' });
      await everywhere(graphs.state, (input, limit) => outcome(inOrder.run(input, limit)));
    });

    if (backend === 'simt') {
      it('on several devices', async () => {
        await using other = await openDevice({ backend });
        const devices = [device, other];
        await everywhere(graphs.window, (input, limit) => outcome(run(graphs.window, { input, ...limit, devices })), [{}, { iterations: 900 }]);
      });
    }
  }, { backends: deviceBackends, cases: 5 });
});
