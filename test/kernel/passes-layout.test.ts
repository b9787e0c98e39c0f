// Gaps in buffers, and functions cut into slices that run side by side.
import assert from 'node:assert/strict';
import { Machine, type Elements } from '../../lib/kernel/interpret.ts';
import {
  binary, branch, compare, exact, f32, forLoop, get, i32, load, set, store, type Body, type Buffer, type Expression, type KernelFunction,
  type Local, type Program, type Statement,
} from '../../lib/kernel/ir.ts';
import { forwardLocals } from '../../lib/kernel/passes/forward.ts';
import { paddedIndex, padBuffers } from '../../lib/kernel/passes/pad.ts';
import { forCount, sliceFunction, type Slice } from '../../lib/kernel/passes/slice.ts';
import { residue } from '../../lib/kernel/passes/residues.ts';
import { parseProgram } from '../../lib/kernel/parse.ts';
import { programText } from '../../lib/kernel/text.ts';
import { verify } from '../../lib/kernel/verify.ts';
import { casesOf } from '../support/thorough.ts';
import { changing, generator, interpreted, length, randomInput, randomProgram, type RunInput } from './random.ts';

/** Elements with gaps, or taken out from between them. */
function spread(elements: Elements, shift: number): Elements {
  const made = elements.slice(0, 0).constructor as new (length: number) => Elements;
  const all = new made(paddedIndex(elements.length, shift) + 1).fill(-77);
  elements.forEach((x, i) => { all[paddedIndex(i, shift)] = x; });
  return all;
}

describe('kernel pass: padBuffers', () => {
  it('puts element i behind a gap for each 2^shift elements before it', () => {
    for (const shift of [0, 1, 3, 5]) {
      const places = Array.from({ length: 200 }, (_, i) => paddedIndex(i, shift));
      assert.deepEqual(places, Array.from({ length: 200 }, (_, i) => i + Math.trunc(i / 2 ** shift)));
      assert.equal(new Set(places).size, 200);
    }
  });

  it(`keeps the meaning of ${casesOf(200, 400)} random programs, at every place between the gaps`, function () {
    this.timeout(60_000);
    let changed = 0;
    for (let seed = 0; seed < casesOf(200, 400); ++seed) {
      const program = verify(randomProgram(seed, { vectors: false }));
      const input = randomInput(seed);
      const shift = seed % 4;
      const some = new Map(['x_i32', 'x_f32', 'x_f64', 'r_i32', 'r_f64'].filter((_, i) => (seed >> i & 1) === 0 || i === seed % 5).map((name) => [name, shift]));
      const gaps = new Map(program.buffers.flatMap((buffer) => (some.has(buffer.name) ? [[buffer, shift] as const] : [])));
      const padded = padBuffers(program, gaps);
      // External buffers are as long as they are given; the interpreter asks for no more.
      const external = Object.fromEntries(Object.entries(input.external).map(([name, elements]) => [name, some.has(name) ? spread(elements, shift) : elements]));
      if (programText(padded) !== programText(program)) ++changed;
      assert.deepEqual(outcome(padded, { ...input, external }, some), outcome(program, input, new Map()), `seed ${seed}`);
    }
    assert.ok(changed > casesOf(175, 350), `only ${changed} programs changed`);
  });

  it(`finds the same places from what is known of positions, in ${casesOf(150, 300)} random functions`, () => {
    const buffer: Buffer = { name: 'x', element: 'i32', role: 'external', length: 4000 };
    let shorter = 0;
    for (let seed = 0; seed < casesOf(150, 300); ++seed) {
      const next = generator(seed);
      const whole = (below: number): number => Math.floor(next() * below);
      const shift = 1 + whole(4), modulus = 2 ** (shift + whole(3) - 1), first = whole(40);
      const [at, turn, i, moved]: Local[] = ['at', 'turn', 'i', 'moved'].map((name) => ({ name, type: 'i32' }));
      const [label] = [{ name: 'l' }];
      // A position that moves on by steps of all kinds, in a loop or not, plus constants and counters.
      const index = (): Expression => [
        get(moved!), exact('add', get(moved!), i32(whole(50))), exact('add', get(at!), i32(whole(50))),
        exact('add', exact('add', get(at!), get(moved!)), i32(whole(9))), exact('add', exact('mul', get(moved!), i32(1 + whole(5))), get(turn!)),
      ][whole(5)]!;
      const stores = (): Body => Array.from({ length: 1 + whole(3) }, () => store(buffer, index(), i32(seed + whole(1000)), whole(4)));
      const move = set(moved!, exact('add', get(moved!), i32([modulus, 2 * modulus, 1 + whole(9)][whole(3)]!)));
      const f: KernelFunction = { name: 'f', parameters: [at!, turn!], results: [], buffers: [], body: [
        set(moved!, get(at!)), ...stores(), move, ...stores(),
        forLoop(label!, i!, { from: i32(0), to: i32(3) }, [store(buffer, exact('add', get(moved!), get(i!)), get(i!)), ...stores(), move]),
      ] };
      const program = verify({ buffers: [buffer], imports: [], functions: [f] });
      const plain = padBuffers(program, new Map([[buffer, shift]]));
      const known = verify(padBuffers(program, new Map([[buffer, shift]]), new Map([[at!, residue(modulus, first)]])));
      if (programText(known) !== programText(plain)) ++shorter;
      const run = (of: Program, from: number): Int32Array => {
        const x = new Int32Array(8000);
        new Machine(of, { external: { x } }).call('f', [from, 1]);
        return x;
      };
      for (let turns = 0; turns < 3; ++turns) {
        const begin = first % modulus + turns * modulus;
        const expected = run(program, begin), found = run(known, begin);
        assert.deepEqual(Int32Array.from({ length: 4000 }, (_, at) => found[paddedIndex(at, shift)]!), expected.slice(0, 4000), `seed ${seed}`);
        assert.deepEqual(found, run(plain, begin), `seed ${seed}`);
      }
    }
    assert.ok(shorter > casesOf(90, 200), `only ${shorter} functions changed`);
  });

  it('copies within a buffer as if there were no gaps, in both directions', () => {
    const program = parseProgram(`external x i32[40]
function f(to: i32, from: i32, n: i32) { copy x[to] = x[from] for n }`);
    const [x] = program.buffers as [Buffer];
    for (const shift of [0, 1, 2, 4]) {
      const padded = verify(padBuffers(program, new Map([[x, shift]])));
      for (const [to, from, n] of [[3, 8, 11], [8, 3, 11], [0, 0, 40], [20, 0, 20], [1, 0, 39], [0, 1, 39], [5, 7, 0]] as const) {
        const numbers = Int32Array.from({ length: 40 }, (_, i) => i * i);
        const all = spread(numbers, shift) as Int32Array;
        new Machine(padded, { external: { x: all } }).call('f', [to, from, n]);
        assert.deepEqual(Int32Array.from({ length: 40 }, (_, i) => all[paddedIndex(i, shift)]!), numbers.copyWithin(to, from, from + n), `${to} ${from} ${n}`);
      }
    }
  });
});

/** What can be seen of a run, with the gaps taken out. */
function outcome(program: Program, input: RunInput, gaps: ReadonlyMap<string, number>): unknown {
  const [results, notes, ...contents] = interpreted(program, input);
  return [results, notes, ...contents.map((text, i) => {
    const shift = gaps.get(changing[i]!);
    const elements = text.split(' ');
    return (shift === undefined ? elements : Array.from({ length }, (_, at) => elements[paddedIndex(at, shift)])).join(' ');
  })];
}

const inputs: readonly Buffer[] = [
  { name: 'a', element: 'f32', role: 'external', length: 64, isReadOnly: true },
  { name: 'k', element: 'i32', role: 'external', length: 64, isReadOnly: true },
];
const outputs: readonly Buffer[] = [{ name: 'x', element: 'f32', role: 'external', length: 256 }, { name: 'y', element: 'i32', role: 'external', length: 256 }];
const dropped: Buffer = { name: 'ends', element: 'i32', role: 'external', length: 4 };

/** Random functions as groups are: they read some buffers and write others, each element once, through locals and local arrays. */
class FunctionMaker {
  readonly #random: () => number;
  readonly #own: Buffer = { name: 'own', element: 'f32', role: 'local', length: 8 };
  readonly #floats: Local[] = [];
  readonly #ints: Local[] = [];
  readonly #next = new Map<Buffer, number>(outputs.map((buffer) => [buffer, 0]));
  #names = 0;

  constructor(seed: number) {
    this.#random = generator(seed);
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!;
  }

  #name(prefix: string): string {
    return `${prefix}${++this.#names}`;
  }

  make(): KernelFunction {
    const n: Local = { name: 'n', type: 'i32' };
    const zero: Statement = { kind: 'fill', buffer: this.#own, index: i32(0), count: i32(8) };
    const body: Statement[] = [zero];
    for (let count = 6 + this.#below(20); count > 0; --count) body.push(...this.#statement(2, []));
    body.push(store(dropped, i32(0), binary('add', load(dropped, i32(0)), get(n))));
    return { name: 'f', parameters: [n], results: [], buffers: [this.#own], body };
  }

  #statement(depth: number, counters: readonly Local[]): Body {
    switch (this.#below(depth === 0 || counters.length > 0 ? 6 : 9)) {
      case 0: return [this.#set('f32', counters)];
      case 1: return [this.#set('i32', counters)];
      case 2: return [store(this.#own, i32(this.#below(8)), this.#float(2, counters))];
      case 3: case 4: return counters.length > 0 ? [this.#set('f32', counters)] : [this.#out([])];
      case 5: {
        // Branches that write both, and leave something in locals.
        const place = counters.length > 0 ? undefined : this.#place(1);
        const part = (): Body => [
          ...(place === undefined ? [] : [store(outputs[0]!, i32(place), this.#float(1, counters))]), ...(this.#below(2) === 0 ? this.#old(counters) : []),
        ];
        return [branch(compare('lt', this.#float(1, counters), f32(this.#below(9) - 4)), part(), part())];
      }
      case 6: {
        // A loop that others build on.
        const counter: Local = { name: this.#name('i'), type: 'i32' };
        const inner = [...this.#old([counter]), store(this.#own, binary('band', get(counter), i32(7)), this.#float(1, [counter]))];
        return [forLoop({ name: this.#name('L') }, counter, { from: i32(0), to: i32(2 + this.#below(9)) }, inner)];
      }
      default: {
        // A loop that writes, and may leave a sum.
        const counter: Local = { name: this.#name('i'), type: 'i32' };
        const trips = 2 + this.#below(12), stride = 1 + this.#below(3);
        const place = this.#place(trips * stride);
        if (place === undefined) return [];
        const inner: Statement[] = this.#below(3) === 0 ? [...this.#old([counter])] : [];
        for (let k = 0; k < stride; ++k) {
          inner.push(store(outputs[0]!, exact('add', exact('mul', get(counter), i32(stride)), i32(place)), this.#float(2, [counter]), k));
        }
        return [forLoop({ name: this.#name('L') }, counter, { from: i32(0), to: i32(trips) }, inner)];
      }
    }
  }

  /** Where `count` elements of x may go that nothing else writes. */
  #place(count: number, buffer: Buffer = outputs[0]!): number | undefined {
    const at = this.#next.get(buffer)!;
    if (at + count > buffer.length!) return undefined;
    this.#next.set(buffer, at + count);
    return at;
  }

  #out(counters: readonly Local[]): Statement {
    const buffer = this.#pick(outputs);
    const place = this.#place(1, buffer);
    if (place === undefined) return this.#set('f32', counters);
    return store(buffer, i32(place), buffer.element === 'f32' ? this.#float(3, counters) : this.#int(2, counters));
  }

  /** Changes something that is known. */
  #old(counters: readonly Local[]): Body {
    if (this.#floats.length === 0) return [];
    const local = this.#pick(this.#floats);
    return [set(local, binary('add', get(local), this.#float(1, counters)))];
  }

  #set(type: 'f32' | 'i32', counters: readonly Local[]): Statement {
    const known = type === 'f32' ? this.#floats : this.#ints;
    const value = type === 'f32' ? this.#float(3, counters) : this.#int(2, counters);
    if (known.length > 0 && this.#below(2) === 0) return set(this.#pick(known), value);
    const local: Local = { name: this.#name('v'), type };
    if (counters.length === 0) known.push(local);
    return set(local, value);
  }

  #float(depth: number, counters: readonly Local[]): Expression {
    if (depth > 0 && this.#below(4) > 0) {
      return binary(this.#pick(['add', 'sub', 'mul', 'min', 'max'] as const), this.#float(depth - 1, counters), this.#float(depth - 1, counters));
    }
    const index = this.#int(1, counters);
    switch (this.#below(4)) {
      case 0: return this.#floats.length > 0 ? get(this.#pick(this.#floats)) : f32(this.#below(7));
      case 1: return load(this.#own, binary('band', index, i32(7)));
      case 2: return f32(this.#below(9) / 4);
      default: return load(inputs[0]!, binary('band', index, i32(63)));
    }
  }

  #int(depth: number, counters: readonly Local[]): Expression {
    if (depth > 0 && this.#below(3) > 0) return binary(this.#pick(['add', 'sub', 'mul', 'xor'] as const), this.#int(depth - 1, counters), this.#int(depth - 1, counters));
    const known = [...this.#ints, ...counters];
    switch (this.#below(3)) {
      case 0: return known.length > 0 ? get(this.#pick(known)) : i32(this.#below(100));
      case 1: return i32(this.#below(64));
      default: return load(inputs[1]!, i32(this.#below(64)));
    }
  }
}

const buffers = [...inputs, ...outputs, dropped];
const memory = (seed: number): Record<string, Elements> => {
  const random = generator(seed);
  return {
    a: Float32Array.from({ length: 64 }, () => Math.round(random() * 64 - 32) / 8), k: Int32Array.from({ length: 64 }, () => Math.floor(random() * 1000) - 500),
    x: new Float32Array(256).fill(-1), y: new Int32Array(256).fill(-1), ends: new Int32Array(4),
  };
};

/** Runs all parts of the slices, from a place on and in steps that reach each. */
function runParts(program: Program, slices: readonly Slice[], external: Record<string, Elements>, turn: number): void {
  const calls = slices.flatMap(({ f, parts }) => Array.from({ length: parts }, (_, part) => [f.name, parts === 1 ? [] : [part]] as const));
  const machines = new Map(slices.map(({ f }) => [f.name, new Machine(verify({ ...program, functions: [f] }), { external })]));
  const order = turn === 0 ? calls : turn === 1 ? [...calls].reverse() : calls.map((_, i) => calls[(i * 7 + turn) % calls.length]!);
  for (const [name, args] of turn < 2 || calls.length % 7 !== 0 ? order : calls) machines.get(name)!.call(name, args);
}

describe('kernel pass: forwardLocals', () => {
  it(`keeps what ${casesOf(200, 400)} random functions without branches store`, () => {
    const [x, y, z]: Buffer[] = ['x', 'y', 'z'].map((name) => ({ name, element: 'f32', role: 'external', length: 400 }));
    let changed = 0;
    for (let seed = 0; seed < casesOf(200, 400); ++seed) {
      const next = generator(seed);
      const whole = (below: number): number => Math.floor(next() * below);
      const at: Local = { name: 'at', type: 'i32' };
      const positions: Local[] = ['r', 'w'].map((name) => ({ name, type: 'i32' }));
      const values: Local[] = Array.from({ length: 4 }, (_, i) => ({ name: `v${i}`, type: 'f32' }));
      const position = (): Expression => get(positions[whole(2)]!);
      const value = (): Expression => get(values[whole(4)]!);
      // Every fourth function reads what it writes, so that nothing may change places.
      const from = seed % 4 === 0 ? y! : x!;
      const body: Statement[] = [...positions.map((local) => set(local, get(at))), ...values.map((local, i) => set(local, f32(i + 0.5)))];
      for (let i = 0; i < 80; ++i) {
        body.push([
          () => set(positions[whole(2)]!, exact('add', position(), i32(whole(4)))), () => set(values[whole(4)]!, load(from, position(), whole(20))),
          () => set(values[whole(4)]!, binary('add', value(), value())), () => store(whole(2) === 0 ? y! : z!, position(), value(), whole(20)),
        ][whole(4)]!());
      }
      const program = verify({ buffers: [x!, y!, z!], imports: [], functions: [{ name: 'f', parameters: [at], results: [], buffers: [], body }] });
      const made = verify(forwardLocals(program));
      if (programText(made) !== programText(program)) ++changed;
      const run = (of: Program): Float32Array[] => {
        const external = Object.fromEntries(['x', 'y', 'z'].map((name) => [name, Float32Array.from({ length: 400 }, (_, i) => i + seed)]));
        new Machine(of, { external }).call('f', [3]);
        return Object.values(external);
      };
      assert.deepEqual(run(made), run(program), `seed ${seed}`);
    }
    assert.ok(changed > casesOf(195, 390), `only ${changed} functions changed`);
  });
});

describe('kernel pass: sliceFunction', () => {
  it('keeps what a unit leaves in locals for others', () => {
    const program = parseProgram(`external x f32[16]
external y f32[16]
function f() { var s: f32 var a: f32 s = x[0] a = x[1]
  if gt(a, f32(0.5)) { y[0] = s s = mul(s, f32(2)) } else { y[0] = a s = sub(s, a) }
  y[1] = mul(s, f32(3)) y[2] = mul(x[4], x[5]) y[3] = mul(x[6], x[7]) }`);
    const slices = sliceFunction(program, program.functions[0]!, { most: 4, least: 1 })!;
    const external = { x: Float32Array.from({ length: 16 }, (_, i) => i + 1), y: new Float32Array(16) };
    runParts(program, slices, external, 1);
    assert.deepEqual([...external.y.subarray(0, 4)], [1, 6, 30, 56]);
  });

  it(`gives the stores of ${casesOf(300, 600)} random functions, whatever the order of slices and parts`, function () {
    this.timeout(120_000);
    let cut = 0;
    for (let seed = 0; seed < casesOf(300, 600); ++seed) {
      const program = verify({ buffers, imports: [], functions: [new FunctionMaker(seed).make()] });
      const whole = memory(seed);
      new Machine(program, { external: whole }).call('f', [1]);
      assert.equal(whole['ends']![0], 1);
      const once = forCount(program, program.functions[0]!, dropped);
      const slices = sliceFunction(program, once, { most: 2 + seed % 9, least: 1 + seed % 5 });
      if (slices === undefined) continue;
      ++cut;
      for (const turn of [0, 1, 2]) {
        const found = memory(seed);
        runParts(program, slices, found, turn);
        assert.deepEqual(found, { ...whole, ends: new Int32Array(4) }, `seed ${seed}, turn ${turn}\n${programText(program)}`);
      }
    }
    assert.ok(cut > casesOf(100, 200), `only ${cut} functions were cut`);
  });

  it('shares out loops that write apart, and no others', () => {
    const parts = (loop: string, more?: number): number => {
      const program = verify(parseProgram(`external x f32[400]\nexternal y f32[400]\nfunction f() { var i: i32 var j: i32 var s: f32 s = f32(0) ${loop} }`));
      const slices = sliceFunction(program, program.functions[0]!, { most: 8, least: 1, parts: more });
      if (slices === undefined) return 1;
      const [a, b] = [0, 1].map(() => ({ x: Float32Array.from({ length: 400 }, (_, i) => i), y: new Float32Array(400) }));
      new Machine(program, { external: a! }).call('f');
      runParts(program, slices, b!, 1);
      assert.deepEqual(b, a);
      return Math.max(...slices.map((slice) => slice.parts));
    };
    assert.equal(parts('for L: i = 0 to 64 step 1 { y[i] = mul(x[i], x[add(i, 1)]) }'), 8);
    assert.equal(parts('for L: i = 0 to 64 step 1 { y[mul(i, 2)] = x[i] y[add(mul(i, 2), 1)] = mul(x[i], f32(3)) }'), 8);
    assert.equal(parts('for L: i = 0 to 63 step 1 { y[i] = x[i] y[add(i, 1)] = mul(x[i], f32(3)) }'), 1);
    assert.equal(parts('for L: i = 0 to 64 step 1 { s = add(s, x[i]) y[i] = s }'), 1);
    assert.equal(parts('for L: i = 0 to 64 step 1 { y[xor(i, 1)] = mul(x[i], f32(3)) }'), 1);
    assert.equal(parts('for L: i = 0 to 64 step 1 { y[3] = mul(x[i], f32(3)) }'), 1);
    assert.equal(parts('for L: i = 2 to 66 step 2 { y[i] = x[i] y[add(i, 1)] = x[add(i, 9)] }'), 8);
    // Loops inside, where there are more parts than iterations.
    const nested = 'for L: i = 0 to 5 step 1 { for M: j = 1 to 9 step 1 { y[add(mul(i, 10), j)] = x[add(mul(j, 5), i)] } }';
    assert.equal(parts(nested), 5);
    assert.equal(parts(nested, 12), 10);
    assert.equal(parts(nested, 99), 40);
    assert.equal(parts('for L: i = 0 to 5 step 1 { for M: j = 0 to 8 step 1 { y[i] = x[j] } }', 40), 5);
    assert.equal(parts('for L: i = 0 to 8 step 1 { for M: j = 0 to 12 step 1 { y[add(mul(i, 8), j)] = x[j] } }', 40), 1);
  });
});
