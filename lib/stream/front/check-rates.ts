// Declared rates against what the code does, as far as both are constant.
import { required } from '../../core/known.ts';
import type { Expression, FilterDeclaration, FunctionDeclaration, Rate, Span, Statement } from '../ast.ts';
import type { Context } from './check-context.ts';
import { endsOfStream } from './infer-ends.ts';
import { checkRules } from './check-rules.ts';
import { constantOf } from './types.ts';
import { childrenOf, eachStatement, ownExpressions } from './walk.ts';

/** Bounds of how often something happens. */
interface Count {
  readonly low: number;
  readonly high: number;
}
interface Use {
  readonly push: Count;
  readonly pop: Count;
}

/** Calls of functions in each other that are followed; beyond, nothing is known. */
const kDepth = 50;
const kNone: Count = { low: 0, high: 0 };
const kNoUse: Use = { push: kNone, pop: kNone };
const kAnyUse: Use = { push: { low: 0, high: Infinity }, pop: { low: 0, high: Infinity } };
const kOne: Count = { low: 1, high: 1 };

const plus = (a: Count, b: Count): Count => ({ low: a.low + b.low, high: a.high + b.high });
const either = (a: Count, b: Count): Count => ({ low: Math.min(a.low, b.low), high: Math.max(a.high, b.high) });
const times = (a: Count, b: Count): Count => ({ low: a.low * b.low, high: a.high === 0 || b.high === 0 ? 0 : a.high * b.high });
const both = (a: Use, b: Use, join: (x: Count, y: Count) => Count): Use => ({ push: join(a.push, b.push), pop: join(a.pop, b.pop) });

const repeated = ({ low, high }: Count): Count => ({ low, high: high > 0 ? Infinity : 0 });

/** The number of a constant rate. */
const constantRate = (rate: Rate | undefined): number | undefined => (rate?.kind === 'static' ? constantOf(rate.value) : undefined);

/** Trips of a loop that counts with constants. */
function tripsOf(node: Extract<Statement, { kind: 'for' }>): number | undefined {
  const { initial, condition, step, body } = node;
  const variable = initial?.kind === 'declare' && initial.variables.length === 1 ? initial.variables[0] : undefined;
  const assigned = initial?.kind === 'assign' && initial.operator === '=' ? initial : undefined;
  const name = variable?.name ?? (assigned?.target.kind === 'name' ? assigned.target.name : undefined);
  const from = constantOf(variable?.value ?? assigned?.value);
  if (name === undefined || from === undefined || condition?.kind !== 'binary' || condition.left.kind !== 'name') return undefined;
  const to = constantOf(condition.right);
  if (condition.left.name !== name || to === undefined || step === undefined || changes(body, name)) return undefined;
  const by = strideOf(step, name);
  if (by === undefined || by === 0) return undefined;
  const distance = by > 0 ? to - from : from - to;
  const [strict, loose] = by > 0 ? ['<', '<='] : ['>', '>='];
  if (condition.operator === strict) return Math.max(0, Math.ceil(distance / Math.abs(by)));
  return condition.operator === loose ? Math.max(0, Math.floor(distance / Math.abs(by)) + 1) : undefined;
}

function strideOf(step: Statement, name: string): number | undefined {
  if (step.kind !== 'increment' && step.kind !== 'assign') return undefined;
  if (step.target.kind !== 'name' || step.target.name !== name) return undefined;
  if (step.kind === 'increment') return step.by;
  const { operator, value } = step;
  if (operator === '+=' || operator === '-=') {
    const by = constantOf(value);
    return by === undefined ? undefined : operator === '+=' ? by : -by;
  }
  if (operator !== '=' || value.kind !== 'binary' || value.left.kind !== 'name' || value.left.name !== name) return undefined;
  const by = constantOf(value.right);
  return by === undefined || (value.operator !== '+' && value.operator !== '-') ? undefined : value.operator === '+' ? by : -by;
}

function expressionChanges(node: Expression, name: string): boolean {
  if (node.kind === 'increment' && node.target.kind === 'name' && node.target.name === name) return true;
  return childrenOf(node).some((child) => expressionChanges(child, name));
}

/** Whether code may assign to a variable, or leave the loop early. */
function changes(body: Statement, name: string): boolean {
  let found = false;
  eachStatement(body, (node) => {
    if (node.kind === 'break' || node.kind === 'continue' || node.kind === 'return') found = true;
    else if (node.kind === 'assign' || node.kind === 'increment') found ||= node.target.kind === 'name' && node.target.name === name;
    if (ownExpressions(node).some((part) => expressionChanges(part, name))) found = true;
  });
  return found;
}

/** Counts pushes and pops of the functions of one filter. */
class Counter {
  private readonly context: Context;
  private readonly known = new Map<FunctionDeclaration, Use>();
  /** Called for every peek with the number of items that were certainly popped before it. */
  peek: (index: Expression, span: Span, before: number) => void = () => {};
  private before = 0;
  /** Functions being counted, and whether they call themselves. */
  private readonly active = new Map<FunctionDeclaration, boolean>();
  private depth = 0;

  constructor(context: Context) {
    this.context = context;
  }

  /** What a call of a function does. */
  of(declaration: FunctionDeclaration): Use {
    const known = this.known.get(declaration);
    if (known !== undefined) return known;
    // A function that calls itself does any number of times what it does beside that.
    if (this.active.has(declaration)) {
      this.active.set(declaration, true);
      return kNoUse;
    }
    if (this.depth >= kDepth) return kAnyUse;
    this.active.set(declaration, false);
    const { peek, before } = this;
    this.peek = () => {};
    ++this.depth;
    const once = this.body(declaration);
    const isRecursive = required(this.active.get(declaration));
    this.active.delete(declaration);
    const use = isRecursive ? { push: repeated(once.push), pop: repeated(once.pop) } : once;
    --this.depth;
    this.peek = peek;
    this.before = before;
    this.known.set(declaration, use);
    return use;
  }

  /** What the body of a function does. */
  body({ body }: FunctionDeclaration): Use {
    this.before = 0;
    let use = kNoUse;
    let early = false as boolean;
    body.statements.forEach((statement, index) => {
      const last = index === body.statements.length - 1 && statement.kind === 'return';
      eachStatement(statement, ({ kind }) => { early ||= kind === 'return' && !last; });
      use = both(use, this.statement(statement), plus);
    });
    return early ? both(use, kNoUse, either) : use;
  }

  private statement(node: Statement): Use {
    const { before } = this;
    switch (node.kind) {
      case 'block': return node.statements.reduce((use, part) => both(use, this.statement(part), plus), kNoUse);
      case 'push': return both(this.expression(node.value), { push: kOne, pop: kNone }, plus);
      case 'if': {
        let use = this.expression(node.condition);
        const start = this.before;
        const then = this.statement(node.then);
        this.before = start;
        const otherwise = node.otherwise === undefined ? kNoUse : this.statement(node.otherwise);
        use = both(use, both(then, otherwise, either), plus);
        this.before = before + use.pop.low;
        return use;
      }
      case 'while': case 'do': case 'for': return this.loop(node);
      default: return ownExpressions(node).reduce((use, part) => both(use, this.expression(part), plus), kNoUse);
    }
  }

  private loop(node: Extract<Statement, { kind: 'while' | 'do' | 'for' }>): Use {
    const initial = node.kind === 'for' && node.initial !== undefined ? this.statement(node.initial) : kNoUse;
    const { before } = this;
    const condition = node.condition !== undefined && node.kind !== 'do' ? this.expression(node.condition) : kNoUse;
    let turn = this.statement(node.body);
    if (node.kind === 'for' && node.step !== undefined) turn = both(turn, this.statement(node.step), plus);
    if (node.kind === 'do') turn = both(turn, this.expression(node.condition), plus);
    const trips = node.kind === 'for' ? tripsOf(node) : undefined;
    const count: Count = trips === undefined ? { low: 0, high: Infinity } : { low: trips, high: trips };
    const tests: Count = { low: count.low + 1, high: count.high + 1 };
    const use = both(both(turn, { push: count, pop: count }, times), both(condition, { push: tests, pop: tests }, times), plus);
    this.before = before + use.pop.low;
    return both(initial, use, plus);
  }

  private expression(node: Expression): Use {
    if (node.kind === 'conditional' || (node.kind === 'binary' && (node.operator === '&&' || node.operator === '||'))) {
      const first = this.expression(node.kind === 'conditional' ? node.condition : node.left);
      const start = this.before;
      const then = this.expression(node.kind === 'conditional' ? node.then : node.right);
      this.before = start;
      const otherwise = node.kind === 'conditional' ? this.expression(node.otherwise) : kNoUse;
      const use = both(then, otherwise, either);
      this.before = start + use.pop.low;
      return both(first, use, plus);
    }
    let use = childrenOf(node).reduce((sum, part) => both(sum, this.expression(part), plus), kNoUse);
    if (node.kind === 'pop') {
      use = both(use, { push: kNone, pop: kOne }, plus);
      this.before += 1;
    } else if (node.kind === 'peek') {
      this.peek(node.index, node.span, this.before);
    } else if (node.kind === 'call') {
      const callee = this.context.callees.get(node);
      if (callee?.kind === 'function') {
        const called = this.of(callee.declaration);
        use = both(use, called, plus);
        this.before += called.pop.low;
      }
    }
    return use;
  }
}

function words({ low, high }: Count): string {
  if (low === high) return `${low}`;
  if (high === Infinity) return `at least ${low}`;
  return low === 0 ? `at most ${high}` : `${low} to ${high}`;
}

function checkFunction(context: Context, counter: Counter, filter: FilterDeclaration, declaration: FunctionDeclaration): void {
  const use = counter.of(declaration);
  const { kind, rates, span } = declaration;
  const at = { ...span, end: span.start + kind.length };
  for (const name of ['push', 'pop'] as const) {
    const count = use[name];
    const rate = rates[name];
    const declared = constantRate(rate);
    const ends = endsOfStream(context, filter);
    if ((name === 'push' ? ends.output : ends.input).kind === 'void') continue;
    if (rate === undefined && count.high > 0) {
      context.report(checkRules.rateMissing, at, { function: kind, operation: name });
    } else if (declared !== undefined && (declared < count.low || declared > count.high) && declared >= 0) {
      const verb = name === 'push' ? 'pushes' : 'pops';
      context.report(checkRules.rateCount, required(rate).span, { function: kind, verb, found: words(count), expected: declared });
    }
  }
  const pop = rates.pop === undefined ? 0 : constantRate(rates.pop);
  const peek = rates.peek === undefined ? pop : constantRate(rates.peek);
  if (rates.peek !== undefined && peek !== undefined && pop !== undefined && peek < pop && peek >= 0) {
    context.report(checkRules.peekRate, rates.peek.span, { peek, pop });
  }
  if (peek === undefined || pop === undefined || (rates.pop === undefined && rates.peek === undefined && use.pop.high > 0)) return;
  const rate = Math.max(peek, pop);
  counter.peek = (index, where, before) => {
    const value = constantOf(index);
    if (value === undefined || value < 0 || value + before < rate) return;
    context.report(checkRules.peekBeyond, where, { index: value, needed: value + before + 1, function: kind, rate });
  };
  counter.body(declaration);
  counter.peek = () => {};
}

/** Compares the rates of a filter's functions with what they do, and refuses the channels to `init` and handlers. */
export function checkRates(context: Context, filter: FilterDeclaration): void {
  const counter = new Counter(context);
  for (const declaration of filter.functions) {
    const { kind } = declaration;
    if (kind === 'work' || kind === 'prework') checkFunction(context, counter, filter, declaration);
    if (kind !== 'init' && kind !== 'handler') continue;
    for (const [called, span] of context.calls.get(declaration) ?? []) {
      const use = counter.of(called);
      const operation = use.push.high > 0 ? 'push' : use.pop.high > 0 ? 'pop' : undefined;
      const place = kind === 'init' ? 'init' : `the handler '${declaration.name}'`;
      if (operation !== undefined) context.report(checkRules.helperRate, span, { name: called.name, operation, place });
    }
  }
}
