// Source text to tokens: distinguishes reserved words from names, reports malformed literals, limits sizes.
import type { Reporter } from '../diagnostics.ts';
import { syntaxRules } from './syntax-rules.ts';
import { reserved, symbolAt, type Token, type TokenKind } from './tokens.ts';

const describe = (text: string): string => {
  const code = text.codePointAt(0) ?? 0;
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return code > 0x20 && code < 0x7f ? `'${text.charAt(0)}'` : name;
};

/** A literal cut to a length fit for a message. */
export const abbreviate = (text: string): string => (text.length > 40 ? `${text.slice(0, 37)}…` : text);

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', 0: '\0', b: '\b', f: '\f' };

/** The text between quotes with its escapes replaced; undefined if the closing quote is missing. */
export function unquote(image: string): string | undefined {
  let text = '';
  for (let at = 1; at < image.length; ++at) {
    const character = image.charAt(at);
    if (character === image[0]) return text;
    if (character !== '\\') {
      text += character;
      continue;
    }
    const escaped = image.charAt(++at);
    text += escapes[escaped] ?? escaped;
  }
  return undefined;
}

const kSpace = 1, kLetter = 2, kDigit = 3;
/** What a character of a code is, where words and spaces are made of it: kSpace, kLetter or kDigit. */
const classes = new Uint8Array(0x100);
for (const space of ' \t\r\n\f\v\u00A0') classes[space.charCodeAt(0)] = kSpace;
for (let code = 0; code < 0x80; ++code) if (/\w/.test(String.fromCharCode(code))) classes[code] = code < 0x3a ? kDigit : kLetter;

/** The class of the character at an offset; 0 for others and behind the end. */
function classAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return classes[code] ?? (code === 0xfeff ? kSpace : 0);
}

/** Digits and whatever letters follow them; {@link checkLiteral} sees whether that is a number. */
const number = /(?:0[xX][0-9a-fA-F]*|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\w*/y;
const wellFormed = /^(?:0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fFi]?)$/;
/** Lines for a preprocessor, and characters that no token has: runs of them are one error. */
const illegal = new RegExp([
  /#[ \t]*(?:include|define|undef|if|ifdef|ifndef|else|endif|pragma)\b[^\n\r]*/,
  /[\u0000-\u0008\u000E-\u001F\u007F-\uFFFF#$@`\\]+/, // eslint-disable-line no-control-regex
].map((part) => part.source).join('|'), 'y');

/** The end of what a pattern matches at an offset, where it does. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}

/** The end of a string or character that begins at an offset: behind its quote or, unterminated, before the end of its line. */
function endOfQuoted(text: string, from: number): number {
  const quote = text[from];
  let at = from + 1;
  while (at < text.length && text[at] !== quote && text[at] !== '\n' && text[at] !== '\r') at += text[at] === '\\' ? 2 : 1;
  return text[at] === quote ? at + 1 : Math.min(at, text.length);
}

/** The offset of what follows spaces and comments to the end of a line. */
function behindSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    while (classAt(text, at) === kSpace) ++at;
    if (!text.startsWith('//', at)) return at;
    while (at < text.length && text[at] !== '\n' && text[at] !== '\r') ++at;
  }
}

function behindWord(text: string, from: number): number {
  let at = from;
  while (classAt(text, at) >= kLetter) ++at;
  return at;
}

interface Piece { readonly start: number; readonly end: number }

/** What a text holds beside spaces and comments. */
interface Scanned {
  /** At most one more than the limit. */
  readonly tokens: Token[];
  /** Runs of characters that no token has. */
  readonly illegal: readonly Piece[];
  /** Where a comment begins that has no end. */
  readonly open: number | undefined;
}

function scan(text: string, limit: number): Scanned {
  const tokens: Token[] = [];
  const illegals: Piece[] = [];
  const keep = (kind: TokenKind, word: string, start: number) => {
    const end = start + word.length;
    if (tokens.length <= limit) tokens.push({ kind, text: word, start, end });
    return end;
  };
  let at = behindSpace(text, 0);
  while (at < text.length) {
    const first = classAt(text, at);
    const symbol = first === 0 ? symbolAt(text, at) : undefined;
    if (first === kLetter) {
      const word = text.slice(at, behindWord(text, at));
      at = keep(reserved.get(word) ?? 'name', word, at);
    } else if (first === kDigit || (symbol === '.' && classAt(text, at + 1) === kDigit)) {
      at = keep('number', text.slice(at, endOf(number, text, at)), at);
    } else if (text.startsWith('/*', at)) {
      const close = text.indexOf('*/', at + 2);
      if (close < 0) return { tokens, illegal: illegals, open: at };
      at = close + 2;
    } else if (symbol !== undefined) {
      at = keep(symbol, symbol, at);
    } else if (text[at] === '"' || text[at] === "'") {
      at = keep(text[at] === '"' ? 'text' : 'character', text.slice(at, endOfQuoted(text, at)), at);
    } else {
      const end = endOf(illegal, text, at);
      illegals.push({ start: at, end });
      at = end;
    }
    at = behindSpace(text, at);
  }
  return { tokens, illegal: illegals, open: undefined };
}

/** Reports malformed strings, characters and numbers, where they stand. */
function checkLiteral({ kind, text, start, end }: Token, file: number, reporter: Reporter): void {
  const span = { file, start, end };
  if (kind === 'number') {
    if (!wellFormed.test(text)) reporter.report(syntaxRules.number, span, { text: abbreviate(text) });
    return;
  }
  const value = unquote(text);
  if (kind === 'text') {
    if (value === undefined) reporter.report(syntaxRules.string, span);
  } else if (value?.length !== 1) {
    reporter.report(syntaxRules.characterLiteral, span, { text: abbreviate(text) });
  }
}

/** Tokens of one file. Returns undefined, with a report, if there are more than `limit`. */
export function tokenize(file: number, text: string, reporter: Reporter, limit: number): readonly Token[] | undefined {
  const { tokens, illegal: illegals, open } = scan(text, limit);
  for (const { start, end } of illegals) {
    const hint = text[start] === '#' && end - start > 1
      ? 'there is no preprocessor: write constants as int N = 4; and name all files of the program together' : undefined;
    reporter.report(syntaxRules.character, { file, start, end }, { what: describe(text.slice(start, start + 2)) }, hint);
  }
  if (open !== undefined) reporter.report(syntaxRules.comment, { file, start: open, end: open + 2 });
  const over = tokens[limit];
  if (over !== undefined) {
    reporter.report(syntaxRules.tokens, { file, start: over.start, end: over.start }, { limit });
    return undefined;
  }
  for (const token of tokens) {
    if (token.kind === 'number' || token.kind === 'text' || token.kind === 'character') checkLiteral(token, file, reporter);
  }
  return tokens;
}
