// Elements of arrays: where they lie in memory.
import type { Expression, Node } from 'acorn';
import type { Bytes, WasmType } from './binary.ts';
import { literalValue, unknown, type Names, type Types, type ValueType, type Variable } from './types.ts';

/** What expressions are written into. */
export interface Surroundings {
  readonly names: Names;
  readonly code: Bytes;
  readonly types: Types;
  variable(name: string): Variable | undefined;
  /** A variable of the translation itself. */
  local(type: WasmType, name: string): number;
}

const sizes: Readonly<Record<WasmType, number>> = { i: 4, f: 4, d: 8 };
const shifts: Readonly<Record<WasmType, number>> = { i: 2, f: 2, d: 3 };
/** Ends of channels, which are never negative. */
const ends = /^(?:[rwpn]\d+|wl_n)$/;
/** Bytes at the front of memory that hold nothing, so that an address less a constant up to this is none below 0. */
export const emptyBytes = 65536;

/** Index as a part and a constant added to it. */
export function splitSum(e: Node): { base: Node | undefined; add: number } {
  const node = e as Expression;
  const x = literalValue(node);
  if (x !== undefined) return x < 0 ? { base: node, add: 0 } : { base: undefined, add: x };
  if (node.type === 'BinaryExpression' && node.operator === '+') {
    const add = literalValue(node.right);
    if (add !== undefined && add >= 0) {
      const inner = splitSum(node.left);
      return { base: inner.base, add: inner.add + add };
    }
  }
  return { base: node, add: 0 };
}

/** Writes loads and stores of the arrays of one function. */
export class ElementWriter {
  readonly #s: Surroundings;
  readonly #as: (e: Node, type: ValueType) => void;

  /** @param as writes an expression as a value of a type */
  constructor(surroundings: Surroundings, as: (e: Node, type: ValueType) => void) {
    this.#s = surroundings;
    this.#as = as;
  }

  /** Writes the address of an element but for a constant, which it gives. */
  address(object: Node, index: Expression, type: WasmType): number {
    const { code, names } = this.#s;
    const { name } = object as Node & { name: string };
    const array = names.array(name);
    const { base, add } = splitSum(index);
    const offset = add * sizes[type];
    if (array === undefined) {
      this.#external(name, base, type);
      return offset < emptyBytes ? offset : this.#added(offset);
    }
    if (base === undefined) {
      if (array.isOwn) code.op('global_get').unsigned(0);
      else code.constant('i', 0);
      return array.at + offset;
    }
    this.#as(base, 'i');
    code.constant('i', shifts[type]).op('i32_shl');
    if (array.isOwn) code.op('global_get').unsigned(0).op('i32_add');
    const isEnd = base.type === 'Identifier' && ends.test((base as { name: string } & Node).name);
    if (isEnd || add === 0) return array.at + offset;
    return offset < emptyBytes ? this.#added(array.at, offset) : this.#added(array.at + offset);
  }

  #external(name: string, base: Node | undefined, type: WasmType): void {
    const { code } = this.#s;
    code.get(this.#s.variable(name)!.local);
    if (base === undefined) return;
    this.#as(base, 'i');
    code.constant('i', shifts[type]).op('i32_shl').op('i32_add');
  }

  /** Adds to the address, where an offset, which does not wrap around, cannot; gives the offset that remains. */
  #added(bytes: number, rest = 0): number {
    this.#s.code.constant('i', bytes).op('i32_add');
    return rest;
  }

  /** Loads the scalar of an array that has one. */
  load(name: string): void {
    const { code, names } = this.#s;
    const { at, isOwn, kind } = names.array(name)!;
    if (isOwn) code.op('global_get').unsigned(0);
    else code.constant('i', 0);
    code.access('load', kind, at);
  }

  /** Writes the load of an element. */
  value(object: Node, index: Expression, type: WasmType): void {
    const offset = this.address(object, index, type);
    this.#s.code.access('load', type, offset);
  }

  store(object: Node, index: Expression, value: Expression): void {
    const type = this.#s.types.element(object);
    const offset = this.address(object, index, type);
    this.#as(value, type);
    this.#s.code.access('store', type, offset);
  }

  /** `--a[0]`: the value it has then. */
  countDown(e: Extract<Expression, { type: 'UpdateExpression' }>): void {
    const { code } = this.#s;
    const target = e.argument;
    if (target.type !== 'MemberExpression' || e.operator !== '--' || !e.prefix) unknown(e);
    const { object, property } = target as { object: Node; property: Expression };
    const local = this.#s.local('d', 'wl_rest');
    const offset = this.address(object, property, 'd');
    code.access('load', 'd', offset).constant('d', -1).op('f64_add').set(local);
    this.address(object, property, 'd');
    code.get(local).access('store', 'd', offset).get(local);
  }

  /** `a.fill(0, from, to)` and `a.copyWithin(0, from, to)`. */
  move(name: 'fill' | 'copyWithin', object: Node, [value, from, to]: readonly Expression[]): void {
    const { code, types } = this.#s;
    const type = types.element(object);
    const address = (index: Node): void => {
      const offset = this.address(object, index as Expression, type);
      if (offset !== 0) code.constant('i', offset).op('i32_add');
    };
    if (name === 'fill') {
      address(from!);
      code.constant('i', 0);
    } else {
      address(value!);
      address(from!);
    }
    this.#as(to!, 'i');
    this.#as(from!, 'i');
    code.op('i32_sub').constant('i', shifts[type]).op('i32_shl');
    if (name === 'fill') code.prefixed('memory_fill').push(0);
    else code.prefixed('memory_copy').push(0, 0);
  }
}
