// Random programs as source text: filters over int, float and bit with random work, in random graphs. Equal seeds give equal programs.

/** A small generator of numbers (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A whole number from 0 to `n` - 1. */
  below(n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }
}

type Type = 'int' | 'float' | 'bit';
interface Variables { readonly scalars: string[]; readonly counters: string[]; readonly peeks: number }

class Maker {
  readonly #r: Random;
  readonly #filters: string[] = [];
  #names = 0;

  constructor(seed: number) {
    this.#r = new Random(seed);
  }

  program(): { source: string; type: Type } {
    const type = this.#r.pick(['int', 'float', 'int', 'float', 'bit'] as const);
    const body = Array.from({ length: 1 + this.#r.below(3) }, () => `add ${this.#stream(type, 2)}`).join(' ');
    return { type, source: `${this.#filters.join('\n')}\n${type}->${type} pipeline Main { ${body} }` };
  }

  #stream(type: Type, depth: number): string {
    const kind = depth === 0 ? 0 : this.#r.below(4);
    if (kind <= 1) return `${this.#filter(type)};`;
    const count = 1 + this.#r.below(3);
    if (kind === 2) return `pipeline { ${Array.from({ length: count }, () => `add ${this.#stream(type, depth - 1)}`).join(' ')} }`;
    // Branches that keep rates: as many items come out as go in, so that any weights balance.
    const even = Array.from({ length: count }, () => `add ${this.#filter(type, true)};`).join(' ');
    const weights = Array.from({ length: count }, () => 1 + this.#r.below(3)).join(', ');
    return this.#r.below(2) === 0 ? `splitjoin { split duplicate; ${even} join roundrobin(${1 + this.#r.below(2)}); }`
      : `splitjoin { split roundrobin(${weights}); ${even} join roundrobin(${weights}); }`;
  }

  #filter(type: Type, isEven = false): string {
    const r = this.#r;
    const name = `F${++this.#names}`;
    const pop = 1 + r.below(3);
    const push = isEven ? pop : 1 + r.below(3);
    const peek = pop + (r.below(3) === 0 ? 1 + r.below(4) : 0);
    const hasState = r.below(4) === 0;
    const hasPrework = r.below(8) === 0;
    const v: Variables = { scalars: ['a', 'b', ...(hasState ? ['s'] : [])], counters: [], peeks: peek };
    const statements = Array.from({ length: 1 + r.below(4) }, () => this.#statement(type, v, 2)).join(' ');
    const moves = this.#moves(type, v, pop, push);
    const body = `${type} a = peek(${r.below(peek)}); ${type} b; b = ${this.#expression(type, v, 2)}; ${statements} ${moves}`;
    const helper = `${type} h(${type} x, ${type} y) { if (${this.#condition(type, ['x', 'y'])}) return ${type === 'bit' ? 'x ^ y' : 'x - y'}; return x; }`;
    const table = `int[4] t = {${r.below(9)}, ${r.below(9)}, ${r.below(9)}, 3};`;
    const starts = `prework pop ${pop} push ${push} peek ${pop} { for (int i = 0; i < ${push}; i++) push(peek(0));
      for (int i = 0; i < ${pop}; i++) pop(); }`;
    const first = hasPrework ? starts : '';
    this.#filters.push(`${type}->${type} filter ${name} { ${hasState ? `${type} s;` : ''} ${table} ${helper} ${first}
      work pop ${pop} push ${push} peek ${peek} { ${body} } }`);
    return name;
  }

  /** Pops and pushes in one of several forms. */
  #moves(type: Type, v: Variables, pop: number, push: number): string {
    const value = () => this.#expression(type, v, 2);
    const pops = 'pop();';
    switch (this.#r.below(4)) {
      case 0: return `for (int i = 0; i < ${push}; i++) push(${value()}); for (int i = 0; i < ${pop}; i++) a = ${type === 'bit' ? 'a ^ pop()' : 'a + pop()'};`;
      case 1: return `if (${this.#condition(type, v.scalars)}) { ${`push(${value()});`.repeat(push)} } `
        + `else { ${Array.from({ length: push }, () => `push(${value()});`).join(' ')} } ${pops.repeat(pop)}`;
      case 2: return `int k = 0; while (k < ${push}) { push(${value()}); k++; } ${pops.repeat(pop)}`;
      default: return `${Array.from({ length: push }, () => `push(h(${value()}, b));`).join(' ')} ${pops.repeat(pop)}`;
    }
  }

  #statement(type: Type, v: Variables, depth: number): string {
    const r = this.#r;
    const target = r.pick(v.scalars);
    if (depth === 0) return `${target} = ${this.#expression(type, v, 2)};`;
    const inner = () => this.#statement(type, v, depth - 1);
    const i = `i${++this.#names}`;
    switch (r.below(6)) {
      case 0: return `if (${this.#condition(type, v.scalars)}) { ${inner()} } else ${inner()}`;
      case 1: return `for (int ${i} = 0; ${i} < ${1 + r.below(5)}; ${i}++) { ${inner()} }`;
      case 2: return `{ ${type}[4] ${i}; for (int j = 0; j < 4; j++) ${i}[j] = ${this.#expression(type, v, 1)}; ${target} = ${i}[t[${r.below(4)}] & 3]; }`;
      case 3: return `for (int ${i} = 0; ${i} < 6; ${i}++) { if (${this.#condition(type, v.scalars)}) ${r.pick(['break', 'continue'])}; ${inner()} }`;
      case 4: return `${target} = h(${this.#expression(type, v, 1)}, ${r.pick(v.scalars)});`;
      default: return `${target} = ${this.#expression(type, v, 3)};`;
    }
  }

  #condition(type: Type, names: readonly string[]): string {
    const r = this.#r;
    const a = r.pick(names);
    if (type === 'bit') return `${a} == ${r.below(2)}`;
    const compared = `${a} ${r.pick(['<', '<=', '>', '>=', '==', '!='])} ${r.below(2) === 0 ? r.pick(names) : String(r.below(50) - 25)}`;
    return r.below(3) === 0 ? `${compared} ${r.pick(['&&', '||'])} ${r.pick(names)} > ${r.below(9)}` : compared;
  }

  #expression(type: Type, v: Variables, depth: number): string {
    const r = this.#r;
    if (depth === 0 || r.below(5) === 0) return this.#leaf(type, v);
    const [a, b] = [this.#expression(type, v, depth - 1), this.#expression(type, v, depth - 1)];
    if (type === 'bit') return r.below(4) === 0 ? `(~${a})` : `(${a} ${r.pick(['&', '|', '^'])} ${b})`;
    const ternary = `(${this.#condition(type, v.scalars)} ? ${a} : ${b})`;
    if (type === 'int') {
      return r.pick([`(${a} + ${b})`, `(${a} - ${b})`, `(${a} * ${b})`, `(${a} / ${1 + r.below(9)})`, `(${a} % ${2 + r.below(9)})`,
        `(${a} << ${r.below(34)})`, `(${a} >> ${r.below(34)})`, `(${a} & ${b})`, `(${a} ^ ${b})`, `max(${a}, ${b})`, `t[${a} & 3]`,
        `(int) (${a} * 0.37)`, `(-${a})`, ternary]);
    }
    return r.pick([`(${a} + ${b})`, `(${a} - ${b})`, `(${a} * ${b})`, `(${a} / 3.7)`, `(${a} * 0.1)`, `min(${a}, ${b})`, `abs(${a})`,
      `floor(${a})`, `sqrt(abs(${a}))`, `((int) ${a})`, `(-${a})`, `(${a} * t[${r.below(4)}])`, `round(${a})`, ternary]);
  }

  #leaf(type: Type, v: Variables): string {
    const r = this.#r;
    if (r.below(4) === 0) return `peek(0)`;
    if (r.below(3) > 0) return r.pick(v.scalars);
    return type === 'bit' ? `((bit) ${r.below(2)})` : type === 'int' ? `(${r.below(1000) - 500})` : `${r.below(100)}.${r.below(100)}`;
  }
}

/** The program of a seed, and the type of its input and output. */
export function randomProgram(seed: number): { source: string; type: Type } {
  return new Maker(seed).program();
}

/** Input for it. */
export function randomInput(seed: number, type: Type, length: number): number[] {
  const r = new Random(seed ^ 0x5bd1e995);
  return Array.from({ length }, () => (type === 'bit' ? r.below(2) : type === 'int' ? r.below(2001) - 1000 : Math.fround((r.below(20001) - 10000) / 128)));
}
