// Properties of a piece of code, each computed once: items it pops and pushes, variables it assigns (also through calls), its unrolled
// size.
import { addChanged, rootOf } from '../elaborate/loops.ts';
import { bodiesOf, eachExpression, eachStatement, evaluatesSome, expressionsOf, operands, returns } from '../interpret/walk.ts';
import type { FilterCode, IrExpression, IrFunction, IrStatement, Variable } from '../ir.ts';

type Verb = 'pop' | 'push';

/** Answers about the code of one filter. */
export class Analysis {
  readonly functions: ReadonlyMap<string, IrFunction>;
  /** Whether the code asks for the number of its firing. */
  readonly usesIteration: boolean;
  readonly #counts = new Map<object, { pop: number | undefined; push: number | undefined }>();
  readonly #assigned = new Map<IrStatement, ReadonlySet<Variable>>();
  readonly #effects = new Map<IrExpression, boolean>();
  readonly #sizes = new Map<object, number>();
  readonly #active = new Set<string>();

  constructor(code: FilterCode) {
    this.functions = new Map(code.functions.map((each) => [each.name, each]));
    this.usesIteration = bodiesOf(code).some((body) => evaluatesSome(body, ({ kind }) => kind === 'iter'));
  }

  function(name: string): IrFunction {
    const found = this.functions.get(name);
    if (found === undefined) throw new Error(`no function ${name}`);
    return found;
  }

  /** How many items the statement pops or pushes on every path; undefined if that varies. */
  count(s: IrStatement, verb: Verb): number | undefined {
    let counts = this.#counts.get(s);
    if (counts === undefined) this.#counts.set(s, counts = { pop: this.#countStatement(s, 'pop'), push: this.#countStatement(s, 'push') });
    return counts[verb];
  }

  #sum(parts: Iterable<number | undefined>): number | undefined {
    let sum = 0;
    for (const part of parts) {
      if (part === undefined) return undefined;
      sum += part;
    }
    return sum;
  }

  #countStatement(s: IrStatement, verb: Verb): number | undefined {
    const own = this.#sum(expressionsOf(s).map((e) => this.#countExpression(e, verb)));
    if (own === undefined) return undefined;
    const total = (...parts: (number | undefined)[]) => this.#sum([own, ...parts]);
    switch (s.kind) {
      case 'block': return this.#countBlock(s.statements, verb);
      case 'push': return total(verb === 'push' ? 1 : 0);
      case 'if': {
        const [a, b] = [this.count(s.then, verb), s.otherwise === undefined ? 0 : this.count(s.otherwise, verb)];
        return a === b ? total(a) : undefined;
      }
      case 'loop': return this.#countLoop(s, own, verb);
      default: return own;
    }
  }

  #countBlock(statements: readonly IrStatement[], verb: Verb): number | undefined {
    const counts = statements.map((part) => this.count(part, verb));
    if (counts.every((each) => each === 0)) return 0;
    // An early exit skips the rest.
    return statements.slice(0, -1).some(leaves) ? undefined : this.#sum(counts);
  }

  #countLoop(s: Extract<IrStatement, { kind: 'loop' }>, condition: number, verb: Verb): number | undefined {
    const initial = this.#sum(s.initial.map((part) => this.count(part, verb)));
    const turn = this.#sum([this.count(s.body, verb), ...s.step.map((part) => this.count(part, verb))]);
    if (initial === undefined || turn === undefined) return undefined;
    if (turn === 0 && condition === 0) return initial;
    if (condition !== 0 || s.trips === undefined || leaves(s.body)) return undefined;
    return initial + s.trips * turn;
  }

  #countExpression(e: IrExpression, verb: Verb): number | undefined {
    const parts = operands(e).map((part) => this.#countExpression(part, verb));
    if (e.kind === 'pop') return verb === 'pop' ? 1 : 0;
    if (e.kind === 'call') return this.#sum([...parts, this.#countCall(this.function(e.function), verb)]);
    if (e.kind === 'conditional') return parts[1] === parts[2] ? this.#sum([parts[0], parts[1]]) : undefined;
    if (e.kind === 'binary' && (e.operator === '&&' || e.operator === '||')) return parts[1] === 0 ? parts[0] : undefined;
    return this.#sum(parts);
  }

  #countCall(called: IrFunction, verb: Verb): number | undefined {
    if (this.#active.has(called.name)) return undefined;
    this.#active.add(called.name);
    const count = this.count(called.body, verb);
    this.#active.delete(called.name);
    return count;
  }

  /** Variables and fields that a statement assigns, including those assigned in functions it calls. */
  assigned(s: IrStatement): ReadonlySet<Variable> {
    const known = this.#assigned.get(s);
    if (known !== undefined) return known;
    const found = new Set<Variable>();
    this.#assigned.set(s, found);
    const called = new Set<IrFunction>();
    const visit = (body: IrStatement): void => eachStatement(body, (part) => {
      const variable = part.kind === 'assign' ? rootOf(part.target) : undefined;
      if (variable !== undefined) found.add(variable);
      for (const e of expressionsOf(part)) eachExpression(e, (each) => {
        if (each.kind === 'call') called.add(this.function(each.function));
        addChanged(each, found);
      });
    });
    visit(s);
    for (const each of called) visit(each.body);
    return found;
  }

  /** Variables that the calls in an expression can change. */
  assignedBy(e: IrExpression): ReadonlySet<Variable> {
    const found = new Set<Variable>();
    eachExpression(e, (part) => {
      if (part.kind === 'call') for (const variable of this.assigned(this.function(part.function).body)) found.add(variable);
      addChanged(part, found);
    });
    return found;
  }

  /** Whether evaluating needs statements: calls, pops, random numbers. */
  hasEffects(e: IrExpression): boolean {
    let found = this.#effects.get(e);
    if (found === undefined) {
      found = e.kind === 'call' || e.kind === 'pop' || (e.kind === 'math' && e.name === 'random')
        || operands(e).some((part) => this.hasEffects(part));
      this.#effects.set(e, found);
    }
    return found;
  }

  /** Size of the code in nodes, with calls inlined and loops unrolled; Infinity if a trip count is unknown. */
  unrolled(s: IrStatement): number {
    let size = this.#sizes.get(s);
    if (size === undefined) this.#sizes.set(s, size = this.#unrolledSize(s));
    return size;
  }

  #unrolledSize(s: IrStatement): number {
    const own = 1 + expressionsOf(s).reduce((sum, e) => sum + this.#expressionSize(e), 0);
    const all = (parts: readonly IrStatement[]) => parts.reduce((sum, part) => sum + this.unrolled(part), 0);
    switch (s.kind) {
      case 'block': return own + all(s.statements);
      case 'if': return own + this.unrolled(s.then) + (s.otherwise === undefined ? 0 : this.unrolled(s.otherwise));
      case 'loop': return own + all(s.initial) + (s.trips ?? Infinity) * (own + this.unrolled(s.body) + all(s.step));
      default: return own;
    }
  }

  #expressionSize(e: IrExpression): number {
    if (e.kind === 'constant') return 1;
    let size = e.kind === 'call' ? this.#callSize(this.function(e.function)) : 1;
    if (e.type.kind !== 'scalar' && (e.kind === 'variable' || e.kind === 'state')) return size;
    for (const part of operands(e)) size += this.#expressionSize(part);
    return size;
  }

  #callSize(called: IrFunction): number {
    if (this.#active.has(called.name)) return Infinity;
    this.#active.add(called.name);
    const size = this.unrolled(called.body);
    this.#active.delete(called.name);
    return size;
  }
}

/** Whether control can leave the statement before its end. */
export function leaves(s: IrStatement): boolean {
  switch (s.kind) {
    case 'break': case 'continue': case 'return': return true;
    case 'block': return s.statements.some(leaves);
    case 'if': return leaves(s.then) || (s.otherwise !== undefined && leaves(s.otherwise));
    case 'loop': return returns(s.body);
    default: return false;
  }
}

/** Whether the body contains a `continue` of this loop itself. */
export function continues(s: IrStatement): boolean {
  switch (s.kind) {
    case 'continue': return true;
    case 'block': return s.statements.some(continues);
    case 'if': return continues(s.then) || (s.otherwise !== undefined && continues(s.otherwise));
    default: return false;
  }
}
