// Whether values that are not finite stay in their cells: what the compiler says of functions, and what these do.
import { ok, strictEqual } from 'node:assert/strict';
import { stencil } from '../../lib/index.ts';
import { isPersistent } from '../../lib/stencil/compile/persistence.ts';
import { stencilProgram } from '../../lib/stencil/compile/program.ts';
import type { Target } from '../../lib/stencil/compile/stages.ts';

const target: Target = { spacing: [1], origin: [0], precision: 'f64', rules: [[[{ kind: 'periodic' }], [{ kind: 'periodic' }]]] };

describe('stencil: values that are not finite', () => {
  const cases = [
    ['c * u(1) + u()', true], ['u() / (c * c)', true], ['c / u()', false], ['u(1)', false], ['Math.sqrt(u() - 1)', true],
    ['Math.max(u(), 0)', false], ['u() > 0 ? u() : 2 * u()', true], ['u() > 0 ? u() : c', false], ['fma(c, u(1), u())', true],
    ['fma(u(), 0, u(1)) / c', true], ['Math.exp(u())', false], ['Math.abs(u()) - Math.sin(c) / u(1)', true], ['Math.fround(u()) * c', true],
    ['0 * u() + Math.tanh(u(1))', true], ['u() > 0 ? u() : NaN', true],
  ] as const;
  for (const [text, expected] of cases) {
    it(`${text}: ${expected ? 'stay' : 'may be lost'}`, () => {
      const equation = stencil.define({ dimensions: 1, fields: ['u'], parameters: ['c'], step: `({ u }, { c }) => ({ u: ${text} })` });
      const { stages } = stencilProgram(equation, target);
      strictEqual(isPersistent(stages, 1), expected);
      if (!expected || text.includes('fma')) return;
      const f = new Function('u', 'c', `return ${text};`) as (u: (at?: number) => number, c: number) => number;
      for (const bad of [NaN, Infinity, -Infinity]) {
        for (const other of [0, -1, 1e300, Infinity, NaN, bad]) for (const c of [0, 1, -2, Infinity]) {
          ok(!Number.isFinite(f((at = 0) => (at === 0 ? bad : other), c)), `${text} of ${bad}, ${other} and c = ${c}`);
        }
      }
    });
  }
});
