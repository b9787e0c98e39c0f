// Every feature of the language, run by the interpreter against plain JavaScript.
import assert from 'node:assert/strict';
import { interpretSync } from '../../../lib/stream/interpret/index.ts';
import { graphOf } from '../support.ts';
import { arithmeticCases, filterCases, graphCases, statementCases, type Case } from './cases.ts';

function runs(title: string, cases: readonly Case[]): void {
  describe(title, () => {
    for (const { name, source, input, items, output } of cases) {
      it(name, () => {
        const found = interpretSync(graphOf(source), { ...(input === undefined ? {} : { input }), ...(items === undefined ? {} : { items }) });
        assert.deepEqual(found.output, output.map((x) => (x === 0 ? 0 : x)));
      });
    }
  });
}

runs('arithmetic', arithmeticCases);
runs('statements', statementCases);
runs('filters', filterCases);
runs('graphs', graphCases);
