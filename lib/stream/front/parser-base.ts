// What all rules of the parser share: spans, limits of depth, reports of errors, and going on after one.
import {
  EmbeddedActionsParser, EOF, isRecognitionException, tokenLabel, type IRecognitionException, type IToken, type TokenType,
} from 'chevrotain';
import type { Span } from '../ast.ts';
import { nearest, type Reporter, type Rule } from '../diagnostics.ts';
import { abbreviate, defaultSyntaxLimits, type SyntaxLimits } from './lexer.ts';
import { syntaxRules } from './syntax-rules.ts';
import {
  Identifier, LeftBrace, LeftBracket, LeftParen, reserved, RightBrace, RightBracket, RightParen, Semicolon, vocabulary, word,
} from './tokens.ts';

/** Thrown by rules that know better than the library what was expected. */
class SyntaxFault extends Error {
  readonly rule: Rule;
  readonly token: IToken;
  readonly values: Readonly<Record<string, string | number>>;

  constructor(rule: Rule, token: IToken, values: Readonly<Record<string, string | number>>) {
    super(rule.message);
    this.rule = rule;
    this.token = token;
    this.values = values;
  }
}

/** Thrown where parsing of the file cannot go on: nested too deep, or too many errors. Already reported. */
export class ParseStop extends Error {}

const kErrorsPerFile = 50;

/** What is expected where no alternative of a rule fits. */
const choices: Readonly<Record<string, string>> = {
  initialiser: 'an expression', rate: 'a rate', topLevel: 'a declaration', member: 'a field or function', static: 'a field or init',
  add: 'a stream', jump: 'a statement', forStatement: 'a statement', prefix: 'an expression', postfix: 'an expression',
};

/** What a parser of one file needs beside its tokens. */
export interface ParseContext {
  readonly file: number;
  readonly text: string;
  readonly tokens: readonly IToken[];
  /** Where the first string without an end begins; Infinity if there is none. */
  readonly broken: number;
  readonly reporter: Reporter;
  readonly limits: SyntaxLimits;
  /** Names of native and helper packages of all files: `name.f(x);` calls one of their functions and is no message. */
  readonly packages: ReadonlySet<string>;
}

/** Base of the parser: no rules. */
export abstract class ParserBase extends EmbeddedActionsParser {
  protected context: ParseContext = {
    file: 0, text: '', tokens: [], broken: Infinity, reporter: undefined as never, limits: defaultSyntaxLimits, packages: new Set(),
  };
  private depth = 0;
  private faults = 0;
  /** Height of the expression that was parsed last. */
  protected height = 0;

  constructor() {
    super(vocabulary, {
      recoveryEnabled: false, maxLookahead: 1, skipValidations: true,
      errorMessageProvider: {
        buildMismatchTokenMessage: ({ expected }) => tokenLabel(expected),
        buildNotAllInputParsedMessage: () => 'the end of the file',
        buildNoViableAltMessage: ({ ruleName }) => choices[ruleName] ?? ruleName,
        buildEarlyExitMessage: ({ ruleName }) => ruleName,
      },
    });
  }

  protected begin(context: ParseContext): void {
    this.context = context;
    this.depth = 0;
    this.faults = 0;
    this.height = 0;
  }

  protected get recording(): boolean { return this.RECORDING_PHASE; }

  /** From a token or node to the last token consumed. */
  protected span(from: IToken | { readonly span: Span }): Span {
    const start = 'span' in from ? from.span.start : from.startOffset;
    const last = this.LA(0);
    return { file: this.context.file, start, end: Math.max(start, last.startOffset + last.image.length) };
  }

  protected at(token: IToken): Span {
    const { text, file } = this.context;
    if (!Number.isFinite(token.startOffset)) {
      const end = text.trimEnd().length;
      return { file, start: end, end };
    }
    return { file, start: token.startOffset, end: token.startOffset + token.image.length };
  }

  protected report(rule: Rule, span: Span, values: Readonly<Record<string, string | number>> = {}, hint?: string): void {
    if (!this.recording) this.context.reporter.report(rule, span, values, hint);
  }

  protected found(token: IToken): string {
    return Number.isFinite(token.startOffset) ? `'${abbreviate(token.image.replace(/\s+/g, ' '))}'` : 'the end of the file';
  }

  /** The last alternative of a choice: none fits. */
  protected fail(rule: Rule, values: Readonly<Record<string, string | number>> = {}): never {
    const token = this.LA(1);
    if (this.recording) return undefined as never;
    throw new SyntaxFault(rule, token, { found: this.found(token), ...values });
  }

  /** Before a choice: fails unless the next token can begin one of its alternatives. */
  protected expect(starts: ReadonlySet<TokenType>, rule: Rule): void {
    if (!this.recording && !starts.has(this.LA(1).tokenType)) this.fail(rule);
  }

  /** Runs an action one level deeper. */
  protected nest<T>(action: () => T): T {
    if (++this.depth > this.context.limits.nesting && !this.recording) {
      this.report(syntaxRules.nesting, this.at(this.LA(1)), { limit: this.context.limits.nesting });
      throw new ParseStop();
    }
    const result = action();
    --this.depth;
    return result;
  }

  /** Notes the height of an expression one above the highest of its parts. */
  protected grow(height: number, token: IToken): void {
    this.height = height + 1;
    if (this.height <= this.context.limits.expression || this.recording) return;
    this.report(syntaxRules.expressionSize, this.at(token), { limit: this.context.limits.expression });
    throw new ParseStop();
  }

  /** `;`, which may be missing at the end of a line or of a block: then it is reported and taken as read. */
  protected semicolon(): void {
    if (this.recording) {
      this.CONSUME(Semicolon);
      return;
    }
    const next = this.LA(1);
    if (next.tokenType === Semicolon) {
      this.CONSUME(Semicolon);
      return;
    }
    const last = this.at(this.LA(0));
    const between = this.context.text.slice(last.end, this.at(next).start);
    if (next.tokenType !== RightBrace && !/[\r\n]/.test(between)) this.fail(syntaxRules.expected, { expected: "';'" });
    this.fault(syntaxRules.semicolon, { ...last, start: Math.max(last.start, last.end - 1) });
  }

  /** Parses one part of a list; after an error in it, goes on behind its end. Returns false then. */
  protected attempt(action: () => void): boolean {
    if (this.recording) {
      action();
      return true;
    }
    const { depth } = this;
    const first = this.LA(1);
    try {
      action();
      return true;
    } catch (error) {
      if (!(error instanceof SyntaxFault) && !(error instanceof Error && isRecognitionException(error))) throw error;
      this.depth = depth;
      this.tell(error as SyntaxFault | IRecognitionException);
      this.resume(first);
      return false;
    }
  }

  /** Reports an error of syntax; gives the file up after too many. */
  protected fault(rule: Rule, span: Span, values: Readonly<Record<string, string | number>> = {}, hint?: string): void {
    // A string without an end swallows what follows it: nothing that is said then can be trusted.
    if (!(this.at(this.LA(1)).start > this.context.broken)) this.report(rule, span, values, hint);
    if (++this.faults >= kErrorsPerFile) throw new ParseStop();
  }

  private tell(error: SyntaxFault | IRecognitionException): void {
    const token = error.token;
    const span = this.at(token);
    const { text } = this.context;
    if (token.image === '=' && /[=~]/.test(text[span.start - 1] ?? '')) {
      const sign = text[span.start - 1]!;
      if (sign === '=') this.fault(syntaxRules.operator, { ...span, start: span.start - 2 }, { text: '===' }, "compare with '=='");
      else this.fault(syntaxRules.operator, { ...span, start: span.start - 1 }, { text: '~=' }, 'write a = ~b, or a != b');
    } else if (error instanceof SyntaxFault) {
      this.fault(error.rule, span, error.values, this.misspelt(token));
    } else if (error.message === choices['initialiser']) {
      this.fault(syntaxRules.expression, span, { found: this.found(token) });
    } else if (error.message === tokenLabel(Identifier) && reserved.has(token.image)) {
      this.fault(syntaxRules.reserved, span, { name: token.image }, this.misspelt(token));
    } else {
      this.fault(syntaxRules.expected, span, { expected: error.message, found: this.found(token) }, this.misspelt(token));
    }
  }

  /** A hint where the name found, or the one before it, looks like a reserved word. */
  private misspelt(token: IToken): string | undefined {
    const { tokens } = this.context;
    for (const name of [token, tokens[indexOf(tokens, token) - 1]]) {
      const word = name?.tokenType === Identifier && name.image.length > 2 ? nearest(name.image, reserved.keys()) : undefined;
      if (word !== undefined) return `did you mean '${word}'?`;
    }
    return undefined;
  }

  /**
   * Skips to behind the end of the part that began at token `first`: its `;`, or before the `}` that closes what is around it. Inside
   * parentheses (the head of a `for`) a `;` is no end; a `{` after an unfinished head is taken for its body.
   */
  private resume(first: IToken): void {
    let parens = 0;
    let literals = 0;
    let braces = 0;
    const opened = first.tokenType === word.for;
    const { tokens } = this.context;
    for (let index = indexOf(tokens, first); index < indexOf(tokens, this.LA(1)); ++index) {
      const { tokenType } = tokens[index]!;
      parens += parenthesis(tokenType);
      literals = Math.max(0, literals + brace(tokenType));
    }
    if (this.LA(1) === first && first.tokenType !== RightBrace) {
      parens += parenthesis(first.tokenType);
      braces += brace(first.tokenType);
      this.SKIP_TOKEN();
    }
    for (let next = this.LA(1).tokenType; Number.isFinite(this.LA(1).startOffset); next = this.LA(1).tokenType) {
      if (braces === 0 && ((next === RightBrace && --literals < 0) || (next === LeftBrace && parens > 0))) return;
      braces = Math.max(0, braces + brace(next));
      parens = Math.max(0, parens + parenthesis(next));
      this.SKIP_TOKEN();
      if (next === Semicolon && braces === 0 && !(opened && parens > 0)) return;
      if (next === RightBrace && braces === 0 && literals <= 0 && this.LA(1).tokenType !== Semicolon) return;
      if (opened && parens === 0 && next === RightParen && this.LA(1).tokenType === LeftBrace) return;
    }
  }

  /** How many tokens ahead the one behind a bracketed list stands that begins `from` tokens ahead; undefined if it does not end soon. */
  protected behindBrackets(from: number): number | undefined {
    let depth = 0;
    for (let ahead = from; ; ++ahead) {
      const type = this.LA(ahead).tokenType;
      if (type === LeftBracket) ++depth;
      else if (depth === 0) return ahead;
      else if (type === RightBracket) --depth;
      else if (type === Semicolon || type === LeftBrace || type === RightBrace || type === EOF) return undefined;
    }
  }
}

/** Index of a token in its file; behind the last for the end of the file. */
function indexOf(tokens: readonly IToken[], token: IToken): number {
  if (!Number.isFinite(token.startOffset)) return tokens.length;
  let low = 0;
  let high = tokens.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tokens[middle]!.startOffset < token.startOffset) low = middle + 1;
    else high = middle;
  }
  return low;
}

const brace = (type: TokenType | undefined): number => (type === LeftBrace ? 1 : type === RightBrace ? -1 : 0);
const parenthesis = (type: TokenType | undefined): number => (type === LeftParen ? 1 : type === RightParen ? -1 : 0);
