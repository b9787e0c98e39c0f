// Kinds of tokens of the language.
import { assignmentOperators, binaryOperators, primitiveNames, unaryOperators, type BinaryOperator } from '../ast.ts';

/** Symbols; longer ones stand before the shorter ones that they begin with. */
const symbols = [
  '<<=', '>>=', '->', '++', '--', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '==', '!=', '<=', '>=', '<<', '>>', '&&', '||',
  '+', '-', '*', '/', '%', '&', '|', '^', '!', '~', '=', '<', '>', '{', '}', '(', ')', '[', ']', ';', ',', '.', '?', ':',
] as const;

/** Reserved words that are kinds of their own. */
const words = [
  'stateful', 'struct', 'static', 'native', 'init', 'handler', 'duplicate', 'roundrobin', 'enqueue', 'portal', 'to', 'if', 'else', 'while',
  'do', 'for', 'break', 'continue', 'return', 'push', 'pop', 'peek',
] as const;

/** Reserved words of which any may stand where one does. */
const groups = {
  primitive: primitiveNames,
  stream: ['filter', 'pipeline', 'splitjoin', 'feedbackloop'],
  work: ['work', 'prework'],
  add: ['add', 'body', 'loop'],
  split: ['split', 'join'],
  constant: ['true', 'false', 'pi'],
} as const;

type Group = keyof typeof groups;
type Literal = 'number' | 'text' | 'character';

/** What the grammar tells apart: a symbol or a word by its spelling, other tokens by what they are. `end`: of the file. */
export type TokenKind = (typeof symbols)[number] | (typeof words)[number] | Group | Literal | 'name' | 'end';

/** A piece of source: the characters from `start` to before `end`. */
export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Reserved words and their kinds. */
export const reserved: ReadonlyMap<string, TokenKind> = new Map<string, TokenKind>([
  ...words.map((word) => [word, word] as const),
  ...(Object.keys(groups) as Group[]).flatMap((group) => groups[group].map((word) => [word, group] as const)),
]);

/** Symbols by the code of their first character. */
const symbolsOf: (typeof symbols)[number][][] = Array.from({ length: 0x80 }, () => []);
for (const symbol of symbols) symbolsOf[symbol.charCodeAt(0)]?.push(symbol);

/** The symbol that stands at an offset. */
export function symbolAt(text: string, offset: number): (typeof symbols)[number] | undefined {
  for (const symbol of symbolsOf[text.charCodeAt(offset)] ?? []) if (text.startsWith(symbol, offset)) return symbol;
  return undefined;
}

/** A kind as messages say it. */
export function labelOf(kind: TokenKind): string {
  if (kind === 'name') return 'a name';
  return kind in groups ? groups[kind as Group].map((word) => `'${word}'`).join(', ').replace(/, (?=[^,]*$)/, ' or ') : `'${kind}'`;
}

/** Binding strength of binary operators: shifts bind like multiplication, `&`, `|` and `^` are one level. */
const precedence: Readonly<Record<BinaryOperator, number>> = {
  '||': 1, '&&': 2, '&': 3, '|': 3, '^': 3, '==': 4, '!=': 4, '<': 5, '<=': 5, '>': 5, '>=': 5, '+': 6, '-': 6,
  '*': 7, '/': 7, '%': 7, '<<': 7, '>>': 7,
};

/** How tightly an operator binds, 1 (loosest) to 7. */
export const precedenceOf = (operator: BinaryOperator): number => precedence[operator];

/** Operators between two operands. */
export const binary: ReadonlySet<TokenKind> = new Set<TokenKind>(binaryOperators);
export const assignment: ReadonlySet<TokenKind> = new Set<TokenKind>(assignmentOperators);
/** Operators before an operand. */
export const prefix: ReadonlySet<TokenKind> = new Set<TokenKind>([...unaryOperators, '++', '--']);
export const rate: ReadonlySet<TokenKind> = new Set<TokenKind>(['push', 'pop', 'peek']);

/** What a type begins with. */
export const typeStarts: ReadonlySet<TokenKind> = new Set<TokenKind>(['primitive', 'name', 'portal']);
/** What an operand begins with, behind its prefix operators. */
export const primaryStarts: ReadonlySet<TokenKind> = new Set<TokenKind>([
  '(', 'name', 'number', 'text', 'character', 'constant', 'pop', 'peek',
]);
export const expressionStarts: ReadonlySet<TokenKind> = new Set([...prefix, ...primaryStarts]);
export const statementStarts: ReadonlySet<TokenKind> = new Set<TokenKind>([
  ...typeStarts, ...expressionStarts, '{', 'if', 'for', 'while', 'do', 'break', 'continue', 'return', 'push', 'add', 'split', 'enqueue',
  ';',
]);
export const memberStarts: ReadonlySet<TokenKind> = new Set<TokenKind>([...typeStarts, 'init', 'work', 'handler', ';']);
export const declarationStarts: ReadonlySet<TokenKind> = new Set<TokenKind>([
  ...typeStarts, 'struct', 'static', 'native', 'stateful', ';',
]);
