// Hostile programs are refused in time, with line and column.
import assert from 'node:assert/strict';
import { build } from '../support.ts';
import { hostile } from './hostile.ts';

const limits = { steps: 2_000_000, nodes: 5000 };

describe('hostile programs', () => {
  for (const { name, source, code, line, column } of hostile) {
    it(`refuses ${name}`, () => {
      const start = process.cpuUsage();
      const { graph, diagnostics } = build(source, { limits });
      const errors = diagnostics.filter(({ severity }) => severity === 'error');
      assert.equal(graph, undefined);
      assert.deepEqual(errors.map((each) => [each.code, each.line, each.column]), [[code, line, column]], errors.map((each) => each.message).join('; '));
      assert.ok(process.cpuUsage(start).user < 20e6, 'took too long');
    });
  }

  it('stops an endless loop within seconds under the limits that stand without options', () => {
    const start = process.cpuUsage();
    const { diagnostics } = build('int->int pipeline P { int i = 0; while (i < 1) i = 0; add Identity<int>; }');
    assert.equal(diagnostics.find(({ severity }) => severity === 'error')?.code, 'S4101');
    assert.ok(process.cpuUsage(start).user < 60e6, 'microseconds of the processor');
  });

  it('names the instance', () => {
    const { diagnostics } = build('int->int filter F(int n) { int[n - 9] a; work pop 1 push 1 { push(pop() + a[0]); } } int->int pipeline Q { add F(8); } int->int pipeline P ' +
      '{ add Q; }');
    assert.match(diagnostics.find(({ severity }) => severity === 'error')!.message, /\(in P \/ Q \/ F\(8\)\)$/);
  });
});
