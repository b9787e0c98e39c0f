// Random programs that do work for nothing: equal branches, items that are thrown away, zeros between items, sums that nobody reads.
import { Random } from '../emit/random-programs.ts';

/** Filters by the name of their declaration, with arguments: equal calls are equal code. */
const declarations = `
float->float filter Fir(int taps, int pops, float shift) {
  float[taps] h;
  init { for (int i = 0; i < taps; i++) h[i] = sin(i * 0.7 + shift); }
  work pop pops push 1 peek taps + pops { float s = 0; for (int i = 0; i < taps; i++) s += h[i] * peek(i); push(s); for (int i = 0; i < pops; i++) pop(); }
}
float->float filter Backward(int taps, float shift) {
  float[taps] h;
  init { for (int i = 0; i < taps; i++) h[i] = i % 5 == 3 ? 0 : cos(i * shift); }
  work pop 1 push 1 peek taps { float s = 0; for (int i = taps - 1; i >= 0; i--) s = s + peek(taps - 1 - i) * h[i]; push(s); pop(); }
}
float->float filter Negative(int taps) {
  work pop 1 push 1 peek taps { float s = peek(0) * -1; for (int i = 1; i < taps; i++) s += peek(i) * -0.5; push(s); pop(); }
}
float->float filter Wild(int taps, float at) {
  float[taps] h;
  init { for (int i = 0; i < taps; i++) h[i] = i == at ? 1 / 0.0 : i; }
  work pop 1 push 1 peek taps { float s = 0; for (int i = 0; i < taps; i++) s += h[i] * peek(i); push(s < 0 ? 1 : s > 3 ? 2 : s); pop(); }
}
float->float filter Expand(int factor, float filler) { work pop 1 push factor { push(pop()); for (int i = 1; i < factor; i++) push(filler); } }
float->float filter Late(int factor) { work pop 1 push factor { for (int i = 1; i < factor; i++) push(0); push(pop()); } }
float->float filter Thin(int factor, int keep) {
  work pop factor push 1 { for (int i = 0; i < keep; i++) pop(); push(pop()); for (int i = keep + 1; i < factor; i++) pop(); }
}
float->float filter Ends(int factor) { work pop factor push 2 { push(peek(factor - 1)); push(peek(0)); for (int i = 0; i < factor; i++) pop(); } }
float->float filter Delay(int samples, float value) {
  prework push samples { for (int i = 0; i < samples; i++) push(value); }
  work pop 1 push 1 { push(pop()); }
}
float->float filter Late2(int samples) {
  prework pop 1 push samples peek 1 { for (int i = 0; i < samples; i++) push(peek(0) * i); pop(); }
  work pop 1 push 1 { push(pop()); }
}
float->float filter Gain(float g) { work pop 1 push 1 { push(pop() * g); } }
float->float filter Clip { work pop 1 push 1 { float x = pop(); push(x > 0.5 ? x - 0.5 : x < -0.5 ? x + 0.5 : 0); } }
float->float filter Smooth(float a) { float y; work pop 1 push 1 { y = y * a + pop(); push(y); } }
float->float filter Count { work pop 1 push 1 { push(pop() + iter() % 7); } }
float->float filter Table(int n) { int[n] t; init { for (int i = 0; i < n; i++) t[i] = i; } work pop 1 push 1 { float x = pop(); push(t[(int) abs(x) % n] + x); } }
float->float filter May(int n) { float[n] t; work pop 1 push 1 { float x = pop(); t[(int) abs(x)] = x; push(t[0]); } }
float->float filter Lags(int window, int from) {
  work pop 2 push 1 peek window + 2 {
    float best = 0;
    for (int lag = 0; lag < window; lag++) {
      float sum = 0;
      for (int i = lag; i < window; i++) sum += peek(i) * peek(i - lag);
      if (lag >= from) best = max(best, sum);
    }
    push(best); pop(); pop();
  }
}
float->float filter Parts(int n) {
  work pop n push 2 {
    float[n] y; float[n] z;
    for (int i = 0; i < n; i++) y[i] = peek(i) * 0.25 + i;
    for (int i = 0; i < n; i++) z[i] = i % 2 == 0 ? y[i] * y[n - 1 - i] : sqrt(abs(y[i]));
    push(z[0] + y[1]); push(z[n - 1]); for (int i = 0; i < n; i++) pop();
  }
}
float->float filter Every(int n) { work pop n push 1 { float s = 0; for (int i = 0; i < n; i += 2) s += peek(i); push(s); for (int i = 0; i < n; i++) pop(); } }
`;

class Maker {
  readonly #r: Random;
  constructor(seed: number) {
    this.#r = new Random(seed);
  }

  program(): string {
    return `${declarations}\nfloat->float pipeline Main { ${Array.from({ length: 1 + this.#r.below(3) }, () => this.#stream(2)).join(' ')} }`;
  }

  /** A filter that gives as many items as it takes. */
  #even(): string {
    const r = this.#r;
    return r.pick([
      `Fir(${2 + r.below(14)}, 1, ${r.below(3)})`, `Backward(${2 + r.below(20)}, 0.${1 + r.below(3)})`, `Negative(${1 + r.below(6)})`,
      `Wild(${2 + r.below(8)}, ${r.below(8)})`, `Delay(${r.below(9)}, 0)`, `Delay(${1 + r.below(9)}, ${r.pick(['0', '0', '-0.0', '1.5'])})`,
      `Late2(${1 + r.below(4)})`, `Gain(${r.pick(['0.5', '-2', '0', '1'])})`, 'Clip', `Smooth(0.${1 + r.below(2)})`, 'Count', 'Table(5)',
      `Fir(${9 + r.below(30)}, 1, ${r.below(3)})`, 'Identity<float>', 'May(1000)',
    ]);
  }

  #any(): string {
    const r = this.#r;
    const n = 2 + r.below(7);
    return r.pick([
      this.#even(), this.#even(), `Expand(${n}, ${r.pick(['0', '0', '0', '-0.0', '2', '0.0 / 0'])})`, `Late(${n})`, `Thin(${n}, ${r.below(n)})`,
      `Ends(${n})`, `Lags(${4 + r.below(12)}, ${r.below(4)})`, `Parts(${n})`, `Every(${n})`, `Fir(${2 + r.below(14)}, ${1 + r.below(4)}, 0)`,
    ]);
  }

  #stream(depth: number): string {
    const r = this.#r;
    const kind = depth === 0 ? 0 : r.below(6);
    if (kind < 2) return `add ${this.#any()};`;
    if (kind === 2) {
      const n = 2 + r.below(7);
      return r.pick([
        `add Expand(${n}, 0); add Delay(${r.below(12)}, 0); add Fir(${2 + r.below(30)}, 1, 1);`,
        `add Expand(${2 + r.below(2)}, 0); add Delay(${r.below(9)}, 0); add ${r.pick(['Fir(31, 1, 1)', 'Fir(40, 1, 2)', 'Backward(27, 0.2)'])};`,
        `add Late(${n}); add Backward(${2 + r.below(30)}, 0.3); add Delay(${r.below(5)}, 0); add Thin(${n}, ${r.below(n)});`,
        `add Fir(${2 + r.below(30)}, 1, 1); add Delay(${r.below(12)}, ${r.below(2)}); add Thin(${n}, ${r.below(n)});`,
        `add Fir(${9 + r.below(12)}, 1, 1); add Backward(${2 + r.below(n)}, 0.2); add Delay(1, 0); add Thin(${3 * n}, ${r.below(n)});`,
      ]);
    }
    if (kind === 3) return `add pipeline { ${Array.from({ length: 1 + r.below(3) }, () => this.#stream(depth - 1)).join(' ')} };`;
    // Branches that keep rates, some of them equal or equal at their beginning.
    const branches: string[] = [];
    for (let i = 1 + r.below(3); i >= 0; --i) {
      const former = branches.length === 0 ? undefined : r.pick(branches);
      const chain = Array.from({ length: 1 + r.below(3) }, () => `add ${this.#even()};`).join(' ');
      branches.push(former === undefined || r.below(3) === 0 ? chain : r.below(2) === 0 ? former : `${former} ${chain}`);
    }
    const weights = branches.map(() => 1 + r.below(3)).join();
    const children = branches.map((branch) => `add pipeline { ${branch} };`).join(' ');
    const nested = r.below(3) === 0 ? `add splitjoin { split duplicate; add pipeline { ${branches[0]} }; add Gain(3); join roundrobin; }; add Thin(2, ${r.below(2)});` : '';
    return r.pick([
      `add splitjoin { split duplicate; ${children} ${nested === '' ? '' : `add pipeline { ${nested} };`} join roundrobin; };`,
      `add splitjoin { split duplicate; ${children} join roundrobin; }; add Thin(${branches.length}, ${r.below(branches.length)});`,
      `add splitjoin { split roundrobin(${weights}); ${children} join roundrobin(${weights}); };`,
    ]);
  }
}

/** The program of a seed. */
export function wastefulProgram(seed: number): string {
  return new Maker(seed).program();
}
