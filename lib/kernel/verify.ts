// Verifies what printers rely on: types match, names are unique, locals are set before they are read, labels enclose the exits that leave
// them, and functions are defined before they are called.
import { WarploomError } from '../core/errors.ts';
import {
  elementOf, isVector, lanesOf, libraryFunctions, vectorOf, type Body, type Buffer, type Expression, type KernelFunction, type Label,
  type Local, type Program, type Statement, type Type,
} from './ir.ts';
import { binaryOn, conversionOf, unaryOn } from './semantics.ts';
import { expressionText } from './text.ts';
import { expressionsOf, localsOf, localsSetBy, mapChildren } from './visit.ts';
import { required } from '../core/known.ts';

const identifier = /^[A-Za-z_]\w*$/;
const reserved: ReadonlySet<string> = new Set(['true', 'false']);
const vectorUnary: ReadonlySet<string> = new Set(['neg', 'abs', 'sqrt', 'floor', 'ceil', 'rint']);
const intVector: ReadonlySet<string> = new Set(['add', 'sub', 'mul', 'min', 'max', 'band', 'bor', 'xor', 'shl', 'shr', 'shr_u']);
const floatVector: ReadonlySet<string> = new Set(['add', 'sub', 'mul', 'div', 'min', 'max']);

/** A program breaks a rule of the representation: an error of its producer. */
function invalid(where: string, what: string): never {
  throw new WarploomError('ERR_WARPLOOM_INTERNAL', `kernel program, ${where}: ${what}`);
}

interface Signature {
  readonly parameters: readonly Type[];
  readonly results: readonly Type[];
}

/** Locals that certainly have a value, the set belonging to the body that is being read; undefined if the code is unreachable. */
type Known = Set<Local> | undefined;

function both(a: Known, b: Known): Known {
  if (a === undefined || b === undefined) return a ?? b;
  return a.size <= b.size ? new Set([...a].filter((local) => b.has(local))) : both(b, a);
}

interface Target {
  readonly label: Label;
  readonly isLoop: boolean;
  /** What is known at the exits so far. */
  left: Known;
}

class FunctionVerifier {
  readonly #f: KernelFunction;
  readonly #buffers: ReadonlySet<Buffer>;
  readonly #signatures: ReadonlyMap<string, Signature>;
  readonly #targets: Target[] = [];
  readonly #counters = new Set<Local>();
  readonly #labels = new Set<Label>();

  constructor(f: KernelFunction, buffers: ReadonlySet<Buffer>, signatures: ReadonlyMap<string, Signature>) {
    this.#f = f;
    this.#buffers = buffers;
    this.#signatures = signatures;
  }

  run(): void {
    const { parameters, results, body } = this.#f;
    this.#names();
    const end = this.#body(body, new Set(parameters));
    if (end !== undefined && results.length > 0) this.#bad('its end is reached without a return');
  }

  #names(): void {
    const names = new Set<string>();
    for (const { name, type, range } of localsOf(this.#f)) {
      if (!identifier.test(name) || reserved.has(name)) this.#bad(`${name} is no name`);
      if (names.has(name)) this.#bad(`two locals are named ${name}`);
      names.add(name);
      if (range !== undefined && (type !== 'i32' || !(range[0] <= range[1]))) this.#bad(`the range of ${name} is none`);
    }
  }

  #bad(what: string): never {
    return invalid(`function ${this.#f.name}`, what);
  }

  #need(condition: boolean, e: Expression, what: string): void {
    if (!condition) this.#bad(`${what}: ${expressionText(e)}`);
  }

  #body(body: Body, known: Known): Known {
    let now = known && new Set(known);
    for (const s of body) now = this.#statement(s, now);
    return now;
  }

  #statement(s: Statement, known: Known): Known {
    for (const e of expressionsOf(s)) this.#expression(e, known);
    this.#types(s);
    switch (s.kind) {
      case 'set': case 'call': return this.#setting(s, known);
      case 'if': return both(this.#body(s.then, known), this.#body(s.otherwise, known));
      case 'for': case 'while': return this.#loop(s, known);
      case 'block': {
        const target = this.#enter(s.label, false);
        const end = this.#body(s.body, known);
        this.#targets.pop();
        return both(end, target.left);
      }
      case 'break': case 'continue': {
        const target = this.#targets.findLast(({ label }) => label === s.label);
        if (target === undefined || (s.kind === 'continue' && !target.isLoop)) return this.#bad(`${s.label.name} is not around ${s.kind}`);
        if (s.kind === 'break') target.left = both(target.left, known);
        return undefined;
      }
      case 'return': case 'trap': return undefined;
      default: return known;
    }
  }

  #enter(label: Label, isLoop: boolean): Target {
    if (this.#labels.has(label)) this.#bad(`${label.name} stands twice`);
    if (!identifier.test(label.name)) this.#bad(`${label.name} is no name`);
    this.#labels.add(label);
    const target: Target = { label, isLoop, left: undefined };
    this.#targets.push(target);
    return target;
  }

  #loop(s: Extract<Statement, { kind: 'for' | 'while' }>, known: Known): Known {
    const target = this.#enter(s.label, true);
    if (s.kind === 'for') {
      if (this.#counters.has(s.counter)) this.#bad(`${s.counter.name} counts a loop inside its own loop`);
      this.#counters.add(s.counter);
      this.#body(s.body, known === undefined ? undefined : new Set([...known, s.counter]));
      this.#counters.delete(s.counter);
    } else this.#body(s.body, known);
    this.#targets.pop();
    // A loop without a condition can only be left by `break`.
    const isEndless = s.kind === 'while' && s.condition.kind === 'constant' && s.condition.value !== 0;
    const after = isEndless ? target.left : both(known, target.left);
    return s.kind !== 'for' || after?.has(s.counter) !== true ? after : new Set([...after].filter((local) => local !== s.counter));
  }

  #setting(s: Statement, known: Known): Known {
    for (const local of localsSetBy(s)) if (this.#counters.has(local)) this.#bad(`the body of a loop sets its counter ${local.name}`);
    for (const local of localsSetBy(s)) known?.add(local);
    return known;
  }

  #types(s: Statement): void {
    const int = (e: Expression): void => { this.#need(e.type === 'i32', e, 'an index or count is not an i32'); };
    const condition = (e: Expression): void => { this.#need(e.type === 'bool', e, 'a condition is no bool'); };
    switch (s.kind) {
      case 'set': this.#need(s.value.type === s.local.type, s.value, `${s.local.name} is of type ${s.local.type}`); break;
      case 'store':
        this.#access(s.buffer, s.index, s.offset, s.value.type);
        this.#writable(s.buffer);
        break;
      case 'copy':
        [s.toIndex, s.fromIndex, s.count].forEach(int);
        this.#buffer(s.from);
        this.#writable(s.to);
        if (s.from.element !== s.to.element) this.#bad('a copy between buffers of different elements');
        break;
      case 'fill':
        [s.index, s.count].forEach(int);
        this.#writable(s.buffer);
        break;
      case 'if': case 'while': condition(s.condition); break;
      case 'for':
        [s.from, s.to].forEach(int);
        if (s.counter.type !== 'i32' || !Number.isInteger(s.step) || s.step < 1) this.#bad(`${s.counter.name} does not count`);
        break;
      case 'call': this.#call(s.callee, s.args, s.results.map(({ type }) => type)); break;
      case 'return': this.#fit(s.values.map(({ type }) => type), this.#f.results, 'what is returned'); break;
      case 'trap': case 'guard':
        this.#need(s.site.type === 'i32', s.site, 'the site of a trap is not an i32');
        this.#need(s.value.type === 'f64', s.value, 'the value of a trap is not an f64');
        if (s.kind === 'guard') condition(s.condition);
        break;
      default:
    }
  }

  #fit(given: readonly Type[], wanted: readonly Type[], what: string): void {
    if (given.length !== wanted.length || given.some((type, i) => type !== wanted[i])) {
      this.#bad(`${what}: (${given.join(', ')}) in place of (${wanted.join(', ')})`);
    }
  }

  #call(callee: string, args: readonly Expression[], results: readonly Type[]): void {
    const signature = this.#signatures.get(callee);
    if (signature === undefined) return this.#bad(`${callee} is not defined before it is called`);
    this.#fit(args.map(({ type }) => type), signature.parameters, `arguments of ${callee}`);
    this.#fit(results, signature.results, `results of ${callee}`);
  }

  #buffer(buffer: Buffer): void {
    if (!this.#buffers.has(buffer)) this.#bad(`the buffer ${buffer.name} is not declared`);
  }

  #writable(buffer: Buffer): void {
    this.#buffer(buffer);
    if (buffer.role === 'constant' || buffer.isReadOnly === true) this.#bad(`${buffer.name} is written`);
  }

  #access(buffer: Buffer, index: Expression, offset: number, type: Type): void {
    this.#buffer(buffer);
    this.#need(index.type === 'i32', index, 'an index is no i32');
    if (!Number.isInteger(offset) || offset < 0) this.#bad(`the offset ${offset}`);
    if (elementOf[type] !== buffer.element) this.#bad(`${type} in ${buffer.name}, which holds ${buffer.element}`);
    const { length } = buffer;
    if (index.kind !== 'constant' || length === undefined) return;
    this.#need(index.value >= 0 && index.value + offset + lanesOf[type] <= length, index, `an index outside of ${buffer.name}`);
  }

  #expression(e: Expression, known: Known): void {
    mapChildren(e, (child) => {
      this.#expression(child, known);
      return child;
    });
    if (e.kind === 'get' && known !== undefined) this.#need(known.has(e.local), e, 'a local is read before it is set');
    const problem = this.#problem(e);
    if (problem !== undefined) this.#need(false, e, problem);
  }

  /** Describes a type error in an expression. */
  #problem(e: Expression): string | undefined {
    const unless = (condition: boolean): string | undefined => (condition ? undefined : 'types do not fit');
    switch (e.kind) {
      case 'constant': return unless(!isVector(e.type) && isHeld(e.type, e.value));
      case 'get': return unless(e.type === e.local.type);
      case 'load': this.#access(e.buffer, e.index, e.offset, e.type); return undefined;
      case 'unary': return unless(e.type === e.operand.type && hasUnary(e.op, e.type));
      case 'binary': return unless(e.type === e.left.type && hasBinary(e.op, e.type, e.right.type)
        && (e.isExact !== true || (e.type === 'i32' && ['add', 'sub', 'mul'].includes(e.op))));
      case 'compare': return unless(e.type === 'bool' && e.left.type === e.right.type && !isVector(e.left.type) && e.left.type !== 'bool'
        && (e.op !== 'lt_u' || e.left.type === 'i32'));
      case 'logic': return unless([e, e.left, e.right].every(({ type }) => type === 'bool'));
      case 'select': return unless(e.condition.type === 'bool' && e.then.type === e.type && e.otherwise.type === e.type);
      case 'convert': return unless(hasConversion(e.operand.type, e.type));
      case 'math': return unless([e, ...e.args].every(({ type }) => type === 'f64') && e.args.length === libraryFunctions[e.name]);
      case 'word': return unless(e.type === 'i32' && e.operand.type === 'f64');
      case 'words': return unless(e.type === 'f64' && e.high.type === 'i32' && e.low.type === 'i32');
      case 'splat': return unless(e.type === vectorOf[e.operand.type as 'f32']);
      case 'lanes': return unless(isVector(e.type) && e.parts.length === lanesOf[e.type] && e.parts.every(({ type }) =>
        type === elementOf[e.type]));
      case 'extract': return unless(isVector(e.vector.type) && e.type === elementOf[e.vector.type] && Number.isInteger(e.lane)
        && e.lane >= 0 && e.lane < lanesOf[e.vector.type]);
    }
  }
}

function isHeld(type: Type, x: number): boolean {
  if (type === 'i32') return Object.is(x | 0, x);
  if (type === 'f32') return Object.is(Math.fround(x), x);
  return type === 'f64' || Object.is(x, 0) || x === 1;
}

function hasUnary(op: Parameters<typeof unaryOn>[0], type: Type): boolean {
  if (!isVector(type)) return unaryOn(op, type) !== undefined;
  return vectorUnary.has(op) && unaryOn(op, elementOf[type]) !== undefined;
}

function hasBinary(op: Parameters<typeof binaryOn>[0], type: Type, right: Type): boolean {
  const isShift = op === 'shl' || op === 'shr' || op === 'shr_u';
  if (right !== (isShift ? 'i32' : type)) return false;
  if (!isVector(type)) return binaryOn(op, type) !== undefined;
  return (type === 'i32x4' ? intVector : floatVector).has(op);
}

function hasConversion(from: Type, to: Type): boolean {
  if (isVector(from) || isVector(to)) return (from === 'i32x4' && to === 'f32x4') || (from === 'f32x4' && to === 'i32x4');
  return conversionOf(from, to) !== undefined;
}

function verifyBuffer({ name, role, length, initial, element }: Buffer): void {
  const where = `buffer ${name}`;
  if (!identifier.test(name)) invalid(where, 'is no name');
  if (length === undefined ? role !== 'external' : !Number.isInteger(length) || length < 0) invalid(where, `the length ${length}`);
  if (initial === undefined) return;
  if ((role !== 'global' && role !== 'constant') || initial.length > required(length)) invalid(where, 'its contents do not fit');
  for (let i = 0; i < initial.length; ++i) if (!isHeld(element, required(initial[i]))) invalid(where, `${initial[i]} is no ${element}`);
}

/** Returns the program, or throws a WarploomError that says what is wrong with it. */
export function verify(program: Program): Program {
  const names = new Set<string>();
  const once = (name: string): void => {
    if (names.has(name)) invalid(name, 'the name stands twice');
    names.add(name);
  };
  const signatures = new Map<string, Signature>();
  const all = [...program.buffers, ...program.functions.flatMap(({ buffers }) => buffers)];
  for (const buffer of all) {
    once(buffer.name);
    verifyBuffer(buffer);
  }
  if (program.buffers.some(({ role }) => role === 'local')) invalid('buffers', 'a local buffer belongs to no function');
  for (const each of program.imports) {
    once(each.name);
    signatures.set(each.name, each);
  }
  for (const f of program.functions) {
    once(f.name);
    if (f.buffers.some(({ role }) => role !== 'local')) invalid(`function ${f.name}`, 'a buffer of its own is not local');
    new FunctionVerifier(f, new Set([...program.buffers, ...f.buffers]), signatures).run();
    signatures.set(f.name, { parameters: f.parameters.map(({ type }) => type), results: f.results });
  }
  return program;
}
