// Kernels in the styles of others, as nvcc compiles them: none is refused, every rewriting is confirmed, and those that the interpreter
// knows give the same bytes. WARPLOOM_THOROUGH=1 runs these in all orders, and compiles and assembles the files for four architectures.
import { deepStrictEqual, ok } from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findNvcc } from '../../lib/core/compile/cuda.ts';
import { scratchpad } from '../../lib/index.ts';
import { withEnvironment } from '../support/environment.ts';
import { isThorough } from '../support/thorough.ts';
import { readKernels, testFolder } from './kernels.ts';
import { differing, fixture } from './launches.ts';

const folder = join(testFolder, 'styles');
/** Kernels, how many of them are rewritten at least, and arrays that keep their own bytes. */
const wanted: Readonly<Record<string, readonly [kernels: number, rewritten: number, pinned: Readonly<Record<string, number>>]>> = {
  groups: [14, 11, { dynamic: 1, function: 1 }], libraries: [12, 8, { instruction: 3 }], tensors: [12, 11, { instruction: 2 }],
};

describe('scratchpad: styles', function () {
  this.timeout(600_000);
  this.slow(20_000);

  for (const { name, launches } of readKernels(folder)) {
    it(`${name}: none is refused, and the results are right`, async () => {
      const text = fixture(`styles-${name}`);
      const { ptx, report, dynamicBytes } = await scratchpad.optimize(text, { barriers: 'any', reorder: true });
      const [kernels, rewritten, pinned] = wanted[name]!;
      deepStrictEqual(report.kernels.filter(({ reason }) => reason.startsWith('not confirmed')), []);
      deepStrictEqual([report.kernels.length, report.pinned], [kernels, pinned]);
      ok(report.kernels.filter(({ status }) => status === 'rewritten').length >= rewritten);
      deepStrictEqual(differing(text, ptx, launches, ['reverse', 3], dynamicBytes, isThorough), []);
    });
  }

  for (const arch of ['sm_75', 'sm_80', 'sm_90', 'sm_100'] as const) {
    it(`all of them for ${arch}`, async function () {
      if (!isThorough || findNvcc() === undefined) this.skip(); // nvcc takes 20 seconds
      for (const { name } of readKernels(folder)) {
        const text = await readFile(join(folder, `${name}.cu`), 'utf8');
        const { cubin, report } = await withEnvironment({ WARPLOOM_MODULE_COMPILER: 'nvcc' }, () => scratchpad.optimize(text, {
          compilerOptions: ['-std=c++17', '-w'], arch, cubin: true, barriers: 'any', reorder: true,
        }));
        ok(cubin!.length > 0);
        deepStrictEqual(report.kernels.filter(({ reason }) => reason.startsWith('not confirmed')), [], name);
        ok(report.kernels.length >= wanted[name]![0] - 1);
      }
    });
  }
});
