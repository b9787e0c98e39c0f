// Streams: parameters, fields, functions, bodies; and which streams and constants the program reaches.
import { elementAt, required } from '../../core/known.ts';
import type {
  Declarator, FunctionDeclaration, HelperDeclaration, Span, Statement, StaticDeclaration, StreamDeclaration,
} from '../ast.ts';
import { quoted, type Context, type Place } from './check-context.ts';
import { checkNeighbours, checkParts, CreatorChecker } from './check-creators.ts';
import { ExpressionChecker } from './check-expressions.ts';
import type { Frame } from './check-frame.ts';
import { checkFunction } from './check-functions.ts';
import { checkRates } from './check-rates.ts';
import { checkRules } from './check-rules.ts';
import { StatementChecker } from './check-statements.ts';
import type { NameSymbol } from './checked.ts';
import { inferAfter, inferBefore } from './infer-ends.ts';
import { byNeed, Scope } from './scope.ts';
import { describe, withCounts } from './types.ts';
import { eachStatement } from './walk.ts';

/** Checks all that is reached from the streams it is given. */
export class StreamChecker {
  readonly reached = new Set<StreamDeclaration>();
  readonly statics = new Set<StaticDeclaration>();
  private readonly context: Context;
  private readonly expressions: ExpressionChecker;
  private readonly statements: StatementChecker;
  private readonly creators: CreatorChecker;
  private readonly streamQueue: StreamDeclaration[] = [];
  private readonly otherQueue: (() => void)[] = [];
  private readonly fields = new Map<string, { readonly declaration: Declarator; readonly owner: StaticDeclaration }>();
  private readonly packaged = new Set<FunctionDeclaration>();

  constructor(context: Context) {
    this.context = context;
    this.expressions = new ExpressionChecker(context);
    this.statements = new StatementChecker(this.expressions, (node, frame) => this.creators.statement(node, frame));
    this.creators = new CreatorChecker(this.expressions, (stream, frame) => this.stream(stream, frame.scope));
    context.reach = (stream) => this.reach(stream);
    context.reachFunction = (declaration, owner) => this.reachFunction(declaration, owner);
    context.staticField = (name) => this.staticField(name);
    context.staticNames = () => this.fields.keys();
    for (const owner of context.program.statics) {
      for (const declaration of owner.fields) {
        if (!this.fields.has(declaration.name)) this.fields.set(declaration.name, { declaration, owner });
      }
    }
    const [owner] = context.program.statics;
    context.checkLength = (length) => {
      const place: Place = { kind: 'static', owner: owner ?? elementAt(context.prelude.helpers, 0), function: undefined, loops: [] };
      this.expressions.whole(length, { scope: new Scope(undefined, place.owner), place }, checkRules.length);
    };
  }

  /** Checks these streams and everything that they use. */
  run(roots: readonly StreamDeclaration[]): void {
    for (const root of roots) this.reach(root);
    for (;;) {
      const stream = this.streamQueue.shift();
      const other = stream === undefined ? this.otherQueue.shift() : undefined;
      if (stream !== undefined) this.stream(stream, undefined);
      else if (other !== undefined) other();
      else return;
    }
  }

  private reach(stream: StreamDeclaration): void {
    if (this.reached.has(stream)) return;
    this.reached.add(stream);
    this.streamQueue.push(stream);
  }

  private reachFunction(declaration: FunctionDeclaration, owner: HelperDeclaration): void {
    if (this.packaged.has(declaration)) return;
    this.packaged.add(declaration);
    const second = this.context.twice.get(declaration);
    if (second !== undefined) this.duplicateFunction(second, declaration.span);
    this.otherQueue.push(() => checkFunction(this.statements, declaration, owner, new Scope(undefined, owner)));
  }

  private duplicateFunction({ name, span }: FunctionDeclaration, first: Span): void {
    this.context.report(checkRules.duplicateFunction, span, { name, line: this.context.lineOf(first) });
  }

  /** The symbol of a constant of the program; its section is checked later. */
  private staticField(name: string): NameSymbol | undefined {
    const found = this.fields.get(name);
    if (found === undefined) return undefined;
    const { declaration, owner } = found;
    const known = this.context.declared.get(declaration);
    if (known !== undefined) return known;
    const type = withCounts(this.context.resolveType(declaration.type), declaration.value);
    const symbol: NameSymbol = { kind: 'static', name, type, declaration, owner };
    this.context.declared.set(declaration, symbol);
    if (!this.statics.has(owner)) {
      this.statics.add(owner);
      this.otherQueue.push(() => this.static(owner));
    }
    return symbol;
  }

  private static(owner: StaticDeclaration): void {
    const scope = new Scope(undefined, owner);
    const frame: Frame = { scope, place: { kind: 'static', owner, function: undefined, loops: [] } };
    for (const declaration of owner.fields) {
      const { name, value } = declaration;
      const first = required(this.fields.get(name)).declaration;
      if (first !== declaration) {
        this.context.report(checkRules.duplicateName, declaration.span, { name, line: this.context.lineOf(first.span) });
        continue;
      }
      const { type } = required(this.staticField(name));
      this.expressions.written(declaration.type, frame);
      this.statements.requireVariableType(type, declaration, false);
      if (value !== undefined) this.expressions.convert(value, type, frame);
      else this.statements.requireLengths(type, declaration);
    }
    if (owner.init !== undefined) checkFunction(this.statements, owner.init, owner, scope);
  }

  private stream(stream: StreamDeclaration, enclosing: Scope | undefined): void {
    this.reached.add(stream);
    const scope = new Scope(enclosing, stream);
    const frame: Frame = { scope, place: { kind: 'rates', owner: stream, function: undefined, loops: [] } };
    for (const parameter of byNeed(stream.parameters)) {
      const { name } = parameter;
      const type = this.expressions.written(parameter.type, frame);
      if (type.kind !== 'portal') this.statements.requireVariableType(type, parameter, false);
      this.context.declare(scope, { kind: 'parameter', name, type, declaration: parameter, owner: stream }, undefined);
    }
    for (const end of [stream.input, stream.output]) {
      if (end === undefined) continue;
      const type = this.expressions.written(end, frame);
      if (type.kind !== 'string' && type.kind !== 'portal') continue;
      const hint = 'items are numbers, arrays and structs';
      this.context.report(checkRules.typeUse, end.span, { type: describe(type), what: 'items', hint });
    }
    if (stream.kind === 'filter') this.filter(stream, scope);
    else this.composite(stream, scope);
  }

  private filter(filter: Extract<StreamDeclaration, { kind: 'filter' }>, scope: Scope): void {
    const isOpen = filter.input === undefined;
    if (isOpen) inferBefore(this.context, filter);
    const frame: Frame = { scope, place: { kind: 'init', owner: filter, function: undefined, loops: [] } };
    for (const declaration of filter.fields) {
      const { name, value } = declaration;
      const type = withCounts(this.expressions.written(declaration.type, frame), value);
      this.statements.requireVariableType(type, declaration, false);
      if (value !== undefined) this.expressions.convert(value, type, frame);
      else this.statements.requireLengths(type, declaration);
      this.context.declare(scope, { kind: 'field', name, type, declaration, owner: filter }, scope.lookup(name));
    }
    const names = new Map<string, FunctionDeclaration>();
    for (const declaration of filter.functions) {
      const first = declaration.name === '' ? undefined : names.get(declaration.name);
      if (first !== undefined) this.duplicateFunction(declaration, first.span);
      names.set(declaration.name, declaration);
      checkFunction(this.statements, declaration, filter, scope);
    }
    if (isOpen && !inferAfter(this.context, filter)) this.context.report(checkRules.filterTypes, filter.at);
    if (!filter.functions.some(({ kind }) => kind === 'work')) this.context.report(checkRules.noWork, filter.at, { name: quoted(filter) });
    checkRates(this.context, filter);
    this.warnUnused(filter, scope);
  }

  private warnUnused(filter: Extract<StreamDeclaration, { kind: 'filter' }>, scope: Scope): void {
    for (const symbol of scope.symbols()) {
      if (symbol.kind !== 'field' || this.context.read.has(symbol) || symbol.type.kind === 'unknown') continue;
      this.context.report(checkRules.unusedField, symbol.declaration.span, { name: symbol.name });
    }
    const called = new Set(filter.functions.flatMap((declaration) => [...this.context.calls.get(declaration)?.keys() ?? []]));
    for (const declaration of filter.functions) {
      if (declaration.kind !== 'helper' || called.has(declaration) || this.context.calledOutside.has(declaration)) continue;
      this.context.report(checkRules.unusedFunction, declaration.span, { name: declaration.name });
    }
  }

  private composite(stream: Exclude<StreamDeclaration, { kind: 'filter' }>, scope: Scope): void {
    const frame: Frame = { scope, place: { kind: 'body', owner: stream, function: undefined, loops: [] } };
    this.statements.block(stream.body.statements, frame);
    const all: Statement[] = [];
    eachStatement(stream.body, (node) => all.push(node));
    checkParts(this.context, stream, all);
    checkNeighbours(this.context, stream, (node) => {
      let adds = false;
      eachStatement(node, ({ kind }) => { adds ||= kind === 'add' || kind === 'body' || kind === 'loop'; });
      return adds;
    });
  }
}
