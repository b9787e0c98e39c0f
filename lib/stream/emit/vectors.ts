// Complex numbers and small vectors: operators and functions part by part, each step rounded as the interpreter rounds it.
import type { IrBinary, MathName } from '../ir.ts';
import type { Context } from './context.ts';
import type { Ex } from './value.ts';

/** The operator on the parts of two vectors. */
export function vectorOperator(c: Context, operator: IrBinary, isComplex: boolean,
  operands: readonly [readonly Ex[], readonly Ex[]]): readonly Ex[] {
  const [a, b] = operands;
  const f = (operation: IrBinary, x: string, y: string) => c.dialect.binary(operation, 'f', x, y, undefined);
  const single = (text: string): Ex => ({ text, kind: 'f', stable: false });
  if (!isComplex || operator === '+' || operator === '-') {
    return a.map((x, i) => single(f(operator, x.text, b[i]!.text)));
  }
  const [p, q] = a.map((part) => c.w.stable(part).text) as [string, string];
  const [r, s] = b.map((part) => c.w.stable(part).text) as [string, string];
  if (operator === '*') {
    return [single(f('-', f('*', p, r), f('*', q, s))), single(f('+', f('*', p, s), f('*', q, r)))];
  }
  const norm = c.w.stable(single(f('+', f('*', r, r), f('*', s, s)))).text;
  return [
    single(f('/', f('+', f('*', p, r), f('*', q, s)), norm)), single(f('/', f('-', f('*', q, r), f('*', p, s)), norm)),
  ];
}

/** A function of a complex number: computed in double, rounded once. */
export function complexCall(c: Context, name: MathName,
  z: readonly Ex[]): readonly Ex[] {
  const [re, im] = z.map((part) => c.w.stable({ text: c.dialect.convert('float', 'double', c.w.stable(part).text), kind: 'd',
    stable: false }).text) as
    [string, string];
  const d = (operation: IrBinary, x: string, y: string) => c.dialect.binary(operation, 'd', x, y, undefined);
  const m = (of: MathName, ...args: string[]) => c.dialect.math(of, 'd', args);
  const single = (text: string): Ex => ({ text: c.dialect.single(text), kind: 'f', stable: false });
  const size = () => m('sqrt', d('+', d('*', re, re), d('*', im, im)));
  switch (name) {
    case 'abs': return [single(size())];
    case 'arg': return [single(m('atan2', im, re))];
    case 'exp': return [single(d('*', m('exp', re), m('cos', im))), single(d('*', m('exp', re), m('sin', im)))];
    case 'log': return [single(m('log', `wl_hypot(${re}, ${im})`)), single(m('atan2', im, re))];
    case 'sin': return [single(d('*', m('sin', re), m('cosh', im))), single(d('*', m('cos', re), m('sinh', im)))];
    case 'cos': return [
      single(d('*', m('cos', re), m('cosh', im))), single(c.dialect.negate('d', d('*', m('sin', re), m('sinh', im)))),
    ];
    case 'sqrt': case 'csqrt': {
      const root = c.w.stable({ text: `wl_half_root(${re}, ${im})`, kind: 'd', stable: false }).text;
      return [single(`wl_csqrt_re(${root}, ${re}, ${im})`), single(`wl_csqrt_im(${root}, ${re}, ${im})`)];
    }
    default: throw new Error(`${name} has no meaning for a complex number`);
  }
}
