// Follows a firing of a filter with sums of its items for values: if each item that it pushes is such a sum, the filter is linear. Only
// code is followed whose course does not depend on items, so that such a firing cannot fault.
import { elementAt, required } from '../../core/known.ts';
import { mathOf } from '../interpret/arithmetic.ts';
import { ArithmeticError, binaryOf, conversionOf, unaryOf } from '../interpret/operators.ts';
import { scalarCount } from '../interpret/values.ts';
import { bodiesOf, hasOrder } from '../interpret/walk.ts';
import type { FilterCode, IrExpression, IrPlace, IrStatement, IrType, ScalarName, Variable } from '../ir.ts';
import { Sum, type Budget, type Linear, type LinearType, type Row } from './linear.ts';

type Of<Kind extends IrExpression['kind']> = Extract<IrExpression, { kind: Kind }>;
type Loop = Extract<IrStatement, { kind: 'loop' }>;

/** A known number, or a sum of items. */
type Value = number | Row;

/** What a firing does. */
export interface Followed {
  readonly linear: Linear;
  /** Operations on items: none for products with 0 and ±1, and for sums with 0. */
  readonly operations: number;
}

class NotLinear extends Error {}

function notLinear(): never {
  throw new NotLinear();
}

/** The type of a linear filter's items; undefined if it has others. */
export function linearType({ kind, name }: { readonly kind: string; readonly name?: string }): LinearType | undefined {
  return kind === 'scalar' && (name === 'int' || name === 'float' || name === 'double') ? name : undefined;
}

/** The matrix of a filter; undefined if it is not linear, keeps state, prints, sends messages or has a prework, or takes too long. */
export function followed(code: FilterCode, budget: Budget): Followed | undefined {
  const type = linearType(code.input);
  const { rates } = code.work;
  const isPlain = code.prework === undefined && code.handlers.length === 0 && rates.dynamic === undefined
    && rates.pop > 0 && rates.push > 0;
  if (type === undefined || linearType(code.output) !== type || !isPlain || bodiesOf(code).some(hasOrder)) return undefined;
  try {
    return new Follower(code, type, budget).follow();
  } catch (error) {
    if (error instanceof NotLinear || error instanceof ArithmeticError) return undefined;
    throw error;
  }
}

type End = 'next' | 'break' | 'continue';

function scalarOf(type: IrType): ScalarName {
  return type.kind === 'scalar' ? type.name : notLinear();
}

const isReal = (name: ScalarName): boolean => name === 'float' || name === 'double';

class Follower {
  readonly #code: FilterCode;
  readonly #type: LinearType;
  readonly #budget: Budget;
  readonly #cells = new Map<Variable, Value[]>();
  readonly #rows: Row[] = [];
  #popped = 0;
  #operations = 0;

  constructor(code: FilterCode, type: LinearType, budget: Budget) {
    this.#code = code;
    this.#type = type;
    this.#budget = budget;
  }

  follow(): Followed {
    for (const variable of this.#code.state) {
      if (variable.role === 'state') notLinear();
      // Scratch is written before it is read: reading the first value would be noticed as a number that is none.
      const initial = variable.role === 'constant' ? (i: number) => elementAt(variable.initial.numbers, i) : () => NaN;
      this.#cells.set(variable, Array.from({ length: scalarCount(variable.type) }, (_, i) => initial(i)));
    }
    const { rates, body } = this.#code.work;
    if (this.#statement(body) !== 'next') notLinear();
    if (this.#popped !== rates.pop || this.#rows.length !== rates.push) notLinear();
    const linear = { type: this.#type, pop: rates.pop, peek: Math.max(rates.peek, rates.pop), rows: this.#rows };
    return { linear, operations: this.#operations };
  }

  #spend(steps: number): void {
    if ((this.#budget.left -= steps) < 0) notLinear();
  }

  #statement(s: IrStatement): End {
    this.#spend(1);
    switch (s.kind) {
      case 'block': {
        for (const each of s.statements) {
          const end = this.#statement(each);
          if (end !== 'next') return end;
        }
        return 'next';
      }
      case 'declare':
        this.#cells.set(s.variable, s.value === undefined ? Array.from({ length: scalarCount(s.variable.type) }, () => 0)
          : this.#whole(s.value));
        return 'next';
      case 'assign': {
        const { variable, at } = this.#place(s.target);
        const found = this.#whole(s.value);
        const cell = required(this.#cells.get(variable));
        found.forEach((value, i) => { cell[at + i] = value; });
        return 'next';
      }
      case 'evaluate':
        this.#scalar(s.value);
        return 'next';
      case 'push':
        this.#rows.push(this.#row(this.#scalar(s.value)));
        return 'next';
      case 'if': {
        const taken = this.#number(s.condition) !== 0 ? s.then : s.otherwise;
        return taken === undefined ? 'next' : this.#statement(taken);
      }
      case 'loop': return this.#loop(s);
      case 'break': case 'continue': return s.kind;
      default: return notLinear();
    }
  }

  #loop(s: Loop): End {
    for (const each of s.initial) if (this.#statement(each) !== 'next') notLinear();
    for (let isFirst = true; (isFirst && s.atLeastOnce) || s.condition === undefined || this.#number(s.condition) !== 0; isFirst = false) {
      this.#spend(1);
      if (this.#statement(s.body) === 'break') return 'next';
      for (const each of s.step) if (this.#statement(each) !== 'next') notLinear();
    }
    return 'next';
  }

  /** What is pushed, as a sum of finite factors. */
  #row(value: Value): Row {
    if (typeof value !== 'number') return value;
    return Number.isFinite(value) ? { at: [], by: [], rest: value } : notLinear();
  }

  #number(e: IrExpression): number {
    const value = this.#scalar(e);
    return typeof value === 'number' ? value : notLinear();
  }

  /** The variable of a place, and the index of its first scalar. */
  #place(e: IrPlace | IrExpression): { readonly variable: Variable; readonly at: number } {
    if (e.kind === 'variable' || e.kind === 'state') {
      return this.#cells.has(e.variable) ? { variable: e.variable, at: 0 } : notLinear();
    }
    if (e.kind !== 'element' || e.array.type.kind !== 'array') return notLinear();
    const { variable, at } = this.#place(e.array);
    const index = this.#number(e.index);
    if (!(index >= 0 && index < e.array.type.length)) return notLinear();
    return { variable, at: at + index * scalarCount(e.type) };
  }

  /** All scalars of a value. */
  #whole(e: IrExpression): Value[] {
    if (e.type.kind === 'scalar') return [this.#scalar(e)];
    if (e.type.kind !== 'array') return notLinear();
    this.#spend(scalarCount(e.type));
    if (e.kind === 'constant') return Array.from(e.value.numbers);
    const { variable, at } = this.#place(e);
    return required(this.#cells.get(variable)).slice(at, at + scalarCount(e.type));
  }

  #scalar(e: IrExpression): Value {
    if (e.type.kind !== 'scalar') return notLinear();
    switch (e.kind) {
      case 'constant': return elementAt(e.value.numbers, 0);
      case 'variable': case 'state': case 'element': return this.#stored(e);
      case 'pop': return this.#item(this.#popped++);
      case 'peek': return this.#item(this.#popped + this.#number(e.index));
      case 'unary': return this.#unary(e.operator, scalarOf(e.operand.type), this.#scalar(e.operand));
      case 'binary': return this.#binary(e);
      case 'convert': return this.#converted(scalarOf(e.operand.type), e.type.name, this.#scalar(e.operand));
      case 'conditional': return this.#scalar(this.#number(e.condition) !== 0 ? e.then : e.otherwise);
      case 'math': {
        const f = mathOf(e.name, scalarOf(required(e.args[0]).type));
        return f === undefined ? notLinear() : f(...e.args.map((arg) => this.#number(arg)));
      }
      default: return notLinear();
    }
  }

  #stored(e: IrExpression): Value {
    if (e.kind === 'element' && e.array.kind === 'constant' && e.array.type.kind === 'array') {
      const index = this.#number(e.index);
      return index >= 0 && index < e.array.type.length ? elementAt(e.array.value.numbers, index) : notLinear();
    }
    const { variable, at } = this.#place(e);
    return elementAt(required(this.#cells.get(variable)), at);
  }

  #item(at: number): Row {
    return at >= 0 && at < this.#code.work.rates.peek ? { at: [at], by: [1], rest: 0 } : notLinear();
  }

  #converted(from: ScalarName, to: ScalarName, value: Value): Value {
    if (typeof value === 'number') return conversionOf(from, to)(value);
    return from === to || (isReal(from) && isReal(to)) ? value : notLinear();
  }

  #unary(operator: '-' | '!' | '~', name: ScalarName, value: Value): Value {
    if (typeof value === 'number') return (unaryOf(operator, name) ?? notLinear())(value);
    const negative = operator === '-' || (operator === '~' && name === 'int') ? this.#scaled(value, -1) : notLinear();
    return operator === '-' ? negative : this.#sum(negative, -1, 1);
  }

  #binary(e: Of<'binary'>): Value {
    const { operator } = e;
    const a = this.#scalar(e.left);
    if ((operator === '&&' || operator === '||') && typeof a === 'number' && (a !== 0) !== (operator === '&&')) return a;
    const b = this.#scalar(e.right);
    const name = scalarOf(e.left.type);
    if (typeof a === 'number' && typeof b === 'number') return (binaryOf(operator, name) ?? notLinear())(a, b);
    switch (operator) {
      case '+': return this.#sum(a, b, 1);
      case '-': return this.#sum(a, b, -1);
      case '*': return typeof a === 'number' ? this.#scaled(b, a) : typeof b === 'number' ? this.#scaled(a, b) : notLinear();
      case '/': return typeof b === 'number' && isReal(name) ? this.#scaled(a, 1 / b) : notLinear();
      case '<<': return typeof b === 'number' && name === 'int' ? this.#scaled(a, 1 << b) : notLinear();
      default: return notLinear();
    }
  }

  #scaled(value: Value, factor: number): Value {
    const row = this.#row(value);
    if (Math.abs(factor) !== 1 && factor !== 0) ++this.#operations;
    return this.#finished((sum) => { sum.addRow(row, factor, (at) => at); }, row.at.length);
  }

  #sum(a: Value, b: Value, sign: 1 | -1): Value {
    const [left, right] = [this.#row(a), this.#row(b)];
    if (a !== 0 && b !== 0) ++this.#operations;
    return this.#finished((sum) => {
      sum.addRow(left, 1, (at) => at);
      sum.addRow(right, sign, (at) => at);
    }, left.at.length + right.at.length);
  }

  /** The sum that `fill` adds up. One from which all items dropped out is still none of the numbers that decide a course. */
  #finished(fill: (sum: Sum) => void, terms: number): Value {
    this.#spend(1 + terms);
    const sum = new Sum(this.#type);
    fill(sum);
    return sum.row() ?? notLinear();
  }
}
