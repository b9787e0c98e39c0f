// Loops whose counter determines how inner loops count: `for (span = 2; span <= n; span *= 2) for (i = 0; i < n; i += span)`.
import { eachExpression, eachStatement, expressionsOf, someExpression, statementSize } from '../interpret/walk.ts';
import type { IrExpression, IrFunction, IrStatement, Variable } from '../ir.ts';
import type { Analysis } from '../plan/analysis.ts';

type Loop = Extract<IrStatement, { kind: 'loop' }>;

/** The maximum size, in nodes, of such a loop when it is unrolled and the loops inside are kept. */
const mostNodes = 2000;

/**
 * Whether a loop is worth unrolling although the loops inside it are kept. Their start, end or step follows from its counter, which does
 * not move by a fixed step, so nothing would be known of their counters otherwise.
 */
export function isStaged(analysis: Analysis, s: Loop): boolean {
  const [step] = s.step;
  if (s.trips === undefined || s.step.length !== 1 || step?.kind !== 'assign' || step.target.kind !== 'variable') return false;
  const { variable } = step.target;
  if (isSum(step.value, variable) || analysis.assigned(s.body).has(variable)) return false;
  return s.trips * sizeOf(analysis, s.body) <= mostNodes && decidesLoops(analysis, s.body, new Set([variable]), new Set());
}

/** Whether a step adds the same constant in each iteration. */
function isSum(e: IrExpression, variable: Variable): boolean {
  return e.kind === 'binary' && (e.operator === '+' || e.operator === '-') && e.left.kind === 'variable' && e.left.variable === variable
    && e.right.kind === 'constant';
}

/** The functions that a statement calls, with the arguments. */
function callsIn(analysis: Analysis, s: IrStatement): { readonly called: IrFunction; readonly args: readonly IrExpression[] }[] {
  const found: { called: IrFunction; args: readonly IrExpression[] }[] = [];
  for (const e of expressionsOf(s)) {
    eachExpression(e, (part) => { if (part.kind === 'call') found.push({ called: analysis.function(part.function), args: part.args }); });
  }
  return found;
}

/** Size of a statement in nodes, with calls inlined; Infinity if functions call themselves. */
function sizeOf(analysis: Analysis, s: IrStatement, depth = 0): number {
  if (depth > 8) return Infinity;
  let size = statementSize(s);
  eachStatement(s, (part) => {
    for (const { called } of callsIn(analysis, part)) size += sizeOf(analysis, called.body, depth + 1);
  });
  return size;
}

/** Whether a statement contains a loop of unknown trip count that is controlled by values derived from these variables. */
function decidesLoops(analysis: Analysis, s: IrStatement, known: Set<Variable>, active: Set<IrFunction>): boolean {
  const follows = (e: IrExpression | undefined): boolean =>
    e !== undefined && someExpression(e, (part) => part.kind === 'variable' && known.has(part.variable));
  let found = false;
  eachStatement(s, (part) => {
    if (part.kind === 'declare' && follows(part.value)) known.add(part.variable);
    else if (part.kind === 'assign' && part.target.kind === 'variable' && follows(part.value)) known.add(part.target.variable);
    else if (part.kind === 'loop' && part.trips === undefined) {
      const inside = [...part.initial, ...part.step].flatMap((each) =>
        (each.kind === 'declare' || each.kind === 'assign' ? [each.value] : []));
      found ||= [part.condition, ...inside].some(follows);
    }
    for (const { called, args } of callsIn(analysis, part)) {
      if (active.has(called)) continue;
      called.parameters.forEach((parameter, i) => { if (follows(args[i])) known.add(parameter); });
      active.add(called);
      found ||= decidesLoops(analysis, called.body, known, active);
    }
  });
  return found;
}
