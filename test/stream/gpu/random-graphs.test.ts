// Random graphs (rates 1 to 16, nested split-joins, windows, state, feedback loops, prework) in every mode and under every partition: what
// the interpreter and WebAssembly make of them. By default six of them, each in one mode and under one partition; with
// WARPLOOM_RANDOM_GRAPHS=200, so many in all of them.
import assert from 'node:assert/strict';
import type { Device } from '../../../lib/core/device.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import type { PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import type { HybridCompileOptions } from '../../../lib/stream/run/hybrid.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { eachBackend } from '../../support/backends.ts';
import { randomInput } from '../emit/random-programs.ts';
import { shapeProgram } from '../emit/random-shapes.ts';
import { graphOf } from '../support.ts';
import { hybridTogether, inputFor, partitions, small, together } from './hybrid.ts';
import { pipelinedTogether } from './pipelined.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

const asked = process.env['WARPLOOM_RANDOM_GRAPHS'];
const programs = Number(asked ?? 6), batch = 8;
/** All ways, or one that depends on the seed. */
const waysOf = <T>(ways: readonly T[], seed: number): readonly T[] => (asked === undefined ? [ways[seed % ways.length]!] : ways);
/** The most firings of a steady state, and items of input, to limit the time. */
const mostFirings = 400, mostItems = 30_000;

interface RandomGraph {
  readonly seed: number;
  readonly source: string;
  readonly type: 'int' | 'float';
  readonly graph: StreamGraph;
}

/** Graphs of moderate size, from a seed on. */
function* graphs(): Generator<RandomGraph> {
  for (let seed = 400; ; ++seed) {
    const made = shapeProgram(seed, true), graph = graphOf(made.source);
    const { steady } = compiledWasm(graph).plan;
    if (steady.repetitions.reduce((sum, count) => sum + count, 0) <= mostFirings) yield { seed, ...made, graph };
  }
}

/** Every mode of chapter 3, each with several choices. */
const modes = (seed: number): readonly PipelineOptions[] => [
  { mode: 'swp', width: 32, threads: [32, 64][seed % 2], coarsening: [1, 2, undefined][seed % 3], processors: 1 + seed % 5 },
  { mode: 'swpnc', threads: 32, coarsening: 1 + seed % 2, processors: 4, launch: seed % 2 === 0 ? 'plain' : 'persistent' },
  { mode: 'serial', width: 32, threads: 32, coarsening: 1, processors: 1 + seed % 4 },
];
/** Every partition of chapter 4. */
const hybrids = (seed: number): readonly HybridCompileOptions[] => Object.values(partitions).map((cut, i) =>
  ({ ...small, cores: 1 + (seed + i) % 3, processors: 1 + (seed + i) % 4, onDevice: cut(seed) }));

describe('random graphs in every mode and under every partition', function () {
  this.timeout(1_200_000);
  const found = graphs();

  eachBackend((_, opened) => {
    for (let first = 0; first < programs; first += batch) {
      const count = Math.min(batch, programs - first);
      it(`${first} to ${first + count - 1}`, async () => {
        const some = Array.from({ length: count }, () => found.next().value as RandomGraph);
        const ran = await inModes(await opened(), some) + await inPartitions(await opened(), some);
        assert.ok(ran >= (asked === undefined ? 2 : 6) * count, `${ran} runs`);
      });
    }
  }, { backends: deviceBackends, cases: Math.ceil(programs / batch) });
});

function blaming({ seed, source }: RandomGraph, how: unknown): (error: Error) => never {
  return (error) => { throw new Error(`seed ${seed} ${JSON.stringify(how)}: ${error.message}\n${source}`, { cause: error }); };
}

/** Runs graphs in mode `fused`, where that is possible, and those of chapter 3. */
async function inModes(device: Device, some: readonly RandomGraph[]): Promise<number> {
  const samples = some.flatMap((each) => waysOf(modes(each.seed), each.seed).map((options) => ({ ...each, options })));
  const made = await pipelinedTogether(device, samples);
  const alone = asked === undefined ? some.filter(({ seed }) => seed % 2 === 0) : some;
  const fused = await compileTogether(device, alone.map(({ graph }) => ({ graph, options: { threads: 32, sharedBytes: 20_000 } })));
  let ran = 0;
  for (const [i, compiled] of [...made, ...fused].entries()) {
    const each = samples[i] ?? { ...alone[i - samples.length]!, options: { mode: 'fused' } };
    const { graph, seed, type, options } = each, blame = blaming(each, options);
    if (compiled === undefined || compiled.program.input.items === 0 || compiled.program.output.items === 0) continue;
    for (const states of [1 + seed % 3, 2 * compiled.program.states + seed % 5]) {
      const length = inputItems(compiled, firstState(compiled) + states) + seed % 3;
      if (length > mostItems) continue;
      await agrees(compiled, graph, randomInput(seed, type, length)).catch(blame);
      ++ran;
    }
    const few = randomInput(seed + 1, type, Math.min(inputItems(compiled, firstState(compiled) + 2), 1500));
    assert.deepEqual([...(await compiled.run(few, {})).output], interpretSync(graph, { input: few }).output, `seed ${seed}`);
  }
  for (const each of [...made, ...fused]) each?.dispose();
  return ran;
}

/** Runs graphs under partitions between cores and the device. */
async function inPartitions(device: Device, some: readonly RandomGraph[]): Promise<number> {
  const samples = some.flatMap((each) => waysOf(hybrids(each.seed), each.seed).map((options) => ({ ...each, options })));
  const made = await hybridTogether(device, samples);
  let ran = 0;
  for (const [i, compiled] of made.entries()) {
    if (compiled === undefined) continue;
    const { graph, seed, type, options } = samples[i]!, blame = blaming(samples[i]!, options);
    for (const [iterations, more] of [[1, -1], [2 + seed % 3, seed % 3]] as const) {
      const length = Math.max(0, inputFor(compiled, iterations) + more);
      if (length > mostItems) continue;
      if (await together(compiled, graph, randomInput(seed, type, length)).catch(blame)) ++ran;
    }
  }
  for (const each of made) each?.dispose();
  return ran;
}
