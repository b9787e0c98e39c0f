// Constant folding and algebraic simplification of expressions. All results are bit-identical.
import {
  bool, constant, isVector, valueOf, type BinaryOp, type Expression, type ExpressionOf, type ScalarType,
} from '../ir.ts';
import { binaryOn, compared, conversionOf, fromWords, mathOf, unaryOn, wordOf } from '../semantics.ts';
import { mapExpression } from '../visit.ts';
import { required } from '../../core/known.ts';

/** Whether an expression is a certain constant. */
function isValue(e: Expression, x: number): boolean {
  return e.kind === 'constant' && Object.is(e.value, x);
}

/** Whether two expressions are identical, and so have the same value as long as nothing is written. */
export function isSame(a: Expression, b: Expression): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || a.type !== b.type) return false;
  switch (a.kind) {
    case 'constant': return Object.is(a.value, (b as typeof a).value);
    case 'get': return a.local === (b as typeof a).local;
    case 'load': {
      const other = b as typeof a;
      return a.buffer === other.buffer && a.offset === other.offset && isSame(a.index, other.index);
    }
    case 'unary': return a.op === (b as typeof a).op && isSame(a.operand, (b as typeof a).operand);
    case 'binary': case 'compare': case 'logic': {
      const other = b as typeof a;
      return a.op === other.op && isSame(a.left, other.left) && isSame(a.right, other.right);
    }
    case 'select': {
      const other = b as typeof a;
      return isSame(a.condition, other.condition) && isSame(a.then, other.then) && isSame(a.otherwise, other.otherwise);
    }
    case 'word': return a.part === (b as typeof a).part && isSame(a.operand, (b as typeof a).operand);
    case 'words': return isSame(a.high, (b as typeof a).high) && isSame(a.low, (b as typeof a).low);
    case 'convert': case 'splat': return isSame(a.operand, (b as typeof a).operand);
    case 'math': return a.name === (b as typeof a).name && a.args.every((arg, i) => isSame(arg, required((b as typeof a).args[i])));
    case 'lanes': return a.parts.every((part, i) => isSame(part, required((b as typeof a).parts[i])));
    case 'extract': return a.lane === (b as typeof a).lane && isSame(a.vector, (b as typeof a).vector);
  }
}

/** Right operands that leave the left one unchanged. */
const neutral: Readonly<Partial<Record<BinaryOp, Readonly<Partial<Record<ScalarType, number>>>>>> = {
  add: { i32: 0, f32: -0, f64: -0 }, sub: { i32: 0, f32: 0, f64: 0 }, mul: { i32: 1, f32: 1, f64: 1 }, div: { i32: 1, f32: 1, f64: 1 },
  bor: { i32: 0 }, xor: { i32: 0 }, band: { i32: -1 }, shl: { i32: 0 }, shr: { i32: 0 }, shr_u: { i32: 0 },
};
const commutative: ReadonlySet<BinaryOp> = new Set(['add', 'mul', 'band', 'bor', 'xor', 'min', 'max']);

function foldBinary(e: ExpressionOf<'binary'>): Expression {
  const { op, type, isExact } = e;
  if (isVector(type)) return e;
  // Constants go on the right.
  const swaps = commutative.has(op) && e.left.kind === 'constant' && e.right.kind !== 'constant';
  const left = swaps ? e.right : e.left, right = swaps ? e.left : e.right;
  const a = valueOf(left), b = valueOf(right);
  const isByZero = type === 'i32' && (op === 'div' || op === 'rem') && b === 0;
  if (a !== undefined && b !== undefined && !isByZero) return constant(type, required(binaryOn(op, type))(a, b));
  const unit = neutral[op]?.[type as ScalarType];
  if (unit !== undefined && isValue(right, unit)) return left;
  if (type !== 'i32') return swaps ? { ...e, left, right } : e;
  if ((op === 'mul' || op === 'band') && b === 0) return right;
  if (op === 'rem' && (b === 1 || b === -1)) return constant('i32', 0);
  if (op === 'sub' && b !== undefined && b !== -2147483648) return foldBinary({ ...e, op: 'add', right: constant('i32', -b) });
  const chained = chain(op, left, b, isExact === true);
  if (chained !== undefined) return chained;
  return swaps ? { ...e, left, right } : e;
}

/** Folds two constants in a chain of one operation. */
function chain(op: BinaryOp, left: Expression, b: number | undefined, isExact: boolean): Expression | undefined {
  if (b === undefined || left.kind !== 'binary' || left.op !== op || !(op === 'add' || op === 'mul' || op === 'band')) return undefined;
  const inner = valueOf(left.right);
  if (inner === undefined) return undefined;
  const whole = op === 'add' ? inner + b : op === 'mul' ? inner * b : inner & b;
  // Partial sums of the same sign do not wrap if the total does not.
  const keeps = isExact && left.isExact === true && whole === (whole | 0) && (op === 'mul' || (inner >= 0) === (b >= 0));
  const made = { ...left, right: constant('i32', op === 'mul' ? Math.imul(inner, b) : whole | 0) };
  if (keeps) return foldBinary({ ...made, isExact: true });
  const { isExact: _, ...plain } = made;
  return foldBinary(plain);
}

function foldCompare(e: ExpressionOf<'compare'>): Expression {
  const a = valueOf(e.left), b = valueOf(e.right);
  if (a !== undefined && b !== undefined) return bool(compared(e.op, a, b));
  const isInt = e.left.type === 'i32';
  if (isInt && e.left.kind === 'get' && isSame(e.left, e.right)) return bool(e.op === 'eq' || e.op === 'le' || e.op === 'ge');
  // A condition converted to 0 or 1 and tested again.
  if (b === 0 && e.left.kind === 'convert' && e.left.operand.type === 'bool' && (e.op === 'ne' || e.op === 'eq')) {
    const { operand } = e.left;
    return e.op === 'ne' ? operand : fold({ kind: 'unary', type: 'bool', op: 'not', operand });
  }
  return e;
}

const opposite = { eq: 'ne', ne: 'eq', lt: 'ge', ge: 'lt', gt: 'le', le: 'gt' } as const;

function foldUnary(e: ExpressionOf<'unary'>): Expression {
  const { op, type, operand } = e;
  if (isVector(type)) return e;
  const x = valueOf(operand);
  if (x !== undefined) return constant(type, required(unaryOn(op, type))(x));
  if ((op === 'not' || op === 'neg') && operand.kind === 'unary' && operand.op === op) return operand.operand;
  // For integers only, because a NaN would make both false.
  if (op === 'not' && operand.kind === 'compare' && operand.left.type === 'i32' && operand.op !== 'lt_u') {
    return { ...operand, op: opposite[operand.op] };
  }
  return e;
}

function foldLogic(e: ExpressionOf<'logic'>): Expression {
  const stop = e.op === 'and' ? 0 : 1;
  const a = valueOf(e.left);
  if (a !== undefined) return a === stop ? e.left : e.right;
  return valueOf(e.right) === 1 - stop ? e.left : e;
}

function foldConvert(e: ExpressionOf<'convert'>): Expression {
  const { operand, type } = e;
  const x = valueOf(operand);
  if (x !== undefined && !isVector(type)) {
    return constant(type, required(conversionOf(operand.type as ScalarType, type))(x));
  }
  if (operand.kind !== 'convert') return e;
  // 0 or 1 back to a condition; a single that was widened.
  const { operand: inner } = operand;
  return (type === 'bool' && inner.type === 'bool') || (type === 'f32' && inner.type === 'f32' && operand.type === 'f64') ? inner : e;
}

/** Folds an expression whose parts are already folded. */
export function fold(e: Expression): Expression {
  switch (e.kind) {
    case 'load': {
      const index = valueOf(e.index);
      if (index === undefined || e.buffer.role !== 'constant' || isVector(e.type)) return e;
      return constant(e.buffer.element, e.buffer.initial?.[index + e.offset] ?? 0);
    }
    case 'unary': return foldUnary(e);
    case 'binary': return foldBinary(e);
    case 'compare': return foldCompare(e);
    case 'logic': return foldLogic(e);
    case 'select': {
      const x = valueOf(e.condition);
      return x !== undefined ? (x === 0 ? e.otherwise : e.then) : isSame(e.then, e.otherwise) ? e.then : e;
    }
    case 'convert': return foldConvert(e);
    case 'math': {
      const args = e.args.map(valueOf);
      return args.includes(undefined) ? e : constant('f64', mathOf(e.name)(...args as number[]));
    }
    case 'word': {
      const x = valueOf(e.operand);
      return x === undefined || Number.isNaN(x) ? e : constant('i32', wordOf(e.part, x));
    }
    case 'words': {
      const [high, low] = [valueOf(e.high), valueOf(e.low)];
      return high === undefined || low === undefined ? e : constant('f64', fromWords(high, low));
    }
    case 'lanes': {
      const first = required(e.parts[0]);
      return e.parts.every((part) => isSame(part, first)) ? { kind: 'splat', type: e.type, operand: first } : e;
    }
    case 'extract': return e.vector.kind === 'splat' ? e.vector.operand : e.vector.kind === 'lanes' ? required(e.vector.parts[e.lane]) : e;
    default: return e;
  }
}

/** Folds an expression and all of its parts. */
export function foldExpression(e: Expression): Expression {
  return mapExpression(e, fold);
}
