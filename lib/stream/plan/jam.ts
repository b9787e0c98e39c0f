// Unroll-and-jam for filters. In sums over long loops every step waits for the previous one; interleaving several firings hides that
// latency.
import { hasOrder, someExpression, someStatement } from '../interpret/walk.ts';
import type { FilterCode, IrStatement, Variable } from '../ir.ts';
import { type Analysis, leaves } from './analysis.ts';

/** The minimum trip count of a loop for which interleaving pays off. */
const leastTurns = 8;

const worthwhile = new WeakMap<FilterCode, boolean>();

/** Whether to interleave several firings of a filter. */
export function isJammed(code: FilterCode, analysis: Analysis): boolean {
  let found = worthwhile.get(code);
  if (found === undefined) worthwhile.set(code, found = isFree(code, analysis) && hasSum(code.work.body));
  return found;
}

/** Whether a firing depends only on its input and moves items in a statically known way. */
function isFree(code: FilterCode, analysis: Analysis): boolean {
  const { body } = code.work;
  if (code.stateful || analysis.usesIteration || code.functions.length > 0 || leaves(body)) return false;
  if (analysis.count(body, 'pop') === undefined || analysis.count(body, 'push') === undefined) return false;
  return !hasOrder(body);
}

/** Whether a float is accumulated over a long loop. */
function hasSum(body: IrStatement): boolean {
  return someStatement(body, (s) => s.kind === 'loop' && s.trips !== undefined && s.trips >= leastTurns && sumsUp(s.body));
}

function sumsUp(body: IrStatement): boolean {
  const own = new Set<Variable>();
  return someStatement(body, (s) => {
    if (s.kind === 'declare') own.add(s.variable);
    if (s.kind !== 'assign' || s.target.kind !== 'variable' || s.target.type.kind !== 'scalar') return false;
    const { variable } = s.target;
    if (own.has(variable) || (s.target.type.name !== 'float' && s.target.type.name !== 'double')) return false;
    return someExpression(s.value, (e) => e.kind === 'variable' && e.variable === variable);
  });
}
