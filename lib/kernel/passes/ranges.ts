// Range analysis for integers. Guards that always hold are removed, comparisons with a known outcome become constants, arithmetic that
// cannot wrap is marked, and constants move from indices to offsets, which printers fold into addresses.
import {
  bool, lanesOf, load, valueOf, type Body, type Buffer, type Expression, type ExpressionOf, type Local, type Program, type Range,
  type Statement, type StatementOf,
} from '../ir.ts';
import { assignedIn, endsEarly, mapChildren, mapExpressions, mapProgram, remembering } from '../visit.ts';

const whole: Range = [-2147483648, 2147483647];

/** Ranges of locals that are tighter than their own. */
type Bounds = Map<Local, Range>;

function fits([low, high]: Range): boolean {
  return low >= whole[0] && high <= whole[1];
}

function around(values: readonly number[]): Range {
  return [Math.min(...values), Math.max(...values)];
}

function meet(a: Range, b: Range): Range {
  const both: Range = [Math.max(a[0], b[0]), Math.min(a[1], b[1])];
  return both[0] <= both[1] ? both : a;
}

/** The range of an exact sum, difference or product. */
function exactRange(op: 'add' | 'sub' | 'mul', a: Range, b: Range): Range {
  if (op === 'add') return [a[0] + b[0], a[1] + b[1]];
  if (op === 'sub') return [a[0] - b[1], a[1] - b[0]];
  return around([a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]]);
}

function binaryRange(e: ExpressionOf<'binary'>, a: Range, b: Range): Range {
  const fixed = b[0] === b[1] ? b[0] : undefined;
  switch (e.op) {
    case 'add': case 'sub': case 'mul': {
      const range = exactRange(e.op, a, b);
      return fits(range) ? range : e.isExact === true ? meet(whole, range) : whole;
    }
    case 'div': {
      if (fixed === undefined || fixed === 0) return whole;
      const range = around([Math.trunc(a[0] / fixed) + 0, Math.trunc(a[1] / fixed) + 0]);
      return fits(range) ? range : whole;
    }
    case 'rem': {
      const most = Math.max(Math.abs(b[0]), Math.abs(b[1])) - 1;
      return [a[0] >= 0 ? 0 : -Math.min(most, -a[0]), a[1] <= 0 ? 0 : Math.min(most, a[1])];
    }
    case 'min': return [Math.min(a[0], b[0]), Math.min(a[1], b[1])];
    case 'max': return [Math.max(a[0], b[0]), Math.max(a[1], b[1])];
    case 'band': return a[0] >= 0 || b[0] >= 0 ? [0, Math.min(a[0] >= 0 ? a[1] : whole[1], b[0] >= 0 ? b[1] : whole[1])] : whole;
    case 'bor': case 'xor': {
      if (a[0] < 0 || b[0] < 0) return whole;
      return [e.op === 'bor' ? Math.max(a[0], b[0]) : 0, Math.min(whole[1], 2 ** (32 - Math.clz32(a[1] | b[1])) - 1)];
    }
    case 'shl': {
      const range: Range = fixed === undefined ? [-Infinity, Infinity] : [a[0] * 2 ** (fixed & 31), a[1] * 2 ** (fixed & 31)];
      return fits(range) ? range : whole;
    }
    case 'shr': return fixed === undefined ? [Math.min(a[0], 0), Math.max(a[1], 0)] : [a[0] >> fixed, a[1] >> fixed];
    case 'shr_u': return fixed === undefined || (fixed & 31) === 0 ? a[0] >= 0 ? [0, a[1]] : whole
      : a[0] >= 0 ? [a[0] >>> fixed, a[1] >>> fixed] : [0, 0xffffffff >>> fixed];
  }
}

const ofTables = new WeakMap<Buffer, Range>();

/** The range of the contents of an i32 table. */
function tableRange(buffer: Buffer): Range {
  if (buffer.role !== 'constant' || buffer.element !== 'i32') return whole;
  let found = ofTables.get(buffer);
  if (found === undefined) {
    const { initial = [], length = 0 } = buffer;
    let [low, high] = initial.length < length || initial.length === 0 ? [0, 0] : [Infinity, -Infinity];
    for (let i = 0; i < initial.length; ++i) {
      low = Math.min(low, initial[i] ?? 0);
      high = Math.max(high, initial[i] ?? 0);
    }
    ofTables.set(buffer, found = [low, high]);
  }
  return found;
}

/** The outcome of a comparison, if it is certain. */
function decided(op: ExpressionOf<'compare'>['op'], a: Range, b: Range): boolean | undefined {
  switch (op) {
    case 'lt': return a[1] < b[0] ? true : a[0] >= b[1] ? false : undefined;
    case 'le': return a[1] <= b[0] ? true : a[0] > b[1] ? false : undefined;
    case 'gt': return decided('lt', b, a);
    case 'ge': return decided('le', b, a);
    case 'eq': return a[0] === a[1] && b[0] === b[1] && a[0] === b[0] ? true : a[1] < b[0] || b[1] < a[0] ? false : undefined;
    case 'ne': {
      const isEqual = decided('eq', a, b);
      return isEqual === undefined ? undefined : !isEqual;
    }
    case 'lt_u': return a[0] >= 0 && b[0] >= 0 ? decided('lt', a, b) : undefined;
  }
}

const opposite = { eq: 'ne', ne: 'eq', lt: 'ge', ge: 'lt', gt: 'le', le: 'gt', lt_u: undefined } as const;
const mirrored = { eq: 'eq', ne: 'ne', lt: 'gt', le: 'ge', gt: 'lt', ge: 'le', lt_u: undefined } as const;

class RangePass {
  #bounds: Bounds = new Map();

  body(body: Body): Body {
    const made = body.flatMap((s) => this.#statement(s));
    return made.length === body.length && made.every((s, i) => s === body[i]) ? body : made;
  }

  #of(local: Local): Range {
    const own = local.range ?? whole;
    const found = this.#bounds.get(local);
    return found === undefined ? own : meet(own, found);
  }

  /** The range of an i32. */
  range(e: Expression): Range {
    switch (e.kind) {
      case 'constant': return [e.value, e.value];
      case 'get': return this.#of(e.local);
      case 'load': return tableRange(e.buffer);
      case 'binary': return e.type === 'i32' ? binaryRange(e, this.range(e.left), this.range(e.right)) : whole;
      case 'unary': {
        const [low, high] = this.range(e.operand);
        if (low === whole[0]) return whole;
        return e.op === 'neg' ? [-high + 0, -low + 0] : e.op === 'abs' ? [Math.max(0, low, -high), Math.max(-low, high)] : whole;
      }
      case 'select': {
        const [a, b] = [this.range(e.then), this.range(e.otherwise)];
        return [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
      }
      case 'convert': return e.operand.type === 'bool' ? [0, 1] : whole;
      default: return whole;
    }
  }

  #expression = (e: Expression): Expression => {
    if (e.kind === 'logic') return this.#logic(e);
    const made = mapChildren(e, this.#expression);
    if (made.kind === 'compare' && made.left.type === 'i32') {
      const known = decided(made.op, this.range(made.left), this.range(made.right));
      return known === undefined ? made : bool(known);
    }
    if (made.kind === 'load') {
      const { index, offset } = this.#split(made.index, made.offset);
      return index === made.index ? made : load(made.buffer, index, offset, made.type);
    }
    return made.kind === 'binary' && made.type === 'i32' ? this.#marked(made) : made;
  };

  /** The right condition is evaluated only if the left one has not decided. */
  #logic(e: ExpressionOf<'logic'>): Expression {
    const left = this.#expression(e.left);
    const before = new Map(this.#bounds);
    this.#assume(left, e.op === 'and');
    const right = this.#expression(e.right);
    this.#bounds = before;
    return left === e.left && right === e.right ? e : { ...e, left, right };
  }

  #marked(e: ExpressionOf<'binary'>): Expression {
    if (e.isExact === true || !(e.op === 'add' || e.op === 'sub' || e.op === 'mul')) return e;
    return fits(exactRange(e.op, this.range(e.left), this.range(e.right))) ? { ...e, isExact: true } : e;
  }

  /** Moves a constant from an index to the offset if the remaining index is not negative. */
  #split(index: Expression, offset: number): { index: Expression; offset: number } {
    // The remaining index must not be negative (ir.ts), which it would be if it wrapped.
    if (index.kind !== 'binary' || index.op !== 'add') return { index, offset };
    const add = valueOf(index.right);
    if (add === undefined || add < 0 || this.range(index.left)[0] < 0) return { index, offset };
    return this.#split(index.left, offset + add);
  }

  #statement(given: Statement): Body {
    if (given.kind === 'while') return [this.#while(given)];
    const s = mapExpressions(given, this.#expression);
    switch (s.kind) {
      case 'set':
        this.#bounds.delete(s.local);
        if (s.local.type === 'i32') this.#bounds.set(s.local, this.range(s.value));
        return [s];
      case 'call':
        for (const local of s.results) this.#bounds.delete(local);
        return [s];
      case 'store': {
        const { index, offset } = this.#split(s.index, s.offset);
        this.#assumeInside(index, s.buffer.length === undefined ? undefined : s.buffer.length - offset - lanesOf[s.value.type]);
        return [index === s.index ? s : { ...s, index, offset }];
      }
      case 'if': return [this.#if(s)];
      case 'for': return [this.#for(s)];
      case 'block': {
        const body = this.#apart(s.body);
        return [body === s.body ? s : { ...s, body }];
      }
      case 'guard':
        this.#assume(s.condition, true);
        return valueOf(s.condition) === 1 ? [] : [s];
      default: return [s];
    }
  }

  /** A body that may be left anywhere: afterwards, nothing is known of what it changes. */
  #apart(body: Body): Body {
    const changed = assignedIn(body);
    const after = new Map([...this.#bounds].filter(([local]) => !changed.has(local)));
    const made = this.body(body);
    this.#bounds = after;
    return made;
  }

  #if(s: StatementOf<'if'>): Statement {
    const before = new Map(this.#bounds);
    this.#assume(s.condition, true);
    const then = this.body(s.then);
    const afterThen = this.#bounds;
    this.#bounds = before;
    this.#assume(s.condition, false);
    const otherwise = this.body(s.otherwise);
    if (endsEarly(otherwise)) this.#bounds = afterThen;
    else if (!endsEarly(then)) this.#bounds = joined(afterThen, this.#bounds);
    return then === s.then && otherwise === s.otherwise ? s : { ...s, then, otherwise };
  }

  #forget(locals: Iterable<Local>): void {
    for (const local of locals) this.#bounds.delete(local);
  }

  #while(s: StatementOf<'while'>): Statement {
    this.#forget(assignedIn(s.body));
    const condition = this.#expression(s.condition);
    const outside = new Map(this.#bounds);
    this.#assume(condition, true);
    const body = this.body(s.body);
    this.#bounds = outside;
    return condition === s.condition && body === s.body ? s : { ...s, condition, body };
  }

  #for(s: StatementOf<'for'>): Statement {
    const [from, to] = [this.range(s.from), this.range(s.to)];
    this.#forget([...assignedIn(s.body), s.counter]);
    const outside = new Map(this.#bounds);
    const [first, last] = [valueOf(s.from), valueOf(s.to)];
    // If both ends are known, so is the last value of the counter.
    const high = first !== undefined && last !== undefined ? first + Math.floor((last - 1 - first) / s.step) * s.step : to[1] - 1;
    if (high >= from[0]) this.#bounds.set(s.counter, [from[0], high]);
    const body = this.body(s.body);
    this.#bounds = outside;
    return body === s.body ? s : { ...s, body };
  }

  #assumeInside(index: Expression, most: number | undefined): void {
    if (index.kind === 'get') this.#narrow(index.local, [0, most ?? whole[1]]);
  }

  #narrow(local: Local, range: Range): void {
    this.#bounds.set(local, meet(this.#of(local), range));
  }

  /** Records what a condition implies. */
  #assume(e: Expression, holds: boolean): void {
    if (e.kind === 'unary' && e.op === 'not') this.#assume(e.operand, !holds);
    else if (e.kind === 'logic' && (e.op === 'and') === holds) {
      this.#assume(e.left, holds);
      this.#assume(e.right, holds);
    } else if (e.kind === 'compare' && e.left.type === 'i32') {
      const op = holds ? e.op : opposite[e.op];
      if (op === 'lt_u') this.#assumeUnsigned(e);
      else if (op !== undefined) {
        this.#assumeCompared(op, e.left, e.right);
        this.#assumeCompared(mirrored[op], e.right, e.left);
      }
    }
  }

  #assumeUnsigned({ left, right }: ExpressionOf<'compare'>): void {
    const [low, high] = this.range(right);
    if (left.kind === 'get' && low >= 0 && high > 0) this.#narrow(left.local, [0, high - 1]);
  }

  #assumeCompared(op: Exclude<ExpressionOf<'compare'>['op'], 'lt_u'>, e: Expression, by: Expression): void {
    if (e.kind !== 'get') return;
    const [low, high] = this.range(by);
    if (op === 'eq') this.#narrow(e.local, [low, high]);
    else if (op === 'lt' || op === 'le') this.#narrow(e.local, [whole[0], op === 'lt' ? high - 1 : high]);
    else if (op === 'gt' || op === 'ge') this.#narrow(e.local, [op === 'gt' ? low + 1 : low, whole[1]]);
  }
}

function joined(a: Bounds, b: Bounds): Bounds {
  return new Map([...a].flatMap(([local, range]) => {
    const other = b.get(local);
    return other === undefined ? [] : [[local, [Math.min(range[0], other[0]), Math.max(range[1], other[1])] as const] as const];
  }));
}

const ranged = remembering((body) => new RangePass().body(body));

/** Applies range analysis: drops guards and comparisons that are decided, marks arithmetic that cannot wrap, splits indices. */
export function useRanges(program: Program): Program {
  return mapProgram(program, ranged);
}

