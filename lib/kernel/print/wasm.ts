// Programs as WebAssembly modules.
import {
  elementOf, isVector, valueOf, type Body, type Buffer, type Expression, type ExpressionOf, type KernelFunction, type Label,
  type Local, type Program, type ScalarType, type Statement, type StatementOf, type Type,
} from '../ir.ts';
import { localsOf, walkBody, walkExpression } from '../visit.ts';
import {
  binaryCode, Bytes, bytesOf, compareCode, convertCode, extractCode, lane, loadCode, loadLanes, moduleBytes, replaceCode, splatCode,
  storeCode, unaryCode, type ModuleFunction, type Signature,
} from './wasm-binary.ts';
import type { WasmLayout, WasmPlace } from './wasm-layout.ts';

export interface WasmOptions {
  readonly layout: WasmLayout;
  /** Several threads use the memory. */
  readonly isShared?: boolean;
  /** Functions that can be called from outside. Default: all. */
  readonly exports?: ReadonlySet<string>;
}

type Callable = Signature & { readonly name: string };
const trapImport: Callable = { name: 'trap', parameters: ['i32', 'f64'], results: [] };

/** What a program takes from the host beside its imports: traps, functions of mathematics, the remainder of doubles (`mod`). */
function neededImports({ functions }: Program): Callable[] {
  const found = new Map<string, Callable>();
  const need = (each: Callable): void => { found.set(each.name, each); };
  for (const { body } of functions) {
    walkBody(body, {
      statement: (s) => { if (s.kind === 'trap' || s.kind === 'guard') need(trapImport); },
      expression: (e) => {
        if (e.kind === 'math') need({ name: e.name, parameters: e.args.map(() => 'f64'), results: ['f64'] });
        else if (e.kind === 'binary' && e.op === 'rem' && e.type !== 'i32') need({ name: 'mod', parameters: ['f64', 'f64'], results: ['f64'] });
      },
    });
  }
  return [...found.values()];
}

/** What `br` counts: blocks around, and what leaving each means. */
interface Frame {
  readonly label: Label | undefined;
  readonly isContinue: boolean;
}

class FunctionPrinter {
  readonly #code = new Bytes();
  readonly #index = new Map<Local, number>();
  /** Types of variables behind the parameters. */
  readonly #types: Type[] = [];
  readonly #spare: { readonly [T in Type]?: number[] } = {};
  readonly #frames: Frame[] = [];
  readonly #pointers = new Map<Buffer, number>();
  readonly #left: Readonly<Record<'break' | 'continue', ReadonlySet<Label>>>;
  readonly #f: KernelFunction;
  readonly #layout: WasmLayout;
  readonly #functions: ReadonlyMap<string, number>;

  constructor(f: KernelFunction, layout: WasmLayout, functions: ReadonlyMap<string, number>) {
    this.#f = f;
    this.#layout = layout;
    this.#functions = functions;
    const left = { break: new Set<Label>(), continue: new Set<Label>() };
    walkBody(f.body, { statement: (s) => { if (s.kind === 'break' || s.kind === 'continue') left[s.kind].add(s.label); } });
    this.#left = left;
    localsOf(f).forEach((local, i) => {
      this.#index.set(local, i);
      if (i >= f.parameters.length) this.#types.push(local.type);
    });
  }

  print(): ModuleFunction {
    const { name, parameters, results, body } = this.#f;
    this.#loadPointers();
    this.#body(body);
    // Every path of a function with results has returned.
    if (results.length > 0) this.#code.op('unreachable');
    return { name, signature: { parameters: parameters.map(({ type }) => type), results }, locals: this.#types, code: this.#code };
  }

  /** Addresses of external buffers, which are found when the function begins. */
  #loadPointers(): void {
    const need = (buffer: Buffer): void => {
      const place = this.#place(buffer);
      if (!place.isPointer || this.#pointers.has(buffer)) return;
      const local = this.#newVariable('i32');
      this.#pointers.set(buffer, local);
      this.#base(place).push(loadCode.i32).access(4, place.at).set(local);
    };
    walkBody(this.#f.body, {
      statement: (s) => { for (const part of ['buffer', 'to', 'from'] as const) if (part in s) whenBuffer(s[part as never], need); },
      expression: (e) => { if (e.kind === 'load') need(e.buffer); },
    });
  }

  #newVariable(type: Type): number {
    this.#types.push(type);
    return this.#f.parameters.length + this.#types.length - 1;
  }

  /** A variable of the printer's while `use` runs. */
  #with(type: Type, use: (local: number) => void): void {
    const spare = (this.#spare as Record<Type, number[]>)[type] ??= [];
    const local = spare.pop() ?? this.#newVariable(type);
    use(local);
    spare.push(local);
  }

  #place(buffer: Buffer): WasmPlace {
    const place = this.#layout.places.get(buffer);
    if (place === undefined) throw new Error(`${buffer.name} has no place in memory`);
    return place;
  }

  #base({ isOwn }: WasmPlace): Bytes {
    return isOwn ? this.#code.op('global_get').unsigned(0) : this.#code.constant('i32', 0);
  }

  /** Writes the address of an element but for a constant, which it gives. */
  #address(buffer: Buffer, index: Expression, offset: number): number {
    const place = this.#place(buffer);
    const size = bytesOf[buffer.element];
    const known = valueOf(index);
    const pointer = this.#pointers.get(buffer);
    const at = (pointer === undefined ? place.at : 0) + (offset + (known ?? 0)) * size;
    if (pointer !== undefined) this.#code.get(pointer);
    else if (place.isOwn || known !== undefined) this.#base(place);
    if (known !== undefined) return at;
    this.#value(index);
    this.#code.constant('i32', Math.log2(size)).op('i32_shl');
    if (pointer !== undefined || place.isOwn) this.#code.op('i32_add');
    return at;
  }

  /** Writes the whole address of an element. */
  #wholeAddress(buffer: Buffer, index: Expression): void {
    const at = this.#address(buffer, index, 0);
    if (at !== 0) this.#code.constant('i32', at).op('i32_add');
  }

  #body(body: Body): void {
    for (const s of body) this.#statement(s);
  }

  #inside(frame: Frame, write: () => void): void {
    this.#frames.push(frame);
    write();
    this.#frames.pop();
    this.#code.op('end');
  }

  /** As {@link #inside}, in a block that can be left, where anything leaves it. */
  #leavable(kind: 'break' | 'continue', label: Label, write: () => void): void {
    if (!this.#left[kind].has(label)) {
      write();
      return;
    }
    this.#code.begin('block');
    this.#inside({ label, isContinue: kind === 'continue' }, write);
  }

  #statement(s: Statement): void {
    const code = this.#code;
    switch (s.kind) {
      case 'set':
        this.#value(s.value);
        code.set(this.#index.get(s.local)!);
        break;
      case 'store': this.#store(s); break;
      case 'copy': this.#copy(s); break;
      case 'fill':
        this.#wholeAddress(s.buffer, s.index);
        code.constant('i32', 0);
        this.#byteCount(s.buffer.element, s.count);
        code.push(0xfc).push(11).push(0);
        break;
      case 'if': this.#if(s); break;
      case 'for': this.#for(s); break;
      case 'while': this.#while(s); break;
      case 'block': this.#leavable('break', s.label, () => { this.#body(s.body); }); break;
      case 'break': case 'continue': code.op('br').unsigned(this.#depth(s)); break;
      case 'call':
        for (const arg of s.args) this.#value(arg);
        code.op('call').unsigned(this.#functions.get(s.callee)!);
        for (const local of s.results.toReversed()) code.set(this.#index.get(local)!);
        break;
      case 'return':
        for (const value of s.values) this.#value(value);
        code.op('return');
        break;
      case 'trap': this.#trap(s); break;
      case 'guard':
        this.#condition(s.condition);
        code.op('i32_eqz').begin('if');
        this.#inside(noFrame, () => { this.#trap(s); });
    }
  }

  #trap({ site, value }: { readonly site: number; readonly value: Expression }): void {
    this.#code.constant('i32', site);
    this.#value(value);
    this.#code.op('call').unsigned(this.#functions.get('trap')!).op('unreachable');
  }

  /** How many blocks lie between here and what a statement leaves. */
  #depth({ kind, label }: StatementOf<'break' | 'continue'>): number {
    const at = this.#frames.findLastIndex((frame) => frame.label === label && frame.isContinue === (kind === 'continue'));
    return this.#frames.length - 1 - at;
  }

  #store({ buffer, index, offset, value }: StatementOf<'store'>): void {
    const at = this.#address(buffer, index, offset);
    this.#value(value);
    if (isVector(value.type)) this.#code.lanes(lane.store).access(4, at);
    else this.#code.push(storeCode[buffer.element]).access(bytesOf[buffer.element], at);
  }

  #copy({ to, toIndex, from, fromIndex, count }: StatementOf<'copy'>): void {
    this.#wholeAddress(to, toIndex);
    this.#wholeAddress(from, fromIndex);
    this.#byteCount(to.element, count);
    this.#code.push(0xfc).push(10).push(0).push(0);
  }

  #byteCount(element: ScalarType, count: Expression): void {
    this.#value(count);
    this.#code.constant('i32', Math.log2(bytesOf[element])).op('i32_shl');
  }

  #if({ condition, then, otherwise }: StatementOf<'if'>): void {
    const code = this.#code;
    this.#condition(condition);
    const [only] = then;
    if (otherwise.length === 0 && then.length === 1 && (only!.kind === 'break' || only!.kind === 'continue')) {
      code.op('br_if').unsigned(this.#depth(only as StatementOf<'break'>));
      return;
    }
    if (then.length === 0) code.op('i32_eqz');
    code.begin('if');
    this.#inside(noFrame, () => {
      this.#body(then.length === 0 ? otherwise : then);
      if (then.length === 0 || otherwise.length === 0) return;
      code.op('else');
      this.#body(otherwise);
    });
  }

  /** A loop that tests at the end of each iteration whether there is another; `stays` writes the condition. */
  #rotated(label: Label, body: Body, isEntered: boolean, next: () => void, stays: (() => void) | undefined): void {
    const code = this.#code;
    const skips = stays !== undefined && !isEntered;
    if (skips) {
      stays();
      code.begin('if');
      this.#frames.push(noFrame);
    }
    this.#leavable('break', label, () => {
      code.begin('loop');
      this.#inside(noFrame, () => {
        this.#leavable('continue', label, () => { this.#body(body); });
        next();
        stays?.();
        code.op(stays === undefined ? 'br' : 'br_if').unsigned(0);
      });
    });
    if (!skips) return;
    this.#frames.pop();
    code.op('end');
  }

  #while({ label, condition, body }: StatementOf<'while'>): void {
    const known = valueOf(condition);
    if (known === 0) return;
    this.#rotated(label, body, false, () => {}, known === undefined ? () => { this.#condition(condition); } : undefined);
  }

  #for({ label, counter, from, to, step, body }: StatementOf<'for'>): void {
    const code = this.#code;
    const local = this.#index.get(counter)!;
    const [low, high] = [valueOf(from), valueOf(to)];
    this.#with('i32', (end) => {
      if (high === undefined) {
        this.#value(to);
        code.set(end);
      }
      this.#value(from);
      code.set(local);
      this.#rotated(label, body, low !== undefined && high !== undefined && low < high,
        () => { code.get(local).constant('i32', step).op('i32_add').set(local); }, () => {
          code.get(local);
          if (high === undefined) code.get(end);
          else code.constant('i32', high);
          code.op('i32_lt_s');
        });
    });
  }

  /** A condition as 0 or any other integer. */
  #condition(e: Expression): void {
    if (e.kind === 'convert') this.#value(e.operand);
    else this.#value(e);
  }

  #value(e: Expression): void {
    const code = this.#code;
    switch (e.kind) {
      case 'constant': code.constant(e.type as ScalarType, e.value); break;
      case 'get': code.get(this.#index.get(e.local)!); break;
      case 'load': this.#load(e); break;
      case 'unary': this.#unary(e); break;
      case 'binary': this.#binary(e); break;
      case 'compare':
        this.#value(e.left);
        if (e.op === 'eq' && valueOf(e.right) === 0 && e.left.type === 'i32') code.op('i32_eqz');
        else {
          this.#value(e.right);
          code.push(compareCode[e.op][e.left.type as ScalarType]);
        }
        break;
      case 'logic': this.#logic(e); break;
      case 'select': this.#select(e); break;
      case 'convert': this.#convert(e); break;
      case 'math':
        for (const arg of e.args) this.#value(arg);
        code.op('call').unsigned(this.#functions.get(e.name)!);
        break;
      case 'splat': this.#splat(e); break;
      case 'lanes': this.#lanes(e); break;
      case 'extract':
        this.#value(e.vector);
        code.lanes(extractCode[e.type as ScalarType]).push(e.lane);
    }
  }

  #load({ type, buffer, index, offset }: ExpressionOf<'load'>): void {
    const at = this.#address(buffer, index, offset);
    if (isVector(type)) this.#code.lanes(lane.load).access(4, at);
    else this.#code.push(loadCode[buffer.element]).access(bytesOf[buffer.element], at);
  }

  #unary({ op: name, type, operand }: ExpressionOf<'unary'>): void {
    const code = this.#code;
    if (type === 'i32' && name === 'neg') {
      code.constant('i32', 0);
      this.#value(operand);
      code.op('i32_sub');
    } else if (type === 'i32') {
      this.#with('i32', (a) => {
        this.#value(operand);
        code.set(a).constant('i32', 0).get(a).op('i32_sub').get(a).get(a).constant('i32', 0).op('i32_lt_s').op('select');
      });
    } else {
      this.#value(operand);
      if (type === 'bool') code.op('i32_eqz');
      else if (isVector(type)) code.lanes(unaryCode[name][type]);
      else code.push(unaryCode[name][type]);
    }
  }

  #binary(e: ExpressionOf<'binary'>): void {
    const { op: name, type, left, right } = e;
    const code = this.#code;
    if (name === 'div' && type === 'i32') this.#divide(e);
    else if ((name === 'min' || name === 'max') && type === 'i32') this.#extreme(e);
    else if (name === 'rem' && type !== 'i32') this.#remainder(e);
    else {
      this.#value(left);
      this.#value(right);
      if (isVector(type)) code.lanes(binaryCode[name][type]);
      else code.push(binaryCode[name][type as ScalarType]);
    }
  }

  /** Of integers; the least by -1 is the least again. */
  #divide({ left, right }: ExpressionOf<'binary'>): void {
    const code = this.#code;
    const by = valueOf(right);
    if (by !== undefined && by !== -1) {
      this.#value(left);
      code.constant('i32', by).op('i32_div_s');
      return;
    }
    this.#with('i32', (a) => {
      this.#with('i32', (b) => {
        this.#value(left);
        code.set(a);
        this.#value(right);
        code.tee(b).constant('i32', -1).op('i32_eq').begin('if', 'i32').constant('i32', 0).get(a).op('i32_sub').op('else');
        code.get(a).get(b).op('i32_div_s').op('end');
      });
    });
  }

  #extreme({ op: name, left, right }: ExpressionOf<'binary'>): void {
    this.#with('i32', (a) => {
      this.#with('i32', (b) => {
        this.#value(left);
        this.#code.set(a);
        this.#value(right);
        this.#code.set(b).get(a).get(b).get(a).get(b).op(name === 'min' ? 'i32_lt_s' : 'i32_gt_s').op('select');
      });
    });
  }

  /** Of floats, by the host; exact, so that singles may go by way of doubles. */
  #remainder({ type, left, right }: ExpressionOf<'binary'>): void {
    for (const each of [left, right]) {
      this.#value(each);
      if (type === 'f32') this.#code.op('f64_promote_f32');
    }
    this.#code.op('call').unsigned(this.#functions.get('mod')!);
    if (type === 'f32') this.#code.op('f32_demote_f64');
  }

  #logic({ op: name, left, right }: ExpressionOf<'logic'>): void {
    const code = this.#code;
    this.#condition(left);
    code.begin('if', 'bool');
    this.#frames.push(noFrame);
    if (name === 'and') this.#value(right);
    else code.constant('bool', 1);
    code.op('else');
    if (name === 'and') code.constant('bool', 0);
    else this.#value(right);
    this.#frames.pop();
    code.op('end');
  }

  #select({ type, condition, then, otherwise }: ExpressionOf<'select'>): void {
    const code = this.#code;
    if (isCheap(then) && isCheap(otherwise) && !isVector(type)) {
      this.#value(then);
      this.#value(otherwise);
      this.#condition(condition);
      code.op('select');
      return;
    }
    this.#condition(condition);
    code.begin('if', type);
    this.#value(then);
    code.op('else');
    this.#value(otherwise);
    code.op('end');
  }

  #convert({ type, operand }: ExpressionOf<'convert'>): void {
    const code = this.#code;
    this.#value(operand);
    if (type === 'bool') code.op('i32_eqz').op('i32_eqz');
    else if (isVector(type)) code.lanes(type === 'i32x4' ? lane.trunc : lane.convert);
    else if (operand.type !== 'bool') {
      const made = convertCode[operand.type as ScalarType][type];
      if (made < 0) code.push(0xfc).push(-made - 1);
      else code.push(made);
    }
  }

  #splat({ operand }: ExpressionOf<'splat'>): void {
    if (operand.kind === 'load') this.#laneLoad('splat', operand);
    else {
      this.#value(operand);
      this.#code.lanes(splatCode[operand.type as ScalarType]);
    }
  }

  #laneLoad(how: keyof typeof loadLanes, { buffer, index, offset }: ExpressionOf<'load'>): void {
    const at = this.#address(buffer, index, offset);
    const size = bytesOf[buffer.element] as 4 | 8;
    this.#code.lanes(loadLanes[how][size]).access(size, at);
  }

  #lanes({ type, parts }: ExpressionOf<'lanes'>): void {
    const code = this.#code;
    const element = elementOf[type] as ScalarType;
    if (parts.every((part) => part.kind === 'constant')) {
      code.lanes(lane.constant);
      for (const part of parts) code.scalar(element, valueOf(part)!);
      return;
    }
    this.#with(type, (sum) => {
      parts.forEach((part, i) => {
        if (part.kind === 'load') {
          if (i === 0) this.#laneLoad('zero', part);
          else {
            const at = this.#address(part.buffer, part.index, part.offset);
            const size = bytesOf[element] as 4 | 8;
            code.get(sum).lanes(loadLanes.lane[size]).access(size, at).push(i);
          }
        } else {
          if (i > 0) code.get(sum);
          this.#value(part);
          if (i === 0) code.lanes(splatCode[element]);
          else code.lanes(replaceCode[element]).push(i);
        }
        if (i < parts.length - 1) code.set(sum);
      });
    });
  }
}

const noFrame: Frame = { label: undefined, isContinue: false };

function whenBuffer(part: unknown, use: (buffer: Buffer) => void): void {
  if (typeof part === 'object' && part !== null && 'role' in part) use(part as Buffer);
}

/** Whether a value may be found although it is not needed. */
function isCheap(e: Expression): boolean {
  let size = 0;
  let isSafe = true;
  walkExpression(e, (part) => {
    ++size;
    isSafe &&= part.kind === 'constant' || part.kind === 'get' || (part.kind === 'binary' && (part.op === 'add' || part.op === 'sub'));
  });
  return isSafe && size <= 3;
}

/** Prints a verified program. */
export function printWasm(program: Program, { layout, isShared = false, exports }: WasmOptions): Uint8Array<ArrayBuffer> {
  const imports: Callable[] = [...program.imports, ...neededImports(program)];
  const numbers = new Map([...imports, ...program.functions].map(({ name }, i) => [name, i]));
  const functions = program.functions.map((f) => new FunctionPrinter(f, layout, numbers).print());
  return moduleBytes({
    imports, functions, exports: exports ?? new Set(program.functions.map(({ name }) => name)), pages: layout.pages, isShared,
  });
}

