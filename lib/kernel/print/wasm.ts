// Programs as WebAssembly modules.
import {
  isVector, valueOf, type Body, type Expression, type KernelFunction, type Label, type Program, type ScalarType, type Statement,
  type StatementOf,
} from '../ir.ts';
import { mathIn } from '../math/index.ts';
import { walkBody } from '../visit.ts';
import {
  bytesOf, lane, loadCode, moduleBytes, splatCode, storeCode, vectorBytes, type Bytes, type ModuleFunction, type Signature,
} from './wasm-binary.ts';
import { ExpressionPrinter, type Numbers } from './wasm-expressions.ts';
import type { WasmLayout } from './wasm-layout.ts';

export interface WasmOptions {
  readonly layout: WasmLayout;
  /** Several threads use the memory. */
  readonly isShared?: boolean;
  /** Functions to export. Default: all. */
  readonly exports?: ReadonlySet<string>;
}

type Callable = Signature & { readonly name: string };
const trapImport: Callable = { name: 'trap', parameters: ['i32', 'f64'], results: [] };
const modImport: Callable = { name: 'mod', parameters: ['f64', 'f64'], results: ['f64'] };

/** What a program imports besides its own imports: traps, the remainder of doubles (`mod`). */
function neededImports({ functions }: Program): Callable[] {
  const found = new Map<string, Callable>();
  const need = (each: Callable): void => { found.set(each.name, each); };
  for (const { body } of functions) {
    walkBody(body, {
      statement: (s) => { if (s.kind === 'trap' || s.kind === 'guard') need(trapImport); },
      expression: (e) => {
        if (e.kind === 'binary' && e.op === 'rem' && e.type !== 'i32') need(modImport);
      },
    });
  }
  return [...found.values()];
}

/** Up to this many bytes, memory is copied and filled by inline instructions: engines call a function for bulk operations. */
const mostShort = 512;

/** Size in bytes of `count` elements, if it is known and small. */
function shortBytes(element: ScalarType, count: Expression): number | undefined {
  const known = valueOf(count);
  const bytes = known === undefined ? Infinity : known * bytesOf[element];
  return bytes <= mostShort ? bytes : undefined;
}

/** Calls `use` with parts of 16 bytes, then of 4. */
function eachPart(bytes: number, use: (at: number, size: number) => void): void {
  let at = 0;
  for (; at + vectorBytes <= bytes; at += vectorBytes) use(at, vectorBytes);
  for (; at < bytes; at += 4) use(at, 4);
}

/** What `br` counts: the enclosing blocks, and the meaning of leaving each. */
interface Frame {
  readonly label: Label | undefined;
  readonly isContinue: boolean;
}

class FunctionPrinter {
  readonly #write: ExpressionPrinter;
  readonly #code: Bytes;
  readonly #frames: Frame[] = [];
  readonly #left: Readonly<Record<'break' | 'continue', ReadonlySet<Label>>>;
  readonly #f: KernelFunction;

  constructor(f: KernelFunction, layout: WasmLayout, numbers: Numbers) {
    this.#f = f;
    this.#write = new ExpressionPrinter(f, layout, numbers);
    this.#code = this.#write.code;
    const left = { break: new Set<Label>(), continue: new Set<Label>() };
    walkBody(f.body, { statement: (s) => { if (s.kind === 'break' || s.kind === 'continue') left[s.kind].add(s.label); } });
    this.#left = left;
  }

  print(): ModuleFunction {
    const { name, parameters, results, body } = this.#f;
    this.#body(body);
    // Every path of a function with results has returned.
    if (results.length > 0) this.#code.op('unreachable');
    return { name, signature: { parameters: parameters.map(({ type }) => type), results }, locals: this.#write.types, code: this.#code };
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

  /** Like {@link #inside}, but in a block that can be left, if anything leaves it. */
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
        this.#write.value(s.value);
        code.set(this.#write.local(s.local));
        break;
      case 'store': this.#store(s); break;
      case 'copy': this.#copy(s); break;
      case 'fill': this.#fill(s); break;
      case 'if': this.#if(s); break;
      case 'for': this.#for(s); break;
      case 'while': this.#while(s); break;
      case 'block': this.#leavable('break', s.label, () => { this.#body(s.body); }); break;
      case 'break': case 'continue': code.op('br').unsigned(this.#depth(s)); break;
      case 'call':
        for (const arg of s.args) this.#write.value(arg);
        code.op('call').unsigned(this.#write.callee(s.callee));
        for (const local of s.results.toReversed()) code.set(this.#write.local(local));
        break;
      case 'return':
        for (const value of s.values) this.#write.value(value);
        code.op('return');
        break;
      case 'trap': this.#trap(s); break;
      case 'guard':
        this.#write.condition(s.condition);
        code.op('i32_eqz').begin('if');
        this.#inside(noFrame, () => { this.#trap(s); });
    }
  }

  #trap({ site, value }: { readonly site: Expression; readonly value: Expression }): void {
    this.#write.value(site);
    this.#write.value(value);
    this.#code.op('call').unsigned(this.#write.callee('trap')).op('unreachable');
  }

  /** How many enclosing blocks a statement leaves. */
  #depth({ kind, label }: StatementOf<'break' | 'continue'>): number {
    const at = this.#frames.findLastIndex((frame) => frame.label === label && frame.isContinue === (kind === 'continue'));
    return this.#frames.length - 1 - at;
  }

  #store({ buffer, index, offset, value }: StatementOf<'store'>): void {
    const at = this.#write.address(buffer, index, offset);
    this.#write.value(value);
    if (isVector(value.type)) this.#code.lanes(lane.store).access(4, at);
    else this.#code.push(storeCode[buffer.element]).access(bytesOf[buffer.element], at);
  }

  #copy({ to, toIndex, from, fromIndex, count }: StatementOf<'copy'>): void {
    const bytes = shortBytes(to.element, count);
    if (bytes !== undefined && to !== from) {
      this.#write.with('i32', (target) => {
        this.#write.with('i32', (source) => {
          this.#write.wholeAddress(to, toIndex);
          this.#code.set(target);
          this.#write.wholeAddress(from, fromIndex);
          this.#code.set(source);
          eachPart(bytes, (at, size) => {
            this.#code.get(target).get(source);
            this.#part('load', size, at);
            this.#part('store', size, at);
          });
        });
      });
      return;
    }
    this.#write.wholeAddress(to, toIndex);
    this.#write.wholeAddress(from, fromIndex);
    this.#byteCount(to.element, count);
    this.#code.push(0xfc).push(10).push(0).push(0);
  }

  #fill({ buffer, index, count }: StatementOf<'fill'>): void {
    const code = this.#code;
    const bytes = shortBytes(buffer.element, count);
    this.#write.wholeAddress(buffer, index);
    if (bytes === undefined) {
      code.constant('i32', 0);
      this.#byteCount(buffer.element, count);
      code.push(0xfc).push(11).push(0);
      return;
    }
    this.#write.with('i32', (target) => {
      code.set(target);
      eachPart(bytes, (at, size) => {
        code.get(target).constant('i32', 0);
        if (size === vectorBytes) code.lanes(splatCode.i32);
        this.#part('store', size, at);
      });
    });
  }

  /** Moves bytes whose address is on the stack, as lanes or as an integer. */
  #part(how: 'load' | 'store', size: number, at: number): void {
    if (size === vectorBytes) this.#code.lanes(lane[how]).access(4, at);
    else this.#code.push((how === 'load' ? loadCode : storeCode).i32).access(4, at);
  }

  #byteCount(element: ScalarType, count: Expression): void {
    this.#write.value(count);
    this.#code.constant('i32', Math.log2(bytesOf[element])).op('i32_shl');
  }

  #if({ condition, then, otherwise }: StatementOf<'if'>): void {
    const code = this.#code;
    this.#write.condition(condition);
    const [only] = then;
    if (otherwise.length === 0 && then.length === 1 && (only?.kind === 'break' || only?.kind === 'continue')) {
      code.op('br_if').unsigned(this.#depth(only));
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

  /** A loop that tests at the end of each iteration whether to continue; `stays` writes the condition. */
  #rotated(
    label: Label, body: Body, isEntered: boolean, next: () => void, stays: (() => void) | undefined, begin?: () => void,
  ): void {
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
        begin?.();
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
    this.#rotated(label, body, false, () => {}, known === undefined ? () => { this.#write.condition(condition); } : undefined);
  }

  #for(s: StatementOf<'for'>): void {
    const { label, counter, from, to, step, body } = s;
    const code = this.#code;
    const local = this.#write.local(counter);
    const [low, high] = [valueOf(from), valueOf(to)];
    this.#write.with('i32', (end) => {
      if (high === undefined) {
        this.#write.value(to);
        code.set(end);
      }
      this.#write.value(from);
      code.set(local);
      const begin = this.#write.beginLoop(s);
      this.#rotated(label, body, low !== undefined && high !== undefined && low < high,
        () => { code.get(local).constant('i32', step).op('i32_add').set(local); }, () => {
          code.get(local);
          if (high === undefined) code.get(end);
          else code.constant('i32', high);
          code.op('i32_lt_s');
        }, begin);
      this.#write.endLoop();
    });
  }
}

const noFrame: Frame = { label: undefined, isContinue: false };

/** Prints a verified program. */
export function printWasm(program: Program, { layout, isShared = false, exports }: WasmOptions): Uint8Array<ArrayBuffer> {
  const imports: Callable[] = [...program.imports, ...neededImports(program)];
  const library = mathIn(program).map(({ f }) => f);
  const numbered = (list: readonly { readonly name: string }[], from: number): [string, number][] =>
    list.map(({ name }, i) => [name, from + i]);
  const math = new Map(numbered(library, imports.length));
  const callable = new Map([...numbered(imports, 0), ...numbered(program.functions, imports.length + library.length)]);
  const functions = program.functions.map((f) => new FunctionPrinter(f, layout, { callable, math }).print());
  // Not an identifier, so no function of a program has this name.
  const inner = library.map((f) => ({ ...new FunctionPrinter(f, layout, { callable: math, math }).print(), name: `math ${f.name}` }));
  return moduleBytes({
    imports, functions: [...inner, ...functions], exports: exports ?? new Set(program.functions.map(({ name }) => name)),
    pages: layout.pages, isShared,
  });
}

