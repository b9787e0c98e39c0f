// Programs in many people's styles on a device give the same bits as WebAssembly, for input lengths that are not multiples of rounds.
import assert from 'node:assert/strict';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import type { CompiledGpu } from '../../../lib/stream/run/gpu.ts';
import { compiledWasm } from '../../../lib/stream/run/wasm.ts';
import { eachBackend } from '../../support/backends.ts';
import { apps } from '../programs/apps/index.ts';
import { styles } from '../programs/styles.ts';
import { graphOf } from '../support.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

interface Sample {
  readonly name: string;
  readonly graph: StreamGraph;
  /** The input for which the program was written. */
  readonly items: readonly number[];
}

const upTo24 = Array.from({ length: 24 }, (_, i) => i + 1);
const samples: readonly Sample[] = [
  ...styles.map(({ name, source }) => ({ name, graph: graphOf(source), items: upTo24 })),
  ...apps.map(({ name, source, input = [] }) => ({ name, graph: graphOf(source), items: input })),
].filter(({ graph }) => graph.input !== undefined);
/** Programs per module: compiling many small texts together is faster. */
const together = 20;

describe('programs in many styles on devices', function () {
  this.timeout(240_000);

  eachBackend((_, opened) => {
    let taken = 0;
    for (let at = 0; at < samples.length; at += together) {
      const some = samples.slice(at, at + together);
      it(`${some[0]!.name} … ${some.at(-1)!.name}`, async () => {
        const compiled = await compileTogether(await opened(), some);
        for (const [i, { name, graph, items }] of some.entries()) {
          const program = compiled[i];
          if (program === undefined) continue;
          ++taken;
          for (const extra of [0, 1, 2 * program.program.states + 1]) await sameOutcome(program, graph, items, extra, name);
        }
        compiled.find((each) => each !== undefined)?.dispose(); // the module, which they share
      });
    }

    it('are mostly for devices', () => assert.ok(taken > 50, `${taken} of ${samples.length}`));
  }, { backends: deviceBackends, cases: Math.ceil(samples.length / together) + 1 });
});

/** Runs a program on its input, repeated for `extra` more steady states than those that the CPU runs first. */
async function sameOutcome(made: CompiledGpu, graph: StreamGraph, items: readonly number[], extra: number, name: string): Promise<void> {
  const scalars = scalarCount(graph.input!.type) * (inputItems(made, firstState(made) + extra) + extra % 2);
  const input = Array.from({ length: scalars }, (_, i) => items[i % items.length]!);
  try {
    compiledWasm(graph).run(input, {});
  } catch (error) {
    await assert.rejects(async () => made.run(input, {}), { code: (error as { code: string }).code, message: (error as Error).message }, name);
    return;
  }
  await agrees(made, graph, input, {}, extra > 0).catch((error: Error) => {
    error.message = `${name}: ${error.message}`;
    throw error;
  });
}
