// Executes code during elaboration: bodies of composites, `init` functions, initial values of fields and `static` sections.
import { elementAt } from '../../core/known.ts';
import type { Declarator, Expression, Span, Statement } from '../ast.ts';
import type { NameSymbol, Type } from '../front/checked.ts';
import { Compiler } from '../interpret/compile.ts';
import { Fault } from '../interpret/fault.ts';
import { Flow, Machine, type Evaluate, type Execute } from '../interpret/machine.ts';
import { copyValue, sameType, toConstant, typeBytes, zero, type Value } from '../interpret/values.ts';
import { expressionSize, statementSize } from '../interpret/walk.ts';
import type { ConstantData, IrExpression, IrType, StateVariable, Variable } from '../ir.ts';
import { textOf } from './load.ts';
import { Namer } from './names.ts';
import { Scope, type Entity, type Session } from './session.ts';
import { translateStatement } from './translate-statement.ts';
import { Translator } from './translate.ts';

/** Variables, scope and machine of one instance while its code is executed. */
export class Runner {
  readonly session: Session;
  readonly scope: Scope;
  readonly translator: Translator;
  readonly machine: Machine;
  readonly #compiler: Compiler;
  readonly #statements = new Map<Statement, Execute>();
  readonly #expressions = new Map<Expression, { wanted: IrType | undefined; type: IrType; run: Evaluate }>();
  readonly #held = new Map<NameSymbol, number>();
  readonly #variables = new Map<NameSymbol, Variable>();
  /** Bytes of the variables declared so far. */
  #bytes = 0;

  /** @param outside resolves names of enclosing streams */
  constructor(session: Session, outside: (symbol: NameSymbol) => Entity | undefined) {
    this.session = session;
    this.scope = new Scope(outside);
    this.translator = new Translator(session, this.scope, { namer: new Namer() });
    this.machine = new Machine(session.budget);
    this.#compiler = new Compiler(this.machine);
  }

  /** Releases the memory of the variables. */
  finish(): void {
    this.session.budget.bytes += this.#bytes;
    this.#bytes = 0;
  }

  /** A new variable with a value that nothing else refers to. */
  bind(symbol: NameSymbol, type: IrType, value: Value): void {
    const bytes = typeBytes(type) - (this.#held.get(symbol) ?? 0);
    this.machine.take(bytes, symbol.declaration.span);
    this.#bytes += bytes;
    this.#held.set(symbol, typeBytes(type));
    const old = this.#variables.get(symbol);
    if (old !== undefined && !sameType(old.type, type)) {
      // Translations for the old type are no longer valid.
      this.#statements.clear();
      this.#expressions.clear();
    }
    const variable = old !== undefined && sameType(old.type, type) ? old : { name: this.translator.namer.unique(symbol.name), type };
    this.#variables.set(symbol, variable);
    this.scope.set(symbol, { kind: 'variable', variable });
    this.machine.frame[this.#compiler.slot(variable)] = value;
  }

  /** A field of a filter under construction. */
  bindField(symbol: NameSymbol, variable: StateVariable): void {
    this.scope.set(symbol, { kind: 'state', variable });
    this.machine.take(typeBytes(variable.type), symbol.declaration.span);
    this.#bytes += typeBytes(variable.type);
    this.machine.fieldSlot(variable);
  }

  setField(variable: StateVariable, value: Value): void {
    this.machine.fields[this.machine.fieldSlot(variable)] = value;
  }

  field(variable: StateVariable): ConstantData {
    return toConstant(variable.type, elementAt(this.machine.fields, this.machine.fieldSlot(variable)));
  }

  /** The current value of a name of this instance, as seen by the streams inside. */
  captured(symbol: NameSymbol): Entity | undefined {
    const entity = this.scope.find(symbol);
    if (entity?.kind !== 'variable') return entity;
    const { variable } = entity;
    return { kind: 'constant', data: toConstant(variable.type, elementAt(this.machine.frame, this.#compiler.slot(variable))) };
  }

  /** Registers functions that the translator has encountered with the compiler. */
  #prepare(): void {
    for (const made of this.translator.functions.values()) this.#compiler.functions.set(made.name, made);
  }

  /** Evaluates an expression, converted to a type if one is given. The value belongs to the caller. */
  evaluate(e: Expression, type?: IrType): { type: IrType; value: Value } {
    let made = this.#expressions.get(e);
    if (made === undefined || !sameWanted(made.wanted, type)) {
      const { translator } = this;
      translator.before = [];
      const translated = type === undefined ? translator.expression(e) : translator.as(e, type);
      const isRepeatable = translator.before.length === 0;
      made = { wanted: type, ...this.#compiled(translated) };
      if (isRepeatable) this.#expressions.set(e, made);
    }
    this.machine.charge(4, e.span);
    return { type: made.type, value: copyValue(made.run(this.machine)) };
  }

  #compiled(e: IrExpression): { type: IrType; run: Evaluate } {
    const { before } = this.translator;
    this.translator.before = [];
    this.#prepare();
    for (const statement of before) this.#compiler.statement(statement)(this.machine);
    const cost = expressionSize(e);
    this.machine.charge(cost, e.span);
    return { type: e.type, run: this.#compiler.expression(e) };
  }

  /** The current text of an expression; undefined if it has none. */
  text(e: Expression): string | undefined {
    return textOf(this.translator, e, (part) => this.evaluate(part));
  }

  /** Evaluates an int: a length, weight or rate. */
  int(e: Expression): number {
    return this.evaluate(e, { kind: 'scalar', name: 'int' }).value as number;
  }

  /** Executes a statement that creates no part of a graph. */
  execute(s: Statement): Flow {
    const step = this.steps(s).next();
    if (step.done === true) return step.value;
    throw new Fault('S4025', `'${step.value.kind}' is only allowed in the body of a composite stream`, step.value.span);
  }

  /** Executes a statement, and yields the nested statements that create parts of a graph one after the other. */
  *steps(s: Statement): Generator<Statement, Flow, void> {
    switch (s.kind) {
      case 'block': {
        for (const part of s.statements) {
          const flow = yield* this.steps(part);
          if (flow !== Flow.normal) return flow;
        }
        return Flow.normal;
      }
      case 'declare':
        for (const variable of s.variables) this.#declare(variable);
        return Flow.normal;
      case 'add': case 'body': case 'loop': case 'split': case 'join': case 'enqueue': case 'message':
        this.machine.charge(64, s.span);
        yield s;
        return Flow.normal;
      default:
        if (this.session.usage.isPlain(s)) return this.#plain(s);
        return yield* this.#compound(s);
    }
  }

  #declare(d: Declarator): void {
    const { checked } = this.session;
    const symbol = checked.symbolOfDeclaration(d);
    const written = symbol.type;
    if (written.kind === 'string') {
      const text = d.value === undefined ? '' : this.text(d.value);
      if (text === undefined) throw new Fault('S4005', 'a string can only be printed or name a file', d.span);
      this.scope.set(symbol, { kind: 'text', text });
      return;
    }
    if (written.kind === 'portal') {
      const portal = { name: `${d.name}_${this.session.portals.length}`, receivers: [] };
      this.session.portals.push(portal);
      this.scope.set(symbol, { kind: 'portal', portal });
      return;
    }
    const type = this.typeOf(written, d.span);
    this.bind(symbol, type, d.value === undefined ? zero(type) : this.evaluate(d.value, type).value);
  }

  /** A type, with its lengths evaluated now. */
  typeOf(type: Type, span: Span): IrType {
    return this.session.sized(type, (length) => this.int(length), span);
  }

  #plain(s: Statement): Flow {
    let run = this.#statements.get(s);
    if (run === undefined) {
      const { translator } = this;
      translator.assigned = this.session.usage.assigned(s);
      const made = translateStatement(translator, s);
      this.#prepare();
      const all = { kind: 'block', statements: made, span: s.span } as const;
      run = this.#compiler.statement(all);
      const cost = statementSize(all);
      this.#statements.set(s, charged(run, cost, s));
    }
    return run(this.machine);
  }

  #condition(e: Expression | undefined): boolean {
    return e === undefined || this.evaluate(e, { kind: 'scalar', name: 'boolean' }).value !== 0;
  }

  *#compound(s: Statement): Generator<Statement, Flow, void> {
    switch (s.kind) {
      case 'if': {
        const live = this.#condition(s.condition) ? s.then : s.otherwise;
        return live === undefined ? Flow.normal : yield* this.steps(live);
      }
      case 'while': case 'do': case 'for': return yield* this.#loop(s);
      default: throw new Fault('S4027', 'this statement is not allowed here', s.span);
    }
  }

  *#loop(s: Extract<Statement, { kind: 'while' | 'do' | 'for' }>): Generator<Statement, Flow, void> {
    if (s.kind === 'for' && s.initial !== undefined) yield* this.steps(s.initial);
    for (let isDue = s.kind === 'do'; isDue || this.#condition(s.condition); isDue = false) {
      this.machine.charge(8, s.span);
      const flow = yield* this.steps(s.body);
      if (flow === Flow.break) break;
      if (flow === Flow.return) return flow;
      if (s.kind === 'for' && s.step !== undefined) yield* this.steps(s.step);
    }
    return Flow.normal;
  }
}

function sameWanted(a: IrType | undefined, b: IrType | undefined): boolean {
  return a === undefined || b === undefined ? a === b : sameType(a, b);
}

function charged(run: Execute, cost: number, s: Statement): Execute {
  return (machine) => {
    machine.charge(cost, s.span);
    return run(machine);
  };
}

