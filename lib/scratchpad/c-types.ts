// Sizes of the types of C++ and CUDA under nvcc on 64-bit hosts.

/** Bytes and alignment. */
export interface Size {
  readonly bytes: number;
  readonly alignment: number;
}

/** Types of C++ and CUDA. */
export const kSizes: Readonly<Record<string, Size>> = Object.fromEntries([
  ...[['bool', 1], ['char', 1], ['signed char', 1], ['unsigned char', 1], ['int8_t', 1], ['uint8_t', 1], ['uchar', 1], ['std::byte', 1],
    ['short', 2], ['unsigned short', 2], ['int16_t', 2], ['uint16_t', 2], ['ushort', 2], ['half', 2], ['__half', 2], ['__nv_bfloat16', 2],
    ['int', 4], ['unsigned', 4], ['unsigned int', 4], ['uint', 4], ['int32_t', 4], ['uint32_t', 4], ['float', 4], ['char32_t', 4],
    ['long', 8], ['unsigned long', 8], ['long long', 8], ['unsigned long long', 8], ['int64_t', 8], ['uint64_t', 8], ['double', 8],
    ['size_t', 8], ['ptrdiff_t', 8], ['intptr_t', 8], ['uintptr_t', 8]].map(([name, bytes]) => [name, { bytes, alignment: bytes }]),
  ...([['char', 1], ['uchar', 1], ['short', 2], ['ushort', 2], ['int', 4], ['uint', 4], ['float', 4], ['long', 8], ['ulong', 8],
    ['double', 8],
    ['longlong', 8], ['ulonglong', 8]] as const).flatMap(([name, bytes]) => [1, 2, 3, 4].map((n) =>
    [`${name}${n}`, { bytes: bytes * n, alignment: n === 3 ? bytes : Math.min(16, bytes * n) }])),
  ['half2', { bytes: 4, alignment: 4 }], ['__half2', { bytes: 4, alignment: 4 }], ['__nv_bfloat162', { bytes: 4, alignment: 4 }],
  ['cuFloatComplex', { bytes: 8, alignment: 8 }], ['cuComplex', { bytes: 8, alignment: 8 }],
  ['cuDoubleComplex', { bytes: 16, alignment: 16 }],
] as [string, Size][]);

/** Whether a type is a builtin type of C++ or CUDA with a fixed size. */
export function isBuiltinType(type: string): boolean {
  return normalType(type) in kSizes;
}

/** Whether a type is certainly an integer type. */
export function isIntegerType(type: string): boolean {
  const words = type.trim().split(/\s+/).filter((word) => !/^(?:const|constexpr|static)$/.test(word));
  const kWord = /^(?:std::)?(?:bool|auto|unsigned|signed|int|long|short|char|uint|size_t|ptrdiff_t|u?int(?:8|16|32|64)_t)$/;
  return words.length > 0 && words.every((word) => kWord.test(word));
}

/** A type without qualifiers, with its words in the usual order. */
export function normalType(text: string): string {
  const words = text.replace(/\b(?:const|constexpr|volatile|struct|class|enum|typename|static|register|__restrict__|__shared__)\b/g, ' ')
    .replace(/\s*::\s*/g, '::').replace(/\*/g, ' * ').trim().split(/\s+/)
    .map((word) => word.replace(/^::/, '').replace(/^std::(?!byte)/, ''));
  const integers = words.filter((word) => /^(?:unsigned|signed|int|long|short|char)$/.test(word));
  if (integers.length < 2 || integers.length !== words.length) return words.join(' ');
  const longs = words.filter((word) => word === 'long').length;
  const sign = words.includes('unsigned') ? 'unsigned ' : words.includes('signed') && words.includes('char') ? 'signed ' : '';
  if (words.includes('char')) return `${sign}char`;
  if (words.includes('short')) return `${sign}short`;
  return `${sign}${longs === 2 ? 'long long' : longs === 1 ? 'long' : 'int'}`;
}
