// WebAssembly as printed does what the interpreter does, to the bit.
import assert from 'node:assert/strict';
import { interpreted, randomInput, randomProgram } from './random.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { runWasm } from './wasm-run.ts';

describe('kernel printer: WebAssembly', () => {
  it('does on 500 random programs what the interpreter does', () => {
    const kinds = new Set<string>();
    for (let seed = 0; seed < 500; ++seed) {
      const program = verify(randomProgram(seed, { math: true }));
      const input = randomInput(seed);
      const expected = interpreted(program, input);
      kinds.add(expected[0]!.slice(0, 4));
      assert.deepEqual(runWasm(program, input), expected, `seed ${seed}`);
    }
    assert.deepEqual([...kinds].sort(), ['resu', 'trap']);
  });
});
