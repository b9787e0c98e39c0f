// WebAssembly as printed does what the interpreter does, to the bit, before and after all passes.
import assert from 'node:assert/strict';
import { constant, i32, type Body, type Buffer, type Program } from '../../lib/kernel/ir.ts';
import { optimise } from '../../lib/kernel/passes/index.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { interpreted, randomInput, randomProgram } from './random.ts';
import { runWasm } from './wasm-run.ts';
import { casesOf } from '../support/thorough.ts';

function compare(first: number, count: number, pass: (program: Program) => Program): void {
  const kinds = new Set<string>();
  for (let seed = first; seed < first + count; ++seed) {
    const program = verify(randomProgram(seed));
    const input = randomInput(seed);
    const expected = interpreted(program, input);
    kinds.add(expected[0]!.split(' ')[0]!);
    assert.deepEqual(runWasm(pass(program), input), expected, `seed ${seed}`);
  }
  assert.deepEqual([...kinds].sort(), ['results', 'trap']);
}

/** A program with the buffers of a random one, whose `main` does this and gives zeros. */
function withBody(body: (buffer: (name: string) => Buffer) => Body): Program {
  const program = randomProgram(1, {});
  const main = program.functions.find(({ name }) => name === 'main')!;
  const values = main.results.map((type) => constant(type as 'i32', 0));
  const made = body((name) => program.buffers.find((buffer) => buffer.name === name)!);
  return verify({ ...program, functions: [{ ...main, buffers: [], body: [...made, { kind: 'return', values }] }] });
}

describe('kernel printer: WebAssembly', function () {
  this.timeout(120_000);
  it('does on random programs what the interpreter does', () => { compare(0, casesOf(250, 500), (program) => program); });
  it('copies and fills few elements by itself, of every number and kind, from any place on', () => {
    for (const element of ['i32', 'f32', 'f64']) {
      for (let count = 0; count <= 14; ++count) {
        const program = withBody((buffer) => [
          { kind: 'copy', to: buffer(`g_${element}`), toIndex: i32(1), from: buffer(`x_${element}`), fromIndex: i32(2), count: i32(count) },
          { kind: 'fill', buffer: buffer(`x_${element}`), index: i32(1), count: i32(count) },
          // Within an array: as if all were read before any is written.
          { kind: 'copy', to: buffer(`g_${element}`), toIndex: i32(2), from: buffer(`g_${element}`), fromIndex: i32(0), count: i32(count) },
        ]);
        const input = randomInput(count);
        assert.deepEqual(runWasm(program, input), interpreted(program, input), `${count} of ${element}`);
      }
    }
  });
  it('does so on more after all passes, each of which gives a valid program', () => {
    compare(5000, casesOf(150, 300), (program) => optimise(program, { roots: new Set(['main']), onPass: (name, made) => {
      try {
        verify(made);
      } catch (error) {
        throw new Error(`after ${name}`, { cause: error });
      }
    } }));
  });
});
