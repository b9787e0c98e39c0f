// The reference semantics: runs programs as ir.ts specifies and checks what printers assume.
import { WarploomError } from '../core/errors.ts';
import {
  elementOf, isVector, lanesOf, type Body, type Buffer, type Expression, type ExpressionOf, type KernelFunction, type Label, type Local,
  type Program, type ScalarType, type Statement, type StatementOf, type Type,
} from './ir.ts';
import { binaryOn, compared, conversionOf, fromWords, mathOf, unaryOn, wordOf } from './semantics.ts';
import { expressionText } from './text.ts';
import { required } from '../core/known.ts';

/** A scalar, or the lanes of a vector. Conditions are 0 or 1. */
export type Value = number | readonly number[];
export type Elements = Int32Array | Float32Array | Float64Array;

/** A program trapped. */
export class Trap extends Error {
  readonly site: number;
  readonly value: number;

  constructor(site: number, value: number) {
    super(`trap ${site}: ${value}`);
    this.site = site;
    this.value = value;
  }
}

export interface MachineOptions {
  /** External buffers by name. */
  readonly external?: Readonly<Record<string, Elements>>;
  /** Imports by name. */
  readonly imports?: Readonly<Record<string, (...args: number[]) => number | readonly number[] | undefined>>;
  /** The maximum number of statements before a run is aborted. Default: 10 million. */
  readonly limit?: number;
}

/** How control left a body before its end. */
type Exit = { readonly label: Label; readonly isContinue: boolean } | { readonly values: readonly Value[] } | undefined;

export function makeElements(element: ScalarType, length: number): Elements {
  return element === 'i32' ? new Int32Array(length) : element === 'f32' ? new Float32Array(length) : new Float64Array(length);
}

function wrong(what: string): never {
  throw new WarploomError('ERR_WARPLOOM_INTERNAL', `kernel program: ${what}`);
}

/** The memory of one buffer. `written` marks the written elements of a local buffer, whose initial contents are unspecified. */
interface Memory {
  readonly elements: Elements;
  readonly written: Uint8Array | undefined;
}

/** A program with its memory. */
export class Machine {
  readonly #functions: ReadonlyMap<string, KernelFunction>;
  readonly #memory = new Map<Buffer, Memory>();
  readonly #options: MachineOptions;
  #left: number;

  constructor(program: Program, options: MachineOptions = {}) {
    this.#options = options;
    this.#left = options.limit ?? 1e7;
    this.#functions = new Map(program.functions.map((f) => [f.name, f]));
    for (const buffer of program.buffers) this.#memory.set(buffer, { elements: this.#initial(buffer), written: undefined });
  }

  #initial({ name, role, element, length, initial }: Buffer): Elements {
    if (role === 'external') return this.#options.external?.[name] ?? wrong(`${name} is not given`);
    const elements = makeElements(element, required(length));
    if (initial !== undefined) elements.set(initial);
    return elements;
  }

  /** The contents of one of the program's buffers. */
  contents(buffer: Buffer): Elements {
    return required(this.#memory.get(buffer)).elements;
  }

  /** Calls a function. Throws {@link Trap} if it traps. */
  call(name: string, args: readonly Value[] = []): readonly Value[] {
    const f = this.#functions.get(name);
    if (f === undefined) return this.#host(name, args as readonly number[]);
    const locals = new Map<Local, Value>();
    f.parameters.forEach((parameter, i) => new Frame(this, locals).set(parameter, required(args[i])));
    for (const buffer of f.buffers) {
      const length = required(buffer.length);
      this.#memory.set(buffer, { elements: makeElements(buffer.element, length), written: new Uint8Array(length) });
    }
    const exit = new Frame(this, locals).body(f.body);
    return exit !== undefined && 'values' in exit ? exit.values : [];
  }

  #host(name: string, args: readonly number[]): readonly Value[] {
    const f = this.#options.imports?.[name] ?? wrong(`there is no function ${name}`);
    const result = f(...args);
    return result === undefined ? [] : typeof result === 'number' ? [result] : result;
  }

  /** Counts a statement. */
  tick(): void {
    if (--this.#left < 0) wrong('the run takes too long');
  }

  memory(buffer: Buffer, from: number, count: number): Memory {
    const found = required(this.#memory.get(buffer));
    if (!(from >= 0 && from + count <= found.elements.length)) wrong(`${buffer.name}[${from}] with ${count} elements lies outside`);
    return found;
  }
}

/** A function while it runs. */
class Frame {
  readonly #machine: Machine;
  readonly #locals: Map<Local, Value>;

  constructor(machine: Machine, locals: Map<Local, Value>) {
    this.#machine = machine;
    this.#locals = locals;
  }

  set(local: Local, value: Value): void {
    const { name, range } = local;
    const x = value as number;
    if (range !== undefined && !(x >= range[0] && x <= range[1])) wrong(`${name} = ${x} breaks its range`);
    this.#locals.set(local, value);
  }

  body(body: Body): Exit {
    for (const s of body) {
      const exit = this.#statement(s);
      if (exit !== undefined) return exit;
    }
    return undefined;
  }

  #statement(s: Statement): Exit {
    this.#machine.tick();
    switch (s.kind) {
      case 'set': this.set(s.local, this.value(s.value)); return undefined;
      case 'store': this.#store(s); return undefined;
      case 'copy': this.#copy(s); return undefined;
      case 'fill': {
        const [from, count] = [this.#number(s.index), this.#count(s.count)];
        this.#write(s.buffer, from, Array<number>(count).fill(0));
        return undefined;
      }
      case 'if': return this.body(this.#number(s.condition) !== 0 ? s.then : s.otherwise);
      case 'for': return this.#for(s);
      case 'while':
        while (this.#number(s.condition) !== 0) {
          const exit = this.#inside(s.label, s.body);
          if (exit !== undefined) return exit === 'left' ? undefined : exit;
        }
        return undefined;
      case 'block': {
        const exit = this.#inside(s.label, s.body);
        return exit === 'left' ? undefined : exit;
      }
      case 'break': return { label: s.label, isContinue: false };
      case 'continue': return { label: s.label, isContinue: true };
      case 'return': return { values: s.values.map((e) => this.value(e)) };
      case 'call': {
        const results = this.#machine.call(s.callee, s.args.map((e) => this.value(e)));
        s.results.forEach((local, i) => this.set(local, required(results[i])));
        return undefined;
      }
      case 'trap': throw new Trap(this.#number(s.site), this.#number(s.value));
      case 'guard':
        if (this.#number(s.condition) === 0) throw new Trap(this.#number(s.site), this.#number(s.value));
        return undefined;
    }
  }

  /** Runs the body of a labelled statement once. */
  #inside(label: Label, body: Body): Exit | 'left' {
    this.#machine.tick();
    const exit = this.body(body);
    if (exit === undefined || 'values' in exit || exit.label !== label) return exit;
    return exit.isContinue ? undefined : 'left';
  }

  #for({ label, counter, from, to, step, body, most = Infinity }: StatementOf<'for'>): Exit {
    const end = this.#number(to);
    let made = 0;
    for (let i = this.#number(from); i < end; i += step) {
      if (++made > most) wrong(`the loop ${label.name} makes more than ${most} iterations`);
      this.set(counter, i);
      const exit = this.#inside(label, body);
      if (exit !== undefined) {
        this.#locals.delete(counter);
        return exit === 'left' ? undefined : exit;
      }
      if (i + step > 2147483647) wrong(`${counter.name} wraps`);
    }
    this.#locals.delete(counter);
    return undefined;
  }

  #store({ buffer, index, offset, value }: StatementOf<'store'>): void {
    const at = this.#index(index) + offset;
    const x = this.value(value);
    this.#write(buffer, at, typeof x === 'number' ? [x] : x);
  }

  #write(buffer: Buffer, at: number, values: readonly number[]): void {
    const { elements, written } = this.#machine.memory(buffer, at, values.length);
    elements.set(values, at);
    written?.fill(1, at, at + values.length);
  }

  #copy({ to, toIndex, from, fromIndex, count }: StatementOf<'copy'>): void {
    const [at, begin, length] = [this.#number(toIndex), this.#number(fromIndex), this.#count(count)];
    this.#write(to, at, this.#read(from, begin, length));
  }

  #read(buffer: Buffer, at: number, count: number): number[] {
    const { elements, written } = this.#machine.memory(buffer, at, count);
    if (written?.subarray(at, at + count).includes(0) === true) wrong(`${buffer.name}[${at}] is read before it is written`);
    return Array.from(elements.subarray(at, at + count));
  }

  #index(e: Expression): number {
    const index = this.#number(e);
    if (index < 0) wrong(`the index ${expressionText(e)} is ${index}`);
    return index;
  }

  #count(e: Expression): number {
    const count = this.#number(e);
    return count >= 0 ? count : wrong(`the count ${expressionText(e)} is ${count}`);
  }

  #number(e: Expression): number {
    return this.value(e) as number;
  }

  value(e: Expression): Value {
    switch (e.kind) {
      case 'constant': return e.value;
      case 'get': return this.#locals.get(e.local) ?? wrong(`${e.local.name} is read before it is set`);
      case 'load': {
        const values = this.#read(e.buffer, this.#index(e.index) + e.offset, lanesOf[e.type]);
        return isVector(e.type) ? values : required(values[0]);
      }
      case 'unary': {
        const f = required(unaryOn(e.op, elementOf[e.type]));
        return byLanes(e.type, [this.value(e.operand)], (a) => f(a));
      }
      case 'binary': return this.#binary(e);
      case 'compare': return compared(e.op, this.#number(e.left), this.#number(e.right)) ? 1 : 0;
      case 'logic': return (this.#number(e.left) !== 0) === (e.op === 'and') ? this.value(e.right) : e.op === 'and' ? 0 : 1;
      case 'select': return this.value(this.#number(e.condition) !== 0 ? e.then : e.otherwise);
      case 'convert': {
        const f = required(conversionOf(elementOf[e.operand.type], elementOf[e.type]));
        return byLanes(e.type, [this.value(e.operand)], (a) => f(a));
      }
      case 'math': return mathOf(e.name)(...e.args.map((arg) => this.#number(arg)));
      case 'word': return wordOf(e.part, this.#number(e.operand));
      case 'words': return fromWords(this.#number(e.high), this.#number(e.low));
      case 'splat': return Array<number>(lanesOf[e.type]).fill(this.#number(e.operand));
      case 'lanes': return e.parts.map((part) => this.#number(part));
      case 'extract': return required((this.value(e.vector) as readonly number[])[e.lane]);
    }
  }

  #binary(e: ExpressionOf<'binary'>): Value {
    const element = elementOf[e.type];
    const f = required(binaryOn(e.op, element));
    const [a, b] = [this.value(e.left), this.value(e.right)];
    if (element === 'i32' && (e.op === 'div' || e.op === 'rem') && b === 0) wrong(`division by zero: ${expressionText(e)}`);
    const isWrong = e.isExact === true && f(a as number, b as number) !== required(exactly[e.op])(a as number, b as number);
    if (isWrong) wrong(`${expressionText(e)} wraps`);
    return byLanes(e.type, [a, b], (x, y) => f(x, y));
  }
}

const exactly: Readonly<Record<string, (a: number, b: number) => number>> = {
  add: (a, b) => a + b, sub: (a, b) => a - b, mul: (a, b) => a * b + 0,
};

/** Applies a scalar function lane by lane; scalar arguments are used for all lanes. */
function byLanes(type: Type, args: readonly Value[], f: (...args: number[]) => number): Value {
  const one = (lane: number): number => f(...args.map((arg) => (typeof arg === 'number' ? arg : required(arg[lane]))));
  return isVector(type) ? Array.from({ length: lanesOf[type] }, (_, lane) => one(lane)) : one(0);
}
