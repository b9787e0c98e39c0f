// Random programs as source text: filters over int, float, bit and structs with random work and helper functions that change arrays of
// their callers, in random graphs with split-joins, feedback loops, peeking, prework and state. Equal seeds give equal programs.

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
interface Variables { readonly scalars: string[]; readonly counters: string[]; readonly peeks: number; /** Arrays that are fields. */ readonly fields: string[] }

class Maker {
  readonly #r: Random;
  readonly #filters: string[] = [];
  #names = 0;

  constructor(seed: number) {
    this.#r = new Random(seed);
  }

  program(): { source: string; type: Type } {
    const type = this.#r.pick(['int', 'float', 'int', 'float', 'bit'] as const);
    const body = Array.from({ length: 1 + this.#r.below(2) }, () => `add ${this.#stream(type, 2)}`).join(' ');
    return { type, source: `struct P { int a; float b; bit c; int[2] d; }\n${this.#filters.join('\n')}\n${type}->${type} pipeline Main { ${body} }` };
  }

  #stream(type: Type, depth: number): string {
    const kind = depth === 0 ? 0 : this.#r.below(7);
    if (kind <= 1) return `${this.#filter(type)};`;
    if (kind === 4) return this.#loop(type);
    if (kind === 5) return this.#otherType(type, depth);
    if (kind === 6) return this.#structs(type);
    const count = 1 + this.#r.below(3);
    if (kind === 2) return `pipeline { ${Array.from({ length: count }, () => `add ${this.#stream(type, depth - 1)}`).join(' ')} }`;
    // Branches that keep rates: as many items come out as go in, so that any weights balance.
    const even = Array.from({ length: count }, () => `add ${this.#filter(type, true)};`).join(' ');
    const weights = Array.from({ length: count }, () => 1 + this.#r.below(3)).join(', ');
    return this.#r.below(2) === 0 ? `splitjoin { split duplicate; ${even} join roundrobin(${1 + this.#r.below(2)}); }`
      : `splitjoin { split roundrobin(${weights}); ${even} join roundrobin(${weights}); }`;
  }

  /** A feedback loop: two items go into its body at a time, and one or two come out; at least one stands on the way back. */
  #loop(type: Type): string {
    const r = this.#r;
    const isCopied = r.below(2) === 0;
    const body = this.#filter(type, true, { pop: 2, push: isCopied ? 1 : 2 });
    const back = r.below(2) === 0 ? `Identity<${type}>` : this.#filter(type, true, { pop: 1, push: 1 });
    const enqueued = Array.from({ length: 1 + r.below(4) }, () => `enqueue ${this.#constant(type)};`).join(' ');
    return `feedbackloop { join roundrobin(1, 1); body ${body}; loop ${back}; split ${isCopied ? 'duplicate' : 'roundrobin(1, 1)'}; ${enqueued} }`;
  }

  /** Streams of another type between two filters that convert there and back. */
  #otherType(type: Type, depth: number): string {
    const other = this.#r.pick((['int', 'float', 'bit'] as const).filter((each) => each !== type));
    const convert = (from: Type, to: Type): string => {
      const name = `F${++this.#names}`;
      const value = to === 'bit' ? '(bit) ((int) x & 1)' : from === 'float' ? '(int) (x * 8.0)' : 'x';
      this.#filters.push(`${from}->${to} filter ${name} { work pop 1 push 1 { ${from} x = pop(); push(${value}); } }`);
      return name;
    };
    const [there, back] = [convert(type, other), convert(other, type)];
    return `pipeline { add ${there}; add ${this.#stream(other, depth - 1)} add ${back}; }`;
  }

  /** Items packed into structs, which are copied, changed and taken apart again. */
  #structs(type: Type): string {
    const r = this.#r;
    const [pack, change, unpack] = [1, 2, 3].map(() => `F${++this.#names}`);
    const member = { int: 'a', float: 'b', bit: 'c' }[type];
    const peek = 1 + r.below(3);
    this.#filters.push(`${type}->P filter ${pack} { int n; work pop 1 push 1 { P p; p.${member} = pop(); p.d[n & 1] = n * ${1 + r.below(5)}; n++; push(p); } }
P->P filter ${change} { P old; work pop 1 push 1 peek ${peek} { P p = pop(); P q = ${peek > 1 ? `peek(${r.below(peek - 1)})` : 'p'}; q.d[${r.below(2)}] = p.d[1] + old.d[0];
      p.a += q.a; p.b = q.b * 0.5; p.c = p.c ^ q.c; p.d = q.d; old = p; push(r${change}(p)); } P r${change}(P x) { x.d[0] += x.d[1]; return x; } }
P->${type} filter ${unpack} { work pop 1 push 1 { P p = pop(); push(p.${member}${type === 'bit' ? '' : ` + p.d[${r.below(2)}] % 64`}); } }`);
    const middle = r.below(2) === 0 ? change : `splitjoin { split duplicate; add ${change}; add Identity<P>; join roundrobin(1, 1); }`;
    return `pipeline { add ${pack}; add ${middle}; add ${unpack}; }`;
  }

  #constant(type: Type): string {
    return type === 'bit' ? String(this.#r.below(2)) : type === 'int' ? String(this.#r.below(100)) : `${this.#r.below(100)}.${this.#r.below(100)}`;
  }

  #filter(type: Type, isEven = false, fixed?: { readonly pop: number; readonly push: number }): string {
    const r = this.#r;
    const name = `F${++this.#names}`;
    const pop = fixed?.pop ?? 1 + r.below(3);
    const push = fixed?.push ?? (isEven ? pop : 1 + r.below(3));
    const peek = pop + (fixed === undefined && r.below(3) === 0 ? 1 + r.below(4) : 0);
    const hasState = r.below(4) === 0;
    const hasPrework = r.below(8) === 0;
    const v: Variables = { scalars: ['a', 'b', ...(hasState ? ['s'] : [])], counters: [], peeks: peek, fields: r.below(3) === 0 ? ['u', 'm[0]', 'm[i & 1]', 'p.v'] : [] };
    const statements = Array.from({ length: 1 + r.below(4) }, () => this.#statement(type, v, 2)).join(' ');
    const moves = this.#moves(type, v, pop, push);
    const body = `${type} a = peek(${r.below(peek)}); ${type} b; b = ${this.#expression(type, v, 2)}; ${statements} ${moves}`;
    const helper = `${type} h(${type} x, ${type} y) { if (${this.#condition(type, ['x', 'y'])}) return ${type === 'bit' ? 'x ^ y' : 'x - y'}; return x; }`;
    const table = `int[4] t = {${r.below(9)}, ${r.below(9)}, ${r.below(9)}, 3};`;
    const arrays = v.fields.length === 0 ? '' : `${type}[4] u; ${type}[2][4] m; V${name} p; int i; init { g(u, m[1], ${this.#constant(type)}, 2); }`;
    const starts = `prework pop ${pop} push ${push} peek ${pop} { for (int i = 0; i < ${push}; i++) push(peek(0));
      for (int i = 0; i < ${pop}; i++) pop(); }`;
    const first = hasPrework ? starts : '';
    if (arrays !== '') this.#filters.push(`struct V${name} { ${type}[4] v; int n; }`);
    this.#filters.push(`${type}->${type} filter ${name} { ${hasState ? `${type} s;` : ''} ${arrays} ${table} ${helper} ${this.#changer(type, v)} ${first}
      work pop ${pop} push ${push} peek ${peek} { ${body} } }`);
    return name;
  }

  /** Functions that change arrays of their callers, which may be one and the same, or a field that they write too. */
  #changer(type: Type, { fields }: Variables): string {
    const r = this.#r;
    const [x, y] = r.below(2) === 0 ? ['x', 'y'] : ['y', 'x'];
    const sum = type === 'bit' ? '^' : '+';
    const field = fields.length > 0 ? `${r.pick(['u', 'm[i & 1]', 'p.v', 'm[1]'])}[${r.below(4)}] = ${x}[${r.below(4)}] ${sum} v; i++;` : '';
    const whole = r.below(3) === 0 ? `if (v == ${y}[0]) x = y;` : '';
    return `void g(${type}[4] x, ${type}[4] y, ${type} v, int d) { ${x}[d & 3] = ${y}[${r.below(4)}] ${sum} v; ${field} ${whole}
      for (int j = 1; j < 4; j++) { ${y}[j] = ${x}[j - 1] ${type === 'bit' ? '^' : '-'} ${y}[j]; } if (d > 0) g(${y}, ${x}, v, d - 1); }
      ${type} e(${type}[4] x, int k) { ${type}[4] z = x; g(z, ${r.pick(['x', 'z'])}, z[k & 3], ${r.below(2)}); return z[3] ${sum} x[${r.below(4)}]; }`;
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
    switch (r.below(8)) {
      case 0: return `if (${this.#condition(type, v.scalars)}) { ${inner()} } else ${inner()}`;
      case 1: return `for (int ${i} = 0; ${i} < ${1 + r.below(5)}; ${i}++) { ${inner()} }`;
      case 2: return `{ ${type}[4] ${i}; for (int j = 0; j < 4; j++) ${i}[j] = ${this.#expression(type, v, 1)}; ${target} = ${i}[t[${r.below(4)}] & 3]; }`;
      case 3: return `for (int ${i} = 0; ${i} < 6; ${i}++) { if (${this.#condition(type, v.scalars)}) ${r.pick(['break', 'continue'])}; ${inner()} }`;
      case 4: return `${target} = h(${this.#expression(type, v, 1)}, ${r.pick(v.scalars)});`;
      case 5: return `${target} = ${this.#expression(type, v, 3)};`;
      default: {
        const two = [i, i, ...v.fields];
        return `{ ${type}[4] ${i}; ${i}[${r.below(4)}] = ${this.#expression(type, v, 1)}; g(${r.pick(two)}, ${r.pick(two)}, ${r.pick(v.scalars)}, ${r.below(3)});
          ${target} = ${i}[${r.below(4)}]${type === 'bit' ? ' ^' : ' +'} e(${r.pick(two)}, (int) ${r.pick(v.scalars)}); }`;
      }
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
