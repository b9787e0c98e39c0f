// Source text to tokens: reserved words told from names, malformed literals reported, sizes limited.
import { Lexer, type IToken } from 'chevrotain';
import type { Reporter } from '../diagnostics.ts';
import { syntaxRules } from './syntax-rules.ts';
import { CharacterLiteral, Identifier, lexed, NumberLiteral, reserved, StringLiteral } from './tokens.ts';

/** Limits that keep hostile sources from taking time or memory. */
export interface SyntaxLimits {
  /** Characters of all files together; default 16 Mi. */
  readonly characters: number;
  /** Tokens of all files together; default 1 000 000. */
  readonly tokens: number;
  /** Depth of parentheses, blocks and statements in each other; default 100. */
  readonly nesting: number;
  /** Height of the tree of one expression; default 500. */
  readonly expression: number;
}

export const defaultSyntaxLimits: SyntaxLimits = { characters: 1 << 24, tokens: 1_000_000, nesting: 100, expression: 500 };

let lexer: Lexer | undefined;

const describe = (text: string): string => {
  const code = text.codePointAt(0)!;
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return code > 0x20 && code < 0x7f ? `'${text[0]}'` : name;
};

/** A literal cut to a length fit for a message. */
export const abbreviate = (text: string): string => (text.length > 40 ? `${text.slice(0, 37)}…` : text);

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', 0: '\0', b: '\b', f: '\f' };

/** The text between quotes with its escapes replaced; undefined if the closing quote is missing. */
export function unquote(image: string): string | undefined {
  let text = '';
  for (let at = 1; at < image.length; ++at) {
    const character = image[at]!;
    if (character === image[0]) return text;
    if (character !== '\\') text += character;
    else text += escapes[image[++at]!] ?? image[at] ?? '';
  }
  return undefined;
}

/** Reports malformed strings, characters and numbers, where they stand. */
function checkLiteral(token: IToken, file: number, reporter: Reporter): void {
  const { image } = token;
  const span = { file, start: token.startOffset, end: token.startOffset + image.length };
  if (token.tokenType === NumberLiteral) {
    if (!/^(?:0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fFi]?)$/.test(image)) {
      reporter.report(syntaxRules.number, span, { text: abbreviate(image) });
    }
    return;
  }
  const text = unquote(image);
  if (token.tokenType === StringLiteral) {
    if (text === undefined) reporter.report(syntaxRules.string, span);
  } else if (text === undefined || text.length !== 1) {
    reporter.report(syntaxRules.characterLiteral, span, { text: abbreviate(image) });
  }
}

/** Tokens of one file. Returns undefined, with a report, if there are more than `limit`. */
export function tokenize(file: number, text: string, reporter: Reporter, limit: number): IToken[] | undefined {
  lexer ??= new Lexer(lexed, { positionTracking: 'onlyOffset', ensureOptimizations: true });
  const { tokens, errors, groups } = lexer.tokenize(text);
  const illegal = (groups['illegal'] ?? []).map(({ startOffset, image }) => ({ offset: startOffset, length: image.length }));
  for (const { offset, length } of [...illegal, ...errors]) {
    const what = describe(text.slice(offset, offset + 2));
    const hint = text[offset] === '#' && length > 1
      ? 'there is no preprocessor: write constants as int N = 4; and name all files of the program together' : undefined;
    reporter.report(syntaxRules.character, { file, start: offset, end: offset + length }, { what }, hint);
  }
  for (const comment of groups['comments'] ?? []) {
    if (comment.image.length >= 4 && comment.image.endsWith('*/')) continue;
    reporter.report(syntaxRules.comment, { file, start: comment.startOffset, end: comment.startOffset + 2 });
  }
  if (tokens.length > limit) {
    const { startOffset } = tokens[limit]!;
    reporter.report(syntaxRules.tokens, { file, start: startOffset, end: startOffset }, { limit });
    return undefined;
  }
  for (const token of tokens) {
    const { tokenType } = token;
    if (tokenType === Identifier) {
      const type = reserved.get(token.image);
      if (type === undefined) continue;
      token.tokenType = type;
      token.tokenTypeIdx = type.tokenTypeIdx!;
    } else if (tokenType === NumberLiteral || tokenType === StringLiteral || tokenType === CharacterLiteral) {
      checkLiteral(token, file, reporter);
    }
  }
  return tokens;
}
