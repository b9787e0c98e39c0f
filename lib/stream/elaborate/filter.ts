// One filter with its arguments: executes `init`, translates work, checks rates, and classifies fields as constants, scratch and state.
import { required } from '../../core/known.ts';
import type { Expression, FilterDeclaration, FunctionDeclaration, Rate } from '../ast.ts';
import type { NameSymbol } from '../front/checked.ts';
import { Fault } from '../interpret/fault.ts';
import { fromConstant, zero, type Value } from '../interpret/values.ts';
import type { FilterCode, IrFunction, IrRates, IrStatement, IrType, StateVariable, Variable } from '../ir.ts';
import { withBody } from './functions.ts';
import { limitHint } from '../interpret/limits.ts';
import { eachExpression, eachStatement, expressionsOf, hasOrder } from '../interpret/walk.ts';
import { assignedVariables, proveLoops } from './loops.ts';
import { Namer } from './names.ts';
import { Runner } from './runner.ts';
import { Scope, type Entity, type Session } from './session.ts';
import { simulate, type Findings } from './simulate.ts';
import { handlerName, translateBlock } from './translate-statement.ts';
import { Translator } from './translate.ts';

type Block = FilterCode['work']['body'];
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The maximum number of steps for simulating one work function. */
const simulationSteps = 150_000;

/** Creates the code of a filter. `scope`: its parameters and the names of its surroundings. */
export function makeFilter(session: Session, declaration: FilterDeclaration, scope: Scope, name: string): FilterCode {
  return new FilterMaker(session, declaration, scope).make(name);
}

class FilterMaker {
  readonly #session: Session;
  readonly #declaration: FilterDeclaration;
  readonly #scope: Scope;
  readonly #namer = new Namer();
  readonly #tables: StateVariable[] = [];
  readonly #state: StateVariable[] = [];
  /** Evaluates what is known once the fields have their values. */
  readonly #constants: Runner;

  constructor(session: Session, declaration: FilterDeclaration, scope: Scope) {
    this.#session = session;
    this.#declaration = declaration;
    this.#scope = scope;
    this.#constants = new Runner(session, (symbol) => scope.find(symbol));
  }

  make(name: string): FilterCode {
    const { checked } = this.#session;
    const declaration = this.#declaration;
    const types = new Translator(this.#session, this.#scope, { namer: this.#namer });
    const ends = checked.endsOf(declaration);
    const [input, output] = [types.typeFor(ends.input, declaration.at), types.typeFor(ends.output, declaration.at)];
    this.#initialise();
    const evaluate = (e: Expression, find: (symbol: NameSymbol) => Entity | undefined): number => new Runner(this.#session, find).int(e);
    const translator = new Translator(this.#session, this.#scope, {
      namer: this.#namer, ends: { input, output }, tables: this.#tables, evaluate });
    const find = (kind: FunctionDeclaration['kind']) => declaration.functions.find((each) => each.kind === kind);
    const work = find('work');
    if (work === undefined) throw new Fault('S4036', 'this filter has no work function', declaration.at);
    const prework = find('prework');
    const made = {
      name, input, output, work: this.#work(translator, work),
      prework: prework === undefined ? undefined : this.#work(translator, prework),
      handlers: declaration.functions.filter(({ kind }) => kind === 'handler').map((each) => this.#handler(translator, each)),
      span: declaration.at,
    };
    return this.#complete(made, [...translator.functions.values()], { work, prework });
  }

  /** Fields that work, prework or a handler may change. */
  #written(): Set<NameSymbol> {
    const found = new Set<NameSymbol>();
    for (const each of this.#declaration.functions) {
      if (each.kind !== 'work' && each.kind !== 'prework' && each.kind !== 'handler') continue;
      for (const symbol of this.#session.usage.written(each)) found.add(symbol);
    }
    return found;
  }

  /** Initialises the fields and runs `init`. */
  #initialise(): void {
    const { checked } = this.#session;
    const runner = new Runner(this.#session, (symbol) => this.#scope.find(symbol));
    const fields: [NameSymbol, StateVariable][] = [];
    const add = (symbol: NameSymbol, type: IrType, value: Value): void => {
      const variable: StateVariable = {
        name: runner.translator.namer.unique(symbol.name), type, initial: { type, numbers: [] }, role: 'state',
      };
      runner.bindField(symbol, variable);
      runner.setField(variable, value);
      fields.push([symbol, variable]);
    };
    // A parameter that the code assigns becomes a field that starts with the argument.
    for (const parameter of this.#declaration.parameters) {
      const symbol = checked.symbolOfDeclaration(parameter);
      const entity = this.#scope.find(symbol);
      const isAssigned = this.#declaration.functions.some((each) => this.#session.usage.assigned(each.body).has(symbol));
      if (isAssigned && entity?.kind === 'constant') add(symbol, entity.data.type, fromConstant(entity.data));
    }
    for (const field of this.#declaration.fields) {
      const symbol = checked.symbolOfDeclaration(field);
      if (symbol.type.kind === 'string') {
        const text = field.value === undefined ? '' : runner.text(field.value);
        if (text === undefined) throw new Fault('S4005', 'a string can only be printed or name a file', field.span);
        this.#scope.set(symbol, { kind: 'text', text });
        continue;
      }
      const type = runner.typeOf(symbol.type, field.span);
      const value = field.value === undefined ? zero(type) : runner.evaluate(field.value, type).value;
      add(symbol, type, value);
    }
    for (const each of this.#declaration.functions) if (each.kind === 'init') runner.execute(each.body);
    const written = this.#written();
    for (const [symbol, { type, ...field }] of fields) {
      const initial = runner.field({ ...field, type });
      if (written.has(symbol)) {
        this.#session.keepBytes(type, symbol.declaration.span);
        const variable: StateVariable = { name: this.#namer.unique(symbol.name), type, initial, role: 'state' };
        this.#state.push(variable);
        this.#scope.set(symbol, { kind: 'state', variable });
      } else this.#scope.set(symbol, { kind: 'constant', data: initial, name: symbol.name });
    }
    runner.finish();
  }

  #work(translator: Translator, declaration: FunctionDeclaration): FilterCode['work'] {
    const rates = this.#rates(translator, declaration);
    const body = withBody(translator, declaration, this.#scope, () => translateBlock(translator, declaration.body) as Block);
    return { rates, body };
  }

  #handler(translator: Translator, declaration: FunctionDeclaration): IrFunction {
    const { checked } = this.#session;
    const scope = new Scope((symbol) => this.#scope.find(symbol));
    const parameters = declaration.parameters.map((parameter): Variable => {
      const type = translator.typeFor(checked.typeOfNode(parameter.type), parameter.span);
      const variable = { name: this.#namer.unique(parameter.name), type };
      scope.set(checked.symbolOfDeclaration(parameter), { kind: 'variable', variable });
      return variable;
    });
    return withBody(translator, declaration, scope, (result) => ({
      name: handlerName(this.#declaration, declaration), parameters, result, body: translateBlock(translator, declaration.body) as Block,
    }));
  }

  #rates(translator: Translator, declaration: FunctionDeclaration): IrRates {
    const { push, pop, peek } = declaration.rates;
    const bounds = {
      push: this.#rate(translator, push, 'push'), pop: this.#rate(translator, pop, 'pop'), peek: this.#rate(translator, peek, 'peek'),
    };
    const isDynamic = [push, pop, peek].some((rate) => rate?.kind === 'dynamic');
    const rates = { push: bounds.push[0], pop: bounds.pop[0], peek: Math.max(bounds.pop[0], bounds.peek[0]) };
    if (!isDynamic) return rates;
    const range = (rate: Rate | undefined, [low, high]: [number, number]) => (rate?.kind === 'dynamic' ? [low, high] as const : undefined);
    return { ...rates, dynamic: { push: range(push, bounds.push), pop: range(pop, bounds.pop), peek: range(peek, bounds.peek) } };
  }

  #rate(translator: Translator, rate: Rate | undefined, what: string): [number, number] {
    if (rate === undefined) return [0, 0];
    const value = (e: Expression | undefined, otherwise: number): number => {
      if (e === undefined) return otherwise;
      // Function calls and struct members are evaluated; values that change between firings are rejected.
      const x = this.#session.usage.refersTo(e, (symbol) => this.#scope.find(symbol)?.kind === 'state')
        ? translator.constantInt(e, `the ${what} rate`) : this.#constants.int(e);
      if (x < 0) throw new Fault('S4030', `the ${what} rate is ${x}`, e.span, { hint: 'rates are 0 or more' });
      if (x > this.#session.limits.rate) throw new Fault('S4108',
        `the ${what} rate ${x} is more than the limit of ${this.#session.limits.rate}`, e.span, { hint: limitHint('rate') });
      return x;
    };
    if (rate.kind === 'static') {
      const x = value(rate.value, 0);
      return [x, x];
    }
    const [low, high] = [value(rate.low, 0), value(rate.high, Infinity)];
    if (low > high) throw new Fault('S4030', `the ${what} rate is at least ${low} but at most ${high}`, rate.span);
    return [low, high];
  }

  #complete(
    made: Omit<FilterCode, 'state' | 'functions' | 'stateful'>, functions: IrFunction[],
    source: { work: FunctionDeclaration; prework: FunctionDeclaration | undefined },
  ): FilterCode {
    const roots = [made.work.body, ...(made.prework === undefined ? [] : [made.prework.body]), ...made.handlers.map(({ body }) => body)];
    const bodies = [...roots, ...functions.map(({ body }) => body)];
    for (const body of bodies) proveLoops(body);
    const byName = new Map(functions.map((each) => [each.name, each]));
    const changed = new Set<Variable>();
    for (const body of bodies) for (const variable of assignedVariables(body)) changed.add(variable);
    const fields = new Set<Variable>(this.#state.filter((variable) => changed.has(variable)));
    const carried = new Set<Variable>();
    const settled: FilterCode['work'][] = [];
    for (const [part, origin] of [[made.work, source.work], [made.prework, source.prework]] as const) {
      if (part === undefined || origin === undefined) continue;
      const steps = Math.min(simulationSteps, this.#session.simulationSteps);
      const found = simulate(part.body, byName, fields, steps);
      this.#session.simulationSteps -= found.steps;
      for (const variable of found.carried) carried.add(variable);
      settled.push(this.#settle(part, found, origin, made));
    }
    for (const { body } of made.handlers) for (const variable of assignedVariables(body)) carried.add(variable);
    const used = usedFields(bodies);
    for (const variable of this.#state as Writable<StateVariable>[]) {
      variable.role = !fields.has(variable) ? 'constant' : carried.has(variable) || made.handlers.length > 0 ? 'state' : 'scratch';
    }
    const state = [...this.#state, ...this.#tables].filter((variable) => used.has(variable));
    const [work, prework] = settled;
    const stateful = state.some(({ role }) => role === 'state') || made.handlers.length > 0 || bodies.some(hasOrder);
    return { ...made, work: required(work), prework, state, functions, stateful };
  }

  /**
   * The function with the rates that its code actually has. Reports differences from the declaration; an error if rates depend on the data.
   */
  #settle(
    part: FilterCode['work'], found: Findings, origin: FunctionDeclaration, code: { input: IrType; output: IrType },
  ): FilterCode['work'] {
    const rates = { ...part.rates };
    if (code.input.kind === 'void') rates.pop = rates.peek = 0;
    if (code.output.kind === 'void') rates.push = 0;
    if (!found.complete) return { ...part, rates };
    let { body } = part;
    for (const verb of ['push', 'pop'] as const) {
      const [low, high] = found[verb];
      const declared = rates[verb];
      if (rates.dynamic?.[verb] !== undefined || (declared >= low && declared <= high)) continue;
      const isLess = low === high && verb === 'pop' && low < declared;
      const rest = isLess ? withPops(body, declared - low, code.input) : undefined;
      const isKnown = low === high && (rest !== undefined || verb === 'push' || low > declared);
      this.#sayRate(origin, { verb, low, high, declared, rate: origin.rates[verb], isKnown });
      if (rest !== undefined) body = rest;
      else if (isKnown) rates[verb] = low;
    }
    rates.peek = Math.max(rates.peek, rates.pop);
    if (rates.dynamic?.peek === undefined && rates.dynamic?.pop === undefined && found.peek > rates.peek && found.pop[0] <= rates.pop) {
      this.#session.report(new Fault('S4033', `${origin.kind} looks at item ${found.peek - 1}, but peek ${rates.peek} is declared`,
        found.peekSpan ?? origin.span, { hint: `peek ${found.peek} is taken` }), 'warning');
      rates.peek = found.peek;
    }
    return { rates, body };
  }

  #sayRate(origin: FunctionDeclaration, { verb, low, high, declared, rate, isKnown }: {
    verb: 'push' | 'pop'; low: number; high: number; declared: number; rate: Rate | undefined; isKnown: boolean;
  }): void {
    const count = low === high ? String(low) : high === Infinity ? `at least ${low}` : `${low} to ${high}`;
    const message = `${origin.kind} ${verb === 'push' ? 'pushes' : 'pops'} ${count} ${low === 1 && high === 1 ? 'item' : 'items'}, but ` +
      `${verb} ${declared} is declared`;
    const hint = !isKnown ? 'declare what the body does, or change the body'
      : verb === 'pop' && low < declared ? 'the rest is popped at the end' : `${verb} ${low} is taken`;
    this.#session.report(new Fault('S4032', message, rate?.span ?? origin.span, { hint }), isKnown ? 'warning' : 'error');
  }
}

/** The body followed by `count` pops; undefined if a `return` inside could skip them. */
function withPops(body: Block, count: number, type: IrType): Block | undefined {
  const last = body.statements.at(-1);
  const kept = last?.kind === 'return' ? body.statements.slice(0, -1) : body.statements;
  let isLeft = count > 1024;
  for (const part of kept) eachStatement(part, ({ kind }) => { isLeft ||= kind === 'return'; });
  if (isLeft) return undefined;
  const pop: IrStatement = { kind: 'evaluate', value: { kind: 'pop', type } };
  return { ...body, statements: [...kept, ...new Array<IrStatement>(count).fill(pop)] };
}

function usedFields(bodies: readonly IrStatement[]): Set<Variable> {
  const used = new Set<Variable>();
  for (const body of bodies) {
    eachStatement(body, (s) => {
      for (const e of expressionsOf(s)) eachExpression(e, (part: { kind: string; variable?: Variable }) => {
        if (part.kind === 'state') used.add(required(part.variable));
      });
    });
  }
  return used;
}

