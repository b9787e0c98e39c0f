// Kinds of tokens of the language, as chevrotain wants them.
import { createToken, Lexer, type TokenType } from 'chevrotain';
import { primitiveNames } from '../ast.ts';

const category = (name: string, label: string) => createToken({ name, label, pattern: Lexer.NA });

/** Operators between two operands. */
export const Binary = category('Binary', 'an operator');
/** Operators before an operand. */
export const Prefix = category('Prefix', 'an operator');
/** `=`, `+=` and their like. */
export const Assignment = category('Assignment', 'an assignment operator');
/** `++` and `--`. */
export const Increment = category('Increment', "'++' or '--'");

const symbol = (name: string, pattern: string, ...categories: TokenType[]) =>
  createToken({ name, label: `'${pattern}'`, pattern, categories });

export const Arrow = symbol('Arrow', '->');
export const LeftBrace = symbol('LeftBrace', '{');
export const RightBrace = symbol('RightBrace', '}');
export const LeftParen = symbol('LeftParen', '(');
export const RightParen = symbol('RightParen', ')');
export const LeftBracket = symbol('LeftBracket', '[');
export const RightBracket = symbol('RightBracket', ']');
export const Semicolon = symbol('Semicolon', ';');
export const Comma = symbol('Comma', ',');
export const Dot = symbol('Dot', '.');
export const Question = symbol('Question', '?');
export const Colon = symbol('Colon', ':');
export const Less = symbol('Less', '<', Binary);
export const Greater = symbol('Greater', '>', Binary);
export const Star = symbol('Star', '*', Binary);

/** Longer symbols stand before the shorter ones that they begin with. */
const symbols = [
  symbol('ShiftLeftAssign', '<<=', Assignment), symbol('ShiftRightAssign', '>>=', Assignment),
  Arrow, symbol('PlusPlus', '++', Increment), symbol('MinusMinus', '--', Increment),
  symbol('PlusAssign', '+=', Assignment), symbol('MinusAssign', '-=', Assignment),
  symbol('StarAssign', '*=', Assignment), symbol('SlashAssign', '/=', Assignment), symbol('PercentAssign', '%=', Assignment),
  symbol('AndAssign', '&=', Assignment), symbol('OrAssign', '|=', Assignment), symbol('XorAssign', '^=', Assignment),
  symbol('Equal', '==', Binary), symbol('NotEqual', '!=', Binary), symbol('LessEqual', '<=', Binary), symbol('GreaterEqual', '>=', Binary),
  symbol('ShiftLeft', '<<', Binary), symbol('ShiftRight', '>>', Binary), symbol('AndAnd', '&&', Binary), symbol('OrOr', '||', Binary),
  symbol('Plus', '+', Binary, Prefix), symbol('Minus', '-', Binary, Prefix), Star, symbol('Slash', '/', Binary),
  symbol('Percent', '%', Binary), symbol('And', '&', Binary), symbol('Or', '|', Binary), symbol('Xor', '^', Binary),
  symbol('Not', '!', Prefix), symbol('Complement', '~', Prefix), symbol('Assign', '=', Assignment),
  Less, Greater, LeftBrace, RightBrace, LeftParen, RightParen, LeftBracket, RightBracket, Semicolon, Comma, Dot, Question, Colon,
];

/** A string or character that ends at its quote or, unterminated, before the end of its line. */
const quoted = (quote: string) => (text: string, offset: number): [string] | null => {
  if (text[offset] !== quote) return null;
  let at = offset + 1;
  while (at < text.length && text[at] !== quote && text[at] !== '\n' && text[at] !== '\r') at += text[at] === '\\' ? 2 : 1;
  const end = text[at] === quote ? at + 1 : Math.min(at, text.length);
  return [text.slice(offset, end)];
};
const blockComment = (text: string, offset: number): [string] | null => {
  if (text[offset] !== '/' || text[offset + 1] !== '*') return null;
  const close = text.indexOf('*/', offset + 2);
  return [text.slice(offset, close < 0 ? text.length : close + 2)];
};

export const Identifier = createToken({ name: 'Identifier', label: 'a name', pattern: /[A-Za-z_]\w*/ });
/** Digits and whatever letters follow them; the parser's actions see whether that is a number. */
export const NumberLiteral = createToken({
  name: 'Number', label: 'a number', pattern: /(?:0[xX][0-9a-fA-F]*|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\w*/,
});
export const StringLiteral = createToken({
  name: 'String', label: 'a string', pattern: quoted('"'), line_breaks: true, start_chars_hint: ['"'],
});
export const CharacterLiteral = createToken({
  name: 'Character', label: 'a character', pattern: quoted("'"), line_breaks: true, start_chars_hint: ["'"],
});
const Space = createToken({ name: 'Space', pattern: /[ \t\r\n\f\v\uFEFF\u00A0]+/, line_breaks: true, group: Lexer.SKIPPED });
const LineComment = createToken({ name: 'LineComment', pattern: /\/\/[^\n\r]*/, group: Lexer.SKIPPED });
/** Kept apart, so that one without an end is seen. */
const BlockComment = createToken({
  name: 'BlockComment', pattern: blockComment, line_breaks: true, start_chars_hint: ['/'], group: 'comments',
});

/** Characters that no token has, and lines for a preprocessor; kept apart, so that runs of them are one error and take no time. */
const Illegal = createToken({
  name: 'Illegal', group: 'illegal',
  // eslint-disable-next-line no-control-regex
  pattern: /#[ \t]*(?:include|define|undef|if|ifdef|ifndef|else|endif|pragma)\b[^\n\r]*|[\u0000-\u0008\u000E-\u001F\u007F-\uFFFF#$@`\\]+/,
});

/** In the order in which the lexer tries them. */
export const lexed = [Space, Identifier, LineComment, BlockComment, NumberLiteral, StringLiteral, CharacterLiteral, ...symbols, Illegal];

/** The symbols of a category. */
export const tokensOf = (kind: TokenType): TokenType[] => symbols.filter(({ CATEGORIES }) => CATEGORIES?.includes(kind));

const keyword = (word: string) => createToken({ name: `Keyword_${word}`, label: `'${word}'`, pattern: Lexer.NA });

/** The name of a type: `int`, `float`, … */
export const Primitive = createToken({ name: 'Primitive', label: 'a type', pattern: Lexer.NA });
export const StreamWord = createToken({
  name: 'StreamWord', label: "'filter', 'pipeline', 'splitjoin' or 'feedbackloop'", pattern: Lexer.NA,
});
export const RateWord = createToken({ name: 'RateWord', label: "'push', 'pop' or 'peek'", pattern: Lexer.NA });
export const PushWord = createToken({ name: 'PushWord', label: "'push'", pattern: Lexer.NA, categories: RateWord });
export const PopWord = createToken({ name: 'PopWord', label: "'pop'", pattern: Lexer.NA, categories: RateWord });
export const PeekWord = createToken({ name: 'PeekWord', label: "'peek'", pattern: Lexer.NA, categories: RateWord });
/** `work` and `prework`. */
export const WorkWord = createToken({ name: 'WorkWord', label: "'work' or 'prework'", pattern: Lexer.NA });
/** `add`, `body` and `loop`. */
export const AddWord = createToken({ name: 'AddWord', label: "'add', 'body' or 'loop'", pattern: Lexer.NA });
/** `split` and `join`. */
export const SplitWord = createToken({ name: 'SplitWord', label: "'split' or 'join'", pattern: Lexer.NA });
/** `true`, `false` and `pi`. */
export const ConstantWord = createToken({ name: 'ConstantWord', label: 'a constant', pattern: Lexer.NA });

export const word = {
  stateful: keyword('stateful'), struct: keyword('struct'), static: keyword('static'), native: keyword('native'), init: keyword('init'),
  handler: keyword('handler'), duplicate: keyword('duplicate'), roundrobin: keyword('roundrobin'), enqueue: keyword('enqueue'),
  portal: keyword('portal'), to: keyword('to'), if: keyword('if'), else: keyword('else'), while: keyword('while'), do: keyword('do'),
  for: keyword('for'), break: keyword('break'), continue: keyword('continue'), return: keyword('return'),
} as const;

/** Reserved words and their kinds of token. */
export const reserved: ReadonlyMap<string, TokenType> = new Map<string, TokenType>([
  ...Object.entries(word),
  ...primitiveNames.map((name) => [name, Primitive] as const),
  ...['filter', 'pipeline', 'splitjoin', 'feedbackloop'].map((name) => [name, StreamWord] as const),
  ['push', PushWord], ['pop', PopWord], ['peek', PeekWord],
  ...['work', 'prework'].map((name) => [name, WorkWord] as const),
  ...['add', 'body', 'loop'].map((name) => [name, AddWord] as const),
  ...['split', 'join'].map((name) => [name, SplitWord] as const),
  ...['true', 'false', 'pi'].map((name) => [name, ConstantWord] as const),
]);

/** All kinds of token, for the parser. */
export const vocabulary: TokenType[] = [...lexed, Binary, Prefix, Assignment, Increment, RateWord, ...new Set(reserved.values())];
