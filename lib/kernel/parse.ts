// Parses the text format of text.ts.
import { WarploomError } from '../core/errors.ts';
import {
  binary, binaryOps, bool, call, compare, compareOps, constant, convert, exact, extract, get, i32, lanes, libraryFunctions, load, logic,
  math, select, splat, unary, unaryOps, word as wordOf, wordParts, words, type Body, type Buffer, type BufferRole, type Expression,
  type Import, type KernelFunction, type Label, type LibraryName, type Local, type Program, type ScalarType, type Statement, type Type,
} from './ir.ts';

const token = /\s+|(?:[A-Za-z_]\w*(?:\.\w+)?|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|-inf|\.\.|->|[(){}[\]=,:+])/y;
const roles: ReadonlySet<string> = new Set<BufferRole>(['external', 'global', 'constant', 'local']);
const types: ReadonlySet<string> = new Set<Type>(['i32', 'f32', 'f64', 'bool', 'i32x4', 'f32x4', 'f64x2']);

function memberOf<T extends string>(list: readonly T[], x: string): x is T {
  return (list as readonly string[]).includes(x);
}

class Parser {
  readonly #tokens: { readonly text: string; readonly line: number }[] = [];
  #at = 0;
  readonly #buffers = new Map<string, Buffer>();
  #own = new Map<string, Buffer>();
  #locals = new Map<string, Local>();
  #labels: Label[] = [];

  constructor(text: string) {
    let line = 1;
    for (token.lastIndex = 0; token.lastIndex < text.length;) {
      const from = token.lastIndex;
      const [found] = token.exec(text) ?? [];
      if (found === undefined) throw this.#error(`what begins with ${JSON.stringify(text.slice(from, from + 8))}`, line);
      if (found.trim() === '') line += found.split('\n').length - 1;
      else this.#tokens.push({ text: found, line });
    }
  }

  #error(what: string, line = this.#tokens[Math.min(this.#at, this.#tokens.length) - 1]?.line ?? 1): WarploomError {
    return new WarploomError('ERR_WARPLOOM_INTERNAL', `kernel text, line ${line}: ${what} is not understood here`);
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at]?.text;
  }

  #next(): string {
    const found = this.#tokens[this.#at++]?.text;
    if (found === undefined) throw this.#error('the end of the text');
    return found;
  }

  #is(text: string): boolean {
    if (this.#peek() !== text) return false;
    ++this.#at;
    return true;
  }

  #expect(text: string): void {
    const found = this.#next();
    if (found !== text) throw this.#error(`${found} in place of ${text}`);
  }

  #number(): number {
    const text = this.#next();
    if (text === 'nan') return NaN;
    if (text === 'inf' || text === '-inf') return text === 'inf' ? Infinity : -Infinity;
    const x = Number(text);
    if (Number.isNaN(x)) throw this.#error(`${text} in place of a number`);
    return x;
  }

  #type(): Type {
    const text = this.#next();
    if (!types.has(text)) throw this.#error(`the type ${text}`);
    return text as Type;
  }

  /** A comma-separated list in brackets. */
  #list<T>(one: () => T): T[] {
    this.#expect('(');
    const found: T[] = [];
    while (!this.#is(')')) {
      if (found.length > 0) this.#expect(',');
      found.push(one());
    }
    return found;
  }

  program(): Program {
    const imports: Import[] = [];
    const functions: KernelFunction[] = [];
    for (let word = this.#peek(); word !== undefined; word = this.#peek()) {
      if (roles.has(word)) {
        const buffer = this.#buffer();
        this.#buffers.set(buffer.name, buffer);
      } else if (this.#is('import')) {
        imports.push({ name: this.#next(), parameters: this.#list(() => this.#type()), results: this.#results() });
      } else functions.push(this.#function());
    }
    return { buffers: [...this.#buffers.values()], imports, functions };
  }

  #results(): Type[] {
    return this.#is('->') ? this.#list(() => this.#type()) : [];
  }

  #buffer(): Buffer {
    const role = this.#next() as BufferRole;
    const name = this.#next();
    const element = this.#type() as ScalarType;
    this.#expect('[');
    const length = this.#peek() === ']' ? undefined : this.#number();
    this.#expect(']');
    const isReadOnly = this.#is('readonly');
    const initial = this.#is('=') ? this.#list(() => this.#number()) : undefined;
    const rounded = element === 'f32' ? initial?.map(Math.fround) : initial;
    return { name, element, role, length, ...(rounded === undefined ? {} : { initial: rounded }), ...(isReadOnly ? { isReadOnly } : {}) };
  }

  #local(): Local {
    const name = this.#next();
    this.#expect(':');
    const type = this.#type();
    if (!this.#is('in')) return this.#declare({ name, type });
    const low = this.#number();
    this.#expect('..');
    return this.#declare({ name, type, range: [low, this.#number()] });
  }

  #declare(local: Local): Local {
    this.#locals.set(local.name, local);
    return local;
  }

  #function(): KernelFunction {
    this.#expect('function');
    this.#locals = new Map();
    this.#own = new Map();
    this.#labels = [];
    const name = this.#next();
    const parameters = this.#list(() => this.#local());
    const results = this.#results();
    this.#expect('{');
    while (this.#peek() === 'local') {
      const buffer = this.#buffer();
      this.#own.set(buffer.name, buffer);
    }
    while (this.#is('var')) this.#local();
    return { name, parameters, results, buffers: [...this.#own.values()], body: this.#rest() };
  }

  /** Statements up to the closing bracket. */
  #rest(): Body {
    const body: Statement[] = [];
    while (!this.#is('}')) body.push(this.#statement());
    return body;
  }

  #body(): Body {
    this.#expect('{');
    return this.#rest();
  }

  #inside(label: Label): Body {
    this.#labels.push(label);
    const body = this.#body();
    this.#labels.pop();
    return body;
  }

  #newLabel(): Label {
    const label = { name: this.#next() };
    this.#expect(':');
    return label;
  }

  #knownLabel(): Label {
    const name = this.#next();
    return this.#labels.findLast((label) => label.name === name) ?? this.#fail(`the label ${name}`);
  }

  #fail(what: string): never {
    throw this.#error(what);
  }

  #knownLocal(name: string): Local {
    return this.#locals.get(name) ?? this.#fail(name);
  }

  #knownBuffer(name: string): Buffer {
    return this.#own.get(name) ?? this.#buffers.get(name) ?? this.#fail(name);
  }

  #statement(): Statement {
    const word = this.#next();
    // Locals and buffers may be named like keywords.
    if (this.#peek() === '=') return this.#set(word);
    if (this.#peek() === '[') return this.#store(word);
    switch (word) {
      case 'if': {
        const condition = this.#expression();
        const then = this.#body();
        return { kind: 'if', condition, then, otherwise: this.#is('else') ? this.#body() : [] };
      }
      case 'for': return this.#for();
      case 'while': {
        const label = this.#newLabel();
        return { kind: 'while', label, condition: this.#expression(), body: this.#inside(label) };
      }
      case 'block': {
        const label = this.#newLabel();
        return { kind: 'block', label, body: this.#inside(label) };
      }
      case 'break': case 'continue': return { kind: word, label: this.#knownLabel() };
      case 'return': return { kind: 'return', values: this.#list(() => this.#expression()) };
      case 'trap': return { kind: 'trap', site: this.#expression(), value: this.#expression() };
      case 'guard': {
        const condition = this.#expression();
        this.#expect('else');
        return { kind: 'guard', condition, site: this.#expression(), value: this.#expression() };
      }
      case 'call': return this.#call();
      case 'copy': return this.#copy();
      case 'fill': {
        const { buffer, index } = this.#place();
        this.#expect('for');
        return { kind: 'fill', buffer, index, count: this.#expression() };
      }
      default: return this.#fail(word);
    }
  }

  #set(name: string): Statement {
    this.#expect('=');
    return { kind: 'set', local: this.#knownLocal(name), value: this.#expression() };
  }

  #store(name: string): Statement {
    const { buffer, index, offset } = this.#element(name);
    this.#expect('=');
    return { kind: 'store', buffer, index, offset, value: this.#expression() };
  }

  #for(): Statement {
    const label = this.#newLabel();
    const counter = this.#knownLocal(this.#next());
    this.#expect('=');
    const from = this.#expression();
    this.#expect('to');
    const to = this.#expression();
    this.#expect('step');
    const step = this.#number();
    const most = this.#is('most') ? { most: this.#number() } : {};
    return { kind: 'for', label, counter, from, to, step, body: this.#inside(label), ...most };
  }

  #call(): Statement {
    const results: Local[] = [];
    let name = this.#next();
    while (this.#peek() === ',' || this.#peek() === '=') {
      results.push(this.#knownLocal(name));
      this.#next();
      name = this.#next();
    }
    return call(name, this.#list(() => this.#expression()), results);
  }

  #copy(): Statement {
    const to = this.#place();
    this.#expect('=');
    const from = this.#place();
    this.#expect('for');
    return { kind: 'copy', to: to.buffer, toIndex: to.index, from: from.buffer, fromIndex: from.index, count: this.#expression() };
  }

  #place(): { buffer: Buffer; index: Expression } {
    return this.#element(this.#next());
  }

  /** The rest of an element whose buffer has just been read. */
  #element(word: string): { buffer: Buffer; type: Type; index: Expression; offset: number } {
    const [name, type] = word.split('.') as [string, Type | undefined];
    const buffer = this.#knownBuffer(name);
    this.#expect('[');
    const index = this.#expression();
    const offset = this.#is('+') ? this.#number() : 0;
    this.#expect(']');
    return { buffer, type: type ?? buffer.element, index, offset };
  }

  #expression(): Expression {
    const word = this.#next();
    if (/^-?\d/.test(word)) return i32(Number(word));
    if (this.#peek() === '[') {
      const { buffer, index, offset, type } = this.#element(word);
      return load(buffer, index, offset, type);
    }
    if (this.#peek() !== '(') return word === 'true' || word === 'false' ? bool(word === 'true') : get(this.#knownLocal(word));
    return this.#operation(word);
  }

  #operation(word: string): Expression {
    if (word === 'f32' || word === 'f64') {
      const [x] = this.#list(() => this.#number()) as [number];
      return constant(word, word === 'f32' ? Math.fround(x) : x);
    }
    if (word === 'extract') {
      this.#expect('(');
      const vector = this.#expression();
      this.#expect(',');
      const lane = this.#number();
      this.#expect(')');
      return extract(vector, lane);
    }
    const args = this.#list(() => this.#expression());
    const [a, b, c] = args as [Expression, Expression, Expression];
    if (memberOf(unaryOps, word)) return unary(word, a);
    if (memberOf(binaryOps, word)) return binary(word, a, b);
    if (word === 'add.exact' || word === 'sub.exact' || word === 'mul.exact') return exact(word.slice(0, 3) as 'add', a, b);
    if (memberOf(compareOps, word)) return compare(word, a, b);
    if (word === 'and' || word === 'or') return logic(word, a, b);
    if (word === 'select') return select(a, b, c);
    if (word.startsWith('convert.')) return convert(word.slice(8) as Type, a);
    if (memberOf(wordParts, word)) return wordOf(word, a);
    if (word === 'words') return words(a, b);
    if (word === 'splat') return splat(a);
    if (word === 'lanes') return lanes(...args);
    return word in libraryFunctions ? math(word as LibraryName, ...args) : this.#fail(word);
  }
}

/** Parses a program. Throws a WarploomError that names the line of an error. */
export function parseProgram(text: string): Program {
  return new Parser(text).program();
}
