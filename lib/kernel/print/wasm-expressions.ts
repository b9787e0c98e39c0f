// Expressions as instructions that leave a value on the stack.
import {
  elementOf, isVector, valueOf, type Buffer, type Expression, type ExpressionOf, type KernelFunction, type Local, type ScalarType,
  type StatementOf, type Type,
} from '../ir.ts';
import { localsOf, walkBody, walkExpression } from '../visit.ts';
import {
  binaryCode, Bytes, bytesOf, compareCode, convertCode, extractCode, lane, loadCode, loadLanes, replaceCode, splatCode, unaryCode,
} from './wasm-binary.ts';
import type { WasmLayout, WasmPlace } from './wasm-layout.ts';
import { LoopRows } from './wasm-rows.ts';
import { required } from '../../core/known.ts';

/** The indices of functions and imports, and of mathematical functions, by name. */
export interface Numbers {
  readonly callable: ReadonlyMap<string, number>;
  readonly math: ReadonlyMap<string, number>;
}

/** Prints the expressions of one function. Keeps track of its variables and the addresses of buffers. */
export class ExpressionPrinter {
  readonly code = new Bytes();
  /** Types of the variables after the parameters. */
  readonly types: Type[] = [];
  readonly #index = new Map<Local, number>();
  readonly #spare: { readonly [T in Type]?: number[] } = {};
  readonly #pointers = new Map<Buffer, number>();
  #rows: LoopRows | undefined;
  readonly #rowLocals = new Map<string, number>();
  /** The counter of the loop in bytes, by shift. */
  readonly #scaled = new Map<number, number>();
  readonly #f: KernelFunction;
  readonly #layout: WasmLayout;
  readonly #numbers: Numbers;

  constructor(f: KernelFunction, layout: WasmLayout, numbers: Numbers) {
    this.#f = f;
    this.#layout = layout;
    this.#numbers = numbers;
    localsOf(f).forEach((local, i) => {
      this.#index.set(local, i);
      if (i >= f.parameters.length) this.types.push(local.type);
    });
    this.#loadPointers();
  }

  local(local: Local): number {
    return required(this.#index.get(local));
  }

  callee(name: string): number {
    return required(this.#numbers.callable.get(name));
  }

  /** Loads the addresses of external buffers at the start of the function. */
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
    this.types.push(type);
    return this.#f.parameters.length + this.types.length - 1;
  }

  /** Reserves a temporary variable while `use` runs. */
  with(type: Type, use: (local: number) => void): void {
    const spare = (this.#spare as Partial<Record<Type, number[]>>)[type] ??= [];
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
    return isOwn ? this.code.op('global_get').unsigned(0) : this.code.constant('i32', 0);
  }

  /**
   * Before the first iteration of a loop without others inside: computes what stays the same in the addresses of its elements. The result
   * is called at the beginning of every iteration; undefined if there is nothing of the kind.
   */
  beginLoop(loop: StatementOf<'for'>): (() => void) | undefined {
    this.#rows = new LoopRows(loop, (buffer) => this.#pointers.get(buffer), (local) => this.local(local));
    for (const { buffer, rest, shift, key } of this.#rows.all) {
      const row = this.#newVariable('i32');
      this.code.get(required(this.#pointers.get(buffer)));
      this.value(rest);
      this.code.constant('i32', shift).op('i32_shl').op('i32_add').set(row);
      this.#rowLocals.set(key, row);
    }
    const shifts = [...new Set(this.#rows.all.map(({ shift }) => shift))];
    for (const shift of shifts) this.#scaled.set(shift, this.#newVariable('i32'));
    return shifts.length === 0 ? undefined : () => {
      for (const shift of shifts) {
        this.code.get(this.local(loop.counter)).constant('i32', shift).op('i32_shl').set(required(this.#scaled.get(shift)));
      }
    };
  }

  endLoop(): void {
    this.#rows = undefined;
  }

  /** Writes the address of an element, except for a constant part, which it returns. */
  address(buffer: Buffer, index: Expression, offset: number): number {
    const place = this.#place(buffer);
    const size = bytesOf[buffer.element];
    const row = this.#rows?.find(buffer, index);
    if (row !== undefined) {
      this.code.get(required(this.#rowLocals.get(row.key))).get(required(this.#scaled.get(row.shift))).op('i32_add');
      return offset * size;
    }
    const known = valueOf(index);
    const pointer = this.#pointers.get(buffer);
    const at = (pointer === undefined ? place.at : 0) + (offset + (known ?? 0)) * size;
    if (pointer !== undefined) this.code.get(pointer);
    else if (place.isOwn || known !== undefined) this.#base(place);
    if (known !== undefined) return at;
    this.value(index);
    this.code.constant('i32', Math.log2(size)).op('i32_shl');
    if (pointer !== undefined || place.isOwn) this.code.op('i32_add');
    return at;
  }

  /** Writes the complete address of an element. */
  wholeAddress(buffer: Buffer, index: Expression): void {
    const at = this.address(buffer, index, 0);
    if (at !== 0) this.code.constant('i32', at).op('i32_add');
  }

  /** A condition, as 0 or any other integer. */
  condition(e: Expression): void {
    if (e.kind === 'convert') this.value(e.operand);
    else this.value(e);
  }

  value(e: Expression): void {
    const code = this.code;
    switch (e.kind) {
      case 'constant': code.constant(e.type as ScalarType, e.value); break;
      case 'get': code.get(this.local(e.local)); break;
      case 'load': this.#load(e); break;
      case 'unary': this.#unary(e); break;
      case 'binary': this.#binary(e); break;
      case 'compare':
        this.value(e.left);
        if (e.op === 'eq' && valueOf(e.right) === 0 && e.left.type === 'i32') code.op('i32_eqz');
        else {
          this.value(e.right);
          code.push(compareCode[e.op][e.left.type as ScalarType]);
        }
        break;
      case 'logic': this.#logic(e); break;
      case 'select': this.#select(e); break;
      case 'convert': this.#convert(e); break;
      case 'math':
        for (const arg of e.args) this.value(arg);
        code.op('call').unsigned(required(this.#numbers.math.get(e.name)));
        break;
      case 'word':
        this.value(e.operand);
        code.op('i64_reinterpret_f64');
        if (e.part === 'high') code.op('i64_const').signed(32).op('i64_shr_u');
        code.op('i32_wrap_i64');
        break;
      case 'words':
        this.value(e.high);
        code.op('i64_extend_i32_u').op('i64_const').signed(32).op('i64_shl');
        if (valueOf(e.low) !== 0) {
          this.value(e.low);
          code.op('i64_extend_i32_u').op('i64_or');
        }
        code.op('f64_reinterpret_i64');
        break;
      case 'splat': this.#splat(e); break;
      case 'lanes': this.#lanes(e); break;
      case 'extract':
        this.value(e.vector);
        code.lanes(extractCode[e.type as ScalarType]).push(e.lane);
    }
  }

  #load({ type, buffer, index, offset }: ExpressionOf<'load'>): void {
    const at = this.address(buffer, index, offset);
    if (isVector(type)) this.code.lanes(lane.load).access(4, at);
    else this.code.push(loadCode[buffer.element]).access(bytesOf[buffer.element], at);
  }

  #unary({ op: name, type, operand }: ExpressionOf<'unary'>): void {
    const code = this.code;
    if (type === 'i32' && name === 'neg') {
      code.constant('i32', 0);
      this.value(operand);
      code.op('i32_sub');
    } else if (type === 'i32') {
      this.with('i32', (a) => {
        this.value(operand);
        code.set(a).constant('i32', 0).get(a).op('i32_sub').get(a).get(a).constant('i32', 0).op('i32_lt_s').op('select');
      });
    } else {
      this.value(operand);
      if (type === 'bool') code.op('i32_eqz');
      else if (isVector(type)) code.lanes(unaryCode[name][type]);
      else code.push(unaryCode[name][type]);
    }
  }

  #binary(e: ExpressionOf<'binary'>): void {
    const { op: name, type, left, right } = e;
    const code = this.code;
    if (name === 'div' && type === 'i32') this.#divide(e);
    else if ((name === 'min' || name === 'max') && type === 'i32') this.#extreme(e);
    else if (name === 'rem' && type !== 'i32') this.#remainder(e);
    else {
      this.value(left);
      this.value(right);
      if (isVector(type)) code.lanes(binaryCode[name][type]);
      else code.push(binaryCode[name][type as ScalarType]);
    }
  }

  /** Integer division; the smallest integer divided by -1 is the smallest integer again. */
  #divide({ left, right }: ExpressionOf<'binary'>): void {
    const code = this.code;
    const by = valueOf(right);
    if (by !== undefined && by !== -1) {
      this.value(left);
      code.constant('i32', by).op('i32_div_s');
      return;
    }
    this.with('i32', (a) => {
      this.with('i32', (b) => {
        this.value(left);
        code.set(a);
        this.value(right);
        code.tee(b).constant('i32', -1).op('i32_eq').begin('if', 'i32').constant('i32', 0).get(a).op('i32_sub').op('else');
        code.get(a).get(b).op('i32_div_s').op('end');
      });
    });
  }

  #extreme({ op: name, left, right }: ExpressionOf<'binary'>): void {
    this.with('i32', (a) => {
      this.with('i32', (b) => {
        this.value(left);
        this.code.set(a);
        this.value(right);
        this.code.set(b).get(a).get(b).get(a).get(b).op(name === 'min' ? 'i32_lt_s' : 'i32_gt_s').op('select');
      });
    });
  }

  /** Remainder of floats, computed by the host. It is exact, so singles may be computed as doubles. */
  #remainder({ type, left, right }: ExpressionOf<'binary'>): void {
    for (const each of [left, right]) {
      this.value(each);
      if (type === 'f32') this.code.op('f64_promote_f32');
    }
    this.code.op('call').unsigned(this.callee('mod'));
    if (type === 'f32') this.code.op('f32_demote_f64');
  }

  #logic({ op: name, left, right }: ExpressionOf<'logic'>): void {
    const code = this.code;
    this.condition(left);
    code.begin('if', 'bool');
    if (name === 'and') this.value(right);
    else code.constant('bool', 1);
    code.op('else');
    if (name === 'and') code.constant('bool', 0);
    else this.value(right);
    code.op('end');
  }

  #select({ type, condition, then, otherwise }: ExpressionOf<'select'>): void {
    const code = this.code;
    if (isCheap(then) && isCheap(otherwise) && !isVector(type)) {
      this.value(then);
      this.value(otherwise);
      this.condition(condition);
      code.op('select');
      return;
    }
    this.condition(condition);
    code.begin('if', type);
    this.value(then);
    code.op('else');
    this.value(otherwise);
    code.op('end');
  }

  #convert({ type, operand }: ExpressionOf<'convert'>): void {
    const code = this.code;
    this.value(operand);
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
      this.value(operand);
      this.code.lanes(splatCode[operand.type as ScalarType]);
    }
  }

  #laneLoad(how: keyof typeof loadLanes, { buffer, index, offset }: ExpressionOf<'load'>): void {
    const at = this.address(buffer, index, offset);
    const size = bytesOf[buffer.element] as 4 | 8;
    this.code.lanes(loadLanes[how][size]).access(size, at);
  }

  #lanes({ type, parts }: ExpressionOf<'lanes'>): void {
    const code = this.code;
    const element = elementOf[type] as ScalarType;
    if (parts.every((part) => part.kind === 'constant')) {
      code.lanes(lane.constant);
      for (const part of parts) code.scalar(element, required(valueOf(part)));
      return;
    }
    this.with(type, (sum) => {
      parts.forEach((part, i) => {
        if (part.kind === 'load') {
          if (i === 0) this.#laneLoad('zero', part);
          else {
            const at = this.address(part.buffer, part.index, part.offset);
            const size = bytesOf[element] as 4 | 8;
            code.get(sum).lanes(loadLanes.lane[size]).access(size, at).push(i);
          }
        } else {
          if (i > 0) code.get(sum);
          this.value(part);
          if (i === 0) code.lanes(splatCode[element]);
          else code.lanes(replaceCode[element]).push(i);
        }
        if (i < parts.length - 1) code.set(sum);
      });
    });
  }
}

function whenBuffer(part: unknown, use: (buffer: Buffer) => void): void {
  if (typeof part === 'object' && part !== null && 'role' in part) use(part as Buffer);
}

/** Whether a value is cheap enough to be evaluated even if it is not needed. */
function isCheap(e: Expression): boolean {
  let size = 0;
  let isSafe = true as boolean;
  walkExpression(e, (part) => {
    ++size;
    isSafe &&= part.kind === 'constant' || part.kind === 'get' || (part.kind === 'binary' && (part.op === 'add' || part.op === 'sub'));
  });
  return isSafe && size <= 3;
}
