// Positions that are moved on, in functions without branches: each use becomes a parameter plus a constant.
import { exact, get, i32, type Expression, type KernelFunction, type Local, type Program } from '../ir.ts';
import { assignedIn, mapBody, mapFunctions } from '../visit.ts';
import { linearOf } from './linear.ts';
import { isStraight } from './slice.ts';

/** Replaces locals that are a parameter plus a constant, wherever they are read. Functions with branches stay as they are. */
export function forwardPositions(program: Program): Program {
  return mapFunctions(program, (f) => (isStraight(f) ? forwarded(f) : f));
}

function forwarded(f: KernelFunction): KernelFunction {
  const assigned = assignedIn(f.body);
  const fixed = new Set(f.parameters.filter((local) => local.type === 'i32' && !assigned.has(local)));
  const known = new Map<Local, Expression>();
  const body = f.body.flatMap((s) => {
    const replaced = mapBody([s], { expression: (e) => (e.kind === 'get' ? known.get(e.local) ?? e : e) });
    const [made] = replaced;
    if (made?.kind !== 'set') return replaced;
    const value = made.local.type === 'i32' ? fixedPlus(made.value, fixed) : undefined;
    if (value === undefined) {
      known.delete(made.local);
      return replaced;
    }
    known.set(made.local, value);
    return [];
  });
  return { ...f, body };
}

function fixedPlus(e: Expression, fixed: ReadonlySet<Local>): Expression | undefined {
  const { terms: [term, other], constant } = linearOf(e);
  if (term === undefined || other !== undefined || term.factor !== 1 || term.of.kind !== 'get' || !fixed.has(term.of.local)) return undefined;
  return constant === 0 ? get(term.of.local) : exact('add', term.of, i32(constant));
}
