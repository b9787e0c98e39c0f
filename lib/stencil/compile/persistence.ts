// Whether a number that is not finite stays in its cell: then it is enough to look for one after several steps.
//
// Sums, differences and products with an operand that is infinite or NaN are infinite or NaN themselves. So if every stage makes a field
// from its own value in the cell by these alone, a bad value is never lost. Comparisons, minima and quotients can lose it.
import { required } from '../../core/known.ts';
import type { Expression, KernelFunction, Local } from '../../kernel/ir.ts';
import type { Stage } from './stages.ts';
import type { Input } from './trace.ts';

/** The field whose own value in the cell an input is; undefined for others. */
function fieldOf(input: Input): number | undefined {
  if (input.kind === 'u' || input.kind === 'a') return input.index;
  return input.kind === 'y' && input.offset.every((offset) => offset === 0) ? input.index : undefined;
}

/** The fields on which an expression depends such that what is not finite in them shows in it, as bits; undefined for other operations. */
function dependence(e: Expression, known: ReadonlyMap<Local, number>): number | undefined {
  switch (e.kind) {
    case 'constant': return 0;
    case 'get': return known.get(e.local);
    case 'unary': return e.op === 'neg' ? dependence(e.operand, known) : undefined;
    case 'binary': {
      const isPlain = e.op === 'add' || e.op === 'sub' || e.op === 'mul';
      const [left, right] = [dependence(e.left, known), dependence(e.right, known)];
      return isPlain && left !== undefined && right !== undefined ? left | right : undefined;
    }
    default: return undefined;
  }
}

function keeps({ f, inputs }: { readonly f: KernelFunction; readonly inputs: readonly Input[] }, fields: number): boolean {
  const known = new Map<Local, number>();
  f.parameters.forEach((local, i) => {
    const field = fieldOf(required(inputs[i]));
    known.set(local, field === undefined ? 0 : 1 << field);
  });
  for (const s of f.body) {
    if (s.kind === 'return') {
      return s.values.every((value, i) => ((dependence(value, known) ?? 0) & (1 << (i % fields))) !== 0);
    }
    const bits = s.kind === 'set' ? dependence(s.value, known) : undefined;
    if (s.kind !== 'set' || bits === undefined) return false;
    known.set(s.local, bits);
  }
  return false;
}

/** Whether every stage keeps what is not finite, in each of so many fields. */
export function isPersistent(stages: readonly Stage[], fields: number): boolean {
  return stages.every(({ point }) => keeps(point, fields));
}
