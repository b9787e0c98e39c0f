// Grammar of types and expressions.
import type { IOrAlt, IToken, TokenType } from 'chevrotain';
import {
  primitiveNames, type BinaryOperator, type Expression, type PrimitiveName, type Span, type TypeNode, type UnaryOperator,
} from '../ast.ts';
import { abbreviate, unquote } from './lexer.ts';
import { ParserBase } from './parser-base.ts';
import { syntaxRules } from './syntax-rules.ts';
import {
  Binary, CharacterLiteral, Colon, Comma, ConstantWord, Dot, Greater, Identifier, Increment, LeftBrace, LeftBracket, LeftParen, Less,
  NumberLiteral, PeekWord, PopWord, Prefix, Primitive, Question, RightBrace, RightBracket, RightParen, StringLiteral, tokensOf, word,
} from './tokens.ts';

/** Binding strength of binary operators: shifts bind like multiplication, `&`, `|` and `^` are one level. */
const precedence: Readonly<Record<BinaryOperator, number>> = {
  '||': 1, '&&': 2, '&': 3, '|': 3, '^': 3, '==': 4, '!=': 4, '<': 5, '<=': 5, '>': 5, '>=': 5, '+': 6, '-': 6,
  '*': 7, '/': 7, '%': 7, '<<': 7, '>>': 7,
};

/** How tightly an operator binds, 1 (loosest) to 7. */
export const precedenceOf = (operator: BinaryOperator): number => precedence[operator];

/** An operator before an operand. */
type PrefixPart = { readonly token: IToken; readonly type: TypeNode | undefined };
interface Sized { readonly node: Expression; readonly height: number }

const prefixStarts: ReadonlySet<TokenType> = new Set([...tokensOf(Prefix), ...tokensOf(Increment)]);
const typeStarts: ReadonlySet<TokenType> = new Set([Primitive, Identifier, word.portal]);
const primaryStarts: ReadonlySet<TokenType> = new Set([
  LeftParen, Identifier, NumberLiteral, StringLiteral, CharacterLiteral, ConstantWord, PopWord, PeekWord,
]);

/** Makes the type of arrays: the first length is the outermost dimension. */
export function arrayOf(element: TypeNode, lengths: readonly (Expression | undefined)[], span: Span): TypeNode {
  return lengths.reduceRight<TypeNode>((type, length) => ({ kind: 'array', element: type, length, span }), element);
}

/** Rules of types and expressions. */
export abstract class ExpressionParser extends ParserBase {
  /** `[n][m]…`, lengths may be absent. */
  readonly dimensions = this.RULE('dimensions', (): (Expression | undefined)[] => {
    const lengths: (Expression | undefined)[] = [];
    this.MANY(() => {
      this.CONSUME(LeftBracket);
      lengths.push(this.OPTION(() => this.SUBRULE(this.expression)));
      this.grow(lengths.length, this.CONSUME(RightBracket));
    });
    return lengths;
  });

  private readonly elements: IOrAlt<TypeNode>[] = [
    { ALT: () => this.primitive(this.CONSUME(Primitive)) },
    { ALT: () => this.namedType(this.CONSUME(Identifier)) },
    {
      ALT: () => {
        const portal = this.CONSUME(word.portal);
        this.CONSUME(Less);
        const receiver = this.CONSUME1(Identifier).image;
        this.CONSUME(Greater);
        return { kind: 'portal', receiver, span: this.span(portal) };
      },
    },
  ];

  readonly type = this.RULE('type', (): TypeNode => {
    const first = this.LA(1);
    this.expect(typeStarts, syntaxRules.type);
    const element = this.OR(this.elements);
    const lengths = this.SUBRULE(this.dimensions);
    return this.recording || lengths.length === 0 ? element : arrayOf(element, lengths, this.span(first));
  });

  readonly expression: () => Expression = this.RULE('expression', (): Expression => this.nest(() => {
    const operands = [this.sized(this.SUBRULE(this.operand))];
    const operators: IToken[] = [];
    this.MANY(() => {
      operators.push(this.CONSUME(Binary));
      operands.push(this.sized(this.SUBRULE1(this.operand)));
    });
    const condition = this.recording ? operands[0]! : this.fold(operands, operators);
    this.height = condition.height;
    return this.OPTION(() => {
      const question = this.CONSUME(Question);
      const then = this.sized(this.SUBRULE(this.expression));
      this.CONSUME(Colon);
      const otherwise = this.SUBRULE1(this.expression);
      this.grow(Math.max(condition.height, then.height, this.height), question);
      return { kind: 'conditional', condition: condition.node, then: then.node, otherwise, span: this.span(condition.node) };
    }) ?? condition.node;
  }));

  private readonly initialisers: IOrAlt<Expression>[] = [
    { ALT: () => this.SUBRULE(this.literal) }, { ALT: () => this.SUBRULE(this.expression) },
  ];

  /** An expression or, for variables, elements between braces. */
  readonly initialiser: () => Expression = this.RULE('initialiser', (): Expression => this.OR(this.initialisers));

  private readonly literal = this.RULE('literal', (): Expression => this.nest(() => {
    const open = this.CONSUME(LeftBrace);
    const elements: Expression[] = [];
    this.MANY_SEP({
      SEP: Comma,
      // There may be a comma behind the last element, too.
      DEF: () => { if (this.recording || this.LA(1).tokenType !== RightBrace) elements.push(this.SUBRULE(this.initialiser)); },
    });
    this.CONSUME(RightBrace);
    return { kind: 'array-literal', elements, span: this.span(open) };
  }));

  readonly args = this.RULE('args', (): Expression[] => {
    const list: Expression[] = [];
    let highest = 0;
    this.CONSUME(LeftParen);
    this.MANY_SEP({
      SEP: Comma,
      DEF: () => {
        list.push(this.SUBRULE(this.initialiser));
        highest = Math.max(highest, this.height);
      },
    });
    this.CONSUME(RightParen);
    this.height = highest;
    return list;
  });

  private readonly prefixes: IOrAlt<PrefixPart>[] = [
    { ALT: () => ({ token: this.CONSUME(Prefix), type: undefined }) },
    { ALT: () => ({ token: this.CONSUME(Increment), type: undefined }) },
    {
      ALT: () => {
        const token = this.CONSUME(LeftParen);
        const name = this.CONSUME(Primitive);
        const lengths = this.SUBRULE(this.dimensions);
        const type = this.recording ? undefined : arrayOf(this.primitive(name), lengths, this.span(name));
        this.CONSUME(RightParen);
        return { token, type };
      },
    },
  ];

  /** A sign, `!`, `~`, `++`, `--` or a cast. */
  readonly prefix = this.RULE('prefix', (): PrefixPart => this.OR(this.prefixes));

  /** Prefix operators and casts, a primary, and what follows it. */
  readonly operand = this.RULE('operand', (): Expression => {
    const prefixes: PrefixPart[] = [];
    // More than one token of look-ahead tells a cast from parentheses.
    if (this.recording) this.MANY(() => { this.SUBRULE(this.prefix); });
    else while (this.atPrefix()) prefixes.push(this.SUBRULE(this.prefix));
    this.height = 0;
    let node: Expression = this.SUBRULE(this.primary);
    this.MANY1(() => {
      this.base = node;
      node = this.SUBRULE(this.postfix);
    });
    return this.recording ? node : this.prefixed(prefixes, node);
  });

  /** Alternatives stand in fields where they are tried often: made once, not at every call. */
  private readonly primaries: IOrAlt<Expression>[] = [
    {
      ALT: () => {
        this.CONSUME(LeftParen);
        const inner = this.SUBRULE(this.expression);
        this.CONSUME(RightParen);
        return inner;
      },
    },
    {
      ALT: () => {
        const name = this.CONSUME(Identifier);
        const args = this.OPTION(() => this.SUBRULE(this.args));
        return this.nameOrCall(name, args);
      },
    },
    { ALT: () => this.number(this.CONSUME(NumberLiteral)) },
    { ALT: () => this.text(this.CONSUME(StringLiteral), 'string') },
    { ALT: () => this.text(this.CONSUME(CharacterLiteral), 'character') },
    { ALT: () => this.constant(this.CONSUME(ConstantWord)) },
    {
      ALT: () => {
        const pop = this.CONSUME(PopWord);
        this.CONSUME1(LeftParen);
        this.CONSUME1(RightParen);
        return { kind: 'pop', span: this.span(pop) };
      },
    },
    {
      ALT: () => {
        const peek = this.CONSUME(PeekWord);
        this.CONSUME2(LeftParen);
        const index = this.SUBRULE1(this.expression);
        this.CONSUME2(RightParen);
        return { kind: 'peek', index, span: this.span(peek) };
      },
    },
  ];

  readonly primary = this.RULE('primary', (): Expression => {
    this.expect(primaryStarts, syntaxRules.expression);
    return this.OR(this.primaries);
  });

  /** What stands before the postfix that is read. */
  private base: Expression = undefined!;

  private readonly postfixes: IOrAlt<Expression>[] = [
    {
      ALT: () => {
        const { base: node, height } = this;
        const dot = this.CONSUME(Dot);
        const field = this.CONSUME(Identifier).image;
        const args = this.OPTION(() => this.SUBRULE(this.args));
        this.grow(Math.max(height, this.height), dot);
        if (this.recording) return undefined!;
        if (args === undefined) return { kind: 'field', object: node, field, span: this.span(node) };
        if (node.kind !== 'name') {
          this.report(syntaxRules.expected, this.at(dot), { expected: 'the name of a package before the call', found: "'.'" });
        }
        const name = node.kind === 'name' ? `${node.name}.${field}` : field;
        return { kind: 'call', name, args, span: this.span(node) };
      },
    },
    {
      ALT: () => {
        const { base: node, height } = this;
        const open = this.CONSUME(LeftBracket);
        const index = this.SUBRULE(this.expression);
        this.CONSUME(RightBracket);
        this.grow(Math.max(height, this.height), open);
        return { kind: 'index', array: node, index, span: this.span(this.recording ? open : node) };
      },
    },
    { ALT: () => this.increment(this.CONSUME(Increment), this.base, 'postfix') },
  ];

  /** A field, an element, a call of a package's function or an increment of `base`. */
  readonly postfix: () => Expression = this.RULE('postfix', (): Expression => this.OR(this.postfixes));

  private increment(token: IToken, target: Expression, position: 'prefix' | 'postfix'): Expression {
    if (this.recording) return undefined!;
    this.grow(this.height, token);
    this.requireTarget(target);
    const span = position === 'prefix' ? this.span(token) : this.span(target);
    return { kind: 'increment', target, by: token.image === '++' ? 1 : -1, position, span };
  }

  /** Reports a left side that is no place of memory. */
  protected requireTarget(target: Expression): void {
    let base = target;
    while (base.kind === 'index' || base.kind === 'field') base = base.kind === 'index' ? base.array : base.object;
    if (base.kind !== 'name') this.report(syntaxRules.target, target.span);
  }

  private prefixed(prefixes: readonly PrefixPart[], operand: Expression): Expression {
    let node = operand;
    for (let index = prefixes.length - 1; index >= 0; --index) {
      const { token, type } = prefixes[index]!;
      if (token.image === '++' || token.image === '--') {
        node = this.increment(token, node, 'prefix');
        continue;
      }
      this.grow(this.height, token);
      const span = this.span(token);
      node = type === undefined ? { kind: 'unary', operator: token.image as UnaryOperator, operand: node, span }
        : { kind: 'cast', type, operand: node, span };
    }
    return node;
  }

  /** Folds operands and operators by precedence, equal ones from the left. */
  private fold(operands: readonly Sized[], operators: readonly IToken[]): Sized {
    const values: Sized[] = [operands[0]!];
    const pending: IToken[] = [];
    operators.forEach((token, index) => {
      const strength = precedence[token.image as BinaryOperator];
      while (pending.length > 0 && precedence[pending.at(-1)!.image as BinaryOperator] >= strength) this.reduce(values, pending);
      pending.push(token);
      values.push(operands[index + 1]!);
    });
    while (pending.length > 0) this.reduce(values, pending);
    return values[0]!;
  }

  /** Joins the last two values by the last pending operator. */
  private reduce(values: Sized[], pending: IToken[]): void {
    const token = pending.pop()!;
    const right = values.pop()!;
    const left = values.pop()!;
    this.grow(Math.max(left.height, right.height), token);
    const span = { ...left.node.span, end: right.node.span.end };
    const operator = token.image as BinaryOperator;
    values.push({ node: { kind: 'binary', operator, left: left.node, right: right.node, span }, height: this.height });
  }

  private atPrefix(): boolean {
    const first = this.LA(1).tokenType;
    return first === LeftParen ? this.LA(2).tokenType === Primitive : prefixStarts.has(first);
  }

  private sized(node: Expression): Sized { return { node, height: this.height }; }

  private primitive(token: IToken): TypeNode {
    return { kind: 'primitive', name: token.image as PrimitiveName, span: this.at(token) };
  }

  /** `String`, as Java writes it, is taken for `string`. */
  private namedType(token: IToken): TypeNode {
    const span = this.at(token);
    return token.image === 'String' ? { kind: 'primitive', name: primitiveNames[10], span } : { kind: 'named', name: token.image, span };
  }

  private nameOrCall(token: IToken, args: readonly Expression[] | undefined): Expression {
    const span = this.span(token);
    if (args === undefined) return { kind: 'name', name: token.image, span };
    if (token.image === 'iter' && args.length === 0) return { kind: 'iter', span };
    return { kind: 'call', name: token.image, args, span };
  }

  private constant(token: IToken): Expression {
    const span = this.at(token);
    return token.image === 'pi' ? { kind: 'float', value: Math.PI, span } : { kind: 'boolean', value: token.image === 'true', span };
  }

  private text(token: IToken, kind: 'string' | 'character'): Expression {
    const span = this.at(token);
    const value = unquote(token.image) ?? token.image.slice(1);
    return kind === 'string' ? { kind, value, span } : { kind, value: value === '' ? 0 : value.charCodeAt(0), span };
  }

  private number(token: IToken): Expression {
    const { image } = token;
    const span = this.at(token);
    if (/^0[xX]/.test(image)) {
      if (!/^0[xX]0*[0-9a-fA-F]{0,8}$/.test(image)) this.report(syntaxRules.intRange, span, { text: abbreviate(image) });
      return { kind: 'int', value: Number.parseInt(image.slice(-8).replace(/^.*[xX]/, '') || '0', 16) | 0, span };
    }
    const value = Number.parseFloat(image);
    if (image.endsWith('i')) return { kind: 'imaginary', value, span };
    if (!/^\d+$/.test(image)) return { kind: 'float', value, span };
    // Whether it fits is known when it is known what stands around it.
    if (Math.fround(value) === Infinity) this.report(syntaxRules.intRange, span, { text: abbreviate(image) });
    return { kind: 'int', value: value | 0, span, ...(value > 0x7fffffff ? { wide: value } : {}) };
  }
}
