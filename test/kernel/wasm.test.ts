// WebAssembly as printed does what the interpreter does, to the bit, before and after all passes.
import assert from 'node:assert/strict';
import type { Program } from '../../lib/kernel/ir.ts';
import { optimise } from '../../lib/kernel/passes/index.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { interpreted, randomInput, randomProgram } from './random.ts';
import { runWasm } from './wasm-run.ts';

function compare(first: number, count: number, pass: (program: Program) => Program): void {
  const kinds = new Set<string>();
  for (let seed = first; seed < first + count; ++seed) {
    const program = verify(randomProgram(seed, { math: true }));
    const input = randomInput(seed);
    const expected = interpreted(program, input);
    kinds.add(expected[0]!.split(' ')[0]!);
    assert.deepEqual(runWasm(pass(program), input), expected, `seed ${seed}`);
  }
  assert.deepEqual([...kinds].sort(), ['results', 'trap']);
}

describe('kernel printer: WebAssembly', function () {
  this.timeout(120_000);
  it('does on 500 random programs what the interpreter does', () => { compare(0, 500, (program) => program); });
  it('does so on 300 more after all passes, each of which gives a valid program', () => {
    compare(5000, 300, (program) => optimise(program, { roots: new Set(['main']), onPass: (name, made) => {
      try {
        verify(made);
      } catch (error) {
        throw new Error(`after ${name}`, { cause: error });
      }
    } }));
  });
});
