// What tests of passes share.
import assert from 'node:assert/strict';
import type { Program } from '../../lib/kernel/ir.ts';
import { parseProgram } from '../../lib/kernel/parse.ts';
import { bodyText, functionText, programText } from '../../lib/kernel/text.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { interpreted, randomInput, randomProgram } from './random.ts';

export type Pass = (program: Program) => Program;

/** The last function of a program, after a pass. */
export function lastFunction(text: string, pass: Pass = (program) => program): { program: Program; body: string; text: string } {
  const program = verify(pass(verify(parseProgram(text))));
  const f = program.functions.at(-1)!;
  return { program, body: bodyText(f.body), text: functionText(f) };
}

const unindented = (text: string): string => text.replace(/^ {2}/gm, '').trim();

/** A pass makes this body of a program's last function. */
export function becomes(pass: Pass, text: string, expected: string, head?: string): void {
  const { body, text: whole } = lastFunction(text, pass);
  assert.equal(body, unindented(expected));
  if (head !== undefined) assert.ok(whole.startsWith(head), whole);
}

/** Random programs are valid after a pass, and give the same; made again it changes nothing that matters. */
export function keepsMeaning(name: string, pass: Pass, count = 300): void {
  it(`${name} keeps the meaning of ${count} random programs`, function () {
    this.timeout(120_000);
    let changed = 0;
    for (let seed = 0; seed < count; ++seed) {
      const program = verify(randomProgram(seed));
      const made = verify(pass(program));
      if (programText(made) !== programText(program)) ++changed;
      const input = randomInput(seed);
      assert.deepEqual(interpreted(made, input), interpreted(program, input), `seed ${seed}`);
    }
    assert.ok(changed > count / 20, `only ${changed} programs changed`);
  });
}
