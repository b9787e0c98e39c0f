// Recognises filters that compute nothing: their loops only move items and elements.
import type { IrExpression, IrStatement } from '../ir.ts';

function isMoved(e: IrExpression): boolean {
  switch (e.kind) {
    case 'constant': case 'variable': case 'state': case 'pop': case 'peek': case 'element': case 'field': return true;
    default: return false;
  }
}

/** Whether everything a statement stores or pushes is merely loaded, popped or peeked. Index computations do not count. */
export function onlyMoves(s: IrStatement): boolean {
  switch (s.kind) {
    case 'block': return s.statements.every(onlyMoves);
    case 'loop': return onlyMoves(s.body);
    case 'declare': return s.value === undefined || isMoved(s.value);
    case 'assign': case 'push': case 'evaluate': return isMoved(s.value);
    default: return false;
  }
}
