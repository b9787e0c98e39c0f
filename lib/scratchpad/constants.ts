// Evaluates integer constant expressions in C++ source: extents of arrays, sizes, trip counts.
import { elementAt } from '../core/known.ts';

/** The meaning of names and types in the scope of an expression. */
export interface Meaning {
  /** Value of a name; undefined if unknown. */
  value(name: string): number | undefined;
  /** Parameters and body of a function-like macro. */
  macro(name: string): { readonly parameters: readonly string[]; readonly body: string } | undefined;
  /** Size of a type in bytes, by its source text. */
  sizeOf(type: string): number | undefined;
  /** Alignment of a type in bytes, by its source text. */
  alignOf(type: string): number | undefined;
  /** Treats values below 0 or above the range of int as unknown, because unsigned numbers would wrap. */
  readonly natural?: boolean;
}

/** Maximum depth of nested calls; stops macros that expand to themselves. */
const kDeepest = 32;

/** Numbers with their suffixes, names with their scopes, signs. */
const kTokens = [
  /(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)[uUlLzZ]*(?![\w.])/, /((?:::)?[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*)/,
  /(<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>()!~&|^?:,])/,
];
const kToken = new RegExp(`\\s*(?:${kTokens.map(({ source }) => source).join('|')})`, 'y');
const kNumber = 1, kName = 2, kSign = 3;

/** Thrown inside {@link evaluate} if the text is not an integer constant. */
const kUnknown = new Error('no integer constant');

interface Token {
  readonly number?: number;
  readonly name?: string;
  readonly sign?: string;
  readonly start: number;
  readonly end: number;
}

/** Size of a cache: the same texts are evaluated for every thread of a block. */
const kMostTexts = 1000;
const tokensOf = new Map<string, readonly Token[]>();

function tokens(text: string): readonly Token[] {
  const earlier = tokensOf.get(text);
  if (earlier !== undefined) return earlier;
  if (tokensOf.size >= kMostTexts) tokensOf.clear();
  const found = tokenize(text);
  tokensOf.set(text, found);
  return found;
}

function tokenize(text: string): Token[] {
  const found: Token[] = [];
  const end = text.trimEnd().length;
  kToken.lastIndex = 0;
  while (kToken.lastIndex < end) {
    const match = kToken.exec(text);
    if (match === null) throw kUnknown;
    const place = { start: match.index, end: kToken.lastIndex };
    if (match[kNumber] !== undefined) {
      const digits = match[kNumber].replaceAll("'", '');
      const octal = /^0\d/.test(digits);
      if (octal && /[89]/.test(digits)) throw kUnknown;
      found.push({ ...place, number: octal ? parseInt(digits, 8) : Number(digits) });
    } else if (match[kName] !== undefined) {
      found.push({ ...place, name: match[kName].replace(/\s/g, '').replace(/^::/, '') });
    } else {
      found.push({ ...place, sign: elementAt(match, kSign) });
    }
  }
  return found;
}

const kBinary: Readonly<Record<string, [number, (a: number, b: number) => number]>> = {
  '*': [10, (a, b) => a * b], '/': [10, (a, b) => quotient(a, b)], '%': [10, (a, b) => a - quotient(a, b) * b],
  '+': [9, (a, b) => a + b], '-': [9, (a, b) => a - b],
  '<<': [8, (a, b) => a * 2 ** shift(b)], '>>': [8, (a, b) => Math.floor(a / 2 ** shift(b))],
  '<': [7, (a, b) => Number(a < b)], '<=': [7, (a, b) => Number(a <= b)], '>': [7, (a, b) => Number(a > b)],
  '>=': [7, (a, b) => Number(a >= b)],
  '==': [6, (a, b) => Number(a === b)], '!=': [6, (a, b) => Number(a !== b)],
  '&': [5, (a, b) => bits(a, b, (x, y) => x & y)], '^': [4, (a, b) => bits(a, b, (x, y) => x ^ y)],
  '|': [3, (a, b) => bits(a, b, (x, y) => x | y)],
  '&&': [2, (a, b) => Number(a !== 0 && b !== 0)], '||': [1, (a, b) => Number(a !== 0 || b !== 0)],
};

function quotient(a: number, b: number): number {
  if (b === 0) throw kUnknown;
  return Math.trunc(a / b);
}

function shift(b: number): number {
  if (b < 0 || b > 62) throw kUnknown;
  return b;
}

function bits(a: number, b: number, operation: (x: bigint, y: bigint) => bigint): number {
  return Number(operation(BigInt(a), BigInt(b)));
}

class Evaluator {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #meaning: Meaning;
  readonly #depth: number;
  #at = 0;

  constructor(text: string, meaning: Meaning, depth: number) {
    if (depth > kDeepest) throw kUnknown;
    this.#text = text;
    this.#tokens = tokens(text);
    this.#meaning = meaning;
    this.#depth = depth;
  }

  run(): number {
    const value = this.#conditional();
    if (this.#at < this.#tokens.length) throw kUnknown;
    return value;
  }

  #sign(sign: string): boolean {
    if (this.#tokens[this.#at]?.sign !== sign) return false;
    ++this.#at;
    return true;
  }

  #expect(sign: string): void {
    if (!this.#sign(sign)) throw kUnknown;
  }

  #conditional(): number {
    const condition = this.#binary(1);
    if (!this.#sign('?')) return condition;
    const yes = this.#conditional();
    this.#expect(':');
    const no = this.#conditional();
    return condition !== 0 ? yes : no;
  }

  #binary(level: number): number {
    let left = this.#unary();
    for (;;) {
      const operator = kBinary[this.#tokens[this.#at]?.sign ?? ''];
      if (operator === undefined || operator[0] < level) return left;
      ++this.#at;
      left = operator[1](left, this.#binary(operator[0] + 1));
      if (!Number.isSafeInteger(left) || (this.#meaning.natural === true && (left < 0 || left > 0x7fffffff))) throw kUnknown;
    }
  }

  #unary(): number {
    if (this.#sign('+')) return this.#unary();
    if (this.#sign('!')) return Number(this.#unary() === 0);
    if (this.#meaning.natural !== true) {
      if (this.#sign('-')) return -this.#unary();
      if (this.#sign('~')) return -this.#unary() - 1;
    }
    return this.#primary();
  }

  #primary(): number {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw kUnknown;
    if (token.number !== undefined) return token.number;
    if (token.name !== undefined) return this.#named(token.name);
    if (token.sign !== '(') throw kUnknown;
    const cast = this.#group(this.#at);
    // (int)x: a type in parentheses before an operand.
    if (/^(?:(?:un)?signed|int|long|short|char|size_t|u?int\d+_t|unsigned int|\s)+$/.test(cast.text)) {
      this.#at = cast.next;
      return this.#unary();
    }
    const value = this.#conditional();
    this.#expect(')');
    return value;
  }

  /** The contents of parentheses that start at a token, and the token after them. */
  #group(from: number): { text: string; next: number } {
    let depth = 1;
    for (let at = from; at < this.#tokens.length; ++at) {
      const { sign, start } = elementAt(this.#tokens, at);
      if (sign === '(') ++depth;
      else if (sign === ')' && --depth === 0) {
        return { text: this.#text.slice(elementAt(this.#tokens, from).start, start).trim(), next: at + 1 };
      }
    }
    throw kUnknown;
  }

  #named(name: string): number {
    if (name === 'true') return 1;
    if (name === 'false') return 0;
    const next = this.#tokens[this.#at]?.sign;
    if (name === 'sizeof' || name === 'alignof') {
      this.#expect('(');
      const { text, next: after } = this.#group(this.#at);
      this.#at = after;
      return known(name === 'sizeof' ? this.#meaning.sizeOf(text) : this.#meaning.alignOf(text));
    }
    const value = this.#meaning.value(name);
    if (value !== undefined) return value;
    if (next !== '(') throw kUnknown;
    return this.#call(name);
  }

  #call(name: string): number {
    this.#expect('(');
    const texts: string[] = [];
    let depth = 0;
    let begin = this.#tokens[this.#at]?.start ?? this.#text.length;
    for (; this.#at < this.#tokens.length; ++this.#at) {
      const { sign, start, end } = elementAt(this.#tokens, this.#at);
      if (sign === '(') ++depth;
      if (depth === 0 && (sign === ',' || sign === ')')) {
        texts.push(this.#text.slice(begin, start));
        begin = end;
        if (sign === ')') break;
      } else if (sign === ')') {
        --depth;
      }
    }
    this.#expect(')');
    const short = name.replace(/^std::/, '');
    const arguments_ = (): number[] => texts.map((text) => new Evaluator(text, this.#meaning, this.#depth + 1).run());
    if (short === 'min' || short === 'max') return Math[short](...arguments_());
    const macro = this.#meaning.macro(name);
    if (macro?.parameters.length !== texts.length) throw kUnknown;
    const body = macro.body.replace(/\b[A-Za-z_]\w*\b/g, (word) => {
      const at = macro.parameters.indexOf(word);
      return at < 0 ? word : `(${texts[at]})`;
    });
    return new Evaluator(body, this.#meaning, this.#depth + 1).run();
  }
}

function known(value: number | undefined): number {
  if (value === undefined) throw kUnknown;
  return value;
}

/** Value of an integer constant expression; undefined if the text is not one, or uses unknown names. */
export function evaluate(text: string, meaning: Meaning, depth = 0): number | undefined {
  try {
    const value = new Evaluator(text, meaning, depth).run();
    return Number.isSafeInteger(value) ? value : undefined;
  } catch (error) {
    if (error === kUnknown) return undefined;
    throw error;
  }
}
