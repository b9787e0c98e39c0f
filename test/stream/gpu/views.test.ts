// Permutations as views on devices: programs give the same bits, their splitters, joiners and transpositions take no group, and the
// threads of a warp find strided items in different banks.
import assert from 'node:assert/strict';
import { benchmarkPrograms, randomInput as inputFor } from '../../../examples/stream/programs.ts';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { scalarCount } from '../../../lib/stream/interpret/values.ts';
import type { FusedOptions } from '../../../lib/stream/targets/cuda-layout.ts';
import { fusedProgram } from '../../../lib/stream/targets/cuda.ts';
import { cyclesOf, stateGap } from '../../../lib/stream/targets/cuda-view-gaps.ts';
import { viewsOf } from '../../../lib/stream/targets/cuda-views.ts';
import { eachBackend } from '../../support/backends.ts';
import { Random, randomInput } from '../emit/random-programs.ts';
import { shapeProgram } from '../emit/random-shapes.ts';
import { program } from '../programs/support.ts';
import { graphOf } from '../support.ts';
import { casesOf } from '../../support/thorough.ts';
import { agrees, compileTogether, deviceBackends, firstState, inputItems, type Sample } from './support.ts';

const byDependence: FusedOptions = { threads: 256, sharedBytes: 112_000, minBlocks: 1, groupSize: 80_000, live: 200 };
const withViews: FusedOptions = { ...byDependence, views: true };
const graphs = new Map(['tde', 'dct', 'mpeg2-subset'].map((name) => [name, program(name)]));
const randomPrograms = casesOf(8, 16);
/** The maximum number of input items, to limit the time of the test. */
const mostItems = 20_000;

/** Barriers of a round's groups. */
function barriers(source: string): number {
  const steady = source.slice(source.lastIndexOf(' void steady('), source.lastIndexOf(' void store('));
  return steady.split('block.sync();').length - 1;
}

interface Shape extends Sample {
  readonly seed: number;
  readonly source: string;
  readonly type: 'int' | 'float';
}

/** Graphs that fit into a block and in which something is read or written at strided indices. */
function* shapes(): Generator<Shape> {
  for (let seed = 0; ; ++seed) {
    const r = new Random(seed);
    const options: FusedOptions = {
      threads: 32 * (1 + r.below(6)), sharedBytes: r.pick([2500, 6000, 20_000, 100_000]), minBlocks: 1, width: 1 + r.below(3),
      groupSize: r.pick([100, 2000, 80_000]), live: r.pick([1, 3, 8, 32]), views: true, readsAhead: r.below(2) === 0,
    };
    const shape = { seed, ...shapeProgram(seed), options };
    const graph = graphOf(shape.source);
    try {
      if (viewsOf(fusedProgram(graph, options).plan).all.length === 0) continue;
    } catch (error) {
      assert.equal((error as { code?: unknown }).code, 'ERR_WARPLOOM_UNSUPPORTED', `seed ${seed}\n${shape.source}`);
      continue;
    }
    yield { ...shape, graph };
  }
}

describe('permutations as views', function () {
  this.timeout(240_000);

  it('take no barrier', () => {
    for (const [name, before, after] of [['tde', 3, 1], ['dct', 5, 4], ['mpeg2-subset', 4, 3]] as const) {
      assert.equal(barriers(fusedProgram(graphs.get(name)!, byDependence).source), before, name);
      assert.equal(barriers(fusedProgram(graphs.get(name)!, withViews).source), after, name);
    }
    const { plan } = fusedProgram(graphs.get('mpeg2-subset')!, withViews);
    // Blocks are made one by one, and motion vectors found, straight from the input and to the output.
    assert.deepEqual(viewsOf(plan).all.map(({ group, items }) => [group.iterations, items]), [[6, 403], [1, 403], [6, 450], [1, 450]]);
  });

  it('have gaps with which no two threads meet in a bank, where there are such', () => {
    const column = { inner: [{ count: 16, step: 16 }], outer: [] };
    assert.ok(cyclesOf(256, column) > 32 && cyclesOf(257, column) < 2);
    assert.equal(stateGap(256, [column], false) % 2, 1);
    assert.equal(stateGap(256, [column], true) % 4, 0);
    const pairs = { inner: [{ count: 2, step: 1 }, { count: 36, step: 30 }], outer: [{ count: 15, step: 2 }] };
    for (let gap = 0; gap < 32; ++gap) {
      assert.ok(cyclesOf(1080 + stateGap(1080, [pairs], false), pairs) <= cyclesOf(1080 + gap, pairs));
    }
  });

  eachBackend((_, opened) => {
    it('give the same bits in programs', async () => {
      const made = await compileTogether(await opened(), [...graphs.values()].map((graph) => ({ graph, options: withViews })));
      for (const [i, [name, graph]] of [...graphs].entries()) {
        const compiled = made[i]!;
        const each = benchmarkPrograms.find((one) => one.name === name)!;
        const { states } = compiled.program;
        for (const extra of [1, 2 * states + 1]) {
          const items = inputItems(compiled, firstState(compiled) + extra);
          const input = inputFor(each, Math.ceil(items / each.inputItems) * each.inputItems, 3 + extra).subarray(0, items);
          await agrees(compiled, graph, input);
        }
      }
      made[0]!.dispose();
    });

    it('give the same bits in random programs', async () => {
      const found = shapes();
      const some = Array.from({ length: randomPrograms }, () => found.next().value as Shape);
      const made = await compileTogether(await opened(), some);
      let runs = 0;
      for (const [i, { seed, source, type, graph }] of some.entries()) {
        const compiled = made[i]!;
        const width = scalarCount(graph.input!.type);
        const length = (inputItems(compiled, firstState(compiled) + compiled.program.states * 2 + seed % 5) + seed % 3) * width;
        if (length > mostItems) continue;
        ++runs;
        await agrees(compiled, graph, randomInput(seed, type, length)).catch((error: unknown) => {
          throw new Error(`seed ${seed}\n${source}`, { cause: error });
        });
        const few = randomInput(seed, type, 300 * width);
        assert.deepEqual([...(await compiled.run(few, {})).output], interpretSync(graph, { input: few }).output, `seed ${seed}\n${source}`);
      }
      assert.ok(runs > randomPrograms / 2, `${runs} runs on the device`);
      made[0]!.dispose();
    });
  }, { backends: deviceBackends, cases: 2 });
});
