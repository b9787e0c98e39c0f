// Statements: declarations, assignments, control flow and messages.
import type { Declarator, Expression, Statement } from '../ast.ts';
import { didYouMean } from '../../core/similar.ts';
import { counted } from './check-calls.ts';
import type { Context } from './check-context.ts';
import { placeName, type ExpressionChecker } from './check-expressions.ts';
import type { Frame } from './check-frame.ts';
import { checkOperator } from './check-operators.ts';
import { checkRules } from './check-rules.ts';
import type { NameSymbol, Type } from './checked.ts';
import { Scope } from './scope.ts';
import { basic, describe, isUnknown, withCounts } from './types.ts';

type Of<K extends Statement['kind']> = Extract<Statement, { kind: K }>;
/** Statements that build a graph. */
export type GraphStatement = Of<'add' | 'body' | 'loop' | 'split' | 'join' | 'enqueue'>;

const isTrue = (node: Expression | undefined): boolean =>
  node === undefined || (node.kind === 'boolean' && node.value) || (node.kind === 'int' && node.value !== 0);

/** Checks statements. */
export class StatementChecker {
  readonly expressions: ExpressionChecker;
  readonly context: Context;
  private readonly graph: (statement: GraphStatement, frame: Frame) => void;

  /** @param graph checks a statement that builds a graph, wherever it stands */
  constructor(expressions: ExpressionChecker, graph: (statement: GraphStatement, frame: Frame) => void) {
    this.expressions = expressions;
    this.context = expressions.context;
    this.graph = graph;
  }

  /** Checks a list of statements in a block of its own. Returns whether its end can be reached. */
  block(statements: readonly Statement[], frame: Frame): boolean {
    const inner: Frame = { ...frame, scope: new Scope(frame.scope, frame.scope.owner) };
    let reached = true;
    let told = false;
    for (const statement of statements) {
      if (!reached && !told && statement.kind !== 'empty') {
        told = true;
        this.context.report(checkRules.unreachable, statement.span);
      }
      reached = this.statement(statement, inner) && reached;
    }
    this.close(inner.scope);
    return reached;
  }

  /** Warns of variables that nobody read. */
  close(scope: Scope): void {
    for (const symbol of scope.symbols()) {
      if (symbol.kind !== 'local' || this.context.read.has(symbol) || isUnknown(symbol.type) || symbol.type.kind === 'portal') continue;
      this.context.report(checkRules.unusedVariable, symbol.declaration.span, { name: symbol.name });
    }
  }

  /** Checks a statement. Returns whether what follows it can be reached. */
  statement(node: Statement, frame: Frame): boolean {
    switch (node.kind) {
      case 'block': return this.block(node.statements, frame);
      case 'declare':
        for (const variable of node.variables) this.variable(variable, frame);
        return true;
      case 'assign': return this.assign(node, frame);
      case 'increment':
        this.expressions.increment(node, frame, false);
        return true;
      case 'expression': return this.expression(node, frame);
      case 'push': return this.push(node, frame);
      case 'if': return this.if(node, frame);
      case 'while': case 'do': case 'for': return this.loop(node, frame);
      case 'break': case 'continue': return this.jump(node, frame);
      case 'return': return this.return(node, frame);
      case 'empty': return true;
      case 'message':
        this.message(node, frame);
        return true;
      default:
        this.graph(node, frame);
        return true;
    }
  }

  private variable(variable: Declarator, frame: Frame): void {
    const { name, value } = variable;
    const { owner } = frame.place;
    const written = this.expressions.written(variable.type, frame);
    const type = withCounts(written, value);
    this.requireVariableType(type, variable, frame.place.kind === 'body');
    if (value !== undefined) this.expressions.convert(value, type, frame);
    else if (type.kind === 'array') this.requireLengths(type, variable);
    const symbol: NameSymbol = { kind: 'local', name, type, declaration: variable, owner };
    this.context.declare(frame.scope, symbol, frame.scope.lookup(name));
  }

  /** Variables hold values; portals are variables of composites only. */
  requireVariableType(type: Type, variable: Pick<Declarator, 'type' | 'name'>, portal: boolean): void {
    let element = type;
    while (element.kind === 'array') element = element.element;
    if (element.kind !== 'void' && (element.kind !== 'portal' || (portal && type === element))) return;
    const hint = element.kind === 'void' ? 'it has no values' : 'declare portals in composites and pass them on as parameters';
    this.context.report(checkRules.typeUse, variable.type.span, { type: describe(type), what: `the variable '${variable.name}'`, hint });
  }

  /** A variable without elements to begin with must have all its lengths. */
  requireLengths(type: Type, variable: Declarator): void {
    for (let part = type; part.kind === 'array'; part = part.element) {
      if (part.length !== undefined || part.count !== undefined) continue;
      this.context.report(checkRules.lengthMissing, variable.span, { name: variable.name });
      return;
    }
  }

  private assign(node: Of<'assign'>, frame: Frame): boolean {
    const { target, operator, value, span } = node;
    const type = this.expressions.target(target, frame, false);
    if (operator === '=') {
      this.expressions.convert(value, type, frame);
      return true;
    }
    const found = this.expressions.value(value, frame);
    const result = checkOperator(this.expressions, operator.slice(0, -1) as '+', { left: target, right: value, span }, type, found);
    this.expressions.requireConversion({ ...target, span }, result, type);
    return true;
  }

  private expression(node: Of<'expression'>, frame: Frame): boolean {
    const { kind } = node.value;
    this.expressions.type(node.value, frame);
    if (kind !== 'call' && kind !== 'pop' && kind !== 'increment') this.context.report(checkRules.noEffect, node.span);
    return true;
  }

  private push(node: Of<'push'>, frame: Frame): boolean {
    const type = this.expressions.tape('push', node.span, frame);
    this.expressions.convert(node.value, type, frame);
    const { owner } = frame.place;
    if (type.kind !== 'unknown' || owner.kind !== 'filter') return true;
    const pushed = this.context.pushed.get(owner) ?? [];
    this.context.pushed.set(owner, [...pushed, this.context.types.get(node.value) ?? basic.unknown]);
    return true;
  }

  private if(node: Of<'if'>, frame: Frame): boolean {
    // A chain of else-if is walked in a loop: it may be long.
    let reached = false;
    let rest: Statement | undefined = node;
    while (rest?.kind === 'if') {
      this.expressions.condition(rest.condition, frame);
      reached = this.block([rest.then], frame) || reached;
      rest = rest.otherwise;
    }
    return rest === undefined || this.block([rest], frame) || reached;
  }

  private loop(node: Of<'while' | 'do' | 'for'>, frame: Frame): boolean {
    const inner: Frame = { ...frame, scope: new Scope(frame.scope, frame.scope.owner) };
    const { loops } = frame.place;
    const own = { broken: false };
    if (node.kind === 'for' && node.initial !== undefined) this.head(node.initial, inner);
    if (node.kind !== 'do' && node.condition !== undefined) this.expressions.condition(node.condition, inner);
    if (node.kind === 'for' && node.step !== undefined) this.head(node.step, inner);
    loops.push(own);
    this.block([node.body], inner);
    loops.pop();
    if (node.kind === 'do') this.expressions.condition(node.condition, inner);
    this.close(inner.scope);
    return own.broken || !isTrue(node.condition);
  }

  /** Parts of the head of a `for`: several between commas share its scope. */
  private head(node: Statement, frame: Frame): void {
    for (const part of node.kind === 'block' ? node.statements : [node]) this.statement(part, frame);
  }

  private jump(node: Of<'break' | 'continue'>, { place }: Frame): boolean {
    const loop = place.loops.at(-1);
    if (loop === undefined) this.context.report(checkRules.jump, node.span, { statement: node.kind });
    else if (node.kind === 'break') loop.broken = true;
    return loop === undefined;
  }

  private return(node: Of<'return'>, frame: Frame): boolean {
    const { place } = frame;
    const { value, span } = node;
    const declared = place.kind === 'helper' ? place.function?.result : undefined;
    const type = declared === undefined ? basic.void : this.context.resolveType(declared);
    const outside = place.kind === 'static';
    if (outside) this.context.report(checkRules.returnPlace, span);
    if (value === undefined) {
      if (type.kind !== 'void' && !isUnknown(type)) {
        this.context.report(checkRules.returnMissing, span, { name: place.function?.name ?? '', expected: describe(type) });
      }
    } else if (type.kind === 'void') {
      this.expressions.value(value, frame);
      if (!outside) this.context.report(checkRules.returnValue, value.span, { function: placeName(place) });
    } else {
      this.expressions.convert(value, type, frame);
    }
    return outside;
  }

  private message(node: Of<'message'>, frame: Frame): void {
    const { portal: name, handler: wanted, args, latency, span } = node;
    const at = { ...span, end: span.start + name.length };
    if (frame.place.owner.kind !== 'filter' || !['work', 'prework', 'helper', 'handler'].includes(frame.place.kind)) {
      this.context.report(checkRules.messagePlace, span, { place: placeName(frame.place) });
    }
    for (const bound of [latency?.low, latency?.high]) {
      if (bound !== undefined) this.expressions.whole(bound, frame, checkRules.latency);
    }
    const target: Expression = { kind: 'name', name, span: at };
    const portal = this.expressions.resolve(target, frame);
    const handler = portal === undefined ? undefined : this.handler(portal, wanted, at, span);
    args.forEach((argument, index) => {
      const parameter = handler?.parameters[index];
      this.expressions.convert(argument, parameter === undefined ? basic.unknown : this.context.resolveType(parameter.type), frame);
    });
    if (portal === undefined || handler === undefined) return;
    this.context.read.add(portal);
    this.context.messages.set(node, { portal, handler });
    if (args.length === handler.parameters.length) return;
    const expected = counted(handler.parameters.length, 'argument');
    this.context.report(checkRules.argumentCount, span, { name: wanted, expected, found: args.length === 0 ? 'none' : args.length });
  }

  private handler(portal: NameSymbol, wanted: string, at: Statement['span'], span: Statement['span']) {
    const { type, name } = portal;
    if (type.kind !== 'portal') {
      if (!isUnknown(type)) this.context.report(checkRules.notPortal, at, { name, found: describe(type) });
      return undefined;
    }
    if (type.receiver?.kind !== 'filter') return undefined;
    const handlers = type.receiver.functions.filter(({ kind }) => kind === 'handler');
    const found = handlers.find((candidate) => candidate.name === wanted);
    if (found === undefined) {
      const names = handlers.map((candidate) => candidate.name);
      const otherwise = names.length === 0 ? 'write handler name(…) { … } in it' : `its handlers are ${names.join(', ')}`;
      const hint = didYouMean(wanted, names, otherwise);
      this.context.report(checkRules.handler, span, { filter: type.receiver.name, name: wanted, hint });
    }
    return found;
  }
}
