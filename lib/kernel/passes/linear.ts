// Linear forms of indices: terms with factors, plus a constant. All modulo 2^32, as in i32 arithmetic.
import { valueOf, type Expression } from '../ir.ts';
import { isSame } from './fold.ts';
import { required } from '../../core/known.ts';

export interface Linear {
  readonly terms: readonly { readonly of: Expression; readonly factor: number }[];
  readonly constant: number;
}

function add(a: Linear, b: Linear, sign: number): Linear {
  const terms = [...a.terms];
  for (const { of, factor } of b.terms) {
    const at = terms.findIndex((term) => isSame(term.of, of));
    if (at < 0) terms.push({ of, factor: Math.imul(factor, sign) });
    else terms[at] = { of, factor: (required(terms[at]).factor + Math.imul(factor, sign)) | 0 };
  }
  return { terms: terms.filter(({ factor }) => factor !== 0), constant: (a.constant + Math.imul(b.constant, sign)) | 0 };
}

/** The linear form of an i32. */
export function linearOf(e: Expression): Linear {
  const x = valueOf(e);
  if (x !== undefined) return { terms: [], constant: x };
  if (e.kind === 'binary' && (e.op === 'add' || e.op === 'sub')) return add(linearOf(e.left), linearOf(e.right), e.op === 'add' ? 1 : -1);
  const by = e.kind === 'binary' && (e.op === 'mul' || e.op === 'shl') ? valueOf(e.right) : undefined;
  if (e.kind !== 'binary' || by === undefined) return { terms: [{ of: e, factor: 1 }], constant: 0 };
  const factor = e.op === 'mul' ? by : 1 << by;
  const { terms, constant } = linearOf(e.left);
  return { terms: terms.map((term) => ({ ...term, factor: Math.imul(term.factor, factor) })), constant: Math.imul(constant, factor) };
}

/** The difference `b` - `a` if it is constant. */
export function distance(a: Linear, b: Linear): number | undefined {
  const { terms, constant } = add(b, a, -1);
  return terms.length === 0 ? constant : undefined;
}

/** The factor of a term in a sum. */
export function factorOf({ terms }: Linear, of: Expression): number {
  return terms.find((term) => isSame(term.of, of))?.factor ?? 0;
}
