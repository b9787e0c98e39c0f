// Random graphs of all shapes: rates from 1 to 16, windows, delays, nested split-joins with unequal branches, weights of zero, and items
// that are numbers, arrays or structs; if asked, with state and feedback loops. The weights of joiners are computed from the rates of the
// branches, so that all graphs balance.
import { Random } from './random-programs.ts';

/** Items out per item in, in lowest terms. */
type Gain = readonly [out: number, into: number];
type Part = readonly [text: string, gain: Gain];
type Items = 'int' | 'float' | 'int[2]' | 'S';

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

function gain(out: number, into: number): Gain {
  const common = gcd(out, into);
  return [out / common, into / common];
}

const times = (a: Gain, b: Gain): Gain => gain(a[0] * b[0], a[1] * b[1]);
const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
/** The largest gains, so that steady states stay small. */
const most = { branch: 60, whole: 200 };

class Maker {
  readonly #r: Random;
  readonly #filters: string[] = [];
  readonly #items: Items;
  readonly #isInOrder: boolean;

  constructor(seed: number, isInOrder: boolean) {
    this.#r = new Random(seed);
    this.#isInOrder = isInOrder;
    this.#items = this.#r.pick(isInOrder ? ['int', 'float'] : ['int', 'float', 'int[2]', 'S']);
  }

  program(): { source: string; type: 'int' | 'float' } {
    const [text] = this.#chain(1 + this.#r.below(4), 3, most.whole);
    const type = this.#items === 'float' ? 'float' : 'int';
    const [before, behind] = {
      int: ['', ''], float: ['', ''],
      'int[2]': ['int->int[2] filter { work pop 2 push 1 { int[2] a; a[0] = pop(); a[1] = pop(); push(a); } }',
        'int[2]->int filter { work pop 1 push 2 { int[2] a = pop(); push(a[0]); push(a[1]); } }'],
      S: ['int->S filter { work pop 1 push 1 { S s; s.a = pop(); s.b = s.a * 0.5; push(s); } }',
        'S->int filter { work pop 1 push 2 { S s = pop(); push(s.a); push((int) s.b); } }'],
    }[this.#items].map((each) => (each === '' ? '' : `add ${each};`));
    return { type, source: `struct S { int a; float b; }\n${this.#filters.join('\n')}\n${type}->${type} pipeline Main { ${before} ${text} ${behind} }` };
  }

  /** Streams in sequence, as long as the gain stays small. */
  #chain(count: number, depth: number, limit: number): Part {
    const parts: string[] = [];
    let whole: Gain = [1, 1];
    for (let i = 0; i < count; ++i) {
      const [text, own] = this.#stream(depth);
      const both = times(whole, own);
      if (Math.max(...both) > limit) continue;
      parts.push(text);
      whole = both;
    }
    return parts.length === 0 ? [`add Identity<${this.#items}>;`, [1, 1]] : [parts.join(' '), whole];
  }

  #stream(depth: number): Part {
    const r = this.#r;
    if (this.#isInOrder && depth > 0 && r.below(4) === 0) return this.#loop();
    switch (depth === 0 ? 0 : r.below(6)) {
      case 1: {
        const [text, own] = this.#chain(1 + r.below(3), depth - 1, most.branch);
        return [`add pipeline { ${text} };`, own];
      }
      case 2: case 3: case 4: return this.#splitJoin(depth) ?? this.#stream(0);
      default: {
        if (r.below(6) === 0) return [`add Identity<${this.#items}>;`, [1, 1]];
        const pop = r.pick([1, 1, 2, 3, 4, 5, 7, 8, 11, 16]);
        const push = r.pick([1, 1, 2, 3, 4, 5, 7, 8, 13, 16, pop, pop, pop, pop]);
        return [`add ${this.#filter(pop, push, pop + (r.below(3) === 0 ? r.below(20) : 0))};`, gain(push, pop)];
      }
    }
  }

  /** A feedback loop whose body takes items from outside and from behind, and gives to both. */
  #loop(): Part {
    const r = this.#r;
    const [taken, given, back] = [1 + r.below(5), 1 + r.below(5), 1 + r.below(4)];
    const both = taken + back, ahead = r.below(3) === 0 ? r.below(6) : 0, late = r.below(3) === 0 ? r.below(4) : 0;
    const body = this.#filter(both, given + back, both + ahead);
    const behind = r.below(2) === 0 ? `Identity<${this.#items}>` : this.#filter(back, back, back + late);
    // What windows reach beyond has to stand on the way back.
    const waiting = back * (1 + Math.ceil(ahead / both) + Math.ceil(late / back)) + r.pick([0, 0, 1, 3, 17, 40, 200]);
    return [`add feedbackloop { join roundrobin(${taken}, ${back}); body ${body}; loop ${behind}; split roundrobin(${given}, ${back});
      for (int i = 0; i < ${waiting}; i++) enqueue i % 7 - 3; };`, gain(given, taken)];
  }

  #splitJoin(depth: number): Part | undefined {
    const r = this.#r;
    const isCopied = r.below(2) === 0;
    const branches = Array.from({ length: 1 + r.below(4) }, () => this.#stream(depth - 1));
    const weights = branches.map(() => (isCopied ? 1 : 1 + r.below(5)));
    // Items per firing of the splitter, and the number of firings that makes them whole numbers.
    const each = branches.map(([, own], i) => times([weights[i]!, 1], own));
    const firings = each.reduce((least, [, into]) => least / gcd(least, into) * into, 1);
    const joined = each.map(([out, into]) => out * firings / into);
    const taken = firings * (isCopied ? 1 : sum(weights));
    if (Math.max(...joined) > most.whole || firings > most.branch) return undefined;
    // The joiner takes all of these items in one firing or in several.
    const rounds = r.below(2) === 0 ? joined.reduce(gcd) : 1;
    const taking = joined.map((items) => items / rounds);
    const constant = !isCopied && (this.#items === 'int' || this.#items === 'float') && r.below(5) === 0 ? 1 + r.below(3) : 0;
    const own = gain((sum(taking) + constant) * rounds, taken);
    if (Math.max(...own) > most.whole) return undefined;
    const source = constant === 0 ? '' : `add void->${this.#items} filter { work push 1 { push(${r.below(9)}); } };`;
    const split = isCopied ? 'duplicate' : `roundrobin(${[...weights, ...(constant === 0 ? [] : [0])].join()})`;
    const join = [...taking, ...(constant === 0 ? [] : [constant])].join();
    return [`add splitjoin { split ${split}; ${branches.map(([text]) => `add pipeline { ${text} };`).join(' ')} ${source} join roundrobin(${join}); };`, own];
  }

  #filter(pop: number, push: number, peek: number): string {
    const r = this.#r;
    const items = this.#items;
    const name = `F${this.#filters.length}`;
    const isNumber = items === 'int' || items === 'float';
    const two = (): readonly [string, string] => [`peek(${r.below(peek)})`, `peek(${r.below(peek)})`];
    const pushes = Array.from({ length: push }, () => {
      const [a, b] = two();
      if (items === 'S') return `{ S x = ${a}; S y = ${b}; x.a = x.a + y.a; x.b = x.b - y.a; push(x); }`;
      if (items === 'int[2]') return `{ int[2] x = ${a}; int[2] y = ${b}; x[0] += y[1]; x[1] -= y[0] & 7; push(x); }`;
      return `push(${a} * ${1 + r.below(4)}${items === 'float' ? '.5' : ''} - ${b});`;
    });
    const sums = `for (int i = 0; i < ${push}; i++) { ${items} s = ${r.below(5)};
      for (int j = 0; j < ${peek}; j++) s += peek(j) * ((i + j) % ${2 + r.below(4)} - 1); push(s); }`;
    const hasState = this.#isInOrder && r.below(3) === 0;
    const late = isNumber && r.below(10) === 0 ? 1 + r.below(6) : 0;
    const prework = late === 0 ? '' : `prework push ${late} { for (int i = 0; i < ${late}; i++) push(i); }`;
    const step = !hasState ? '' : items === 'int' ? r.pick(['(s ^ (s << 3)) + peek(0)', 's * 5 + peek(0) % 9', '(s + peek(0)) & 63', 's + iter()'])
      : r.pick(['s * 0.75 + peek(0)', 'peek(0) > s ? peek(0) : s - 1.0']);
    if (hasState) pushes[0] = `{ s = ${step}; push(s); }`;
    this.#filters.push(`${items}->${items} filter ${name} { ${hasState ? `${items} s; ` : ''}${prework} work pop ${pop} push ${push} peek ${peek} {
      ${isNumber && !hasState && r.below(3) === 0 ? sums : pushes.join(' ')} for (int i = 0; i < ${pop}; i++) pop(); } }`);
    return name;
  }
}

/** The program of a seed, and the type of its input and output. `isInOrder`: with state and feedback loops, and items that are numbers. */
export function shapeProgram(seed: number, isInOrder = false): { source: string; type: 'int' | 'float' } {
  return new Maker(seed, isInOrder).program();
}
