// Many runs of a program at once on a device, as a server makes them: stream.run with arrays in JavaScript's memory. Rows:
//   stream/<program>/auto-host/many-N   items of output a second of all N runs together, by the clock; each has an N-th of the input of
//                                       `auto-host`; figures.one: of one run of such an input alone
// Every item that comes out is compared with what the CPU makes of the same input, bit for bit.
import type { StreamGraph } from '../lib/stream/graph.ts';
import { run, type StreamRun } from '../lib/stream/run/index.ts';
import type { CompiledGpu } from '../lib/stream/run/gpu.ts';
import type { BenchContext } from './domain.ts';
import type { Row } from './report.ts';
import { summarise } from './statistics.ts';
import { bytesEach, type StreamWork } from './stream-device-work.ts';

/** Runs at once. */
export const manyRuns: readonly number[] = [16, 256];
const quickRuns = 3;

/** Bytes of input and output of all runs together. */
const hostBytes = 5e8;
const repeats = 5;

/** Names of rows behind the program's. */
export const manyNames: readonly string[] = manyRuns.map((count) => `auto-host/many-${count}`);

/** The row of so many runs at once. */
export async function manyRow(
  { device, quick }: BenchContext, count: number, { work, graph, compiled }: {
    readonly work: StreamWork; readonly graph: StreamGraph; readonly compiled: CompiledGpu;
  },
): Promise<Row> {
  const { warmStates, program: { input, states } } = compiled, id = `stream/${work.name}/auto-host/many-${count}`;
  const most = Math.min(hostBytes / count / bytesEach(compiled), work.knownStates(compiled) - 1);
  const each = quick ? 2 * states + warmStates : Math.floor(most);
  const given = work.hostInput(input.before + each * input.items + input.external.later.beyond);
  const call = (): Promise<StreamRun> => run(graph, { backend: device.backend as 'cuda' | 'simt', device, input: given });
  const rateOf = async (runs: number): Promise<{ best: number; spread: number }> => {
    const rates: number[] = [];
    for (let repeat = 0; repeat < (quick ? 1 : repeats); ++repeat) {
      const begin = performance.now();
      const made = await Promise.all(Array.from({ length: runs }, call));
      const milliseconds = performance.now() - begin;
      for (const { backend, note, output } of made) {
        if (backend !== device.backend) throw new Error(`${id}: ran by ${backend}: ${note}`);
        work.requireOutput(output, id);
      }
      rates.push(1e3 * made.reduce((sum, { output }) => sum + output.length, 0) / milliseconds);
    }
    return { best: Math.max(...rates), spread: summarise(rates).spread };
  };
  await call(); // it compiles
  const one = await rateOf(1), all = await rateOf(quick ? quickRuns : count);
  return { id, value: all.best, unit: 'items/s', spread: all.spread, figures: { one: one.best },
    note: `${quick ? quickRuns : count} runs of ${(4 * given.length / 1e6).toPrecision(3)} MB of input each` };
}
