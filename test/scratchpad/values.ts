// Values of the PTX interpreter: registers hold bits, and every instruction reads them as its own type says.

/** A number, a 64-bit integer, or a predicate. */
export type Value = number | bigint | boolean;

const words = new Uint32Array(2);
const floats = new Float32Array(words.buffer);
const doubles = new Float64Array(words.buffer);
const longs = new BigUint64Array(words.buffer);
/** An f32 from its bits. */
export const floatOf = (bits: number): number => (words[0] = bits, floats[0]!);
const bitsOf = (value: number): number => (floats[0] = value, words[0]!);
/** An f64 from its bits. */
export const doubleOf = (bits: bigint): number => (longs[0] = bits, doubles[0]!);
const doubleBits = (value: number): bigint => (doubles[0] = value, longs[0]!);

/** Bits of a register as a value of a type. */
export function decode(raw: Value, type: string): Value {
  if (typeof raw === 'boolean') return raw;
  switch (type) {
    case 'f32': return floatOf(Number(raw));
    case 'f64': return doubleOf(BigInt(raw));
    case 's64': return BigInt.asIntN(64, BigInt(raw));
    case 'u64': case 'b64': return BigInt.asUintN(64, BigInt(raw));
    case 's32': return Number(raw) | 0;
    case 'u32': case 'b32': return Number(raw) >>> 0;
    case 's16': return Number(raw) << 16 >> 16;
    case 'u16': case 'b16': return Number(raw) & 0xffff;
    case 's8': return Number(raw) << 24 >> 24;
    case 'u8': case 'b8': return Number(raw) & 0xff;
    default: throw new Error(`no type ${type}`);
  }
}

/** Bits of a value of a type. */
export function encode(value: Value, type: string): Value {
  if (type === 'pred') return Boolean(value);
  if (type === 'f32') return bitsOf(Number(value));
  if (type === 'f64') return doubleBits(Number(value));
  const width = widthOf(type);
  if (width === 64) return BigInt.asUintN(64, BigInt(value));
  const number = typeof value === 'bigint' ? Number(BigInt.asUintN(width, value)) : Number(value);
  return width === 32 ? number >>> 0 : number & (2 ** width - 1);
}

/** Bits of a type. */
export function widthOf(type: string): number {
  return type.endsWith('64') ? 64 : type.endsWith('32') ? 32 : type.endsWith('16') ? 16 : 8;
}

/** The type of a wide product. */
export const widen = (type: string): string => type.replace(/\d+/, (width) => String(2 * Number(width)));
export const isFloat = (type: string): boolean => type.startsWith('f');
export const round = (value: number, type: string): number => (type === 'f32' ? Math.fround(value) : value);
export const big = (value: Value): bigint => BigInt(value as number);

function floatArithmetic(head: string, type: string, x: number, y: number, z: number): number {
  switch (head) {
    case 'add': return round(x + y, type);
    case 'sub': return round(x - y, type);
    case 'mul': return round(x * y, type);
    case 'fma': case 'mad': return round(x * y + z, type);
    case 'div': return round(x / y, type);
    case 'sqrt': return round(Math.sqrt(x), type);
    case 'rsqrt': return round(1 / Math.sqrt(x), type);
    case 'rcp': return round(1 / x, type);
    case 'neg': return -x;
    case 'abs': return Math.abs(x);
    case 'min': return Math.min(x, y);
    case 'max': return Math.max(x, y);
    case 'ex2': return round(2 ** x, type);
    case 'lg2': return round(Math.log2(x), type);
    case 'sin': return round(Math.sin(x), type);
    case 'cos': return round(Math.cos(x), type);
    default: throw new Error(`no ${head}.${type}`);
  }
}

/** What an instruction without memory gives. */
export function arithmetic(head: string, modifiers: readonly string[], type: string, [a = 0, b = 0, c = 0]: Value[]): Value {
  if (isFloat(type)) return floatArithmetic(head, type, Number(a), Number(b), Number(c));
  if (type === 'pred' || typeof a === 'boolean') {
    return head === 'and' ? Boolean(a) && Boolean(b) : head === 'or' ? Boolean(a) || Boolean(b) : head === 'not' ? !a : a !== b;
  }
  if (typeof a === 'number' && typeof b === 'number' && typeof c === 'number' && !modifiers.includes('wide') && !modifiers.includes('hi')) {
    switch (head) {
      case 'add': return a + b;
      case 'sub': return a - b;
      case 'mul': return Math.imul(a, b);
      case 'mad': return Math.imul(a, b) + c;
      case 'and': return a & b;
      case 'or': return a | b;
      case 'xor': return a ^ b;
      case 'not': return ~a;
      case 'min': return Math.min(a, b);
      case 'max': return Math.max(a, b);
      case 'shl': return b > 31 ? 0 : a << b;
      case 'shr': return b > 31 ? (a < 0 ? -1 : 0) : type.startsWith('s') ? a >> b : a >>> b;
      default: break;
    }
  }
  const [x, y, z] = [big(a), big(b), big(c)];
  const width = BigInt(widthOf(type));
  switch (head) {
    case 'add': return x + y;
    case 'sub': return x - y;
    case 'mul': return modifiers.includes('hi') ? (x * y) >> width : x * y;
    case 'mad': return (modifiers.includes('hi') ? (x * y) >> width : x * y) + z;
    case 'div': return y === 0n ? -1n : x / y;
    case 'rem': return y === 0n ? x : x % y;
    case 'neg': return -x;
    case 'abs': return x < 0n ? -x : x;
    case 'min': return x < y ? x : y;
    case 'max': return x > y ? x : y;
    case 'and': return x & y;
    case 'or': return x | y;
    case 'xor': return x ^ y;
    case 'not': return ~x;
    case 'shl': return y >= width ? 0n : x << y;
    case 'shr': return x >> (y > width ? width : y);
    case 'popc': return BigInt(BigInt.asUintN(Number(width), x).toString(2).replaceAll('0', '').length);
    case 'clz': return width - (x === 0n ? 0n : BigInt(BigInt.asUintN(Number(width), x).toString(2).length));
    case 'bmsk': return ((1n << (y > 32n ? 32n : y)) - 1n) << (x > 32n ? 32n : x);
    case 'brev': return BigInt(`0b${[...BigInt.asUintN(Number(width), x).toString(2).padStart(Number(width), '0')].reverse().join('')}`);
    case 'bfind': {
      const top = BigInt(BigInt.asUintN(Number(width), x).toString(2).length) - 1n;
      return x === 0n ? -1n : modifiers.includes('shiftamt') ? width - 1n - top : top;
    }
    default: throw new Error(`no ${head}.${type}`);
  }
}

/** What `redux` and `match.any` give, and other instructions by which the lanes of a warp only wait: `values` by lane. */
export function acrossLanes(opcode: readonly string[], own: Value, values: ReadonlyMap<number, Value>): Value {
  if (opcode[0] === 'match') return [...values].reduce((mask, [lane, value]) => (value === own ? mask | 1 << lane : mask), 0) >>> 0;
  const type = opcode.at(-1)!;
  return encode([...values.values()].reduce((all, value) => arithmetic(opcode[2]!, [], type, [all, value])), type);
}

/** What `setp` gives. */
export function compare(how: string, a: Value, b: Value): boolean {
  const isNaNs = Number.isNaN(a) || Number.isNaN(b);
  switch (how) {
    case 'eq': return a === b;
    case 'ne': return !isNaNs && a !== b;
    case 'lt': case 'lo': return a < b;
    case 'le': case 'ls': return a <= b;
    case 'gt': case 'hi': return a > b;
    case 'ge': case 'hs': return a >= b;
    case 'num': return !isNaNs;
    case 'nan': return isNaNs;
    default: return isNaNs || compare(how.slice(0, 2), a, b); // equ, neu, ltu, …
  }
}

/** Bits of a loaded value: a register may be wider than what is loaded. */
export function encodeWide(value: Value, type: string): Value {
  return /^[us](?:8|16)$/.test(type) ? Number(value) >>> 0 : encode(value, type);
}

/** The lane from which `shfl` takes its value, and whether there is one. */
export function sourceLane(how: string, lane: number, b: number, c: number): { from: number; isInside: boolean } {
  const segment = (c >> 8) & 31;
  const top = (lane & segment) | (c & 31 & ~segment);
  const from = how === 'up' ? lane - b : how === 'down' ? lane + b : how === 'bfly' ? lane ^ b : (lane & segment) | (b & ~segment);
  return { from, isInside: how === 'up' ? from >= top : from <= top };
}

/** What `cvt` gives. */
export function convert(modifiers: readonly string[], value: Value): Value {
  const [to, from] = [modifiers.at(-2)!, modifiers.at(-1)!];
  if (isFloat(to)) return round(Number(value), to);
  if (!isFloat(from)) return value;
  const whole = (modifiers.includes('rni') ? Math.round : modifiers.includes('rmi') ? Math.floor : Math.trunc)(Number(value));
  return BigInt(Number.isFinite(whole) ? whole : 0);
}
