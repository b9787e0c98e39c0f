// Random kernels, free of races and of unwritten reads by construction: every array element is only ever written by the thread
// that owns it (element i belongs to thread i mod 64); other threads read it after a barrier, and a barrier comes before the next
// write. Barriers stand where all threads come. All values stay within -1 and 1, so that every conversion is defined.
import type { Random } from '../support/random.ts';
import { launchesOf, type KernelFile } from './kernels.ts';

interface ElementType {
  readonly name: string;
  /** The float of magnitude at most 1 that an element stands for. */
  readonly read: (element: string) => string;
  /** The element for a float of magnitude at most 1. */
  readonly write: (value: string) => string;
}

const types: readonly ElementType[] = [
  { name: 'float', read: (e) => e, write: (v) => v },
  { name: 'float', read: (e) => e, write: (v) => v },
  { name: 'double', read: (e) => `(float)${e}`, write: (v) => `(double)(${v})` },
  { name: 'int', read: (e) => `(float)${e} * 0.001f`, write: (v) => `(int)((${v}) * 1000.0f)` },
  { name: 'short', read: (e) => `(float)${e} * 0.01f`, write: (v) => `(short)((${v}) * 100.0f)` },
  { name: 'unsigned char', read: (e) => `((float)${e} - 100.0f) * 0.01f`, write: (v) => `(unsigned char)((${v}) * 100.0f + 100.0f)` },
  { name: 'float2', read: (e) => `(${e}.x * 0.5f + ${e}.y * 0.5f)`, write: (v) => `make_float2(${v}, 0.25f)` },
];

class SharedArray {
  readonly name: string;
  readonly type: ElementType;
  readonly extents: readonly number[];
  readonly length: number;

  constructor(name: string, random: Random) {
    this.name = name;
    this.type = random.pick(types);
    const shape = random.integer(0, 3);
    if (shape === 0) this.extents = [random.integer(2, 5) * 16, random.integer(2, 3)];
    else if (shape === 1) this.extents = [2, random.integer(3, 4), random.integer(11, 17)];
    else this.extents = [random.integer(64, 200)];
    this.length = this.extents.reduce((product, extent) => product * extent, 1);
  }

  get declaration(): string {
    return `__shared__ ${this.type.name} ${this.name}${this.extents.map((extent) => `[${extent}]`).join('')};`;
  }

  at(index: string): string {
    const [, b, c] = this.extents;
    if (b === undefined) return `${this.name}[${index}]`;
    if (c === undefined) return `${this.name}[(${index}) / ${b}][(${index}) % ${b}]`;
    return `${this.name}[(${index}) / ${b * c}][(${index}) / ${c} % ${b}][(${index}) % ${c}]`;
  }
}

/** What happened to arrays since the last barrier, and which hold values at all. */
class State {
  dirty = new Set<SharedArray>();
  read = new Set<SharedArray>();
  filled = new Set<SharedArray>();
  copy(): State {
    const copy = new State();
    [copy.dirty, copy.read, copy.filled] = [new Set(this.dirty), new Set(this.read), new Set(this.filled)];
    return copy;
  }
  barrier(): void {
    this.dirty.clear();
    this.read.clear();
  }
  /** After one of two ways: what either did, filled only by both. */
  join(other: State): void {
    for (const array of other.dirty) this.dirty.add(array);
    for (const array of other.read) this.read.add(array);
    for (const array of this.filled) if (!other.filled.has(array)) this.filled.delete(array);
  }
}

class Generator {
  private readonly lines: string[] = [];
  private readonly random: Random;
  private arrays: SharedArray[] = [];
  private state = new State();
  private depth = 1;
  private loops = 0;
  private scopes = 0;
  private progress = 0;
  /** Arrays that are in the text at all. */
  private readonly used = new Set<SharedArray>();
  private readonly helpers = new Map<string, string>();

  constructor(random: Random) {
    this.random = random;
  }

  private emit(text: string): void {
    this.lines.push(`${'  '.repeat(this.depth)}${text}`);
  }

  private chance(percent: number): boolean {
    return this.random.integer(1, 100) <= percent;
  }

  private barrier(): void {
    this.emit('__syncthreads();');
    this.state.barrier();
  }

  /** An array near the present place of a window that moves through all of them: live ranges come and go. */
  private choose(from: readonly SharedArray[]): SharedArray | undefined {
    if (from.length === 0) return undefined;
    const centre = this.progress * (this.arrays.length - 1);
    const near = from.filter((array) => Math.abs(this.arrays.indexOf(array) - centre) < 1.6);
    return this.random.pick(near.length > 0 && !this.chance(8) ? near : from);
  }

  /** Makes ready to read elements of other threads. */
  private readable(): SharedArray | undefined {
    const array = this.choose(this.arrays.filter((own) => this.state.filled.has(own)));
    if (array === undefined) return undefined;
    if (this.state.dirty.has(array)) this.barrier();
    this.state.read.add(array);
    return array;
  }

  /** Makes ready to write own elements. */
  private writable(from: readonly SharedArray[]): SharedArray | undefined {
    const array = this.choose(from);
    if (array !== undefined && this.state.read.has(array)) this.barrier();
    return array;
  }

  private foreign(array: SharedArray, index: string): string {
    const place = this.random.pick([`(${index} * ${this.random.pick([3, 5, 7])} + ${this.random.integer(1, 40)}) % ${array.length}`,
      `${array.length - 1} - (${index}) % ${array.length}`, `(${index} + ${this.random.integer(1, 60)}) % ${array.length}`]);
    return array.type.read(array.at(place));
  }

  private value(index: string): string {
    const variable = `x${this.random.integer(0, 2)}`;
    return `0.5f * ${variable} + 0.25f * (float)(${index} % ${this.random.integer(3, 9)}) * 0.1f - 0.${this.random.integer(1, 2)}f`;
  }

  /** Statements over the elements that a thread owns. */
  private owned(array: SharedArray, statement: (index: string) => string): void {
    if (array.length === 64 && this.chance(50)) this.emit(statement('t'));
    else this.emit(`for (int i = t; i < ${array.length}; i += 64) ${statement('i')}`);
  }

  private fill(): void {
    const source = this.chance(40) ? this.readable() : undefined;
    const array = this.writable(this.arrays.filter((own) => own !== source));
    if (array === undefined) return;
    const held = source !== undefined && !this.state.dirty.has(source) ? source : undefined;
    if (held !== undefined) this.state.read.add(held); // writable() may have set a barrier in between
    this.owned(array, (i) => `${array.at(i)} = ${array.type.write(held === undefined ? this.value(i)
      : `${this.value(i)} + 0.125f * ${this.foreign(held, i)}`)};`);
    this.state.dirty.add(array);
    this.state.filled.add(array);
    this.used.add(array);
  }

  private update(): void {
    const array = this.writable(this.arrays.filter((own) => this.state.filled.has(own)));
    if (array === undefined) return;
    this.owned(array, (i) => `${array.at(i)} = ${array.type.write(`0.5f * ${array.type.read(array.at(i))} + 0.25f * x${this.random.integer(0, 2)}`)};`);
    this.state.dirty.add(array);
  }

  private gather(): void {
    const array = this.readable();
    if (array === undefined) return this.fill();
    const x = `x${this.random.integer(0, 2)}`;
    this.emit(`${x} = 0.5f * ${x} + 0.5f * ${this.foreign(array, 't')};`);
    if (this.chance(25)) {
      this.emit(`for (int k = 0; k < 3; ++k) ${x} = 0.75f * ${x} + 0.25f * ${array.type.read(array.at(`(t + k * 5) % ${array.length}`))};`);
    }
  }

  private helper(): void {
    const array = this.readable();
    if (array === undefined || array.extents.length !== 1) return;
    const name = `pick_${array.type.name.replace(' ', '_')}`;
    this.helpers.set(name, `__device__ float ${name}(const ${array.type.name}* row, int at, int n) {\n`
      + `  const int next = (at + 1) % n;\n  return 0.5f * ${array.type.read('row[at]')} + 0.5f * ${array.type.read('row[next]')};\n}`);
    this.emit(`x${this.random.integer(0, 2)} = ${name}(${array.name}, (t + ${this.random.integer(0, 30)}) % ${array.length}, ${array.length});`);
  }

  /** Some threads only, no barriers: they read, or write elements of their own. */
  private divergent(): void {
    const target = this.writable(this.arrays.filter((own) => this.state.filled.has(own)));
    const source = this.readable();
    if (source === undefined || target === undefined || source === target || this.state.read.has(target)) return;
    this.emit(this.random.pick(['if (t < 20) {', 'if (t % 3 == 1) {', 'if (x0 > 0.1f) {']));
    ++this.depth;
    this.emit(`x1 = 0.5f * x1 + 0.5f * ${this.foreign(source, 't')};`);
    if (this.chance(60)) {
      this.emit(`${target.at('t')} = ${target.type.write('0.5f * x1')};`);
      this.state.dirty.add(target);
    }
    --this.depth;
    this.emit('}');
  }

  private body(count: number): void {
    ++this.depth;
    for (let i = 0; i < count; ++i) this.statement(1 + this.depth);
    --this.depth;
  }

  private loop(): void {
    const clean = this.chance(50);
    if (clean && this.state.dirty.size + this.state.read.size > 0) this.barrier();
    const before = this.state.copy();
    if (!clean) for (const array of this.arrays) this.state.dirty.add(array), this.state.read.add(array);
    const index = `k${this.loops++}`;
    this.emit(`for (int ${index} = 0; ${index} < ${this.random.pick(['2', '3', 'n'])}; ++${index}) {`);
    this.body(this.random.integer(2, 3));
    if (clean && this.state.dirty.size + this.state.read.size > 0) {
      ++this.depth;
      this.barrier();
      --this.depth;
    }
    this.emit('}');
    this.state.join(before); // the loop may not run at all
  }

  private branch(): void {
    const before = this.state.copy();
    this.emit(this.random.pick(['if (n > 2) {', 'if (blockIdx.x == 0) {', 'if ((n + blockIdx.x) % 2 == 1) {']));
    this.body(this.random.integer(1, 2));
    const taken = this.state;
    this.state = before;
    if (this.chance(60)) {
      this.emit('} else {');
      this.body(this.random.integer(1, 2));
    }
    this.emit('}');
    this.state.join(taken);
  }

  /** A block with an array of its own. */
  private scope(): void {
    const array = new SharedArray(`local${this.scopes++}`, this.random);
    this.emit('{');
    ++this.depth;
    this.emit(array.declaration);
    this.owned(array, (i) => `${array.at(i)} = ${array.type.write(this.value(i))};`);
    this.barrier();
    this.emit(`x2 = 0.5f * x2 + 0.5f * ${this.foreign(array, 't')};`);
    if (this.depth > 2 || this.chance(40)) this.barrier(); // a loop comes by again
    --this.depth;
    this.emit('}');
  }

  private statement(depth: number): void {
    const kind = this.random.integer(1, 100);
    if (kind <= 26) this.fill();
    else if (kind <= 52) this.gather();
    else if (kind <= 62) this.update();
    else if (kind <= 70) this.helper();
    else if (kind <= 78) this.divergent();
    else if (kind <= 84) this.barrier();
    else if (kind <= 89) this.scope();
    else if (depth > 4) this.gather();
    else if (kind <= 95) this.loop();
    else this.branch();
  }

  kernel(name: string): string {
    const flat = this.chance(60);
    this.arrays = Array.from({ length: this.random.integer(2, 8) }, (_, i) => new SharedArray(`s${i}`, this.random));
    this.emit(flat ? 'const int t = threadIdx.x;' : 'const int t = threadIdx.y * 16 + threadIdx.x;');
    for (const v of [0, 1, 2]) this.emit(`float x${v} = in[(blockIdx.x * 64 + t + ${v * 64}) % 256];`);
    if (this.chance(15)) this.emit('if (n < 0) return;');
    const count = this.random.integer(6, 14);
    for (let i = 0; i < count; ++i) {
      this.progress = i / count;
      this.statement(1);
    }
    this.progress = 1;
    this.gather();
    if (this.chance(20)) this.emit('if (t >= 60) return;');
    this.emit('out[blockIdx.x * 64 + t] = x0 + x1 + x2;');
    const run = `// run: ${name}<<<2, ${flat ? '64' : '(16, 4)'}>>>(in f32 256, inout f32 128, 3)`;
    const declarations = this.arrays.filter((array) => this.used.has(array)).map((array) => `  ${array.declaration}`);
    return [...this.helpers.values(), run, `__global__ void ${name}(const float* in, float* out, int n) {`, ...declarations, ...this.lines, '}', '']
      .join('\n');
  }
}

/** The kernel of a seed. */
export function randomKernel(random: Random): KernelFile {
  const name = `random_${random.seed}`;
  const text = new Generator(random).kernel(name);
  const launches = launchesOf(text);
  return { name, text, launches };
}
