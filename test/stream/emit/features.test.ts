// Every feature of the language, compiled to WebAssembly, against outputs worked out in plain JavaScript and the interpreter.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { UnsupportedProgram } from '../../../lib/stream/plan/unsupported.ts';
import { compileWasm } from '../../../lib/stream/run/wasm.ts';
import { arithmeticCases, filterCases, graphCases, statementCases, type Case } from '../interpret/cases.ts';
import { graphOf } from '../support.ts';

/** Cases that only the interpreter runs. */
const refused = new Set(['dynamic rates']);
/** Small and large groups, and blocks, so that every way to hold channels and loops is gone. */
const plans = [{}, { groupSize: 1, filterSize: 0, maxMultiplicity: 1 }, { groupSize: 100_000, filterSize: 100_000, maxMultiplicity: 7 }];

function runs(title: string, cases: readonly Case[]): void {
  describe(`compiled to WebAssembly: ${title}`, () => {
    for (const { name, source, input, items, output } of cases) {
      it(name, () => {
        const graph = graphOf(source);
        if (refused.has(name)) {
          assert.throws(() => compileWasm(graph), UnsupportedProgram);
          return;
        }
        const limits = items === undefined ? {} : { items };
        const reference = interpretSync(graph, { ...(input === undefined ? {} : { input }), ...limits });
        assert.deepEqual(reference.output, output.map((x) => (x === 0 ? 0 : x)));
        for (const plan of plans) {
          const compiled = compileWasm(graph, plan);
          const found = compiled.run(input, limits);
          assert.deepEqual([...found.output], reference.output, compiled.source);
          assert.equal(found.exhausted, reference.exhausted);
          assert.deepEqual([...compiled.run(input, limits).output], reference.output, 'a second run gives the same');
        }
      });
    }
  });
}

runs('arithmetic', arithmeticCases);
runs('statements', statementCases);
runs('filters', filterCases);
runs('graphs', graphCases);
