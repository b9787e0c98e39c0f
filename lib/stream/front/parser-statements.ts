// Grammar of statements, those of composites among them.
import type { IOrAlt, IToken, TokenType } from 'chevrotain';
import type {
  AssignmentOperator, Creator, Declarator, Expression, MessageLatency, SplitPolicy, Statement, StreamDeclaration, TypeNode,
} from '../ast.ts';
import { arrayOf, ExpressionParser } from './parser-expressions.ts';
import { ParseStop } from './parser-base.ts';
import { syntaxRules } from './syntax-rules.ts';
import {
  AddWord, Arrow, Assignment, CharacterLiteral, Colon, Comma, ConstantWord, Dot, Greater, Identifier, Increment, LeftBrace, LeftBracket,
  LeftParen, Less, NumberLiteral, PeekWord, PopWord, Prefix, Primitive, PushWord, RightBrace, RightBracket, RightParen, Semicolon,
  SplitWord, Star, StreamWord, StringLiteral, tokensOf, word,
} from './tokens.ts';
import { childrenOf } from './walk.ts';

export type Block = Extract<Statement, { kind: 'block' }>;

const statementStarts: ReadonlySet<TokenType> = new Set([
  Primitive, word.portal, Identifier, LeftBrace, word.if, word.for, word.while, word.do, word.break, word.continue, word.return, PushWord,
  AddWord, SplitWord, word.enqueue, Semicolon, ...tokensOf(Prefix), ...tokensOf(Increment), LeftParen, NumberLiteral, StringLiteral,
  CharacterLiteral, ConstantWord, PopWord, PeekWord,
]);

/** Whether evaluating an expression twice differs from evaluating it once. */
const hasEffects = (node: Expression): boolean => ['increment', 'pop', 'call'].includes(node.kind) || childrenOf(node).some(hasEffects);

/** Rules of statements. */
export abstract class StatementParser extends ExpressionParser {
  /** `filter { … }` and its like behind the types; defined with the declarations. */
  protected abstract readonly anonymous: () => StreamDeclaration;

  readonly block = this.RULE('block', (): Block => {
    const open = this.CONSUME(LeftBrace);
    const statements: Statement[] = [];
    this.list(open, () => {
      this.MANY(() => { this.attempt(() => { statements.push(this.SUBRULE(this.statement)); }); });
    }, syntaxRules.statement);
    this.CONSUME(RightBrace);
    return { kind: 'block', statements, span: this.span(open) };
  });

  /**
   * Parses a list up to `}`: what cannot begin a part of it is reported and skipped. At the end of the file the bracket that was left open
   * is reported.
   */
  protected list(open: IToken, parts: () => void, rule: typeof syntaxRules[keyof typeof syntaxRules]): void {
    parts();
    if (this.recording) return;
    while (this.LA(1).tokenType !== RightBrace) {
      if (!Number.isFinite(this.LA(1).startOffset)) return this.endOfFile(open);
      this.attempt(() => this.fail(this.LA(1).tokenType === word.else ? syntaxRules.elseWithoutIf : rule));
      parts();
    }
  }

  readonly statement: () => Statement = this.RULE('statement', (): Statement => this.nest(() => {
    this.expect(statementStarts, syntaxRules.statement);
    if (this.recording) {
      return this.OR<Statement>([
        { ALT: () => this.SUBRULE(this.declaration) }, { ALT: () => this.SUBRULE(this.message) },
        { ALT: () => this.SUBRULE(this.otherStatement) },
      ]);
    }
    // The same choice, quicker: two of the three cases need more than one token of look-ahead.
    if (this.atDeclaration()) return this.SUBRULE(this.declaration);
    return this.atMessage() ? this.SUBRULE(this.message) : this.SUBRULE(this.otherStatement);
  }));

  private readonly statements: IOrAlt<Statement>[] = [
    { ALT: () => this.SUBRULE(this.block) },
    { ALT: () => this.SUBRULE(this.ifStatement) },
    { ALT: () => this.SUBRULE(this.forStatement) },
    { ALT: () => this.SUBRULE(this.whileStatement) },
    { ALT: () => this.SUBRULE(this.doStatement) },
    { ALT: () => this.SUBRULE(this.jump) },
    { ALT: () => this.SUBRULE(this.push) },
    { ALT: () => this.SUBRULE(this.add) },
    { ALT: () => this.SUBRULE(this.split) },
    { ALT: () => this.SUBRULE(this.enqueue) },
    { ALT: () => ({ kind: 'empty', span: this.at(this.CONSUME(Semicolon)) }) },
    {
      ALT: () => {
        const simple = this.SUBRULE(this.simple);
        this.semicolon();
        return simple;
      },
    },
  ];

  readonly otherStatement: () => Statement = this.RULE('otherStatement', (): Statement => this.OR(this.statements));

  /** `type name = value, …;` */
  readonly declaration = this.RULE('declaration', (): Statement => {
    const first = this.LA(1);
    const variables = this.SUBRULE(this.variables);
    this.semicolon();
    return { kind: 'declare', variables, span: this.span(first) };
  });

  readonly variables = this.RULE('variables', (): Declarator[] => {
    if (this.LA(1).image === 'const') this.CONSUME(Identifier);
    const type = this.SUBRULE(this.type);
    const list = [this.SUBRULE(this.declarator, { ARGS: [type] })];
    this.MANY(() => {
      this.CONSUME(Comma);
      list.push(this.SUBRULE1(this.declarator, { ARGS: [type] }));
    });
    return list;
  });

  readonly declarator = this.RULE('declarator', (type: TypeNode): Declarator => {
    const name = this.CONSUME(Identifier);
    const lengths = this.SUBRULE(this.dimensions);
    const whole = this.recording || lengths.length === 0 ? type : arrayOf(type, lengths, { ...type.span, end: this.span(name).end });
    const value = this.OPTION(() => {
      const assign = this.CONSUME(Assignment);
      if (assign.image !== '=' && !this.recording) {
        this.report(syntaxRules.expected, this.at(assign), { expected: "'='", found: this.found(assign) });
      }
      return this.SUBRULE(this.initialiser);
    });
    return { type: whole, name: name.image, value, span: this.span(name) };
  });

  /** An assignment, an increment or a call, without its semicolon. */
  readonly simple = this.RULE('simple', (): Statement => {
    const target = this.SUBRULE(this.expression);
    const assigned: Extract<Statement, { kind: 'assign' }>[] = [];
    this.MANY(() => {
      const token = this.CONSUME(Assignment);
      const value = this.SUBRULE(this.initialiser);
      if (this.recording) return;
      const left = assigned.at(-1)?.value ?? target;
      this.requireTarget(left);
      if (assigned.length > 0 && hasEffects(left)) {
        this.report(syntaxRules.expected, this.at(token), { expected: "';'", found: this.found(token) });
      }
      assigned.push({ kind: 'assign', target: left, operator: token.image as AssignmentOperator, value, span: this.span(left) });
    });
    if (this.recording) return undefined!;
    // `a = b = c` is `b = c` and then `a = b`.
    if (assigned.length > 1) return { kind: 'block', statements: assigned.reverse(), span: this.span(target) };
    if (assigned.length === 1) return assigned[0]!;
    const { span } = target;
    if (target.kind === 'increment') return { kind: 'increment', target: target.target, by: target.by, span };
    return { kind: 'expression', value: target, span };
  });

  /** One or, in the head of a `for`, several between commas: these become a block. */
  readonly simpleList = this.RULE('simpleList', (): Statement => {
    const list: Statement[] = [this.SUBRULE(this.simple)];
    this.MANY(() => {
      this.CONSUME(Comma);
      list.push(this.SUBRULE1(this.simple));
    });
    if (list.length === 1 || this.recording) return list[0]!;
    return { kind: 'block', statements: list.flatMap((one) => (one.kind === 'block' ? one.statements : one)), span: this.span(list[0]!) };
  });

  /** A chain of `else if` is read in a loop, so that its length is not limited by the stack. */
  readonly ifStatement = this.RULE('ifStatement', (): Statement => {
    const arms: { readonly token: IToken; readonly condition: Expression; readonly then: Statement }[] = [];
    const arm = (token: IToken, condition: Expression, then: Statement) => arms.push({ token, condition, then });
    const first = this.CONSUME(word.if);
    const condition = this.SUBRULE(this.condition);
    arm(first, condition, this.SUBRULE(this.statement));
    this.MANY({
      GATE: () => this.LA(2).tokenType === word.if,
      DEF: () => {
        this.CONSUME(word.else);
        const token = this.CONSUME1(word.if);
        if (arms.length > this.context.limits.expression) this.grow(arms.length, token);
        const next = this.SUBRULE1(this.condition);
        arm(token, next, this.SUBRULE1(this.statement));
      },
    });
    const last = this.OPTION(() => {
      this.CONSUME1(word.else);
      return this.SUBRULE2(this.statement);
    });
    const whole = this.recording ? undefined : arms.reduceRight<Statement | undefined>((otherwise, { token, condition: test, then }) => (
      { kind: 'if', condition: test, then, otherwise, span: this.span(token) }), last);
    return whole!;
  });

  readonly condition = this.RULE('condition', (): Expression => {
    this.CONSUME(LeftParen);
    const condition = this.SUBRULE(this.expression);
    this.CONSUME(RightParen);
    return condition;
  });

  readonly forStatement = this.RULE('forStatement', (): Statement => {
    const first = this.CONSUME(word.for);
    this.CONSUME(LeftParen);
    const initial = this.OR<Statement | undefined>([
      { GATE: () => this.atDeclaration(), ALT: () => this.SUBRULE(this.declaration) },
      {
        ALT: () => {
          const simple = this.OPTION(() => this.SUBRULE(this.simpleList));
          this.CONSUME(Semicolon);
          return simple;
        },
      },
    ]);
    const condition = this.OPTION1(() => this.SUBRULE(this.expression));
    this.CONSUME1(Semicolon);
    const step = this.OPTION2(() => this.SUBRULE1(this.simpleList));
    this.CONSUME(RightParen);
    const body = this.SUBRULE(this.statement);
    return { kind: 'for', initial, condition, step, body, span: this.span(first) };
  });

  readonly whileStatement = this.RULE('whileStatement', (): Statement => {
    const first = this.CONSUME(word.while);
    const condition = this.SUBRULE(this.condition);
    const body = this.SUBRULE(this.statement);
    return { kind: 'while', condition, body, span: this.span(first) };
  });

  readonly doStatement = this.RULE('doStatement', (): Statement => {
    const first = this.CONSUME(word.do);
    const body = this.SUBRULE(this.statement);
    this.CONSUME(word.while);
    const condition = this.SUBRULE(this.condition);
    this.semicolon();
    return { kind: 'do', condition, body, span: this.span(first) };
  });

  readonly jump = this.RULE('jump', (): Statement => {
    const first = this.LA(1);
    const statement = this.OR<Statement>([
      { ALT: () => ({ kind: 'break', span: this.at(this.CONSUME(word.break)) }) },
      { ALT: () => ({ kind: 'continue', span: this.at(this.CONSUME(word.continue)) }) },
      {
        ALT: () => {
          this.CONSUME(word.return);
          const value = this.OPTION(() => this.SUBRULE(this.expression));
          return { kind: 'return', value, span: this.span(first) };
        },
      },
    ]);
    this.semicolon();
    return statement;
  });

  readonly push = this.RULE('push', (): Statement => {
    const first = this.CONSUME(PushWord);
    const value = this.SUBRULE(this.condition);
    this.semicolon();
    return { kind: 'push', value, span: this.span(first) };
  });

  readonly enqueue = this.RULE('enqueue', (): Statement => {
    const first = this.CONSUME(word.enqueue);
    const value = this.SUBRULE(this.expression);
    this.semicolon();
    return { kind: 'enqueue', value, span: this.span(first) };
  });

  readonly split = this.RULE('split', (): Statement => {
    const first = this.CONSUME(SplitWord);
    const policy = this.SUBRULE(this.policy);
    this.semicolon();
    return { kind: first.image as 'split' | 'join', policy, span: this.span(first) };
  });

  readonly policy = this.RULE('policy', (): SplitPolicy => this.OR<SplitPolicy>([
    {
      ALT: () => {
        const first = this.CONSUME(word.duplicate);
        // A number between the parentheses says nothing: every branch gets every item.
        this.OPTION(() => { this.SUBRULE(this.args); });
        return { kind: 'duplicate', span: this.span(first) };
      },
    },
    {
      ALT: () => {
        const first = this.CONSUME(word.roundrobin);
        const weights = this.OPTION1(() => this.SUBRULE1(this.args)) ?? [];
        return { kind: 'roundrobin', weights, span: this.span(first) };
      },
    },
    { ALT: () => this.fail(syntaxRules.expected, { expected: "'duplicate' or 'roundrobin'" }) },
  ]));

  readonly add = this.RULE('add', (): Statement => {
    const first = this.CONSUME(AddWord);
    const creator = this.OR<Creator>([
      { GATE: () => this.atAnonymous(), ALT: () => this.SUBRULE(this.anonymousCreator) },
      { ALT: () => this.SUBRULE(this.namedCreator) },
    ]);
    return { kind: first.image as 'add' | 'body' | 'loop', creator, span: this.span(first) };
  });

  readonly anonymousCreator = this.RULE('anonymousCreator', (): Creator => {
    const stream = this.SUBRULE(this.anonymous);
    const portals = this.SUBRULE(this.portals);
    const span = this.recording ? undefined! : this.span(stream);
    this.OPTION(() => this.CONSUME(Semicolon));
    return { kind: 'anonymous', stream, portals, span };
  });

  readonly namedCreator = this.RULE('namedCreator', (): Creator => {
    const name = this.CONSUME(Identifier);
    const type = this.OPTION(() => {
      this.CONSUME(Less);
      const element = this.SUBRULE(this.type);
      this.CONSUME(Greater);
      return element;
    });
    const args = this.OPTION1(() => this.SUBRULE(this.args)) ?? [];
    const portals = this.SUBRULE(this.portals);
    const span = this.span(name);
    this.semicolon();
    return { kind: 'named', name: name.image, type, args, portals, span };
  });

  /** `to p, q`, or nothing. */
  readonly portals = this.RULE('portals', (): string[] => {
    const names: string[] = [];
    this.OPTION(() => {
      this.CONSUME(word.to);
      names.push(this.CONSUME(Identifier).image);
      this.MANY(() => {
        this.CONSUME(Comma);
        names.push(this.CONSUME1(Identifier).image);
      });
    });
    return names;
  });

  readonly message = this.RULE('message', (): Statement => {
    const portal = this.CONSUME(Identifier);
    this.CONSUME(Dot);
    const handler = this.CONSUME1(Identifier).image;
    const args = this.SUBRULE(this.args);
    const latency = this.OPTION(() => this.SUBRULE(this.latency));
    this.semicolon();
    return { kind: 'message', portal: portal.image, handler, args, latency, span: this.span(portal) };
  });

  /** `[low : high]` with `*` or nothing for no bound, `[*]`, or one number for both. */
  readonly latency = this.RULE('latency', (): MessageLatency => {
    this.CONSUME(LeftBracket);
    const low = this.SUBRULE(this.bound);
    const high = this.OPTION(() => {
      this.CONSUME(Colon);
      return { value: this.SUBRULE1(this.bound) };
    });
    this.CONSUME(RightBracket);
    return { low, high: high === undefined ? low : high.value };
  });

  readonly bound = this.RULE('bound', (): Expression | undefined => this.OR<Expression | undefined>([
    {
      ALT: () => {
        this.CONSUME(Star);
        return undefined;
      },
    },
    { ALT: () => this.OPTION(() => this.SUBRULE(this.expression)) },
  ]));

  /** A type and a name follow. */
  private atDeclaration(): boolean {
    const first = this.LA(1).tokenType;
    if (first === Primitive || first === word.portal) return true;
    if (first !== Identifier) return false;
    if (this.LA(1).image === 'const' && this.LA(2).tokenType === Primitive) return true;
    const behind = this.behindBrackets(2);
    return behind !== undefined && this.LA(behind).tokenType === Identifier;
  }

  private atMessage(): boolean {
    return this.LA(1).tokenType === Identifier && this.LA(2).tokenType === Dot && this.LA(3).tokenType === Identifier &&
      this.LA(4).tokenType === LeftParen && !this.context.packages.has(this.LA(1).image);
  }

  /** `filter`, `pipeline`, … or the type and arrow before it follow. */
  private atAnonymous(): boolean {
    const first = this.LA(1).tokenType;
    if (first === StreamWord || first === word.stateful || first === Primitive || first === word.portal) return true;
    const behind = this.behindBrackets(2);
    return behind !== undefined && this.LA(behind).tokenType === Arrow;
  }

  private endOfFile(open: IToken): void {
    this.fault(syntaxRules.unclosed, this.at(open));
    throw new ParseStop();
  }
}
