// WebAssembly's binary format, as far as programs need it. Follows chapter 5 of the WebAssembly Core Specification 2.0.
import { lanesOf, type BinaryOp, type CompareOp, type ScalarType, type Type, type UnaryOp } from '../ir.ts';

/** Codes of value types; conditions are integers. */
export const typeCode: Readonly<Record<Type, number>> = {
  i32: 0x7f, bool: 0x7f, f32: 0x7d, f64: 0x7c, i32x4: 0x7b, f32x4: 0x7b, f64x2: 0x7b,
};

/** Instructions without immediate operands, by their names in the specification. */
export const op = {
  unreachable: 0x00, block: 0x02, loop: 0x03, if: 0x04, else: 0x05, end: 0x0b, br: 0x0c, br_if: 0x0d, return: 0x0f, call: 0x10,
  select: 0x1b, local_get: 0x20, local_set: 0x21, local_tee: 0x22, global_get: 0x23, i32_const: 0x41, f32_const: 0x43, f64_const: 0x44,
  i32_eqz: 0x45, i32_eq: 0x46, i32_ne: 0x47, i32_lt_s: 0x48, i32_lt_u: 0x49, i32_gt_s: 0x4a, i32_le_s: 0x4c, i32_ge_s: 0x4e,
  i32_add: 0x6a, i32_sub: 0x6b, i32_div_s: 0x6d, i32_shl: 0x74, i64_const: 0x42, i64_or: 0x84, i64_shl: 0x86,
  i64_shr_u: 0x88, i32_wrap_i64: 0xa7, i64_extend_i32_u: 0xad, f32_demote_f64: 0xb6, f64_promote_f32: 0xbb, i64_reinterpret_f64: 0xbd,
  f64_reinterpret_i64: 0xbf,
} as const;

/** Instructions for scalars and, after the prefix 0xfd, for lanes; -1 if there is none. */
export const unaryCode: Readonly<Record<UnaryOp, Readonly<Record<'f32' | 'f64' | 'i32x4' | 'f32x4' | 'f64x2', number>>>> = {
  not: { f32: -1, f64: -1, i32x4: -1, f32x4: -1, f64x2: -1 },
  neg: { f32: 0x8c, f64: 0x9a, i32x4: 161, f32x4: 225, f64x2: 237 },
  abs: { f32: 0x8b, f64: 0x99, i32x4: 160, f32x4: 224, f64x2: 236 },
  sqrt: { f32: 0x91, f64: 0x9f, i32x4: -1, f32x4: 227, f64x2: 239 },
  floor: { f32: 0x8e, f64: 0x9c, i32x4: -1, f32x4: 104, f64x2: 117 },
  ceil: { f32: 0x8d, f64: 0x9b, i32x4: -1, f32x4: 103, f64x2: 116 },
  rint: { f32: 0x90, f64: 0x9e, i32x4: -1, f32x4: 106, f64x2: 148 },
};
type NumberType = Exclude<Type, 'bool'>;
function codes(i32: number, f32: number, f64: number, i32x4: number, f32x4: number, f64x2: number): Readonly<Record<NumberType, number>> {
  return { i32, f32, f64, i32x4, f32x4, f64x2 };
}
export const binaryCode: Readonly<Record<BinaryOp, Readonly<Record<NumberType, number>>>> = {
  add: codes(0x6a, 0x92, 0xa0, 174, 228, 240), sub: codes(0x6b, 0x93, 0xa1, 177, 229, 241), mul: codes(0x6c, 0x94, 0xa2, 181, 230, 242),
  div: codes(0x6d, 0x95, 0xa3, -1, 231, 243), rem: codes(0x6f, -1, -1, -1, -1, -1), min: codes(-1, 0x96, 0xa4, 182, 232, 244),
  max: codes(-1, 0x97, 0xa5, 184, 233, 245), band: codes(0x71, -1, -1, 78, -1, -1), bor: codes(0x72, -1, -1, 80, -1, -1),
  xor: codes(0x73, -1, -1, 81, -1, -1), shl: codes(0x74, -1, -1, 171, -1, -1), shr: codes(0x75, -1, -1, 172, -1, -1),
  shr_u: codes(0x76, -1, -1, 173, -1, -1),
};
export const compareCode: Readonly<Record<CompareOp, Readonly<Record<ScalarType, number>>>> = {
  eq: { i32: 0x46, f32: 0x5b, f64: 0x61 }, ne: { i32: 0x47, f32: 0x5c, f64: 0x62 }, lt: { i32: 0x48, f32: 0x5d, f64: 0x63 },
  le: { i32: 0x4c, f32: 0x5f, f64: 0x65 }, gt: { i32: 0x4a, f32: 0x5e, f64: 0x64 }, ge: { i32: 0x4e, f32: 0x60, f64: 0x66 },
  lt_u: { i32: 0x49, f32: -1, f64: -1 },
};
/** Conversions between scalars; negative codes follow the prefix 0xfc. */
export const convertCode: Readonly<Record<ScalarType, Readonly<Record<ScalarType, number>>>> = {
  i32: { i32: 0, f32: 0xb2, f64: 0xb7 }, f32: { i32: -1, f32: 0, f64: 0xbb }, f64: { i32: -3, f32: 0xb6, f64: 0 },
};
export const loadCode: Readonly<Record<ScalarType, number>> = { i32: 0x28, f32: 0x2a, f64: 0x2b };
export const storeCode: Readonly<Record<ScalarType, number>> = { i32: 0x36, f32: 0x38, f64: 0x39 };
/** Opcodes of vector instructions, after the prefix 0xfd. */
export const lane = { load: 0, store: 11, constant: 12, trunc: 248, convert: 250 } as const;
export const splatCode: Readonly<Record<ScalarType, number>> = { i32: 17, f32: 19, f64: 20 };
export const extractCode: Readonly<Record<ScalarType, number>> = { i32: 27, f32: 31, f64: 33 };
export const replaceCode: Readonly<Record<ScalarType, number>> = { i32: 28, f32: 32, f64: 34 };
/** Loads of one element: into all lanes; into the first, with zeros in the others; into one lane. */
export const loadLanes = { splat: { 4: 9, 8: 10 }, zero: { 4: 92, 8: 93 }, lane: { 4: 86, 8: 87 } } as const;

const voidBlock = 0x40;

/** A growing byte array: the instructions of one function, or a section. */
export class Bytes {
  #data = new Uint8Array(64);
  length = 0;

  get bytes(): Uint8Array {
    return this.#data.subarray(0, this.length);
  }

  #room(more: number): void {
    if (this.length + more <= this.#data.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#data.length, this.length + more));
    larger.set(this.bytes);
    this.#data = larger;
  }

  push(byte: number): this {
    this.#room(1);
    this.#data[this.length++] = byte;
    return this;
  }

  append({ bytes }: { readonly bytes: Uint8Array }): this {
    this.#room(bytes.length);
    this.#data.set(bytes, this.length);
    this.length += bytes.length;
    return this;
  }

  unsigned(x: number): this {
    let rest = x;
    for (; rest >= 128; rest = Math.floor(rest / 128)) this.push((rest % 128) | 128);
    return this.push(rest);
  }

  signed(x: number): this {
    let rest = x | 0;
    for (;;) {
      const low = rest & 127;
      rest >>= 7;
      if ((rest === 0 && (low & 64) === 0) || (rest === -1 && (low & 64) !== 0)) return this.push(low);
      this.push(low | 128);
    }
  }

  text(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.unsigned(bytes.length).append({ bytes });
  }

  op(name: keyof typeof op): this {
    return this.push(op[name]);
  }

  /** An instruction on lanes. */
  lanes(code: number): this {
    return this.push(0xfd).unsigned(code);
  }

  /** The bytes of a scalar as stored in memory. */
  scalar(type: ScalarType, x: number): this {
    const size = bytesOf[type];
    this.#room(size);
    const view = new DataView(this.#data.buffer, this.length, size);
    if (type === 'i32') view.setInt32(0, x, true);
    else if (type === 'f32') view.setFloat32(0, x, true);
    else view.setFloat64(0, x, true);
    this.length += size;
    return this;
  }

  constant(type: ScalarType | 'bool', x: number): this {
    if (type === 'i32' || type === 'bool') return this.op('i32_const').signed(x);
    return this.op(type === 'f32' ? 'f32_const' : 'f64_const').scalar(type, x);
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

  /** The immediates of a load or store: alignment and offset. */
  access(size: number, offset: number): this {
    return this.push(Math.log2(size)).unsigned(offset);
  }

  /** Begins a block, loop or branch, with or without a value. */
  begin(name: 'block' | 'loop' | 'if', type?: Type): this {
    return this.op(name).push(type === undefined ? voidBlock : typeCode[type]);
  }
}

export const bytesOf: Readonly<Record<ScalarType, number>> = { i32: 4, f32: 4, f64: 8 };
export const vectorBytes = 16;

/** Size of a value in memory, in bytes. */
export function sizeOf(type: Type): number {
  return lanesOf[type] > 1 ? vectorBytes : bytesOf[type as ScalarType];
}

export interface Signature {
  readonly parameters: readonly Type[];
  readonly results: readonly Type[];
}

export interface ModuleFunction {
  readonly name: string;
  readonly signature: Signature;
  /** Types of its variables, without parameters. */
  readonly locals: readonly Type[];
  readonly code: Bytes;
}

export interface ModuleParts {
  /** Functions imported from `host`, which are numbered before the module's own. */
  readonly imports: readonly (Signature & { readonly name: string })[];
  readonly functions: readonly ModuleFunction[];
  /** Names of exported functions. */
  readonly exports: ReadonlySet<string>;
  /** Initial size of the memory in pages of 64 KiB; whether several threads share it. */
  readonly pages: number;
  readonly isShared: boolean;
}

/** The maximum size of a memory: 4 GiB. */
export const mostPages = 65536;

function section(id: number, items: readonly Bytes[]): Bytes {
  const body = new Bytes().unsigned(items.length);
  for (const item of items) body.append(item);
  return new Bytes().push(id).unsigned(body.length).append(body);
}

function codeOf({ locals, code }: ModuleFunction): Bytes {
  const runs: { type: number; count: number }[] = [];
  for (const type of locals) {
    const last = runs.at(-1);
    if (last?.type === typeCode[type]) ++last.count;
    else runs.push({ type: typeCode[type], count: 1 });
  }
  const body = new Bytes().unsigned(runs.length);
  for (const { type, count } of runs) body.unsigned(count).push(type);
  body.append(code).op('end');
  return new Bytes().unsigned(body.length).append(body);
}

/** A module that imports its memory, the base of its own part of it (global `own`) and functions from `host`. */
export function moduleBytes({ imports, functions, exports, pages, isShared }: ModuleParts): Uint8Array<ArrayBuffer> {
  const types: Bytes[] = [];
  const numbers = new Map<string, number>();
  const typeOf = ({ parameters, results }: Signature): number => {
    const key = `${parameters.map((type) => typeCode[type]).join()}:${results.map((type) => typeCode[type]).join()}`;
    let number = numbers.get(key);
    if (number === undefined) {
      numbers.set(key, number = types.length);
      const made = new Bytes().push(0x60).unsigned(parameters.length);
      for (const type of parameters) made.push(typeCode[type]);
      made.unsigned(results.length);
      for (const type of results) made.push(typeCode[type]);
      types.push(made);
    }
    return number;
  };
  const imported = imports.map((each) => new Bytes().text('host').text(each.name).push(0x00).unsigned(typeOf(each)));
  const memory = new Bytes().text('host').text('memory').push(0x02).push(isShared ? 0x03 : 0x01).unsigned(pages).unsigned(mostPages);
  const own = new Bytes().text('host').text('own').push(0x03).push(typeCode.i32).push(0x00);
  const declared = functions.map(({ signature }) => new Bytes().unsigned(typeOf(signature)));
  const exported = functions.flatMap(({ name }, i) =>
    (exports.has(name) ? [new Bytes().text(name).push(0x00).unsigned(imports.length + i)] : []));
  const head = { bytes: Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00) };
  const whole = new Bytes().append(head).append(section(1, types)).append(section(2, [...imported, memory, own]))
    .append(section(3, declared)).append(section(7, exported)).append(section(10, functions.map(codeOf)));
  return Uint8Array.from(whole.bytes);
}
