// Ranges of int expressions, derived from loop counters and known values.
import { isScalar, known as constantOf } from '../interpret/values.ts';
import type { IrExpression, Variable } from '../ir.ts';
import { known, type Binding } from './value.ts';

export type Range = readonly [low: number, high: number];

/** What is known of variables. */
export interface Facts {
  readonly bindings: ReadonlyMap<Variable, Binding>;
  readonly ranges: ReadonlyMap<Variable, Range>;
  /** Variables, each with another that is a lower bound for it. */
  readonly above: ReadonlyMap<Variable, Variable>;
}

function around(values: readonly number[]): Range | undefined {
  const range: Range = [Math.min(...values), Math.max(...values)];
  return range[0] < -2147483648 || range[1] > 2147483647 || values.some(Number.isNaN) ? undefined : range;
}

/** Minimum and maximum; undefined if nothing is known. */
export function rangeOf(c: Facts, e: IrExpression): Range | undefined {
  const x = constantOf(e);
  if (x !== undefined) return [x, x];
  if (isScalar(e.type, 'bit') || isScalar(e.type, 'boolean')) return [0, 1];
  switch (e.kind) {
    case 'variable': {
      const slot = c.bindings.get(e.variable)?.storage.slots?.[0];
      const value = slot === undefined ? undefined : known(slot.ex);
      return value === undefined ? c.ranges.get(e.variable) : [value, value];
    }
    case 'convert': return isScalar(e.operand.type, 'float') || isScalar(e.operand.type, 'double') ? undefined : rangeOf(c, e.operand);
    case 'conditional': {
      const [a, b] = [rangeOf(c, e.then), rangeOf(c, e.otherwise)];
      return a === undefined || b === undefined ? undefined : [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
    }
    case 'binary': return isScalar(e.type, 'int') ? ofBinary(c, e) : undefined;
    default: return undefined;
  }
}

function ofBinary(c: Facts, e: Extract<IrExpression, { kind: 'binary' }>): Range | undefined {
  const [a, b] = [rangeOf(c, e.left), rangeOf(c, e.right)];
  const fixed = b !== undefined && b[0] === b[1] ? b[0] : undefined;
  if (e.operator === '&' && fixed !== undefined && fixed >= 0) return [0, fixed];
  if (e.operator === '%' && fixed !== undefined && fixed > 0) {
    return a !== undefined && a[0] >= 0 ? [0, Math.min(a[1], fixed - 1)] : [1 - fixed, fixed - 1];
  }
  if (a === undefined || b === undefined) return undefined;
  const corners = (f: (x: number, y: number) => number): Range | undefined =>
    around([f(a[0], b[0]), f(a[0], b[1]), f(a[1], b[0]), f(a[1], b[1])]);
  const isShift = fixed !== undefined && fixed >= 0 && fixed <= 31;
  switch (e.operator) {
    case '+': return corners((x, y) => x + y);
    case '-': {
      const isAbove = e.left.kind === 'variable' && e.right.kind === 'variable' && c.above.get(e.left.variable) === e.right.variable;
      const range = corners((x, y) => x - y);
      return isAbove && range !== undefined ? [Math.max(range[0], 0), range[1]] : range;
    }
    case '*': return corners((x, y) => x * y);
    case '/': return fixed === undefined || fixed === 0 ? undefined : corners((x, y) => Math.trunc(x / y));
    case '<<': return isShift ? corners((x, y) => x * 2 ** y) : undefined;
    case '>>': return isShift ? corners((x, y) => Math.floor(x / 2 ** y)) : undefined;
    default: return undefined;
  }
}
