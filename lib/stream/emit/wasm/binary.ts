// WebAssembly's binary form, as much of it as generated programs need. After the WebAssembly Core Specification 2.0, chapter 5.

/** Types of values: 32-bit integers, singles, doubles. */
export type WasmType = 'i' | 'f' | 'd';
/** Types of variables; also four singles. */
export type LocalType = WasmType | 'v';

export const typeCode: Readonly<Record<LocalType, number>> = { i: 0x7f, f: 0x7d, d: 0x7c, v: 0x7b };

/** Instructions by their names in the specification. */
export const op = {
  block: 0x02, loop: 0x03, if: 0x04, else: 0x05, end: 0x0b, br: 0x0c, br_if: 0x0d, return: 0x0f, call: 0x10, drop: 0x1a, select: 0x1b,
  local_get: 0x20, local_set: 0x21, local_tee: 0x22, global_get: 0x23,
  i32_load: 0x28, f32_load: 0x2a, f64_load: 0x2b, i32_store: 0x36, f32_store: 0x38, f64_store: 0x39,
  i32_const: 0x41, f32_const: 0x43, f64_const: 0x44, i32_eqz: 0x45,
  i32_eq: 0x46, i32_ne: 0x47, i32_lt_s: 0x48, i32_gt_s: 0x4a, i32_le_s: 0x4c, i32_ge_s: 0x4e, i32_ge_u: 0x4f,
  f32_eq: 0x5b, f32_ne: 0x5c, f32_lt: 0x5d, f32_gt: 0x5e, f32_le: 0x5f, f32_ge: 0x60,
  f64_eq: 0x61, f64_ne: 0x62, f64_lt: 0x63, f64_gt: 0x64, f64_le: 0x65, f64_ge: 0x66,
  i32_add: 0x6a, i32_sub: 0x6b, i32_mul: 0x6c, i32_div_s: 0x6d, i32_rem_s: 0x6f, i32_and: 0x71, i32_or: 0x72, i32_xor: 0x73,
  i32_shl: 0x74, i32_shr_s: 0x75, i32_shr_u: 0x76,
  f32_abs: 0x8b, f32_neg: 0x8c, f32_ceil: 0x8d, f32_floor: 0x8e, f32_nearest: 0x90, f32_sqrt: 0x91, f32_add: 0x92, f32_sub: 0x93,
  f32_mul: 0x94, f32_div: 0x95, f32_min: 0x96, f32_max: 0x97,
  f64_abs: 0x99, f64_neg: 0x9a, f64_ceil: 0x9b, f64_floor: 0x9c, f64_nearest: 0x9e, f64_sqrt: 0x9f, f64_add: 0xa0, f64_sub: 0xa1,
  f64_mul: 0xa2, f64_div: 0xa3, f64_min: 0xa4, f64_max: 0xa5,
  f32_convert_i32_s: 0xb2, f32_convert_i32_u: 0xb3, f32_demote_f64: 0xb6, f64_convert_i32_s: 0xb7, f64_convert_i32_u: 0xb8,
  f64_promote_f32: 0xbb,
} as const;

/** Instructions behind a prefix. */
export const prefixed = { i32_trunc_sat_f32_s: 0, i32_trunc_sat_f64_s: 2, memory_copy: 10, memory_fill: 11 } as const;

/** Instructions on four singles. */
export const quadOp = {
  load: 0, load32_splat: 9, constant: 12, splat: 19, extract_lane: 31, replace_lane: 32, load32_lane: 86, load32_zero: 92, abs: 224,
  neg: 225, sqrt: 227, add: 228, sub: 229, mul: 230, div: 231,
} as const;

const voidBlock = 0x40;
const scratch = new DataView(new ArrayBuffer(8));

/** Bytes that grow: instructions of one function, or a section. */
export class Bytes {
  readonly list: number[] = [];

  push(...bytes: number[]): this {
    this.list.push(...bytes);
    return this;
  }

  /** Appends the bytes of another. */
  append({ list }: Bytes): this {
    for (const byte of list) this.list.push(byte);
    return this;
  }

  unsigned(x: number): this {
    let rest = x;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.list.push((rest % 128) | 128);
    this.list.push(rest);
    return this;
  }

  signed(x: number): this {
    let rest = x | 0;
    for (;;) {
      const low = rest & 127;
      rest >>= 7;
      if ((rest === 0 && (low & 64) === 0) || (rest === -1 && (low & 64) !== 0)) {
        this.list.push(low);
        return this;
      }
      this.list.push(low | 128);
    }
  }

  text(text: string): this {
    const bytes = Buffer.from(text);
    return this.unsigned(bytes.length).push(...bytes);
  }

  op(name: keyof typeof op): this {
    return this.push(op[name]);
  }

  prefixed(name: keyof typeof prefixed): this {
    return this.push(0xfc).unsigned(prefixed[name]);
  }

  quad(name: keyof typeof quadOp): this {
    return this.push(0xfd).unsigned(quadOp[name]);
  }

  constant(type: WasmType, x: number): this {
    if (type === 'i') return this.op('i32_const').signed(x);
    if (type === 'f') scratch.setFloat32(0, x, true);
    else scratch.setFloat64(0, x, true);
    this.op(type === 'f' ? 'f32_const' : 'f64_const');
    for (let i = 0; i < (type === 'f' ? 4 : 8); ++i) this.list.push(scratch.getUint8(i));
    return this;
  }

  get(local: number): this {
    return this.op('local_get').unsigned(local);
  }

  set(local: number): this {
    return this.op('local_set').unsigned(local);
  }

  tee(local: number): this {
    return this.op('local_tee').unsigned(local);
  }

  /** A load or store of a scalar of a type at the address on the stack and a constant. */
  access(what: 'load' | 'store', type: WasmType, offset: number): this {
    const names = { i: 'i32', f: 'f32', d: 'f64' } as const;
    return this.op(`${names[type]}_${what}`).unsigned(type === 'd' ? 3 : 2).unsigned(offset);
  }

  /** Begins a block, loop or branch with a value, or with none. */
  begin(name: 'block' | 'loop' | 'if', type?: WasmType): this {
    return this.op(name).push(type === undefined ? voidBlock : typeCode[type]);
  }
}

/** What a function takes and gives. */
export interface Signature {
  readonly params: readonly WasmType[];
  readonly result: WasmType | undefined;
}

/** A function of a module: types of its further variables, instructions. */
export interface WasmFunction {
  readonly name: string;
  readonly signature: Signature;
  readonly locals: readonly LocalType[];
  readonly code: Bytes;
}

export interface ModuleParts {
  /** Functions of the host, numbered before the module's own; taken from `host`. */
  readonly imports: readonly { readonly name: string; readonly signature: Signature }[];
  readonly functions: readonly WasmFunction[];
  /** Names of functions that can be called from outside. */
  readonly exports: ReadonlySet<string>;
  /** Pages of 64 KiB that the memory begins with; shared by several threads or not. */
  readonly pages: number;
  readonly isShared: boolean;
}

/** Pages that a memory may have: 4 GiB. */
export const mostPages = 65536;

function section(id: number, items: readonly Bytes[]): Bytes {
  const body = new Bytes().unsigned(items.length);
  for (const item of items) body.append(item);
  return new Bytes().push(id).unsigned(body.list.length).append(body);
}

function localsOf(types: readonly LocalType[]): Bytes {
  const runs: { type: LocalType; count: number }[] = [];
  for (const type of types) {
    const last = runs.at(-1);
    if (last?.type === type) ++last.count;
    else runs.push({ type, count: 1 });
  }
  const bytes = new Bytes().unsigned(runs.length);
  for (const { type, count } of runs) bytes.unsigned(count).push(typeCode[type]);
  return bytes;
}

/** A module that takes its memory, the base of its own part of it (global `own`) and functions from `host`. */
export function moduleBytes({ imports, functions, exports, pages, isShared }: ModuleParts): Uint8Array<ArrayBuffer> {
  const kinds: Bytes[] = [];
  const numbers = new Map<string, number>();
  const typeOf = ({ params, result }: Signature): number => {
    const key = `${params.join('')}:${result ?? ''}`;
    let number = numbers.get(key);
    if (number === undefined) {
      numbers.set(key, number = kinds.length);
      const results = result === undefined ? [] : [typeCode[result]];
      kinds.push(new Bytes().push(0x60).unsigned(params.length).push(...params.map((type) => typeCode[type]))
        .unsigned(results.length).push(...results));
    }
    return number;
  };
  const imported = imports.map(({ name, signature }) =>
    new Bytes().text('host').text(name).push(0x00).unsigned(typeOf(signature)));
  const memory = new Bytes().text('host').text('memory').push(0x02, isShared ? 0x03 : 0x01).unsigned(pages).unsigned(mostPages);
  const own = new Bytes().text('host').text('own').push(0x03, typeCode.i, 0x00);
  const declared = functions.map(({ signature }) => new Bytes().unsigned(typeOf(signature)));
  const exported = functions.flatMap(({ name }, i) =>
    (exports.has(name) ? [new Bytes().text(name).push(0x00).unsigned(imports.length + i)] : []));
  const bodies = functions.map(({ locals, code }) => {
    const body = localsOf(locals).append(code).op('end');
    return new Bytes().unsigned(body.list.length).append(body);
  });
  const whole = new Bytes().push(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00).append(section(1, kinds))
    .append(section(2, [...imported, memory, own])).append(section(3, declared)).append(section(7, exported)).append(section(10, bodies));
  return Uint8Array.from(whole.list);
}
