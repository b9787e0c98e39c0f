// Programs in many people's styles on a device give the same bits as WebAssembly, for input lengths that are not multiples of rounds.
import assert from 'node:assert/strict';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import { eachBackend } from '../../support/backends.ts';
import { isThorough } from '../../support/thorough.ts';
import { samples, sameOutcome } from './corpus.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems } from './support.ts';

/** Programs per module: compiling many small texts together is faster. */
const together = 20;

describe('programs in many styles on devices', function () {
  this.timeout(240_000);

  eachBackend((backend, opened) => {
    let taken = 0;
    // Compilers take most of the time, those for a GPU much longer.
    const every = isThorough ? 1 : backend === 'cuda' ? 3 : 4;
    const own = samples.filter((_, i) => i % every === 0);
    for (let at = 0; at < own.length; at += together) {
      const some = own.slice(at, at + together);
      it(`${some[0]!.name} … ${some.at(-1)!.name}`, async () => {
        const compiled = await compileTogether(await opened(), some);
        for (const [i, sample] of some.entries()) {
          const { name, graph } = sample;
          const program = compiled[i];
          if (program === undefined) continue;
          ++taken;
          // For so many more steady states than the CPU runs first.
          for (const extra of [0, 1, 2 * program.program.states + 1]) {
            const scalars = scalarCount(graph.input!.type) * (inputItems(program, firstState(program) + extra) + extra % 2);
            await sameOutcome(sample, scalars, name, (input) => program.run(input, {}),
              (input) => agrees(program, graph, input, {}, extra > 0));
          }
        }
        compiled.find((each) => each !== undefined)?.dispose(); // the module, which they share
      });
    }

    it('are mostly for devices', () => assert.ok(taken > 50 * own.length / samples.length, `${taken} of ${own.length}`));
  }, { backends: deviceBackends, cases: Math.ceil(samples.length / together) + 1 });
});
