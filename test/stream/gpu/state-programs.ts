// Random programs with state: filters whose fields are of all kinds that are found before a firing, mixed, in pipelines and split-joins
// with windows and preworks. Equal seeds give equal programs.
import { Random } from '../emit/random-programs.ts';

/** A field, or a few that belong together. */
interface Part {
  readonly fields: string;
  /** Statements of a firing in which `x` is an input of the filter's type. */
  readonly work: string;
  /** An expression of the filter's type. */
  readonly result: string;
}

type Type = 'int' | 'float';
type Make = (n: string, r: Random, type: Type) => Part;

const number = (r: Random): number => r.pick([1, 2, 3, 5, 7, -1, -2, -6, 12, 100, 2147483647, -2147483648, 65537]);
const asInt = (type: Type): string => (type === 'int' ? 'x' : '((int) x)');
const part = (fields: string, work: string, result: string): Part => ({ fields, work, result });

/** Conditions on the input alone. */
const condition = (r: Random, type: Type): string =>
  r.pick([`${asInt(type)} > ${r.below(9)}`, `${asInt(type)} == ${r.below(6)}`, `(${asInt(type)} & 3) != 0`, `${asInt(type)} < ${3 + r.below(5)}`]);

const makers: readonly Make[] = [
  (n, r) => part(`int ${n} = ${number(r)};`, `${n} ${r.pick(['+=', '-='])} ${number(r)};`, `(${n} & 1023)`),
  (n, r) => {
    const m = 2 + r.below(40);
    return part(`int ${n} = ${r.below(m)};`, `${n} = (${n} + ${1 + r.below(2 * m)}) % ${m};`, n);
  },
  (n, r) => part(`int ${n};`, `${n}++; if (${n} ${r.pick(['==', '>='])} ${2 + r.below(20)}) ${n} = ${r.below(2)};`, n),
  (n, r) => part(`int ${n}; int ${n}b;`, `${n} = (${n} + 1) & 7; if (${n} == ${r.below(8)}) ${n}b = (${n}b + ${1 + r.below(5)}) % 5;`, `(${n} + ${n}b)`),
  (n, r) => part(`boolean ${n};`, `${n} = !${n};`, `(${n} ? ${r.below(9)} : ${r.below(9)})`),
  (n, r, type) => part(`int ${n} = ${number(r)};`, `${n} = ${n} * ${number(r)} + ${asInt(type)};`, `(${n} & 255)`),
  (n, r, type) => part(`int ${n}; int ${n}b = 1;`, `int ${n}c = ${n} ${r.pick(['+', '-'])} ${n}b * ${asInt(type)}; ${n} = ${n}b; ${n}b = ${n}c;`, `(${n} & 255)`),
  (n, r, type) => part(`int ${n};`, `if (${condition(r, type)}) ${n} = ${r.below(7)}; else ${n} += ${asInt(type)};`, `(${n} & 511)`),
  (n, r, type) => part(`int ${n};`, `${n} = (${n} + ${asInt(type)} * ${number(r)}) & ${2 ** (1 + r.below(8)) - 1};`, n),
  (n, r, type) => {
    const half = 2 ** (2 + r.below(5));
    return part(`int ${n};`, `${r.below(2) === 0 ? `if (${condition(r, type)}) ${n} = 0; ` : ''}${n} += ${asInt(type)} * ${number(r) & 1023}; `
      + `while (${n} >= ${half}) ${n} -= ${2 * half}; while (${n} < ${-half}) ${n} += ${2 * half};`, n);
  },
  (n, r, type) => part(`int ${n} = ${r.below(9)};`, `${n} = (${n} ${r.pick(['^', '&', '|'])} (${asInt(type)} << ${r.below(4)})) ^ ${r.below(4)};`, `(${n} & 63)`),
  (n, r, type) => part(`${type} ${n};`, `if (${condition(r, type)}) ${n} = x;`, n),
  (n, r, type) => part(`int ${n};`, `if (${condition(r, type)}) ${n} = ${r.below(3)}; else if (${n} < ${2 + r.below(9)}) ${n}++;`, n),
  (n, _, type) => part(`int ${n}; int[8] ${n}t = {1, 3, 0, 2, 2, 1, 3, 0};`, `${n} = ${n}t[${n} * 2 + (${asInt(type)} & 1)];`, n),
  (n, _, type) => part(`${type} ${n};`, `${type} ${n}o = ${n}; ${n} = x;`, `(x - ${n}o)`),
  (n, r, type) => {
    const length = 2 + r.below(5);
    return part(`${type}[${length}] ${n};`, `for (int i = 0; i < ${length - 1}; i++) ${n}[i] = ${n}[i + 1]; ${n}[${length - 1}] = x;`,
      `(${n}[0] + 2 * ${n}[${r.below(length)}])`);
  },
  (n, r, type) => {
    const length = 2 ** (1 + r.below(4));
    return part(`${type}[${length}] ${n}; int ${n}i;`, `${n}[${n}i] = x; ${n}i = (${n}i + 1) & ${length - 1};`,
      `(${n}[${n}i] - ${n}[(${n}i + ${r.below(length)}) & ${length - 1}])`);
  },
  (n, r, type) => {
    const length = 3 + r.below(7);
    return part(`${type}[${length}] ${n}; int ${n}i;`, `${type} ${n}o = ${n}[${n}i]; ${n}[${n}i] = x; ${n}i++; if (${n}i == ${length}) ${n}i = 0;`, `${n}o`);
  },
  (n, _, type) => part(`${type} ${n}; ${type} ${n}b;`, `${type} ${n}o = ${n}b; ${n}b = ${n} * 0.5; ${n} = x;`.replace('0.5', type === 'int' ? '3' : '0.5'), `${n}o`),
  () => part('', '', '(iter() & 127)'),
];

class Maker {
  readonly #r: Random;
  readonly #type: Type;
  readonly #filters: string[] = [];
  readonly #isSplit: boolean;
  #names = 0;

  /** @param isSplit whether filters take the items of a splitter, and nothing but these: then they can find them on the splitter's input */
  constructor(seed: number, isSplit = false) {
    this.#r = new Random(seed);
    this.#type = this.#r.pick(['int', 'int', 'float']);
    this.#isSplit = isSplit;
  }

  program(): { source: string; type: Type } {
    const type = this.#type;
    if (this.#isSplit) return { type, source: this.#splitProgram() };
    const body = Array.from({ length: 1 + this.#r.below(3) }, () => `add ${this.#stream(2)}`).join(' ');
    return { type, source: `${this.#filters.join('\n')}\n${type}->${type} pipeline Main { ${body} }` };
  }

  #splitProgram(): string {
    const r = this.#r, count = 2 + r.below(2), type = this.#type;
    const weights = Array.from({ length: count }, () => 1 + r.below(3)).join(', ');
    const branches = Array.from({ length: count }, () => `add ${this.#stateful(true)};`).join(' ');
    return `${this.#filters.join('\n')}\n${type}->${type} splitjoin Main { split roundrobin(${weights}); ${branches} join roundrobin(${weights}); }`;
  }

  #stream(depth: number): string {
    const r = this.#r;
    const kind = depth === 0 ? r.below(3) : r.below(6);
    if (kind <= 2) return `${kind < 2 ? this.#stateful() : this.#window()};`;
    const count = 1 + r.below(3);
    if (kind === 3) return `pipeline { ${Array.from({ length: count }, () => `add ${this.#stream(depth - 1)}`).join(' ')} }`;
    const even = Array.from({ length: count }, () => `add ${r.below(4) === 0 ? this.#window() : this.#stateful(true)};`).join(' ');
    const weights = Array.from({ length: count }, () => 1 + r.below(3)).join(', ');
    return r.below(2) === 0 ? `splitjoin { split duplicate; ${even} join roundrobin(1); }`
      : `splitjoin { split roundrobin(${weights}); ${even} join roundrobin(${weights}); }`;
  }

  /** A filter that only looks. */
  #window(): string {
    const name = `W${this.#names++}`, r = this.#r, peek = 2 + r.below(12);
    this.#filters.push(`${this.#type}->${this.#type} filter ${name} { work pop 1 push 1 peek ${peek} { push(peek(0) + peek(${r.below(peek)})); pop(); } }`);
    return name;
  }

  /** @param isEven it gives as many items as it takes */
  #stateful(isEven = false): string {
    const name = `F${this.#names++}`, r = this.#r, type = this.#type;
    const parts = Array.from({ length: 1 + r.below(3) }, (_, i) => r.pick(makers)(`f${i}`, r, type));
    const pop = 1 + r.below(3), push = isEven ? pop : 1 + r.below(2);
    const peek = pop + (!this.#isSplit && r.below(3) === 0 ? r.below(5) : 0);
    const takes = Array.from({ length: pop }, () => 'pop();').join(' ');
    // What comes out is made of the fields as they are at some place of the firing.
    const pushed = (i: number): string => `push(x + ${parts.map(({ result }) => `${i + 1} * ${result}`).join(' + ')});`;
    const at = r.below(parts.length + 1);
    const begin = parts.slice(0, at).map(({ work }) => work).join(' '), end = parts.slice(at).map(({ work }) => work).join(' ');
    // Results of later parts may name variables of their statements.
    const order = `${begin} ${end} ${Array.from({ length: push }, (_, i) => pushed(i)).join(' ')}`;
    const prework = !this.#isSplit && r.below(5) === 0 ? `prework pop 1 push 1 { push(pop() + 1); } ` : '';
    this.#filters.push(`${type}->${type} filter ${name} { ${parts.map(({ fields }) => fields).join(' ')} ${prework}work pop ${pop} push ${push} peek ${peek} `
      + `{ ${type} x = peek(${r.below(peek)}); ${order} ${takes} } }`);
    return name;
  }
}

/** Statements and expressions over fields without any plan: most of these fields only firings in order can find. */
class Wild {
  readonly #r: Random;
  #names = 0;

  constructor(seed: number) {
    this.#r = new Random(seed);
  }

  source(): string {
    const r = this.#r;
    const body = Array.from({ length: 1 + r.below(4) }, () => this.#statement(2)).join(' ');
    return `int->int filter F { int a = ${r.below(5)}; int b = ${r.below(3) - 1}; int c; boolean d; int[4] e; work pop 1 push 2 peek 2 `
      + `{ int x = pop(); int y = peek(0); ${body} push(a + b + e[x & 3]); push(d ? c : x); } } int->int pipeline Main { add F; }`;
  }

  #statement(depth: number): string {
    const r = this.#r;
    const target = (): string => r.pick(['a', 'b', 'c', 'a', 'b', 'e[0]', 'e[1]', `e[${this.#expression(1)} & 3]`]);
    if (depth > 0) {
      switch (r.below(9)) {
        case 0: return `if (${this.#condition(1)}) { ${this.#statement(depth - 1)} } else { ${this.#statement(depth - 1)} }`;
        case 1: return `if (${this.#condition(1)}) { ${this.#statement(depth - 1)} ${this.#statement(depth - 1)} }`;
        case 2: {
          const i = `i${this.#names++}`;
          return `for (int ${i} = 0; ${i} < ${2 + r.below(2)}; ${i}++) { ${this.#statement(depth - 1)} ${r.below(4) === 0 ? `if (${this.#condition(1)}) break;` : ''} }`;
        }
        case 3: {
          const half = 2 ** r.below(6);
          return `while (a > ${half + r.below(2) - 1}) a -= ${2 * half}; while (a < ${-half}) a += ${2 * half};`;
        }
        case 4: return `d = ${this.#condition(1)};`;
        case 5: return 'e[0] = e[1]; e[1] = e[2]; e[2] = x;';
      }
    }
    const to = target();
    return r.below(3) === 0 ? `${to} = ${this.#expression(2)};` : `${to} = ${to} ${r.pick(['+', '-', '&', '|', '^', '*'])} (${this.#expression(1)});`;
  }

  #expression(depth: number): string {
    const r = this.#r;
    if (depth === 0 || r.below(4) === 0) return r.pick(['a', 'b', 'c', 'x', 'y', 'x', 'y', 'e[1]', 'e[3]', String(r.below(9) - 2), '1', '3', '7']);
    const [one, two] = [this.#expression(depth - 1), this.#expression(depth - 1)];
    switch (r.below(8)) {
      case 0: return `(${this.#condition(depth - 1)} ? ${one} : ${two})`;
      case 1: return `(${one} % ${r.pick([2, 3, 4, 8, 10])})`;
      case 2: return `(${one} & ${r.pick([1, 3, 7, 6, 255])})`;
      case 3: return `(${one} << ${r.below(4)})`;
      default: return `(${one} ${r.pick(['+', '-', '+', '*', '^', '|'])} ${two})`;
    }
  }

  #condition(depth: number): string {
    const r = this.#r;
    if (r.below(4) === 0) return r.pick(['d', '!d']);
    return `${this.#expression(depth)} ${r.pick(['<', '>', '==', '!=', '>='])} ${this.#expression(0)}`;
  }
}

/** A program with a filter whose fields change in any way. */
export function wildProgram(seed: number): string {
  return new Wild(seed).source();
}

/** A program, and the type of its items. @param isSplit a splitter, filters with state, a joiner */
export function randomStateProgram(seed: number, isSplit = false): { source: string; type: Type } {
  return new Maker(seed, isSplit).program();
}
