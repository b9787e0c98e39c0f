// Whether a number that is not finite stays in its cell: then it is enough to look for one after several steps.
//
// Sums, differences and products with an operand that is infinite or NaN are infinite or NaN themselves. So if every stage makes a field
// from its own value in the cell by these, by roots, or as a numerator, a bad value is never lost. Comparisons, minima and denominators can
// lose it.
import { required } from '../../core/known.ts';
import type { Expression, KernelFunction, Local } from '../../kernel/ir.ts';
import type { Stage } from './stages.ts';
import type { Input } from './trace.ts';

/** The field whose own value in the cell an input is; undefined for others. */
function fieldOf(input: Input): number | undefined {
  if (input.kind === 'u' || input.kind === 'a') return input.index;
  return input.kind === 'y' && input.offset.every((offset) => offset === 0) ? input.index : undefined;
}

/** The fields on which an expression depends such that what is not finite in them shows in it, as bits. */
function dependence(e: Expression, known: ReadonlyMap<Local, number>): number {
  const of = (part: Expression): number => dependence(part, known);
  switch (e.kind) {
    case 'constant': return typeof e.value === 'number' && !Number.isFinite(e.value) ? ~0 : 0; // bad by itself
    case 'get': return known.get(e.local) ?? 0;
    case 'unary': return e.op === 'neg' || e.op === 'abs' || e.op === 'sqrt' ? of(e.operand) : 0;
    case 'convert': return e.type === 'f32' || e.type === 'f64' ? of(e.operand) : 0;
    case 'binary':
      if (e.op === 'add' || e.op === 'sub' || e.op === 'mul') return of(e.left) | of(e.right);
      return e.op === 'div' ? of(e.left) : 0;
    case 'select': return of(e.then) & of(e.otherwise);
    case 'math': return e.name === 'fma' || e.name === 'fmaf' ? e.args.reduce((bits, arg) => bits | of(arg), 0) : 0;
    default: return 0;
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
      return s.values.every((value, i) => (dependence(value, known) & (1 << (i % fields))) !== 0);
    }
    if (s.kind !== 'set') return false;
    known.set(s.local, dependence(s.value, known));
  }
  return false;
}

/** Whether every stage keeps what is not finite, in each of so many fields. */
export function isPersistent(stages: readonly Stage[], fields: number): boolean {
  return stages.every(({ point }) => keeps(point, fields));
}
