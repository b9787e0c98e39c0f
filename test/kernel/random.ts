// Random programs with all operations and types, nasty numbers, nested loops, early exits, calls and traps; and what a run of one gives.
import {
  binary, bool, branch, call, compare, compareOps, convert, exact, extract, f32, f64, forLoop, get, guard, i32, isVector, lanes, lanesOf, load, logic, math,
  libraryFunctions,
  mathFunctions, select, set, splat, store, trap, unary, vectorOf, whileLoop, word, wordParts, words as together, type BinaryOp, type Body, type Buffer, type Expression,
  type Import, type KernelFunction, type Label, type Local, type MathName, type Program, type ScalarType, type Statement, type Type, type UnaryOp, type VectorType, type Word,
} from '../../lib/kernel/ir.ts';
import { Machine, Trap, type Elements } from '../../lib/kernel/interpret.ts';

export const length = 16;
const ints = [0, 1, -1, 2, 3, 7, 31, 32, 33, -2147483648, 2147483647, 65536, -65537];
const floats = [0, -0, 1, -1, 0.5, 1.5, 2.5, -2.5, -0.5, Infinity, -Infinity, NaN, 1e-45, 3.4e38, 2147483647.5, -2147483648.5, 16777217,
  1e300, 5e-324, 0.1, 3, -7.25];
const scalars = ['i32', 'f32', 'f64'] as const;
const vectors = ['i32x4', 'f32x4', 'f64x2'] as const;
const intBinary: readonly BinaryOp[] = ['add', 'sub', 'mul', 'min', 'max', 'band', 'bor', 'xor', 'shl', 'shr', 'shr_u'];
const floatBinary: readonly BinaryOp[] = ['add', 'sub', 'mul', 'div', 'min', 'max'];
const floatUnary: readonly UnaryOp[] = ['neg', 'abs', 'sqrt', 'floor', 'ceil', 'rint'];
const words: readonly Type[] = [...scalars, 'bool', ...vectors];

const wordUnlessNaN = (part: Word, x: Expression, otherwise: Expression): Expression => select(compare('eq', x, x), word(part, x), otherwise);
/** Numbers in [0, 1), the same for the same seed. */
export function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export interface RandomOptions {
  readonly vectors?: boolean;
}

/** What a function may use at a place. */
interface Scope {
  readonly known: readonly Local[];
  readonly labels: readonly { readonly label: Label; readonly isLoop: boolean }[];
  /** Counters of loops around. */
  readonly counters: readonly Local[];
  readonly depth: number;
}

class Maker {
  readonly #random: () => number;
  readonly #options: RandomOptions;
  readonly #buffers: Buffer[];
  readonly #functions: KernelFunction[] = [];
  readonly #note: Import = { name: 'note', parameters: ['i32', 'f64'], results: ['f64'] };
  #own: Buffer[] = [];
  #next = 0;
  #results: readonly Type[] = [];

  constructor(seed: number, options: RandomOptions) {
    this.#random = generator(seed);
    this.#options = options;
    const table = (element: ScalarType) => Array.from({ length: 8 }, () => this.#constant(element));
    this.#buffers = scalars.flatMap((element): Buffer[] => [
      { name: `x_${element}`, element, role: 'external', length },
      { name: `r_${element}`, element, role: 'external', length: undefined, isReadOnly: true },
      { name: `g_${element}`, element, role: 'global', length, initial: table(element) },
      { name: `t_${element}`, element, role: 'constant', length, initial: table(element) },
    ]);
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!;
  }

  #chance(p: number): boolean {
    return this.#random() < p;
  }

  #name(prefix: string): string {
    return `${prefix}${++this.#next}`;
  }

  #constant(type: ScalarType): number {
    if (type === 'i32') return this.#chance(0.7) ? this.#pick(ints) : (this.#random() * 4294967296) | 0;
    const x = this.#chance(0.6) ? this.#pick(floats) : (this.#random() - 0.5) * 2 ** this.#below(40);
    return type === 'f32' ? Math.fround(x) : x;
  }

  program(): Program {
    const count = 1 + this.#below(3);
    for (let i = 0; i < count; ++i) this.#functions.push(this.#function(i === count - 1 ? 'main' : `part${i}`));
    return { buffers: this.#buffers, imports: [this.#note], functions: this.#functions };
  }

  #function(name: string): KernelFunction {
    const parameters: Local[] = [...scalars].map((type) => ({ name: this.#name('p'), type }));
    this.#own = this.#chance(0.6) ? [{ name: this.#name('own'), element: this.#pick(scalars), role: 'local', length }] : [];
    this.#results = name === 'main' ? scalars : [this.#pick(scalars)];
    const zero: Statement[] = this.#own.flatMap((buffer): Body => {
      const fill: Statement = { kind: 'fill', buffer, index: i32(0), count: i32(length) };
      return this.#chance(0.5) ? [fill] : [fill, this.#each(buffer, parameters)];
    });
    const scope: Scope = { known: parameters, labels: [], counters: [], depth: 0 };
    const [body, after] = this.#statements(scope, 4 + this.#below(6));
    const values = this.#results.map((type) => this.#expression(after, type, 2));
    return { name, parameters, results: this.#results, buffers: this.#own, body: [...zero, ...body, { kind: 'return', values }] };
  }

  /** A loop that sets all elements of a buffer: the kind that vectors are made for. */
  #each(buffer: Buffer, known: readonly Local[]): Statement {
    const counter: Local = { name: this.#name('i'), type: 'i32' };
    const local: Local = { name: this.#name('v'), type: buffer.element };
    const from = this.#buffers.filter(({ element }) => element === buffer.element);
    const part = (): Expression => (this.#chance(0.6) ? load(this.#pick(from), get(counter)) : get(this.#pick(known.filter(({ type }) =>
      type === buffer.element))));
    const op = (): BinaryOp => this.#pick(buffer.element === 'i32' ? intBinary.slice(0, 8) : floatBinary);
    return forLoop({ name: this.#name('L') }, counter, { from: i32(0), to: i32(length) }, [
      set(local, binary(op(), part(), part())), store(buffer, get(counter), binary(op(), get(local), part())),
    ]);
  }

  #statements(scope: Scope, count: number): [Body, Scope] {
    const body: Statement[] = [];
    let now = scope;
    for (let i = 0; i < count; ++i) {
      const [made, after] = this.#statement(now);
      body.push(...made);
      now = after;
    }
    return [body, now];
  }

  #type(): Type {
    const list = this.#options.vectors === false ? words.slice(0, 4) : words;
    return this.#pick(list);
  }

  #statement(scope: Scope): [Body, Scope] {
    const nested = scope.depth < 3;
    switch (this.#below(nested ? 13 : 8)) {
      case 0: case 1: case 2: return this.#set(scope);
      case 3: case 4: return [[this.#store(scope)], scope];
      case 5: return [[this.#move(scope)], scope];
      case 6: return this.#call(scope);
      case 7: return [this.#leave(scope), scope];
      case 8: case 9: {
        const [then] = this.#statements({ ...scope, depth: scope.depth + 1 }, 1 + this.#below(3));
        const [otherwise] = this.#statements({ ...scope, depth: scope.depth + 1 }, this.#below(3));
        return [[branch(this.#expression(scope, 'bool', 2), then, otherwise)], scope];
      }
      case 10: case 11: return [this.#loop(scope), scope];
      default: {
        const label = { name: this.#name('B') };
        const inner = { ...scope, labels: [...scope.labels, { label, isLoop: false }], depth: scope.depth + 1 };
        return [[{ kind: 'block', label, body: this.#statements(inner, 1 + this.#below(3))[0] }], scope];
      }
    }
  }

  #set(scope: Scope): [Body, Scope] {
    const old = scope.known.filter((local) => !scope.counters.includes(local) && local.range === undefined);
    if (old.length > 0 && this.#chance(0.5)) {
      const local = this.#pick(old);
      return [[set(local, this.#expression(scope, local.type, 3))], scope];
    }
    if (this.#chance(0.15)) {
      const local: Local = { name: this.#name('v'), type: 'i32', range: [0, 7] };
      return [[set(local, this.#index(scope, 8))], { ...scope, known: [...scope.known, local] }];
    }
    const local: Local = { name: this.#name('v'), type: this.#type() };
    return [[set(local, this.#expression(scope, local.type, 3))], { ...scope, known: [...scope.known, local] }];
  }

  #writable(): Buffer {
    return this.#pick([...this.#buffers.filter(({ role, isReadOnly }) => role !== 'constant' && isReadOnly !== true), ...this.#own]);
  }

  /** An index below `most`, a power of two. */
  #index(scope: Scope, most: number): Expression {
    const fitting = scope.known.filter(({ range }) => range !== undefined && range[1] < most);
    if (fitting.length > 0 && this.#chance(0.5)) return get(this.#pick(fitting));
    return this.#chance(0.2) ? i32(this.#below(most)) : binary('band', this.#expression(scope, 'i32', 1), i32(most - 1));
  }

  #store(scope: Scope): Statement {
    const buffer = this.#writable();
    const vector = vectorOf[buffer.element];
    const type = this.#options.vectors !== false && this.#chance(0.3) ? vector : buffer.element;
    const index = this.#index(scope, 8);
    const offset = this.#chance(0.5) ? 0 : this.#below(length - 7 - lanesOf[type] + 1);
    return store(buffer, index, this.#expression(scope, type, 3), offset);
  }

  #move(scope: Scope): Statement {
    const to = this.#writable();
    const count = i32(this.#below(9));
    if (this.#chance(0.4)) return { kind: 'fill', buffer: to, index: this.#index(scope, 8), count };
    const from = this.#pick([...this.#buffers, ...this.#own].filter(({ element }) => element === to.element));
    return { kind: 'copy', to, toIndex: this.#index(scope, 8), from, fromIndex: this.#index(scope, 8), count };
  }

  #call(scope: Scope): [Body, Scope] {
    if (this.#functions.length === 0 || this.#chance(0.4)) {
      const result: Local = { name: this.#name('v'), type: 'f64' };
      const args = [this.#expression(scope, 'i32', 2), this.#expression(scope, 'f64', 2)];
      return [[call('note', args, [result])], { ...scope, known: [...scope.known, result] }];
    }
    const f = this.#pick(this.#functions);
    const results = f.results.map((type): Local => ({ name: this.#name('v'), type }));
    const args = f.parameters.map(({ type }) => this.#expression(scope, type, 2));
    return [[call(f.name, args, results)], { ...scope, known: [...scope.known, ...results] }];
  }

  /** What leaves, or may: under a condition. */
  #leave(scope: Scope): Body {
    const site = this.#below(1000);
    if (this.#chance(0.3)) return [guard(this.#mostly(scope), site, this.#expression(scope, 'f64', 1))];
    const exits: Statement[] = [{ kind: 'return', values: this.#results.map((type) => this.#expression(scope, type, 1)) }];
    for (const { label, isLoop } of scope.labels) {
      exits.push({ kind: 'break', label });
      if (isLoop) exits.push({ kind: 'continue', label });
    }
    if (this.#chance(0.1)) exits.push(trap(site, this.#expression(scope, 'f64', 1)));
    return [branch(this.#expression(scope, 'bool', 2), [this.#pick(exits)])];
  }

  /** A condition that holds in most cases. */
  #mostly(scope: Scope): Expression {
    return logic('or', compare('ne', binary('band', this.#expression(scope, 'i32', 1), i32(15)), i32(5)), this.#expression(scope, 'bool', 1));
  }

  #loop(scope: Scope): Body {
    const label = { name: this.#name('L') };
    const counter: Local = { name: this.#name('i'), type: 'i32' };
    const depth = scope.depth + 1;
    const labels = [...scope.labels, { label, isLoop: true }];
    if (this.#chance(0.6)) {
      const from = this.#chance(0.7) ? i32(this.#below(4)) : this.#index(scope, 4);
      const to = this.#chance(0.5) ? i32(this.#below(9)) : this.#index(scope, 8);
      const inner = { known: [...scope.known, counter], labels, counters: [...scope.counters, counter], depth };
      return [forLoop(label, counter, { from, to, step: 1 + this.#below(3) }, this.#statements(inner, 1 + this.#below(4))[0])];
    }
    const inner = { known: [...scope.known, counter], labels, counters: [...scope.counters, counter], depth };
    const step = set(counter, binary('add', get(counter), i32(1)));
    const most = compare('lt', get(counter), i32(1 + this.#below(6)));
    const condition = this.#chance(0.5) ? most : logic('and', most, this.#expression({ ...scope, known: inner.known }, 'bool', 1));
    return [set(counter, i32(0)), whileLoop(label, condition, [step, ...this.#statements(inner, 1 + this.#below(4))[0]])];
  }

  #expression(scope: Scope, type: Type, depth: number): Expression {
    const locals = scope.known.filter((local) => local.type === type);
    if (locals.length > 0 && this.#chance(depth === 0 ? 0.8 : 0.25)) return get(this.#pick(locals));
    if (type === 'bool') return this.#condition(scope, depth);
    if (isVector(type)) return this.#vector(scope, type, depth);
    if (depth === 0) return type === 'i32' ? i32(this.#constant('i32')) : type === 'f32' ? f32(this.#constant('f32')) : f64(this.#constant('f64'));
    if (this.#chance(0.2)) return this.#load(scope, type, type);
    if (this.#chance(0.1)) return select(this.#expression(scope, 'bool', depth - 1), ...this.#two(scope, type, depth));
    if (this.#options.vectors !== false && this.#chance(0.1)) {
      return extract(this.#expression(scope, vectorOf[type], depth - 1), this.#below(lanesOf[vectorOf[type]]));
    }
    return type === 'i32' ? this.#int(scope, depth) : this.#float(scope, type, depth);
  }

  #two(scope: Scope, type: Type, depth: number): [Expression, Expression] {
    return [this.#expression(scope, type, depth - 1), this.#expression(scope, type, depth - 1)];
  }

  #load(scope: Scope, element: ScalarType, type: Type): Expression {
    const buffer = this.#pick([...this.#buffers, ...this.#own].filter((each) => each.element === element));
    return load(buffer, this.#index(scope, 8), this.#chance(0.5) ? 0 : this.#below(length - 7 - lanesOf[type] + 1), type);
  }

  #int(scope: Scope, depth: number): Expression {
    const [a, b] = this.#two(scope, 'i32', depth);
    switch (this.#below(9)) {
      case 8: return wordUnlessNaN(this.#pick(wordParts), this.#expression(scope, 'f64', depth - 1), a);
      case 0: return binary(this.#pick(['div', 'rem'] as const), a, binary('bor', b, i32(1)));
      case 1: return convert('i32', this.#expression(scope, this.#pick(['f32', 'f64', 'bool'] as const), depth - 1));
      case 2: return unary(this.#pick(['neg', 'abs'] as const), a);
      case 3: return exact(this.#pick(['add', 'sub', 'mul'] as const), binary('shr', a, i32(18)), binary('band', b, i32(31)));
      default: return binary(this.#pick(intBinary), a, b);
    }
  }

  #math(scope: Scope, depth: number): Expression {
    if (this.#chance(0.3)) return together(...this.#two(scope, 'i32', depth));
    const name = this.#pick([...Object.keys(mathFunctions) as MathName[], 'fma'] as const);
    return math(name, ...[...this.#two(scope, 'f64', depth), f64(-1.5)].slice(0, libraryFunctions[name]));
  }

  #float(scope: Scope, type: 'f32' | 'f64', depth: number): Expression {
    switch (this.#below(8)) {
      case 0: return convert(type, this.#expression(scope, this.#pick(['i32', type === 'f32' ? 'f64' : 'f32'] as const), depth - 1));
      case 1: return unary(this.#pick(floatUnary), this.#expression(scope, type, depth - 1));
      case 2: return type === 'f32' ? unary('neg', this.#expression(scope, type, depth - 1)) : this.#math(scope, depth);
      case 3: return binary('rem', ...this.#two(scope, type, depth));
      default: return binary(this.#pick(floatBinary), ...this.#two(scope, type, depth));
    }
  }

  #condition(scope: Scope, depth: number): Expression {
    if (depth === 0) return bool(this.#chance(0.5));
    switch (this.#below(6)) {
      case 0: return logic(this.#pick(['and', 'or'] as const), ...this.#two(scope, 'bool', depth));
      case 1: return unary('not', this.#expression(scope, 'bool', depth - 1));
      case 2: return convert('bool', this.#expression(scope, 'i32', depth - 1));
      default: {
        const type = this.#pick(scalars);
        return compare(this.#pick(type === 'i32' ? compareOps : compareOps.slice(0, 6)), ...this.#two(scope, type, depth));
      }
    }
  }

  #vector(scope: Scope, type: VectorType, depth: number): Expression {
    const element: ScalarType = type === 'i32x4' ? 'i32' : type === 'f32x4' ? 'f32' : 'f64';
    const inner = Math.max(0, depth - 1);
    if (depth === 0 || this.#chance(0.15)) return splat(this.#expression(scope, element, 0));
    if (this.#chance(0.2)) return lanes(...Array.from({ length: lanesOf[type] }, () => this.#expression(scope, element, inner)));
    if (this.#chance(0.3)) return this.#load(scope, element, type);
    if (this.#chance(0.1) && type !== 'f64x2') return convert(type, this.#expression(scope, type === 'i32x4' ? 'f32x4' : 'i32x4', inner));
    if (this.#chance(0.2)) {
      return unary(this.#pick(type === 'i32x4' ? ['neg', 'abs'] as const : floatUnary), this.#expression(scope, type, inner));
    }
    const op = this.#pick(type === 'i32x4' ? intBinary : floatBinary);
    const isShift = op === 'shl' || op === 'shr' || op === 'shr_u';
    return binary(op, this.#expression(scope, type, inner), this.#expression(scope, isShift ? 'i32' : type, inner));
  }
}

/** A verified-to-be program whose function `main` takes one number of each scalar type and gives one of each. */
export function randomProgram(seed: number, options: RandomOptions = {}): Program {
  return new Maker(seed, options).program();
}

/** What a run is given: arguments of `main`, contents of the external buffers. */
export interface RunInput {
  readonly args: readonly number[];
  readonly external: Readonly<Record<string, Elements>>;
}

export function randomInput(seed: number): RunInput {
  const random = generator(seed ^ 0x5bd1e995);
  const one = (element: ScalarType): number => {
    const list = element === 'i32' ? ints : floats;
    const x = random() < 0.5 ? list[Math.floor(random() * list.length)]! : (random() - 0.5) * 1000;
    return element === 'i32' ? x | 0 : element === 'f32' ? Math.fround(x) : x;
  };
  const all = (element: ScalarType) => Array.from({ length }, () => one(element));
  return {
    args: scalars.map(one),
    external: {
      x_i32: Int32Array.from(all('i32')), x_f32: Float32Array.from(all('f32')), x_f64: Float64Array.from(all('f64')),
      r_i32: Int32Array.from(all('i32')), r_f32: Float32Array.from(all('f32')), r_f64: Float64Array.from(all('f64')),
    },
  };
}

/** All that can be seen of a run; -0 and NaN written out, all NaN alike. */
export type Outcome = readonly string[];

export function outcomeOf(parts: {
  readonly results: readonly number[]; readonly trap: { readonly site: number; readonly value: number } | undefined;
  readonly notes: readonly (readonly number[])[]; readonly buffers: readonly ArrayLike<number>[];
}): Outcome {
  const text = (x: number): string => (Object.is(x, -0) ? '-0' : String(x));
  return [
    parts.trap === undefined ? `results ${parts.results.map(text).join(' ')}` : `trap ${parts.trap.site} ${text(parts.trap.value)}`,
    `notes ${parts.notes.map((note) => note.map(text).join(':')).join(' ')}`, ...parts.buffers.map((each) => Array.from(each, text).join(' ')),
  ];
}

/** What `note` gives. */
export const noted = (i: number, x: number): number => i * 0.5 + x;
/** Buffers that a run may change. */
export const changing = ['x_i32', 'x_f32', 'x_f64', 'g_i32', 'g_f32', 'g_f64'];

export function copyInput({ external }: RunInput): Record<string, Elements> {
  return Object.fromEntries(Object.entries(external).map(([name, elements]) => [name, elements.slice()]));
}

/** Runs `main` on the interpreter. */
export function interpreted(program: Program, input: RunInput): Outcome {
  const external = copyInput(input);
  const notes: number[][] = [];
  const machine = new Machine(program, { external, limit: 200_000, imports: { note: (i, x) => {
    notes.push([i!, x!]);
    return noted(i!, x!);
  } } });
  let results: readonly number[] = [];
  let trap: Trap | undefined;
  try {
    results = machine.call('main', input.args) as readonly number[];
  } catch (error) {
    if (!(error instanceof Trap)) throw error;
    trap = error;
  }
  const buffers = changing.map((name) => machine.contents(program.buffers.find((buffer) => buffer.name === name)!));
  return outcomeOf({ results, trap, notes, buffers });
}
