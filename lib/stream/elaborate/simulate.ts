// Executes a work function without its data: known values (counters, constants) are computed, unknown ones fork or widen the state. Finds
// how many items are popped, pushed and peeked at, and which fields are read before they are written.
import { elementAt } from '../../core/known.ts';
import type { Span } from '../ast.ts';
import { binaryOf, conversionOf, unaryOf } from '../interpret/operators.ts';
import { known, scalarCount } from '../interpret/values.ts';
import type { IrExpression, IrFunction, IrStatement, IrType, StateVariable, Variable } from '../ir.ts';
import { eachExpression, eachStatement, expressionsOf, operands, someStatement } from '../interpret/walk.ts';
import { assignedVariables, rootOf } from './loops.ts';

type Flow = 'normal' | 'break' | 'continue' | 'return' | 'unclear';

/** The results of a simulation. */
export interface Findings {
  /** Minimum and maximum number of items; `Infinity` if there is no bound. */
  readonly pop: readonly [low: number, high: number];
  readonly push: readonly [low: number, high: number];
  /** The largest number of items that the input must certainly hold: one more than the farthest peek or pop, and its place. */
  readonly peek: number;
  readonly peekSpan: Span | undefined;
  /** Fields that some path may read before it has written them. */
  readonly carried: ReadonlySet<Variable>;
  /** False if the work was too long to simulate: rates are bounds only, and all written fields count as carried. */
  readonly complete: boolean;
}

interface State {
  env: Map<Variable, number>;
  written: Map<Variable, Uint8Array>;
  pop: [number, number];
  push: [number, number];
}

/** The place of a value; if `at` is undefined, it is somewhere in `from` … `from + count`. */
interface Place {
  readonly root: Variable;
  readonly at: number | undefined;
  readonly from: number;
  readonly count: number;
}

class TooLong extends Error {}

/** Simulates `body` within `steps` steps. `fields`: those that the work, or a function it calls, writes. */
export function simulate(
  body: IrStatement, functions: ReadonlyMap<string, IrFunction>, fields: ReadonlySet<Variable>, steps: number,
): Findings & { readonly steps: number } {
  const run = new Simulation(functions, fields, steps);
  try {
    // An early exit somewhere: what was counted after it may not have happened.
    if (run.statement(body) === 'unclear') run.state = { ...run.state, pop: [0, run.state.pop[1]], push: [0, run.state.push[1]] };
  } catch (error) {
    if (!(error instanceof TooLong)) throw error;
    return { pop: [0, Infinity], push: [0, Infinity], peek: 0, peekSpan: undefined, carried: fields, complete: false, steps };
  }
  const { pop, push } = run.state;
  return { pop, push, peek: run.peek, peekSpan: run.peekSpan, carried: run.carried, complete: true, steps: steps - run.steps };
}

class Simulation {
  readonly functions: ReadonlyMap<string, IrFunction>;
  readonly fields: ReadonlySet<Variable>;
  readonly carried = new Set<Variable>();
  state: State = { env: new Map(), written: new Map(), pop: [0, 0], push: [0, 0] };
  steps: number;
  peek = 0;
  peekSpan: Span | undefined;
  /** Inside code that may not be executed. */
  #forks = 0;
  #depth = 0;
  #returned: number | undefined;
  /** Array parameters, and the places they refer to. */
  readonly #references = new Map<Variable, Place>();
  /** Whether statements are plain, and the arrays they mention. Some of these may be parameters that refer to fields. */
  readonly #plain = new WeakMap<IrStatement, { readonly isPlain: boolean; readonly arrays: ReadonlySet<Variable> }>();

  constructor(functions: ReadonlyMap<string, IrFunction>, fields: ReadonlySet<Variable>, steps: number) {
    this.functions = functions;
    this.fields = fields;
    this.steps = steps;
  }

  #spend(steps = 1): void {
    this.steps -= steps;
    if (this.steps < 0) throw new TooLong();
  }

  statement(s: IrStatement): Flow {
    this.#spend();
    switch (s.kind) {
      case 'block': return this.#sequence(s.statements);
      case 'declare': {
        const value = s.value === undefined ? 0 : this.value(s.value);
        this.#bind(s.variable, value);
        return 'normal';
      }
      case 'assign': this.#assign(s.target, s.value); return 'normal';
      case 'push':
        this.value(s.value);
        this.state.push[0] += 1;
        this.state.push[1] += 1;
        return 'normal';
      case 'if': return this.#if(s);
      case 'loop': return this.#loop(s);
      case 'return': this.#returned = s.value === undefined ? undefined : this.value(s.value); return 'return';
      case 'break': case 'continue': return s.kind;
      default:
        for (const e of expressionsOf(s)) this.value(e);
        return 'normal';
    }
  }

  #sequence(statements: readonly IrStatement[]): Flow {
    let unclear = false;
    for (const part of statements) {
      const flow = this.statement(part);
      if (flow === 'unclear') unclear = true;
      else if (flow !== 'normal') return unclear ? 'unclear' : flow;
    }
    return unclear ? 'unclear' : 'normal';
  }

  #bind(variable: Variable, value: number | undefined): void {
    if (value === undefined || variable.type.kind !== 'scalar') this.state.env.delete(variable);
    else this.state.env.set(variable, value);
  }

  #assign(target: IrExpression, value: IrExpression): void {
    const place = this.#place(target);
    const x = this.value(value);
    if (target.kind === 'variable') this.#bind(target.variable, x);
    if (place?.at === undefined || !this.fields.has(place.root)) return;
    this.#marks(place.root).fill(1, place.at, place.at + scalarCount(target.type));
  }

  #marks(field: Variable): Uint8Array {
    let marks = this.state.written.get(field);
    if (marks === undefined) {
      const count = scalarCount(field.type);
      this.#spend(count >> 6);
      this.state.written.set(field, marks = new Uint8Array(count));
    }
    return marks;
  }

  /** Root and offset of a place; evaluates its indices. */
  #place(e: IrExpression): Place | undefined {
    if (e.kind === 'variable' || e.kind === 'state') {
      return this.#references.get(e.variable) ?? { root: e.variable, at: 0, from: 0, count: scalarCount(e.type) };
    }
    const inner = e.kind === 'element' ? e.array : e.kind === 'field' ? e.object : e.kind === 'part' ? e.vector : undefined;
    if (inner === undefined || rootOf(inner) === undefined) return undefined;
    const place = this.#place(inner);
    const offset = e.kind === 'element' ? scale(this.value(e.index), scalarCount(e.type))
      : e.kind === 'part' ? e.part : e.kind === 'field' ? offsetOf(inner.type, e.field) : undefined;
    if (place === undefined || place.at === undefined || offset === undefined) return place === undefined ? undefined
      : { ...place, at: undefined };
    const count = scalarCount(e.type);
    const at = place.at + offset;
    return { root: place.root, at: offset < 0 || offset + count > scalarCount(inner.type) ? undefined : at, from: at, count };
  }

  #read(e: IrExpression): number | undefined {
    const place = this.#place(e);
    if (place === undefined) {
      for (const part of operands(e)) this.value(part);
      return undefined;
    }
    const { root, at } = place;
    if (this.fields.has(root)) {
      const marks = this.#marks(root);
      this.#spend(place.count >> 4);
      const [low, high] = at === undefined ? [place.from, place.from + place.count] : [at, at + scalarCount(e.type)];
      for (let i = low; i < high && i < marks.length; ++i) {
        if (marks[i] === 0) {
          this.carried.add(root);
          break;
        }
      }
      return undefined;
    }
    if (e.type.kind !== 'scalar') return undefined;
    if (e.kind === 'variable') return this.state.env.get(e.variable);
    const { initial } = root as Partial<StateVariable>;
    return initial === undefined || at === undefined ? undefined : initial.numbers[at];
  }

  /** The value if it is known; effects are counted. */
  value(e: IrExpression): number | undefined {
    this.#spend();
    switch (e.kind) {
      case 'constant': return known(e);
      case 'variable': case 'state': case 'element': case 'field': case 'part': return this.#read(e);
      case 'pop': {
        const { pop } = this.state;
        pop[0] += 1;
        pop[1] += 1;
        this.#reach(pop[0], e.span);
        return undefined;
      }
      case 'peek': {
        const index = this.value(e.index);
        if (index !== undefined) this.#reach(this.state.pop[0] + index + 1, e.span);
        return undefined;
      }
      case 'call': return this.#call(e);
      case 'unary': {
        const a = this.value(e.operand);
        const f = e.operand.type.kind === 'scalar' ? unaryOf(e.operator, e.operand.type.name) : undefined;
        return a === undefined || f === undefined ? undefined : f(a);
      }
      case 'convert': {
        const a = this.value(e.operand);
        if (a === undefined || e.type.kind !== 'scalar' || e.operand.type.kind !== 'scalar') return undefined;
        return conversionOf(e.operand.type.name, e.type.name)(a);
      }
      case 'binary': return this.#binary(e);
      case 'conditional': {
        const c = this.value(e.condition);
        if (c !== undefined) return this.value(c !== 0 ? e.then : e.otherwise);
        let values: (number | undefined)[] = [];
        this.#either(() => { values = [this.value(e.then)]; }, () => { values.push(this.value(e.otherwise)); });
        return values[0] === values[1] ? values[0] : undefined;
      }
      default:
        for (const part of operands(e)) this.value(part);
        return undefined;
    }
  }

  #reach(items: number, span: Span | undefined): void {
    if (this.#forks > 0 || items <= this.peek) return;
    this.peek = items;
    this.peekSpan = span;
  }

  #binary(e: Extract<IrExpression, { kind: 'binary' }>): number | undefined {
    const a = this.value(e.left);
    if (e.operator === '&&' || e.operator === '||') {
      if (a !== undefined) return (a !== 0) === (e.operator === '&&') ? this.value(e.right) : a;
      this.#either(() => { this.value(e.right); }, () => undefined);
      return undefined;
    }
    const b = this.value(e.right);
    const f = e.left.type.kind === 'scalar' ? binaryOf(e.operator, e.left.type.name) : undefined;
    if (a === undefined || b === undefined || f === undefined) return undefined;
    return (e.operator === '/' || e.operator === '%') && b === 0 ? undefined : f(a, b);
  }

  #call(e: Extract<IrExpression, { kind: 'call' }>): number | undefined {
    const callee = this.functions.get(e.function);
    const args = e.args.map((arg) => (arg.type.kind === 'array' && rootOf(arg) !== undefined ? this.#place(arg) : this.value(arg)));
    if (callee === undefined || this.#depth >= 24) throw new TooLong();
    ++this.#depth;
    const outer = this.state.env;
    this.state.env = new Map(outer);
    const references = callee.parameters.map((parameter) => [parameter, this.#references.get(parameter)] as const);
    callee.parameters.forEach((parameter, i) => {
      const arg = args[i];
      this.#bind(parameter, typeof arg === 'object' ? undefined : arg);
      this.#refer(parameter, typeof arg === 'object' ? arg : undefined);
    });
    this.#returned = undefined;
    const before = this.#isPlain(callee.body, true) ? undefined : this.#copy();
    const flow = this.statement(callee.body);
    const result = flow === 'return' ? this.#returned : undefined;
    if (flow === 'unclear' && before !== undefined) this.#backTo(before);
    this.state.env = outer;
    for (const [parameter, place] of references) this.#refer(parameter, place);
    --this.#depth;
    return result;
  }

  #refer(parameter: Variable, place: Place | undefined): void {
    if (place === undefined) this.#references.delete(parameter);
    else this.#references.set(parameter, place);
  }

  /** Some paths have left early: keeps what was certain before, and the maximum counts since. */
  #backTo(before: State): void {
    const { pop, push } = this.state;
    this.state = { ...before, pop: [before.pop[0], pop[1]], push: [before.push[0], push[1]] };
  }

  #if(s: Extract<IrStatement, { kind: 'if' }>): Flow {
    const c = this.value(s.condition);
    if (c !== undefined) return c !== 0 ? this.statement(s.then) : s.otherwise === undefined ? 'normal' : this.statement(s.otherwise);
    let flows: Flow[] = [];
    this.#either(() => { flows = [this.statement(s.then)]; },
      () => { flows.push(s.otherwise === undefined ? 'normal' : this.statement(s.otherwise)); });
    return flows[0] === flows[1] ? elementAt(flows, 0) : 'unclear';
  }

  /** Simulates both paths from the current state, and merges the results. */
  #either(first: () => void, second: () => void): void {
    const before = this.#copy();
    ++this.#forks;
    first();
    const one = this.state;
    this.state = before;
    second();
    --this.#forks;
    this.#returned = undefined;
    this.#join(one);
  }

  #copy(): State {
    const { env, written, pop, push } = this.state;
    const copies = new Map<Variable, Uint8Array>();
    for (const [field, marks] of written) {
      this.#spend(marks.length >> 6);
      copies.set(field, marks.slice());
    }
    this.#spend(env.size >> 2);
    return { env: new Map(env), written: copies, pop: [...pop], push: [...push] };
  }

  #join(other: State): void {
    const { state } = this;
    for (const [variable, value] of state.env) if (other.env.get(variable) !== value) state.env.delete(variable);
    for (const [field, marks] of state.written) {
      const others = other.written.get(field);
      this.#spend(marks.length >> 4);
      for (let i = 0; i < marks.length; ++i) marks[i] = elementAt(marks, i) & (others?.[i] ?? 0);
    }
    state.pop = [Math.min(state.pop[0], other.pop[0]), Math.max(state.pop[1], other.pop[1])];
    state.push = [Math.min(state.push[0], other.push[0]), Math.max(state.push[1], other.push[1])];
  }

  /** Whether a loop uses neither channels nor written fields, so that only its variables matter. */
  #isPlain(s: IrStatement, mayReturn = false): boolean {
    let plain = this.#plain.get(s);
    if (plain === undefined) {
      const arrays = new Set<Variable>();
      let isPlain = true;
      eachStatement(s, (part) => {
        if (part.kind === 'push' || (part.kind === 'return' && !mayReturn)) isPlain = false;
        for (const e of expressionsOf(part)) {
          eachExpression(e, (each) => {
            if (each.kind === 'pop' || each.kind === 'peek' || each.kind === 'call') isPlain = false;
            if (each.kind === 'state' && this.fields.has(each.variable)) isPlain = false;
            if (each.kind === 'variable' && each.type.kind === 'array') arrays.add(each.variable);
          });
        }
      });
      this.#plain.set(s, plain = { isPlain, arrays });
    }
    if (!plain.isPlain || this.#references.size === 0) return plain.isPlain;
    return [...plain.arrays].every((array) => !this.fields.has(this.#references.get(array)?.root ?? array));
  }

  #loop(s: Extract<IrStatement, { kind: 'loop' }>): Flow {
    if (this.#isPlain(s) && !(s.trips !== undefined && s.trips <= 4)) {
      this.#forget(s);
      return 'normal';
    }
    this.#sequence(s.initial);
    const mayLeave = leaves(s.body);
    for (let isDue = s.atLeastOnce; ; isDue = false) {
      const c = isDue || s.condition === undefined ? 1 : this.value(s.condition);
      if (c === undefined) return this.#someTurns(s);
      if (c === 0) return 'normal';
      const before = mayLeave ? this.#copy() : undefined;
      const flow = this.statement(s.body);
      if (flow === 'break') return 'normal';
      if (flow === 'return') return flow;
      if (flow === 'unclear') {
        if (before !== undefined) this.#backTo(before);
        return this.#someTurns(s);
      }
      this.#sequence(s.step);
    }
  }

  #forget(s: IrStatement): void {
    for (const variable of assignedVariables(s)) this.state.env.delete(variable);
  }

  /** An unknown number of further iterations. */
  #someTurns(s: Extract<IrStatement, { kind: 'loop' }>): Flow {
    this.#forget(s);
    const before = this.#copy();
    ++this.#forks;
    this.statement(s.body);
    this.#sequence(s.step);
    if (s.condition !== undefined) this.value(s.condition);
    --this.#forks;
    const after = this.state;
    this.state = before;
    const [pops, pushes] = [after.pop[1] > before.pop[1], after.push[1] > before.push[1]];
    if (pops) before.pop[1] = Infinity;
    if (pushes) before.push[1] = Infinity;
    this.#forget(s);
    let isReturned = false as boolean;
    eachStatement(s.body, (part) => { isReturned ||= part.kind === 'return'; });
    return isReturned ? 'unclear' : 'normal';
  }
}

/** Whether a statement contains a `break`, `continue` or `return`. */
function leaves(s: IrStatement): boolean {
  return someStatement(s, ({ kind }) => kind === 'break' || kind === 'continue' || kind === 'return');
}

function scale(index: number | undefined, by: number): number | undefined {
  return index === undefined ? undefined : index * by;
}

function offsetOf(type: IrType, name: string): number | undefined {
  if (type.kind !== 'struct') return undefined;
  let offset = 0;
  for (const field of type.fields) {
    if (field.name === name) return offset;
    offset += scalarCount(field.type);
  }
  return undefined;
}
