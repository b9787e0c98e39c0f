// Random filters that consist of loops over arrays and windows: counters of all directions and steps, heads that pop, nested arrays, and
// sums with all kinds of initial values, between nodes that insert and drop items. Many values are constant, or are not always read.
import { Random } from '../emit/random-programs.ts';

type Type = 'int' | 'float';

/** Rates of a filter. */
interface Rates { readonly pop: number; readonly push: number; readonly peek: number }

class Maker {
  readonly #r: Random;
  readonly #filters: string[] = [];
  #type: Type = 'int';
  #names = 0;

  constructor(seed: number) {
    this.#r = new Random(seed);
  }

  program(): { source: string; type: Type } {
    const type = this.#type = this.#r.pick(['int', 'float'] as const);
    const body = Array.from({ length: 2 + this.#r.below(3) }, () => this.#stream()).join(' ');
    const zero = type === 'int' ? ['0', '0', '1', '-1'] : ['0', '0', '-0.0', '1', '0.5'];
    const fixed = `${type}->${type} filter Expand(int n, ${type} x) { work pop 1 push n { push(pop()); for (int i = 1; i < n; i++) push(x); } }
${type}->${type} filter Late(int n) { work pop 1 push n { for (int i = 1; i < n; i++) push(${this.#r.pick(zero)}); push(pop()); } }
${type}->${type} filter Thin(int n, int k) { work pop n push 1 { push(peek(k)); for (int i = 0; i < n; i++) pop(); } }
${type}->${type} filter Delay(int n) { prework push n { for (int i = 0; i < n; i++) push(${this.#r.pick(zero)}); } work pop 1 push 1 { push(pop()); } }`;
    return { type, source: `${fixed}\n${this.#filters.join('\n')}\n${type}->${type} pipeline Main { ${body} }` };
  }

  #stream(): string {
    const r = this.#r;
    const n = 2 + r.below(4);
    switch (r.below(6)) {
      case 0: return `add Expand(${n}, ${r.pick(this.#type === 'int' ? ['0', '0', '2'] : ['0', '0', '-0.0', '1'])});`;
      case 1: return `add ${r.pick([`Late(${n})`, `Delay(${n})`])};`;
      case 2: return `add ${this.#filter({ pop: 1, push: 1, peek: 1 + r.below(9) })}; add Thin(${n}, ${r.below(n)});`;
      case 3: {
        const branches = Array.from({ length: 2 }, () => this.#filter({ pop: 2, push: 2, peek: 2 + r.below(7) }));
        return `add splitjoin { split ${r.pick(['duplicate', 'roundrobin(2, 2)'])}; ${[...branches, r.pick(branches)].slice(0, 2).map((b) => `add ${b};`).join(' ')}
          join roundrobin(${r.pick(['1, 1', '2, 2'])}); };`;
      }
      default: {
        const pop = 1 + r.below(4);
        return `add ${this.#filter({ pop, push: 1 + r.below(4), peek: pop + r.below(8) })};`;
      }
    }
  }

  /** A filter: a few loops, the pushes, and all pops that no loop has made. */
  #filter({ pop, push, peek }: Rates): string {
    const r = this.#r;
    const type = this.#type;
    const name = `F${++this.#names}`;
    const cells = `for (int i = 0; i < 8; i++) { h[i] = ${this.#coefficient()}; g[i / 4][i % 4] = ${this.#coefficient()}; }`;
    const before = r.below(4) === 0 && pop === peek ? this.#popping(pop) : undefined;
    const popped = before?.popped ?? 0;
    const window = before === undefined ? peek : 0;
    const loops = Array.from({ length: 1 + r.below(4) }, () => this.#loop(window, 2)).join('\n      ');
    const pushes = Array.from({ length: push }, () => `push(${r.pick([...'stu', 'a[0]', 'a[7]', 'b[1][2]', 's + a[3]', 'u * 2'])});`).join(' ');
    this.#filters.push(`${type}->${type} filter ${name} { ${type}[8] h; ${type}[2][4] g; init { ${cells} }
    work pop ${pop} push ${push} peek ${peek} { ${type} s = ${r.pick(this.#type === 'int' ? ['0', '1'] : ['0', '-0.0', '1', 'h[1]'])}; ${type} t; ${type} u = 3;
      ${type}[8] a; ${type}[2][4] b; int k = ${r.below(3)};
      ${before?.text ?? ''} ${loops}
      ${pushes} ${'pop(); '.repeat(pop - popped)} } }`);
    return name;
  }

  #coefficient(): string {
    return this.#r.pick(this.#type === 'int' ? ['i - 3', 'i % 3', '1', '5 - i * i']
      : ['i - 3', 'i % 3 * 0.5', '1', 'sin(i)', 'i == 5 ? 1 / 0.0 : i', 'i == 2 ? -0.0 : 2']);
  }

  /** Loops that pop in their bodies or heads, in numbers that are known in advance. */
  #popping(most: number): { readonly text: string; readonly popped: number } {
    const r = this.#r;
    const n = 1 + r.below(most);
    if (this.#type === 'int' && n >= 2 && r.below(2) === 0) {
      return { popped: n, text: `for (int i = 0; i < ${n - 1}; i++) { ${this.#statement('i', 0, 1)} t = pop(); } for (int i = pop() & 1; i < 2; i++) { s += i; }` };
    }
    return { popped: n, text: `for (int i = 0; i < ${n}; i++) { t = pop(); ${this.#statement('i', 0, 1)} }` };
  }

  /** A loop whose counter stays between 0 and 7. @param window items that may be peeked at */
  #loop(window: number, depth: number): string {
    const r = this.#r;
    const i = `i${++this.#names}`;
    const [from, to, step] = [r.below(4), 4 + r.below(5), 1 + r.below(3)];
    const head = r.pick([
      `for (int ${i} = ${from}; ${i} < ${to}; ${i} += ${step})`, `for (int ${i} = ${to - 1}; ${i} >= ${from}; ${i} -= ${step})`,
      `for (int ${i} = ${from}; ${i} <= ${to - 1}; ${i}++)`, `for (int ${i} = 1; ${i} < 8; ${i} *= 2)`,
      `for (int ${i} = ${from}; ${i} != ${to}; ${i}++)`, `for (int ${i} = k % 2; ${i} < ${to}; ${i} = ${i} + ${step})`,
      `for (int ${i} = 7; ${i} > 0; ${i} = ${i} / 2)`,
    ]);
    const inside = Array.from({ length: 1 + r.below(3) }, () => this.#statement(i, window, depth)).join(' ');
    return `${head} { ${inside} }`;
  }

  #statement(i: string, window: number, depth: number): string {
    const r = this.#r;
    const value = this.#value(i, window, 2);
    switch (r.below(12)) {
      case 0: return `t = ${value};`;
      case 1: return `a[${this.#index(i)}] = ${value};`;
      case 2: return `a[${this.#index(i)}] += ${value};`;
      case 3: return `b[${i} & 1][${i} / 2 % 4] = ${value};`;
      case 4: return `s -= ${value};`;
      case 5: return depth > 0 ? this.#loop(window, depth - 1) : `u = ${value};`;
      case 6: return `if (${i} % ${2 + r.below(2)} == ${r.below(2)}) { ${this.#statement(i, window, depth - 1)} }`;
      case 7: return `if (t > ${r.below(4)}) u = ${value}; else ${r.pick(['u', 's', 'a[1]'])} = ${this.#value(i, window, 1)};`;
      case 8: return depth > 0 ? `if (${i} == ${r.below(8)}) ${r.pick(['continue', 'break'])}; s += ${value};` : `k = ${i};`;
      case 9: return `{ ${this.#type} x = ${value}; u = ${r.pick(['x', 'x * 0', 'u'])}; }`;
      default: return `s += ${value};`;
    }
  }

  #index(i: string): string {
    return this.#r.pick([i, i, `7 - ${i}`, `(${i} + k) % 8`, `${i} / 2`, '3', 'k']);
  }

  #value(i: string, window: number, depth: number): string {
    const r = this.#r;
    if (depth > 0 && r.below(3) > 0) {
      const [x, y] = [this.#value(i, window, depth - 1), this.#value(i, window, depth - 1)];
      return r.pick([`(${x} * ${y})`, `(${x} * ${y})`, `(${x} + ${y})`, `(${x} - ${y})`, `(t > ${x} ? ${y} : u)`, `max(${x}, ${y})`, `(-${x})`]);
    }
    if (window > 0 && r.below(2) === 0) {
      return r.pick([`peek(${i} % ${window})`, `peek(${window - 1} - ${i} % ${window})`, `peek(${r.below(window)})`, `peek((${i} + ${r.below(4)}) % ${window})`]);
    }
    return r.pick([`h[${i}]`, `g[${i} / 4][${i} % 4]`, `a[${this.#index(i)}]`, `b[${i} & 1][${i} / 2 % 4]`, 's', 't', 'u', i, '0', '2']);
  }
}

/** The program of a seed, and the type of its input and output. */
export function loopProgram(seed: number): { source: string; type: Type } {
  return new Maker(seed).program();
}
