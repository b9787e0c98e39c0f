// Random programs of linear filters, with some between them that must stay, and for each a majorant: the same program with the absolute
// values of all factors. Its output for absolute inputs bounds the sums over all paths, and so what rounding can change.
import { Random } from '../emit/random-programs.ts';

export type Items = 'int' | 'float' | 'double';

function declarations(type: Items, isMajorant: boolean): string {
  // Factors: small whole numbers for ints, whose products wrap.
  const factor = (x: string): string => {
    const value = type === 'int' ? `(int) (${x} * 100000)` : x;
    return isMajorant ? `abs(${value})` : value;
  };
  const minus = isMajorant ? '+' : '-';
  return `
${type}->${type} filter Fir(int taps, int pops, float shift) {
  ${type}[taps] h;
  init { for (int i = 0; i < taps; i++) h[i] = ${factor('sin(i * 0.7 + shift)')}; }
  work pop pops push 1 peek taps + pops { ${type} s = 0; for (int i = 0; i < taps; i++) s += h[i] * peek(i); push(s); for (int i = 0; i < pops; i++) pop(); }
}
${type}->${type} filter Mat(int pops, int pushes, int peeks, float shift) {
  ${type}[pushes][peeks] h;
  init { for (int r = 0; r < pushes; r++) for (int i = 0; i < peeks; i++) h[r][i] = (r + i) % 3 == 1 ? 0 : ${factor('cos(i * 1.3 + r * shift)')}; }
  work pop pops push pushes peek peeks {
    ${type}[peeks] x;
    for (int i = 0; i < peeks; i++) x[i] = peek(i);
    for (int r = 0; r < pushes; r++) { ${type} s = ${factor('sin(r + shift)')}; for (int i = 0; i < peeks; i++) s += x[i] * h[r][i]; push(s); }
    for (int i = 0; i < pops; i++) pop();
  }
}
${type}->${type} filter Expand(int factor, ${type} filler) { work pop 1 push factor { push(pop()); for (int i = 1; i < factor; i++) push(filler); } }
${type}->${type} filter Thin(int factor, int keep) {
  work pop factor push 1 { for (int i = 0; i < keep; i++) pop(); push(pop()); for (int i = keep + 1; i < factor; i++) pop(); }
}
${type}->${type} filter Gain(${type} g) { work pop 1 push 1 { push(pop() * ${isMajorant ? 'abs(g)' : 'g'}); } }
${type}->${type} filter Less(int n) { work pop n push 1 { ${type} s = pop(); for (int i = 1; i < n; i++) s = s ${minus} pop(); push(s); } }
${type}->${type} filter Swap { work pop 2 push 2 { push(peek(1)); push(pop()); pop(); } }
${type}->${type} filter Negate { work pop 1 push 1 { push(${isMajorant ? '' : '-'}pop()); } }
${type}->${type} filter Smooth { ${type} y; work pop 1 push 1 { y = ${type === 'int' ? 'y * 3' : 'y * 0.25'} + pop(); push(y); } }
${type}->${type} filter Late(int samples) { prework push samples { for (int i = 0; i < samples; i++) push(i); } work pop 1 push 1 { push(pop()); } }
${type}->${type} filter Bent { work pop 1 push 1 { ${type} x = pop(); push(x > 0 ? x : ${type === 'int' ? 'x * x' : 'x'}); } }
`;
}

class Maker {
  readonly #r: Random;
  readonly #type: Items;
  constructor(seed: number, type: Items) {
    this.#r = new Random(seed);
    this.#type = type;
  }

  body(): string {
    return Array.from({ length: 1 + this.#r.below(4) }, () => this.#stream(2)).join(' ');
  }

  /** A filter that gives as many items as it takes. */
  #even(): string {
    const r = this.#r, n = 1 + r.below(3);
    return r.pick([
      `Fir(${2 + r.below(14)}, 1, ${r.below(3)})`, `Fir(${2 + r.below(5)}, 1, ${r.below(3)})`, `Mat(1, 1, ${1 + r.below(5)}, 0.${1 + r.below(8)})`,
      `Mat(${n}, ${n}, ${n + r.below(4)}, 0.${1 + r.below(8)})`, `Gain(${r.pick(['2', '-1', '0', '1', '3'])})`, 'Swap', 'Negate',
      `Identity<${this.#type}>`, 'Smooth', 'Bent', `Late(${r.below(4)})`,
    ]);
  }

  #any(): string {
    const r = this.#r, n = 2 + r.below(4);
    return r.pick([
      this.#even(), this.#even(), `Expand(${n}, ${r.below(2)})`, `Thin(${n}, ${r.below(n)})`, `Less(${n})`,
      `Fir(${2 + r.below(14)}, ${1 + r.below(4)}, 0)`, `Mat(${n}, ${1 + r.below(5)}, ${n + r.below(4)}, 0.${1 + r.below(8)})`,
    ]);
  }

  #stream(depth: number): string {
    const r = this.#r;
    const kind = depth === 0 ? 0 : r.below(5);
    if (kind < 3) return `add ${this.#any()};`;
    if (kind === 3) return `add pipeline { ${Array.from({ length: 1 + r.below(3) }, () => this.#stream(depth - 1)).join(' ')} };`;
    const n = 2 + r.below(2);
    const thin = r.below(2) === 0 ? '' : `add Fir(${2 + r.below(4)}, ${n}, 1);`;
    const branches = Array.from({ length: 1 + r.below(3) }, () =>
      `${Array.from({ length: 1 + r.below(2) }, () => `add ${this.#even()};`).join(' ')} ${thin}`);
    const weights = branches.map(() => 1 + r.below(3)).join();
    const children = branches.map((branch) => `add pipeline { ${branch} };`).join(' ');
    return r.pick([
      `add splitjoin { split duplicate; ${children} join roundrobin; };`,
      `add splitjoin { split duplicate; ${children} join roundrobin; }; add Less(${branches.length});`,
      `add splitjoin { split roundrobin(${weights}); ${children} join roundrobin(${weights}); };`,
    ]);
  }
}

/** The program of a seed, and its majorant. */
export function linearProgram(seed: number, type: Items): { readonly source: string; readonly majorant: string } {
  const body = `${type}->${type} pipeline Main { ${new Maker(seed, type).body()} }`;
  return { source: declarations(type, false) + body, majorant: declarations(type, true) + body };
}
