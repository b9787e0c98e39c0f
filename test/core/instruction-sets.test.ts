// The kernels of the CPU backend are compiled for several instruction sets: processes that differ in WARPLOOM_CPU_ISA alone must get
// the same bits from every operation, type and option, and single systems those that they have in a batch. So must WebAssembly.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { runChild } from '../support/child.ts';
import { instructionCases } from '../support/instruction-cases.ts';
import { hasBackend, skipCases } from '../support/backends.ts';
import { noWasm } from '../support/wasm.ts';

describe('instruction sets', () => {
  if (!hasBackend('cpu')) return skipCases('cpu: not in this run', 1);
  it('all give the same bits', async function () {
    this.timeout(120_000);
    this.slow(20_000);
    const answers: string[][] = [];
    for (const isa of ['baseline', 'avx2', 'avx512']) {
      const child = await runChild(instructionCases(), { env: { WARPLOOM_CPU_ISA: isa }, timeout: 110_000 });
      strictEqual(child.code, 0, child.err);
      answers.push(child.out.trim().split('\n'));
    }
    const [first, ...others] = answers;
    strictEqual(first!.length, 592);
    for (const line of first!) ok(!line.endsWith('other bits'), line);
    for (const other of others) deepStrictEqual(other, first);
    if (noWasm !== undefined) return skipCases(noWasm, 1);
    const child = await runChild(instructionCases(), { env: { WARPLOOM_ADDON: 'wasm' }, timeout: 60_000 });
    strictEqual(child.code, 0, child.err);
    deepStrictEqual(child.out.trim().split('\n'), first);
  });
});
