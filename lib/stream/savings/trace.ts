// Executes one firing of a filter symbolically, with what is known about its input: which items its output depends on, which constants it
// pushes, which iterations of its loops have no effect.
import { elementAt, required } from '../../core/known.ts';
import { scalarCount } from '../interpret/values.ts';
import type { FilterCode, IrExpression, IrPlace, IrStatement, IrType, ScalarName, Variable } from '../ir.ts';
import { keptTurns, type Loop, type LoopCourse } from './courses.ts';
import { binary, convert, mathematical, unary } from './operations.ts';
import { TooLong, Values, type Budget, type Turn, type Value } from './values.ts';

type Of<Kind extends IrExpression['kind']> = Extract<IrExpression, { kind: Kind }>;

/** Facts about a firing that hold for all values of the unknown items. */
export interface FiringTrace {
  /** Whether it may fault. */
  readonly canFail: boolean;
  /** By pushed item: its value, if that is constant. */
  readonly pushed: readonly (number | undefined)[];
  /** Offsets of the items that matter, from the first item of the firing: those its effects depend on, and constants it looks at. */
  readonly used: ReadonlySet<number>;
  readonly loops: ReadonlyMap<Loop, readonly LoopCourse[]>;
  /** Offsets of the items from which a pushed item is computed, by its number. */
  sources(pushed: number): readonly number[];
  isLive(turn: Turn): boolean;
}

/** The code cannot be executed symbolically. */
class NotFollowed extends Error {}

function notFollowed(): never {
  throw new NotFollowed();
}

type Work = FilterCode['work'];

/** Traces a firing; undefined if that is not possible. `items`: by offset from the first item, the constant ones. */
export function traceFiring(
  code: FilterCode, work: Work, items: (place: number) => number | undefined, budget: Budget,
): FiringTrace | undefined {
  try {
    return new Tracer(code, work, items, budget).trace();
  } catch (error) {
    if (error instanceof NotFollowed || error instanceof TooLong) return undefined;
    throw error;
  }
}

/** The scalars of a variable, in memory order. */
type Cell = Value[];
type End = 'next' | 'break' | 'continue';

function scalarOf(type: IrType): ScalarName {
  return type.kind === 'scalar' ? type.name : notFollowed();
}

class Tracer {
  readonly #code: FilterCode;
  readonly #work: Work;
  readonly #items: (place: number) => number | undefined;
  readonly #values: Values;
  readonly #cells = new Map<Variable, Cell>();
  readonly #itemValues = new Map<number, Value>();
  /** Constant items that are looked at: conclusions drawn from them hold only if they are really produced. */
  readonly #constantItems = new Set<number>();
  readonly #pushed: Value[] = [];
  readonly #loops = new Map<Loop, LoopCourse[]>();
  #popped = 0;
  #canFail = false;
  /** Inside a branch whose condition is unknown: the cells before it. */
  #before: Map<Variable, Cell> | undefined;

  constructor(code: FilterCode, work: Work, items: (place: number) => number | undefined, budget: Budget) {
    this.#code = code;
    this.#work = work;
    this.#items = items;
    this.#values = new Values(budget);
  }

  trace(): FiringTrace {
    const values = this.#values;
    for (const variable of this.#code.state) {
      const { type, initial, role } = variable;
      this.#cells.set(variable, Array.from({ length: scalarCount(type) }, (_, i) =>
        (role === 'constant' ? values.constant(elementAt(initial.numbers, i)) : values.make([]))));
    }
    if (this.#statement(this.#work.body) !== 'next') notFollowed();
    const { push, pop } = this.#work.rates;
    if (this.#popped !== pop || this.#pushed.length !== push) notFollowed();
    for (const variable of this.#code.state) if (variable.role === 'state') values.need(required(this.#cells.get(variable)));
    this.#findLive();
    return {
      canFail: this.#canFail, pushed: this.#pushed.map((value) => values.constantOf(value)),
      used: new Set([...values.liveItems, ...this.#constantItems]), loops: this.#loops,
      sources: (pushed) => values.itemsOf(elementAt(this.#pushed, pushed)), isLive: (turn) => values.isLiveTurn(turn),
    };
  }

  /** Finds what the effects depend on. Iterations without effects that cannot be left out count as well: what decides them must hold. */
  #findLive(): void {
    const values = this.#values;
    values.findLive();
    const isLive = (turn: Turn): boolean => values.isLiveTurn(turn);
    for (let isDone = false; !isDone;) {
      isDone = true;
      for (const [s, courses] of this.#loops) {
        const kept = keptTurns(s, courses, isLive);
        if (kept.length === 0) continue;
        values.findLive(kept);
        isDone = false;
      }
    }
  }

  #statement(s: IrStatement): End {
    switch (s.kind) {
      case 'block': return this.#block(s.statements);
      case 'declare': return this.#declare(s);
      case 'assign': return this.#assign(s.target, s.value);
      case 'evaluate':
        this.#scalar(s.value);
        return 'next';
      case 'push':
        this.#pushed.push(this.#scalar(s.value));
        this.#values.need(this.#pushed.slice(-1));
        if (this.#before !== undefined) notFollowed();
        return 'next';
      case 'if': return this.#if(s);
      case 'loop': return this.#loop(s);
      case 'break': case 'continue': return this.#before === undefined ? s.kind : notFollowed();
      default: return notFollowed();
    }
  }

  #block(statements: readonly IrStatement[]): End {
    for (const s of statements) {
      const end = this.#statement(s);
      if (end !== 'next') return end;
    }
    return 'next';
  }

  #declare({ variable, value }: Extract<IrStatement, { kind: 'declare' }>): End {
    const values = this.#values;
    const cell = value === undefined ? Array.from({ length: scalarCount(variable.type) }, () => values.constant(0))
      : this.#whole(value).map((each) => values.assigned(undefined, each));
    this.#keep(variable);
    this.#cells.set(variable, cell);
    return 'next';
  }

  #assign(target: IrPlace, e: IrExpression): End {
    const place = this.#place(target);
    const found = this.#whole(e);
    this.#keep(place.variable);
    const cell = this.#cell(place.variable);
    found.forEach((value, i) => {
      const at = place.at + i;
      if (at >= cell.length) notFollowed();
      cell[at] = this.#values.assigned(cell[at], value, place.because);
    });
    return 'next';
  }

  #cell(variable: Variable): Cell {
    return this.#cells.get(variable) ?? notFollowed();
  }

  /** Before a cell changes: saves what it held before the branch. */
  #keep(variable: Variable): void {
    const cell = this.#cells.get(variable);
    if (this.#before !== undefined && cell !== undefined && !this.#before.has(variable)) this.#before.set(variable, [...cell]);
  }

  /** The variable of a place, the index of its first scalar, and the values that this index depends on. */
  #place(e: IrExpression): { readonly variable: Variable; readonly at: number; readonly because: readonly Value[] } {
    if (e.kind === 'variable' || e.kind === 'state') return { variable: e.variable, at: 0, because: [] };
    if (e.kind !== 'element' || e.array.type.kind !== 'array') return notFollowed();
    const { variable, at, because } = this.#place(e.array);
    const index = this.#needed(e.index);
    const x = this.#values.constantOf(index);
    if (x === undefined || x < 0 || x >= e.array.type.length) return notFollowed();
    return { variable, at: at + x * scalarCount(e.type), because: [...because, index] };
  }

  /** All scalars of a value. */
  #whole(e: IrExpression): readonly Value[] {
    if (e.type.kind === 'scalar') return [this.#scalar(e)];
    if (e.type.kind !== 'array') return notFollowed();
    if (e.kind === 'constant') return Array.from(e.value.numbers, (x) => this.#values.constant(x));
    const { variable, at, because } = this.#place(e);
    const part = this.#cell(variable).slice(at, at + scalarCount(e.type));
    return because.length === 0 ? part : part.map((value) => this.#values.assigned(undefined, value, because));
  }

  #if(s: Extract<IrStatement, { kind: 'if' }>): End {
    const condition = this.#scalar(s.condition);
    this.#values.control(condition);
    const x = this.#values.constantOf(condition);
    if (x !== undefined) {
      const taken = x !== 0 ? s.then : s.otherwise;
      return taken === undefined ? 'next' : this.#statement(taken);
    }
    const outer = this.#before;
    const then = this.#branch(s.then);
    const otherwise = s.otherwise === undefined ? new Map<Variable, Cell>() : this.#branch(s.otherwise);
    this.#before = outer;
    for (const variable of new Set([...then.keys(), ...otherwise.keys()])) {
      const now = this.#cells.get(variable);
      if (now === undefined) continue; // declared inside
      const [a, b] = [then.get(variable) ?? now, otherwise.get(variable) ?? now];
      this.#keep(variable);
      this.#cells.set(variable, a.map((value, i) => this.#either(condition, value, elementAt(b, i))));
    }
    return 'next';
  }

  /** Executes a branch; returns the cells it changed, and restores them. */
  #branch(s: IrStatement): Map<Variable, Cell> {
    const before = this.#before = new Map<Variable, Cell>();
    const popped = this.#popped;
    if (this.#statement(s) !== 'next' || this.#popped !== popped) notFollowed();
    const after = new Map<Variable, Cell>();
    for (const [variable, cell] of before) {
      after.set(variable, this.#cell(variable));
      this.#cells.set(variable, cell);
    }
    return after;
  }

  #either(condition: Value, a: Value, b: Value): Value {
    const values = this.#values;
    if (values.isSame(a, b)) return values.kept(a, b);
    return values.make([condition, a, b], { isNoNegativeZero: values.isNoNegativeZero(a) && values.isNoNegativeZero(b) });
  }

  #loop(s: Loop): End {
    const values = this.#values;
    for (const part of s.initial) if (this.#statement(part) !== 'next') notFollowed();
    const course: LoopCourse = { outer: values.turn, turns: [], counters: [] };
    const courses = this.#loops.get(s);
    if (courses === undefined) this.#loops.set(s, [course]);
    else courses.push(course);
    const [first] = s.initial;
    const isCounted = s.initial.length === 1 && first?.kind === 'declare' && first.variable.type.kind === 'scalar';
    const counter = isCounted ? first.variable : undefined;
    for (let isFirst = true; (isFirst && s.atLeastOnce) || this.#goesOn(s); isFirst = false) {
      const [at] = counter === undefined ? [] : this.#cell(counter);
      course.counters.push(at === undefined ? undefined : values.constantOf(at));
      const turn = values.enter();
      course.turns.push(turn);
      const end = this.#statement(s.body);
      if (end === 'break') values.need();
      values.leave(turn);
      if (end === 'break') return 'next';
      // Steps belong to the enclosing iteration: they remain when iterations are left out.
      for (const part of s.step) if (this.#statement(part) !== 'next') notFollowed();
    }
    return 'next';
  }

  #goesOn({ condition }: Loop): boolean {
    if (condition === undefined) return true;
    const value = this.#scalar(condition);
    this.#values.control(value);
    return (this.#values.constantOf(value) ?? notFollowed()) !== 0;
  }

  #scalar(e: IrExpression): Value {
    const values = this.#values;
    if (e.type.kind !== 'scalar') return notFollowed();
    switch (e.kind) {
      case 'constant': return values.constant(elementAt(e.value.numbers, 0));
      case 'variable': case 'state': return elementAt(this.#cell(e.variable), 0);
      case 'element': return this.#element(e);
      case 'pop':
        if (this.#before !== undefined) notFollowed();
        values.need();
        return this.#item(this.#popped++);
      case 'peek': return this.#peek(e);
      case 'iter': return values.make([], { isNoNegativeZero: true });
      case 'unary': return unary(values, e.operator, scalarOf(e.operand.type), this.#scalar(e.operand)) ?? notFollowed();
      case 'binary': return this.#binary(e);
      case 'convert': return convert(values, scalarOf(e.operand.type), scalarOf(e.type), this.#scalar(e.operand));
      case 'conditional': return this.#conditional(e);
      case 'math': return this.#math(e);
      default: return notFollowed();
    }
  }

  #item(place: number): Value {
    if (place >= this.#work.rates.peek) notFollowed();
    let value = this.#itemValues.get(place);
    if (value === undefined) {
      const turn = this.#values.turn;
      this.#values.turn = 0;
      const constant = this.#items(place);
      if (constant !== undefined) this.#constantItems.add(place);
      value = constant === undefined ? this.#values.make([], { item: place }) : this.#values.constant(constant);
      this.#values.turn = turn;
      this.#itemValues.set(place, value);
    }
    return value;
  }

  /** A value that must be correct whenever it is computed, because other values could fault. */
  #needed(e: IrExpression): Value {
    const value = this.#scalar(e);
    this.#values.control(value);
    return value;
  }

  #peek(e: Of<'peek'>): Value {
    const index = this.#needed(e.index);
    const x = this.#values.constantOf(index);
    return x === undefined || x < 0 ? notFollowed() : this.#values.because(this.#item(this.#popped + x), [index]);
  }

  #element(e: Of<'element'>): Value {
    const values = this.#values;
    if (e.array.type.kind !== 'array') return notFollowed();
    const index = this.#needed(e.index);
    const x = values.constantOf(index);
    if (x !== undefined) {
      if (x < 0 || x >= e.array.type.length) return notFollowed();
      if (e.array.kind === 'constant') return this.#values.because(values.constant(elementAt(e.array.value.numbers, x)), [index]);
      const { variable, at, because } = this.#place(e.array);
      return this.#values.because(elementAt(this.#cell(variable), at + x), [...because, index]);
    }
    if (!e.safe) {
      this.#canFail = true;
      values.need([index]);
    }
    return values.make([index, ...this.#whole(e.array)]);
  }

  #binary(e: Of<'binary'>): Value {
    const values = this.#values;
    const { operator } = e;
    const name = scalarOf(e.left.type);
    const a = this.#scalar(e.left);
    const x = values.constantOf(a);
    if (operator === '&&' || operator === '||') {
      if (x !== undefined && (x !== 0) !== (operator === '&&')) return a;
      const both = (b: Value): Value => values.make([a, b], { isNoNegativeZero: true });
      return x === undefined ? this.#alternative(() => this.#scalar(e.right), both)
        : this.#values.because(this.#scalar(e.right), [a]);
    }
    const isDivision = name === 'int' && (operator === '/' || operator === '%');
    const b = isDivision ? this.#needed(e.right) : this.#scalar(e.right);
    const y = values.constantOf(b);
    if (isDivision && y === 0) return notFollowed();
    if (isDivision && y === undefined) {
      this.#canFail = true;
      values.need([b]);
    }
    return binary(values, operator, name, a, b) ?? notFollowed();
  }

  #conditional(e: Of<'conditional'>): Value {
    const condition = this.#scalar(e.condition);
    const x = this.#values.constantOf(condition);
    if (x !== undefined) return this.#values.because(this.#scalar(x !== 0 ? e.then : e.otherwise), [condition]);
    return this.#alternative(() => this.#scalar(e.then), (a) =>
      this.#alternative(() => this.#scalar(e.otherwise), (b) => this.#either(condition, a, b)));
  }

  /** An operand that may not be evaluated must not pop. */
  #alternative(evaluate: () => Value, use: (value: Value) => Value): Value {
    const popped = this.#popped;
    const value = evaluate();
    return this.#popped === popped ? use(value) : notFollowed();
  }

  #math({ name, args }: Of<'math'>): Value {
    if (name === 'random') return notFollowed();
    return mathematical(this.#values, name, scalarOf(required(args[0]).type), args.map((arg) => this.#scalar(arg)));
  }
}
