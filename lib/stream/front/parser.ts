// Source files to one syntax tree: a recursive-descent parser with one method for each rule of the grammar.
import { elementAt, lastOf, required } from '../../core/known.ts';
import type {
  AssignmentOperator, BinaryOperator, Creator, Declarator, Expression, FunctionDeclaration, HelperDeclaration, MessageLatency,
  NativeDeclaration, Parameter, PrimitiveName, Program, Rate, Rates, Span, SplitPolicy, Statement, StaticDeclaration, StreamDeclaration,
  StreamKind, StructDeclaration, TypeNode, UnaryOperator,
} from '../ast.ts';
import { nearest } from '../../core/similar.ts';
import { Reporter, type Diagnostic, type Rule, type SourceFile } from '../diagnostics.ts';
import { abbreviate, tokenize, unquote } from './lexer.ts';
import { defaultSyntaxLimits, type SyntaxLimits } from './limits.ts';
import { withinStack } from './stack.ts';
import { syntaxRules } from './syntax-rules.ts';
import {
  assignment, binary, declarationStarts, expressionStarts, labelOf, memberStarts, precedenceOf, prefix, primaryStarts, rate, reserved,
  statementStarts, typeStarts, type Token, type TokenKind,
} from './tokens.ts';
import { childrenOf } from './walk.ts';

type Values = Readonly<Record<string, string | number>>;

/** The next token does not fit: what lists hold is parsed by `attempt`, which reports it there and goes on behind it. */
class SyntaxFault extends Error {
  readonly rule: Rule;
  readonly values: Values;

  constructor(rule: Rule, values: Values) {
    super(rule.message);
    this.rule = rule;
    this.values = values;
  }
}

/** Parsing of the file cannot go on: nested too deep, or too many errors. Already reported. */
class ParseStop extends Error {}

const kErrorsPerFile = 50;

/** Declarations of a program as they come. */
interface Declarations {
  readonly streams: StreamDeclaration[];
  readonly structs: StructDeclaration[];
  readonly statics: StaticDeclaration[];
  readonly natives: NativeDeclaration[];
  readonly helpers: (HelperDeclaration & { readonly functions: FunctionDeclaration[] })[];
}

/** What is the same for all files of a program. */
interface Context {
  readonly reporter: Reporter;
  readonly limits: SyntaxLimits;
  /** Names of native and helper packages of all files: `name.f(x);` calls one of their functions and is no message. */
  readonly packages: ReadonlySet<string>;
  readonly out: Declarations;
}

type Block = Extract<Statement, { kind: 'block' }>;
interface Members { readonly fields: Declarator[]; readonly functions: FunctionDeclaration[] }
interface Ends { readonly input: TypeNode | undefined; readonly output: TypeNode | undefined }
/** What stands before the body of a stream. */
interface Head extends Ends {
  readonly kind: StreamKind; readonly name: string; readonly stateful: boolean; readonly parameters: readonly Parameter[];
}
/** An operator before an operand; `type`: of a cast. */
interface Prefix { readonly token: Token; readonly type: TypeNode | undefined }
/** An expression and the height of its tree. */
interface Sized { readonly node: Expression; readonly height: number }

const kNoRates: Rates = { push: undefined, pop: undefined, peek: undefined };
const kNoEnds: Ends = { input: undefined, output: undefined };

/** Whether evaluating an expression twice differs from evaluating it once. */
const hasEffects = (node: Expression): boolean => ['increment', 'pop', 'call'].includes(node.kind) || childrenOf(node).some(hasEffects);

/** Makes the type of arrays: the first length is the outermost dimension. */
function arrayOf(element: TypeNode, lengths: readonly (Expression | undefined)[], span: Span): TypeNode {
  return lengths.reduceRight<TypeNode>((type, length) => ({ kind: 'array', element: type, length, span }), element);
}

/** Parser of one file. */
class Parser {
  private readonly file: number;
  private readonly text: string;
  private readonly tokens: readonly Token[];
  private readonly context: Context;
  /** Stands behind the last token. */
  private readonly end: Token;
  /** Where the first string without an end begins; Infinity if there is none. */
  private readonly broken: number;
  /** Index of the next token. */
  private position = 0;
  /** The next token. */
  private token: Token;
  /** The last token consumed. */
  private last: Token;
  private depth = 0;
  private faults = 0;
  /** Height of the expression that was parsed last. */
  private height = 0;

  constructor(file: number, text: string, tokens: readonly Token[], context: Context) {
    this.file = file;
    this.text = text;
    this.tokens = tokens;
    this.context = context;
    const length = text.trimEnd().length;
    this.end = { kind: 'end', text: '', start: length, end: length };
    this.broken = tokens.find(({ kind, text: image }) => kind === 'text' && unquote(image) === undefined)?.start ?? Infinity;
    this.last = this.token = tokens[0] ?? this.end;
  }

  /** Parses the file, adding its declarations. All errors go to the reporter. */
  program(): void {
    try {
      while (this.token.kind !== 'end') {
        if (declarationStarts.has(this.token.kind)) {
          this.attempt(() => { this.topLevel(); });
        } else {
          this.attempt(() => this.fail(syntaxRules.declaration));
          this.accept('}');
        }
      }
    } catch (error) {
      if (!(error instanceof ParseStop)) throw error;
    }
  }

  // Tokens.

  /** The token so many places behind the next one. */
  private ahead(places: number): Token { return this.tokens[this.position + places] ?? this.end; }

  private advance(): Token {
    this.last = this.token;
    this.token = this.tokens[++this.position] ?? this.end;
    return this.last;
  }

  private accept(kind: TokenKind): Token | undefined { return this.token.kind === kind ? this.advance() : undefined; }

  private expect(kind: TokenKind): Token {
    if (this.token.kind === kind) return this.advance();
    if (kind === 'name' && reserved.has(this.token.text)) return this.fail(syntaxRules.reserved, { name: this.token.text });
    return this.missing(labelOf(kind));
  }

  private name(): string { return this.expect('name').text; }

  /** How many places ahead stands what follows a bracketed list that may begin `from` places ahead; undefined if it does not end soon. */
  private behindBrackets(from: number): number | undefined {
    let depth = 0;
    for (let places = from; ; ++places) {
      const { kind } = this.ahead(places);
      if (kind === '[') ++depth;
      else if (depth === 0) return places;
      else if (kind === ']') --depth;
      else if (kind === ';' || kind === '{' || kind === '}' || kind === 'end') return undefined;
    }
  }

  // Places, and limits of depth.

  private at({ start, end }: Token): Span { return { file: this.file, start, end }; }

  /** From a token to the last one consumed. */
  private span({ start }: { readonly start: number }): Span {
    return { file: this.file, start, end: Math.max(start, this.last.end) };
  }

  /** One level deeper, up to {@link leave}; after a fault `attempt` sets the depth back. */
  private enter(): void {
    const limit = this.context.limits.nesting;
    if (++this.depth > limit) this.stop(syntaxRules.nesting, this.token, limit);
  }

  private leave(): void { --this.depth; }

  /** Notes the height of an expression one above the highest of its parts. */
  private grow(height: number, token: Token): void {
    const limit = this.context.limits.expression;
    this.height = height + 1;
    if (this.height > limit) this.stop(syntaxRules.expressionSize, token, limit);
  }

  private stop(rule: Rule, token: Token, limit: number): never {
    this.report(rule, this.at(token), { limit });
    throw new ParseStop();
  }

  // Errors, and going on after one.

  private report(rule: Rule, span: Span, values: Values = {}, hint?: string): void {
    this.context.reporter.report(rule, span, values, hint);
  }

  private found(token = this.token): string {
    return token.kind === 'end' ? 'the end of the file' : `'${abbreviate(token.text.replace(/\s+/g, ' '))}'`;
  }

  /** The next token cannot stand here. */
  private fail(rule: Rule, values: Values = {}): never { throw new SyntaxFault(rule, { found: this.found(), ...values }); }

  private missing(expected: string): never { return this.fail(syntaxRules.expected, { expected }); }

  /** Reports an error of syntax; gives the file up after too many. */
  private fault(rule: Rule, span: Span, values: Values = {}, hint?: string): void {
    // A string without an end swallows what follows it: nothing that is said then can be trusted.
    if (this.token.start <= this.broken) this.report(rule, span, values, hint);
    if (++this.faults >= kErrorsPerFile) throw new ParseStop();
  }

  /** Parses one part of a list; after an error in it, goes on behind its end. */
  private attempt(action: () => void): void {
    const { depth, position } = this;
    try {
      action();
    } catch (error) {
      if (!(error instanceof SyntaxFault)) throw error;
      this.depth = depth;
      this.tell(error);
      this.resume(position);
    }
  }

  private tell({ rule, values }: SyntaxFault): void {
    const span = this.at(this.token);
    const before = this.token.text === '=' ? this.text[span.start - 1] : undefined;
    if (before === '=') {
      this.fault(syntaxRules.operator, { ...span, start: span.start - 2 }, { text: '===' }, "compare with '=='");
    } else if (before === '~') {
      this.fault(syntaxRules.operator, { ...span, start: span.start - 1 }, { text: '~=' }, 'write a = ~b, or a != b');
    } else {
      this.fault(rule, span, values, this.misspelt());
    }
  }

  /** A hint where the name found, or the one before it, looks like a reserved word. */
  private misspelt(): string | undefined {
    for (const { kind, text } of [this.token, this.ahead(-1)]) {
      const word = kind === 'name' && text.length > 2 ? nearest(text, reserved.keys()) : undefined;
      if (word !== undefined) return `did you mean '${word}'?`;
    }
    return undefined;
  }

  /**
   * Skips to behind the end of the part that began at token `first`: its `;`, or before the `}` that closes what is around it. Inside
   * parentheses (the head of a `for`) a `;` is no end; a `{` after an unfinished head is taken for its body.
   */
  private resume(first: number): void {
    let parens = 0;
    let literals = 0;
    let braces = 0;
    for (const { kind } of this.tokens.slice(first, this.position)) {
      parens += parenthesis(kind);
      literals = Math.max(0, literals + brace(kind));
    }
    const opened = (this.tokens[first] ?? this.end).kind === 'for';
    if (this.position === first && this.token.kind !== '}') {
      parens += parenthesis(this.token.kind);
      braces += brace(this.token.kind);
      this.advance();
    }
    for (let next = this.token.kind; next !== 'end'; next = this.token.kind) {
      if (braces === 0 && ((next === '}' && --literals < 0) || (next === '{' && parens > 0))) return;
      braces = Math.max(0, braces + brace(next));
      parens = Math.max(0, parens + parenthesis(next));
      this.advance();
      if (next === ';' && braces === 0 && !(opened && parens > 0)) return;
      if (next === '}' && braces === 0 && literals <= 0 && this.token.kind !== ';') return;
      if (opened && parens === 0 && next === ')' && this.token.kind === '{') return;
    }
  }

  /** `;`, which may be missing at the end of a line or of a block: then it is reported and taken as read. */
  private semicolon(): void {
    if (this.accept(';') !== undefined) return;
    const { start, end } = this.at(this.last);
    if (this.token.kind !== '}' && !/[\r\n]/.test(this.text.slice(end, this.token.start))) this.missing("';'");
    this.fault(syntaxRules.semicolon, { file: this.file, start: Math.max(start, end - 1), end });
  }

  /**
   * Parses a list up to `}`: what cannot begin a part of it is reported and skipped. At the end of the file the brace that was left open is
   * reported.
   */
  private list(starts: ReadonlySet<TokenKind>, rule: Rule, part: () => void): void {
    const open = this.expect('{');
    while (this.token.kind !== '}') {
      const { kind } = this.token;
      if (kind === 'end') {
        this.fault(syntaxRules.unclosed, this.at(open));
        throw new ParseStop();
      }
      this.attempt(starts.has(kind) ? part : () => this.fail(kind === 'else' ? syntaxRules.elseWithoutIf : rule));
    }
    this.advance();
  }

  /** Parts between commas, at least one. */
  private commas(part: () => void): void {
    do part(); while (this.accept(',') !== undefined);
  }

  // Types.

  private type(): TypeNode {
    const first = this.token;
    if (!typeStarts.has(first.kind)) this.fail(syntaxRules.type);
    return this.dimensioned(this.element(), first);
  }

  private element(): TypeNode {
    const first = this.advance();
    if (first.kind === 'primitive') return this.primitive(first);
    if (first.kind === 'portal') {
      this.expect('<');
      const receiver = this.name();
      this.expect('>');
      return { kind: 'portal', receiver, span: this.span(first) };
    }
    // `String`, as Java writes it, is taken for `string`.
    const span = this.at(first);
    return first.text === 'String' ? { kind: 'primitive', name: 'string', span } : { kind: 'named', name: first.text, span };
  }

  private primitive(token: Token): TypeNode { return { kind: 'primitive', name: token.text as PrimitiveName, span: this.at(token) }; }

  /** An element's type, and `[n][m]…` where they follow. */
  private dimensioned(element: TypeNode, { start }: { readonly start: number }): TypeNode {
    const lengths = this.dimensions();
    return lengths.length === 0 ? element : arrayOf(element, lengths, this.span({ start }));
  }

  /** `[n][m]…`, lengths may be absent. */
  private dimensions(): (Expression | undefined)[] {
    const lengths: (Expression | undefined)[] = [];
    while (this.accept('[') !== undefined) {
      lengths.push(this.optionalExpression());
      this.grow(lengths.length, this.expect(']'));
    }
    return lengths;
  }

  // Expressions.

  private optionalExpression(): Expression | undefined {
    return expressionStarts.has(this.token.kind) ? this.expression() : undefined;
  }

  private expression(): Expression {
    this.enter();
    const first = this.binaryOrOperand();
    this.height = first.height;
    const question = this.accept('?');
    const node = question === undefined ? first.node : this.conditional(first, question);
    this.leave();
    return node;
  }

  private conditional(condition: Sized, question: Token): Expression {
    const then = this.sized(this.expression());
    this.expect(':');
    const otherwise = this.expression();
    this.grow(Math.max(condition.height, then.height, this.height), question);
    return { kind: 'conditional', condition: condition.node, then: then.node, otherwise, span: this.span(condition.node.span) };
  }

  private binaryOrOperand(): Sized {
    const operands = [this.sized(this.operand())];
    const operators: Token[] = [];
    while (binary.has(this.token.kind)) {
      operators.push(this.advance());
      operands.push(this.sized(this.operand()));
    }
    return this.fold(operands, operators);
  }

  private sized(node: Expression): Sized { return { node, height: this.height }; }

  /** Folds operands and the operators between them by precedence, equal ones from the left. */
  private fold(operands: readonly Sized[], operators: readonly Token[]): Sized {
    const values: Sized[] = [];
    const pending: Token[] = [];
    const strength = ({ text }: Token) => precedenceOf(text as BinaryOperator);
    const reduce = () => {
      const token = required(pending.pop());
      const right = required(values.pop());
      const left = required(values.pop());
      this.grow(Math.max(left.height, right.height), token);
      const span = { ...left.node.span, end: right.node.span.end };
      values.push(this.sized({ kind: 'binary', operator: token.text as BinaryOperator, left: left.node, right: right.node, span }));
    };
    operands.forEach((operand, index) => {
      values.push(operand);
      const operator = operators[index];
      while (pending.length > 0 && (operator === undefined || strength(lastOf(pending)) >= strength(operator))) reduce();
      if (operator !== undefined) pending.push(operator);
    });
    return elementAt(values, 0);
  }

  /** An expression or, for variables and arguments, elements between braces. */
  private initialiser(): Expression {
    if (this.token.kind === '{') return this.literal();
    return expressionStarts.has(this.token.kind) ? this.expression() : this.fail(syntaxRules.expression);
  }

  private literal(): Expression {
    this.enter();
    const open = this.advance();
    const elements = this.initialisers('}', true);
    this.leave();
    return { kind: 'array-literal', elements, span: this.span(open) };
  }

  private args(): Expression[] {
    this.expect('(');
    return this.initialisers(')', false);
  }

  /** Initialisers between commas, up to `close`; behind the last one there may be a comma too, where `trailing` says so. */
  private initialisers(close: TokenKind, trailing: boolean): Expression[] {
    const list: Expression[] = [];
    let highest = 0;
    if (this.token.kind === '{' || expressionStarts.has(this.token.kind)) {
      this.commas(() => {
        if (trailing && this.token.kind === close) return;
        list.push(this.initialiser());
        highest = Math.max(highest, this.height);
      });
    }
    this.expect(close);
    this.height = highest;
    return list;
  }

  /** Prefix operators and casts, a primary, and what follows it. */
  private operand(): Expression {
    const prefixes: Prefix[] = [];
    while (prefix.has(this.token.kind) || this.atCast()) prefixes.push(this.prefix());
    this.height = 0;
    let node = this.primary();
    for (let next = this.postfix(node); next !== undefined; next = this.postfix(node)) node = next;
    for (const part of prefixes.reverse()) node = this.prefixed(part, node);
    return node;
  }

  private atCast(): boolean { return this.token.kind === '(' && this.ahead(1).kind === 'primitive'; }

  private prefix(): Prefix {
    const token = this.advance();
    if (token.kind !== '(') return { token, type: undefined };
    const name = this.advance();
    const type = this.dimensioned(this.primitive(name), name);
    this.expect(')');
    return { token, type };
  }

  private prefixed({ token, type }: Prefix, operand: Expression): Expression {
    if (token.kind === '++' || token.kind === '--') return this.increment(token, operand, this.span(token), 'prefix');
    this.grow(this.height, token);
    const span = this.span(token);
    if (type !== undefined) return { kind: 'cast', type, operand, span };
    return { kind: 'unary', operator: token.text as UnaryOperator, operand, span };
  }

  private primary(): Expression {
    if (!primaryStarts.has(this.token.kind)) this.fail(syntaxRules.expression);
    const first = this.advance();
    switch (first.kind) {
      case 'name': return this.nameOrCall(first);
      case 'number': return this.number(first);
      case 'text': return { kind: 'string', value: unquote(first.text) ?? first.text.slice(1), span: this.at(first) };
      case 'character': return this.character(first);
      case 'constant': return this.constant(first);
      case 'pop':
        this.expect('(');
        this.expect(')');
        return { kind: 'pop', span: this.span(first) };
      case 'peek':
        return { kind: 'peek', index: this.condition(), span: this.span(first) };
      default: {
        const inner = this.expression();
        this.expect(')');
        return inner;
      }
    }
  }

  /** A field, an element, a call of a package's function or an increment of what stands before it. */
  private postfix(node: Expression): Expression | undefined {
    const { height, token } = this;
    if (token.kind === '++' || token.kind === '--') {
      this.advance();
      return this.increment(token, node, this.span(node.span), 'postfix');
    }
    if (this.accept('[') !== undefined) {
      const index = this.expression();
      this.expect(']');
      this.grow(Math.max(height, this.height), token);
      return { kind: 'index', array: node, index, span: this.span(node.span) };
    }
    if (this.accept('.') === undefined) return undefined;
    const field = this.name();
    const args = this.token.kind === '(' ? this.args() : undefined;
    this.grow(Math.max(height, this.height), token);
    if (args === undefined) return { kind: 'field', object: node, field, span: this.span(node.span) };
    if (node.kind !== 'name') {
      this.report(syntaxRules.expected, this.at(token), { expected: 'the name of a package before the call', found: "'.'" });
    }
    return { kind: 'call', name: node.kind === 'name' ? `${node.name}.${field}` : field, args, span: this.span(node.span) };
  }

  private increment(token: Token, target: Expression, span: Span, position: 'prefix' | 'postfix'): Expression {
    this.grow(this.height, token);
    this.requireTarget(target);
    return { kind: 'increment', target, by: token.kind === '++' ? 1 : -1, position, span };
  }

  /** Reports a left side that is no place of memory. */
  private requireTarget(target: Expression): void {
    let base = target;
    while (base.kind === 'index' || base.kind === 'field') base = base.kind === 'index' ? base.array : base.object;
    if (base.kind !== 'name') this.report(syntaxRules.target, target.span);
  }

  private nameOrCall(token: Token): Expression {
    if (this.token.kind !== '(') return { kind: 'name', name: token.text, span: this.at(token) };
    const args = this.args();
    const span = this.span(token);
    return token.text === 'iter' && args.length === 0 ? { kind: 'iter', span } : { kind: 'call', name: token.text, args, span };
  }

  private constant(token: Token): Expression {
    const span = this.at(token);
    return token.text === 'pi' ? { kind: 'float', value: Math.PI, span } : { kind: 'boolean', value: token.text === 'true', span };
  }

  private character(token: Token): Expression {
    const value = unquote(token.text) ?? token.text.slice(1);
    return { kind: 'character', value: value === '' ? 0 : value.charCodeAt(0), span: this.at(token) };
  }

  private number(token: Token): Expression {
    const { text } = token;
    const span = this.at(token);
    if (/^0[xX]/.test(text)) {
      if (!/^0[xX]0*[0-9a-fA-F]{0,8}$/.test(text)) this.report(syntaxRules.intRange, span, { text: abbreviate(text) });
      return { kind: 'int', value: Number.parseInt(text.slice(-8).replace(/^.*[xX]/, '') || '0', 16) | 0, span };
    }
    const value = Number.parseFloat(text);
    if (text.endsWith('i')) return { kind: 'imaginary', value, span };
    if (!/^\d+$/.test(text)) return { kind: 'float', value, span };
    // Whether it fits is known when it is known what stands around it.
    if (Math.fround(value) === Infinity) this.report(syntaxRules.intRange, span, { text: abbreviate(text) });
    return { kind: 'int', value: value | 0, span, ...(value > 0x7fffffff ? { wide: value } : {}) };
  }

  // Statements, those of composites among them.

  private block(): Block {
    const first = this.token;
    const statements: Statement[] = [];
    this.list(statementStarts, syntaxRules.statement, () => { statements.push(this.statement()); });
    return { kind: 'block', statements, span: this.span(first) };
  }

  private statement(): Statement {
    this.enter();
    if (!statementStarts.has(this.token.kind)) this.fail(syntaxRules.statement);
    const node = this.atDeclaration() ? this.declaration() : this.atMessage() ? this.message() : this.otherStatement();
    this.leave();
    return node;
  }

  private otherStatement(): Statement {
    switch (this.token.kind) {
      case '{': return this.block();
      case 'if': return this.ifStatement();
      case 'for': return this.forStatement();
      case 'while': return this.whileStatement();
      case 'do': return this.doStatement();
      case 'break': case 'continue': case 'return': return this.jump();
      case 'push': return this.push();
      case 'add': return this.add();
      case 'split': return this.split();
      case 'enqueue': return this.enqueue();
      case ';': return { kind: 'empty', span: this.at(this.advance()) };
      default: {
        const simple = this.simple();
        this.semicolon();
        return simple;
      }
    }
  }

  /** A type and a name follow. */
  private atDeclaration(): boolean {
    const { kind, text } = this.token;
    if (kind !== 'name') return kind === 'primitive' || kind === 'portal';
    if (text === 'const' && this.ahead(1).kind === 'primitive') return true;
    const behind = this.behindBrackets(1);
    return behind !== undefined && this.ahead(behind).kind === 'name';
  }

  /** `type name = value, …;` */
  private declaration(): Statement {
    const first = this.token;
    const variables = this.variables();
    this.semicolon();
    return { kind: 'declare', variables, span: this.span(first) };
  }

  private variables(): Declarator[] {
    if (this.token.text === 'const') this.advance();
    const type = this.type();
    const list: Declarator[] = [];
    this.commas(() => { list.push(this.declarator(type)); });
    return list;
  }

  private declarator(type: TypeNode): Declarator {
    const name = this.expect('name');
    const whole = this.dimensioned(type, type.span);
    let value: Expression | undefined;
    if (assignment.has(this.token.kind)) {
      const assign = this.advance();
      if (assign.kind !== '=') this.report(syntaxRules.expected, this.at(assign), { expected: "'='", found: this.found(assign) });
      value = this.initialiser();
    }
    return { type: whole, name: name.text, value, span: this.span(name) };
  }

  /** An assignment, an increment or a call, without its semicolon. */
  private simple(): Statement {
    const target = this.expression();
    const assigned: Extract<Statement, { kind: 'assign' }>[] = [];
    for (let left = target; assignment.has(this.token.kind); left = lastOf(assigned).value) {
      const token = this.advance();
      const value = this.initialiser();
      this.requireTarget(left);
      if (assigned.length > 0 && hasEffects(left)) {
        this.report(syntaxRules.expected, this.at(token), { expected: "';'", found: this.found(token) });
      }
      assigned.push({ kind: 'assign', target: left, operator: token.text as AssignmentOperator, value, span: this.span(left.span) });
    }
    // `a = b = c` is `b = c` and then `a = b`.
    if (assigned.length > 1) return { kind: 'block', statements: assigned.reverse(), span: this.span(target.span) };
    if (assigned.length === 1) return lastOf(assigned);
    const { span } = target;
    if (target.kind === 'increment') return { kind: 'increment', target: target.target, by: target.by, span };
    return { kind: 'expression', value: target, span };
  }

  /** One or, in the head of a `for`, several between commas: these become a block. */
  private simpleList(): Statement | undefined {
    if (!expressionStarts.has(this.token.kind)) return undefined;
    const first = this.token;
    const list: Statement[] = [];
    this.commas(() => { list.push(this.simple()); });
    if (list.length === 1) return lastOf(list);
    return { kind: 'block', statements: list.flatMap((one) => (one.kind === 'block' ? one.statements : one)), span: this.span(first) };
  }

  /** A chain of `else if` is read in a loop, so that its length is not limited by the stack. */
  private ifStatement(): Statement {
    const arms: { readonly token: Token; readonly condition: Expression; readonly then: Statement }[] = [];
    const arm = () => {
      const token = this.expect('if');
      if (arms.length > this.context.limits.expression) this.grow(arms.length, token);
      arms.push({ token, condition: this.condition(), then: this.statement() });
    };
    arm();
    while (this.token.kind === 'else' && this.ahead(1).kind === 'if') {
      this.advance();
      arm();
    }
    let whole = this.accept('else') === undefined ? undefined : this.statement();
    for (const { token, ...test } of arms.reverse()) whole = { kind: 'if', ...test, otherwise: whole, span: this.span(token) };
    return required(whole);
  }

  private condition(): Expression {
    this.expect('(');
    const condition = this.expression();
    this.expect(')');
    return condition;
  }

  private forStatement(): Statement {
    const first = this.advance();
    this.expect('(');
    let initial: Statement | undefined;
    if (this.atDeclaration()) {
      initial = this.declaration();
    } else {
      if (this.token.kind !== ';' && !expressionStarts.has(this.token.kind)) this.missing('a statement');
      initial = this.simpleList();
      this.expect(';');
    }
    const condition = this.optionalExpression();
    this.expect(';');
    const step = this.simpleList();
    this.expect(')');
    return { kind: 'for', initial, condition, step, body: this.statement(), span: this.span(first) };
  }

  private whileStatement(): Statement {
    const first = this.advance();
    return { kind: 'while', condition: this.condition(), body: this.statement(), span: this.span(first) };
  }

  private doStatement(): Statement {
    const first = this.advance();
    const body = this.statement();
    this.expect('while');
    const condition = this.condition();
    this.semicolon();
    return { kind: 'do', condition, body, span: this.span(first) };
  }

  private jump(): Statement {
    const first = this.advance();
    const value = first.kind === 'return' ? this.optionalExpression() : undefined;
    const span = this.span(first);
    this.semicolon();
    return first.kind === 'return' ? { kind: 'return', value, span } : { kind: first.text as 'break' | 'continue', span };
  }

  private push(): Statement {
    const first = this.advance();
    const value = this.condition();
    this.semicolon();
    return { kind: 'push', value, span: this.span(first) };
  }

  private enqueue(): Statement {
    const first = this.advance();
    const value = this.expression();
    this.semicolon();
    return { kind: 'enqueue', value, span: this.span(first) };
  }

  private split(): Statement {
    const first = this.advance();
    const policy = this.policy();
    this.semicolon();
    return { kind: first.text as 'split' | 'join', policy, span: this.span(first) };
  }

  private policy(): SplitPolicy {
    const first = this.accept('duplicate') ?? this.accept('roundrobin') ?? this.missing("'duplicate' or 'roundrobin'");
    const weights = this.token.kind === '(' ? this.args() : [];
    // A number behind `duplicate` says nothing: every branch gets every item.
    if (first.kind === 'duplicate') return { kind: 'duplicate', span: this.span(first) };
    return { kind: 'roundrobin', weights, span: this.span(first) };
  }

  private add(): Statement {
    const first = this.advance();
    const creator = this.creator();
    return { kind: first.text as 'add' | 'body' | 'loop', creator, span: this.span(first) };
  }

  private creator(): Creator {
    const { kind } = this.token;
    if (kind === 'stream' || kind === 'stateful' || (typeStarts.has(kind) && this.atEnds())) return this.anonymousCreator();
    return kind === 'name' ? this.namedCreator() : this.missing('a stream');
  }

  /** Types with an arrow between them follow. */
  private atEnds(): boolean {
    if (this.token.kind !== 'name') return true;
    const behind = this.behindBrackets(1);
    return behind !== undefined && this.ahead(behind).kind === '->';
  }

  private anonymousCreator(): Creator {
    const stream = this.anonymous();
    const portals = this.portals();
    const span = this.span(stream.span);
    this.accept(';');
    return { kind: 'anonymous', stream, portals, span };
  }

  private namedCreator(): Creator {
    const name = this.expect('name');
    let type: TypeNode | undefined;
    if (this.accept('<') !== undefined) {
      type = this.type();
      this.expect('>');
    }
    const args = this.token.kind === '(' ? this.args() : [];
    const portals = this.portals();
    const span = this.span(name);
    this.semicolon();
    return { kind: 'named', name: name.text, type, args, portals, span };
  }

  /** `to p, q`, or nothing. */
  private portals(): string[] {
    const names: string[] = [];
    if (this.accept('to') !== undefined) this.commas(() => { names.push(this.name()); });
    return names;
  }

  private atMessage(): boolean {
    return this.token.kind === 'name' && this.ahead(1).kind === '.' && this.ahead(2).kind === 'name' && this.ahead(3).kind === '('
      && !this.context.packages.has(this.token.text);
  }

  private message(): Statement {
    const portal = this.expect('name');
    this.expect('.');
    const handler = this.name();
    const args = this.args();
    const latency = this.token.kind === '[' ? this.latency() : undefined;
    this.semicolon();
    return { kind: 'message', portal: portal.text, handler, args, latency, span: this.span(portal) };
  }

  /** `[low : high]` with `*` or nothing for no bound, `[*]`, or one number for both. */
  private latency(): MessageLatency {
    this.expect('[');
    const low = this.bound();
    const high = this.accept(':') === undefined ? low : this.bound();
    this.expect(']');
    return { low, high };
  }

  private bound(): Expression | undefined {
    return this.accept('*') === undefined ? this.optionalExpression() : undefined;
  }

  // Declarations: streams, structs, sections of constants, native and helper packages.

  private topLevel(): void {
    const { out } = this.context;
    switch (this.token.kind) {
      case 'struct': out.structs.push(this.struct()); break;
      case 'static': out.statics.push(this.static()); break;
      case 'native': out.natives.push(this.native()); break;
      case ';': this.advance(); break;
      default:
        if (this.atHelpers()) out.helpers.push(this.helpers());
        else if (this.atConstants()) out.statics.push(this.constants());
        else if (this.atFunction()) this.keepGlobal(this.helper());
        else out.streams.push(this.stream());
    }
  }

  private struct(): StructDeclaration {
    const first = this.advance();
    const name = this.name();
    const fields: Parameter[] = [];
    this.list(typeStarts, syntaxRules.type, () => {
      for (const { type, name: field, span, value } of this.variables()) {
        if (value !== undefined) this.report(syntaxRules.structValue, value.span);
        fields.push({ type, name: field, span });
      }
      this.semicolon();
    });
    return { kind: 'struct', name, fields, span: this.span(first) };
  }

  private static(): StaticDeclaration {
    const first = this.advance();
    const members: Members = { fields: [], functions: [] };
    this.list(new Set<TokenKind>([...typeStarts, 'init']), syntaxRules.type, () => {
      if (this.token.kind === 'init') members.functions.push(this.init());
      else members.fields.push(...this.field());
    });
    this.once(members.functions);
    return { kind: 'static', fields: members.fields, init: members.functions[0], span: this.span(first) };
  }

  /** Constants of the program outside a section: a section of their own. */
  private constants(): StaticDeclaration {
    const first = this.token;
    return { kind: 'static', fields: this.field(), init: undefined, span: this.span(first) };
  }

  private field(): Declarator[] {
    const variables = this.variables();
    this.semicolon();
    return variables;
  }

  private native(): NativeDeclaration {
    const first = this.advance();
    const name = this.name();
    this.expect('{');
    const functions: NativeDeclaration['functions'][number][] = [];
    while (typeStarts.has(this.token.kind)) {
      const begin = this.token;
      const result = this.type();
      functions.push({ result, name: this.name(), parameters: this.parameters(), span: this.span(begin) });
      this.semicolon();
    }
    this.expect('}');
    return { kind: 'native', name, functions, span: this.span(first) };
  }

  /** `helper` is a word only here. */
  private atHelpers(): boolean {
    return this.token.text === 'helper' && this.ahead(1).kind === 'name' && this.ahead(2).kind === '{';
  }

  private helpers(): Declarations['helpers'][number] {
    const first = this.advance();
    const name = this.name();
    const functions: FunctionDeclaration[] = [];
    this.list(typeStarts, syntaxRules.type, () => { functions.push(this.helper()); });
    return { kind: 'helpers', name, functions, span: this.span(first) };
  }

  /** Functions outside of streams are one package without a name. */
  private keepGlobal(declaration: FunctionDeclaration): void {
    const { helpers } = this.context.out;
    const found = helpers.find(({ name }) => name === '');
    if (found !== undefined) found.functions.push(declaration);
    else helpers.push({ kind: 'helpers', name: '', functions: [declaration], span: declaration.span });
  }

  /** A type, a name and what can follow the name of a variable. */
  private atConstants(): boolean {
    const from = this.token.text === 'const' ? 1 : 0;
    const { kind } = this.ahead(from);
    const name = kind === 'primitive' || kind === 'name' ? this.behindBrackets(from + 1) : undefined;
    return name !== undefined && this.ahead(name).kind === 'name' && ['=', ';', ',', '['].includes(this.ahead(name + 1).kind);
  }

  /** A type, a name and a parenthesis follow. */
  private atFunction(): boolean {
    const { kind } = this.token;
    const name = typeStarts.has(kind) ? this.behindBrackets(kind === 'portal' ? 4 : 1) : undefined;
    return name !== undefined && this.ahead(name).kind === 'name' && this.ahead(name + 1).kind === '(';
  }

  private stream(): StreamDeclaration {
    const first = this.token;
    const before = this.accept('stateful');
    const ends = this.ends();
    const stateful = (this.accept('stateful') ?? before) !== undefined;
    const kind = this.expect('stream').text as StreamKind;
    const name = this.expect('name');
    const parameters = this.token.kind === '(' ? this.parameters() : [];
    return this.streamBody(first, name, { kind, name: name.text, ...ends, stateful, parameters });
  }

  /** `filter { … }` and its like, with or without types. */
  private anonymous(): StreamDeclaration {
    const first = this.token;
    const ends = typeStarts.has(first.kind) ? this.ends() : kNoEnds;
    const stateful = this.accept('stateful') !== undefined;
    const word = this.expect('stream');
    return this.streamBody(first, word, { kind: word.text as StreamKind, name: '', ...ends, stateful, parameters: [] });
  }

  private ends(): Ends {
    const input = this.type();
    this.expect('->');
    return { input, output: this.type() };
  }

  private streamBody(first: Token, at: Token, { kind, stateful, ...head }: Head): StreamDeclaration {
    const common = { ...head, at: this.at(at) };
    if (kind !== 'filter') return { ...common, kind, body: this.block(), span: this.span(first) };
    return { ...common, kind, stateful, ...this.members(), span: this.span(first) };
  }

  private members(): Members {
    const members: Members = { fields: [], functions: [] };
    const { fields, functions } = members;
    this.list(memberStarts, syntaxRules.member, () => {
      switch (this.token.kind) {
        case 'init': functions.push(this.init()); break;
        case 'work': functions.push(this.work()); break;
        case 'handler': functions.push(this.handler()); break;
        case ';': this.advance(); break;
        default:
          if (this.atFunction()) functions.push(this.helper());
          else fields.push(...this.field());
      }
    });
    this.once(functions);
    return members;
  }

  /** A filter has one init, one work and at most one prework. */
  private once(functions: readonly FunctionDeclaration[]): void {
    const seen = new Set<string>();
    for (const { kind, span } of functions) {
      if (kind === 'helper' || kind === 'handler') continue;
      if (seen.has(kind)) this.report(syntaxRules.workTwice, { ...span, end: span.start + kind.length }, { name: kind });
      seen.add(kind);
    }
  }

  private init(): FunctionDeclaration {
    const first = this.advance();
    this.noParameters();
    return { kind: 'init', name: '', result: undefined, parameters: [], rates: kNoRates, body: this.block(), span: this.span(first) };
  }

  private work(): FunctionDeclaration {
    const first = this.advance();
    const kind = first.text as 'work' | 'prework';
    this.noParameters();
    const rates = this.rates();
    return { kind, name: '', result: undefined, parameters: [], rates, body: this.block(), span: this.span(first) };
  }

  /** `()` or `(void)` behind `init`, `work` and `prework`, which take nothing. */
  private noParameters(): void {
    if (this.accept('(') === undefined) return;
    if (this.token.text === 'void') this.advance();
    this.expect(')');
  }

  /** A function with the type of its result. */
  private helper(): FunctionDeclaration {
    const first = this.token;
    const result = this.type();
    return this.functionRest('helper', first, result);
  }

  private handler(): FunctionDeclaration {
    const first = this.advance();
    const type = this.accept('primitive');
    return this.functionRest('handler', first, type === undefined ? undefined : { kind: 'primitive', name: 'void', span: this.at(type) });
  }

  private functionRest(kind: 'helper' | 'handler', first: Token, result: TypeNode | undefined): FunctionDeclaration {
    const name = this.name();
    const parameters = this.parameters();
    const rates = this.rates();
    return { kind, name, result, parameters, rates, body: this.block(), span: this.span(first) };
  }

  private parameters(): Parameter[] {
    const list: Parameter[] = [];
    this.expect('(');
    if (this.token.text === 'void' && this.ahead(1).kind === ')') this.advance();
    if (typeStarts.has(this.token.kind)) {
      this.commas(() => {
        const first = this.token;
        const written = this.type();
        const name = this.name();
        list.push({ type: this.dimensioned(written, first), name, span: this.span(first) });
      });
    }
    this.expect(')');
    return list;
  }

  private rates(): Rates {
    const rates: { -readonly [K in keyof Rates]: Rate | undefined } = { ...kNoRates };
    while (rate.has(this.token.kind)) {
      const token = this.advance();
      const name = token.text as keyof Rates;
      const value = this.rate();
      if (rates[name] !== undefined) this.report(syntaxRules.rateTwice, this.at(token), { rate: name });
      rates[name] = value;
    }
    return rates;
  }

  /** A number, `*` for any, or `[low, high]` or `[low, average, high]`. */
  private rate(): Rate {
    const first = this.token;
    if (this.accept('*') !== undefined) return { kind: 'dynamic', low: undefined, high: undefined, span: this.at(first) };
    if (this.accept('[') === undefined) {
      const value = this.optionalExpression() ?? this.missing('a rate');
      return { kind: 'static', value, span: this.span(first) };
    }
    const low = this.bound();
    let high: Expression | undefined;
    this.expect(',');
    this.commas(() => { high = this.bound(); });
    this.expect(']');
    return { kind: 'dynamic', low, high, span: this.span(first) };
  }
}

const brace = (kind: TokenKind): number => (kind === '{' ? 1 : kind === '}' ? -1 : 0);
const parenthesis = (kind: TokenKind): number => (kind === '(' ? 1 : kind === ')' ? -1 : 0);

/** Names of the native and helper packages that the tokens declare. */
function packagesOf(files: readonly (readonly Token[])[]): Set<string> {
  const names = new Set<string>();
  for (const tokens of files) {
    tokens.forEach(({ kind, text }, index) => {
      const next = tokens[index + 1];
      if ((kind === 'native' || text === 'helper') && next?.kind === 'name') names.add(next.text);
    });
  }
  return names;
}

/**
 * Parses the files of one program. Always yields a program, which holds whatever could be understood; it is whole exactly if there is no
 * error among the diagnostics. Diagnostics come in the order of the source. Never throws on any text.
 */
export function parse(sources: readonly SourceFile[], limits: Partial<SyntaxLimits> = {}): {
  readonly program: Program; readonly diagnostics: readonly Diagnostic[];
} {
  const all: SyntaxLimits = { ...defaultSyntaxLimits, ...limits };
  const files = sources.map(({ name, text }) => ({ name, text }));
  const reporter = new Reporter(files);
  const out: Declarations = { streams: [], structs: [], statics: [], natives: [], helpers: [] };
  const program: Program = { files, ...out };
  const size = files.reduce((sum, { text }) => sum + text.length, 0);
  if (size > all.characters) {
    reporter.report(syntaxRules.sourceSize, { file: 0, start: 0, end: 0 }, { size, limit: all.characters });
    return { program, diagnostics: reporter.finish() };
  }
  const tokens: (readonly Token[])[] = [];
  let left = all.tokens;
  for (const [file, { text }] of files.entries()) {
    const some = tokenize(file, text, reporter, left);
    if (some === undefined) return { program, diagnostics: reporter.finish() };
    left -= some.length;
    tokens.push(some);
  }
  const context: Context = { reporter, limits: all, packages: packagesOf(tokens), out };
  for (const [file, own] of tokens.entries()) {
    withinStack(reporter, { file, start: 0, end: 0 }, () => { new Parser(file, files[file]?.text ?? '', own, context).program(); });
  }
  return { program, diagnostics: reporter.finish() };
}
