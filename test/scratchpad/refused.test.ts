// Kernels that must be left alone, each with the code of the reason: the comment before a kernel says which.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { join } from 'node:path';
import { optimize } from '../../lib/scratchpad/optimize.ts';
import { readKernels, testFolder } from './proof/kernels.ts';

describe('scratchpad: kernels that are refused', () => {
  const files = readKernels(join(testFolder, 'refused'));
  for (const { name, text } of files) {
    it(`${name}: the code, the line and a remedy, and not a byte changed`, async () => {
      const expected = [...text.matchAll(/^\/\/ refused: (\w+) ([\w-]+)$/gm)].map(([, kernel, code]) => `${kernel} ${code}`);
      const { source, report } = await optimize(text);
      deepStrictEqual(report.refused.map(({ kernel, code }) => `${kernel} ${code}`).sort(), expected.sort());
      strictEqual(source, text);
      const lines = text.split('\n');
      for (const { kernel, line, column, reason, remedy } of report.refused) {
        const start = lines.findIndex((each) => each.includes(` ${kernel}(`)) + 1;
        const end = lines.indexOf('}', start) + 1;
        ok(column >= 1 && reason !== '' && remedy !== '', kernel);
        const inCallee = ['callee_has_arrays', 'recursive'].includes(kernel); // the place is where the callee does it
        ok(inCallee ? line < end : line >= start && line <= end, `${kernel}: line ${line} is not in ${start}…${end}`);
      }
    });
  }

  it('there are at least 25 of them', () => {
    const count = files.reduce((sum, { text }) => sum + (text.match(/^\/\/ refused:/gm)?.length ?? 0), 0);
    ok(count >= 25, String(count));
  });
});
