// Any text gives diagnostics or a program; programs print and parse back to themselves. 10 000 inputs, seeded.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { check } from '../../../lib/stream/front/check.ts';
import { parse } from '../../../lib/stream/front/parser.ts';
import { print } from '../../../lib/stream/front/printer.ts';
import { formatDiagnostic } from '../../../lib/stream/diagnostics.ts';
import type { Program } from '../../../lib/stream/ast.ts';
import { broken, bytes, program, soup } from './programs.ts';

/** A tree without its places. */
const plain = ({ streams, structs, statics, natives, helpers }: Program): unknown =>
  JSON.parse(JSON.stringify({ streams, structs, statics, natives, helpers }, (key, value: unknown) =>
    (key === 'span' || key === 'at' ? undefined : value === Infinity ? 'infinity' : value)));

/** Parses and checks a text, whole or not, and looks at every diagnostic. */
function survive(text: string): void {
  const parsed = parse([{ name: 'fuzz.str', text }]);
  const { diagnostics } = check(parsed.program);
  let last = -1;
  for (const diagnostic of parsed.diagnostics) {
    ok(diagnostic.span.start >= last && diagnostic.span.end >= diagnostic.span.start && diagnostic.span.end <= text.length, diagnostic.message);
    last = diagnostic.span.start;
  }
  for (const diagnostic of [...parsed.diagnostics, ...diagnostics]) {
    ok(diagnostic.line >= 1 && diagnostic.column >= 1 && !diagnostic.message.includes('{'.concat('name}')));
    ok(formatDiagnostic(diagnostic, parsed.program).length > 10);
  }
}

describe('fuzzing of the front end', () => {
  it('any text: 3 000', () => {
    fc.assert(fc.property(bytes, survive), { numRuns: 3000, seed: 1 });
  });

  it('soups of tokens: 3 000', () => {
    fc.assert(fc.property(soup, survive), { numRuns: 3000, seed: 2 });
  });

  it('programs made by the grammar parse without errors, print and parse back to the same tree, and check: 2 000', function timed() {
    this.timeout(60_000);
    fc.assert(fc.property(program, (tree) => {
      const text = print(tree);
      const { program: again, diagnostics } = parse([{ name: 'made.str', text }]);
      deepStrictEqual(diagnostics.filter(({ severity }) => severity === 'error').map((diagnostic) => formatDiagnostic(diagnostic, again)), [], text);
      deepStrictEqual(plain(again), plain(tree), text);
      strictEqual(print(again), text);
      check(again);
    }), { numRuns: 2000, seed: 3 });
  });

  it('such programs with a piece broken: 2 000', function timed() {
    this.timeout(60_000);
    fc.assert(fc.property(program.chain((tree) => broken(print(tree))), survive), { numRuns: 2000, seed: 4 });
  });
});
