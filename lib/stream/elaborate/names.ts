// Names that are valid in every target language: letters, digits and single underscores, no reserved words of C++, CUDA or JavaScript,
// unique.

const reserved = new Set(`
alignas alignof and and_eq any arguments as asm assert async atomic auto await bitand bitor bit bool boolean break byte case catch char
class clock co_await co_return co_yield compl complex concept const const_cast const_eval constexpr constinit constructor continue cosf
cos debugger decltype default defined delete device dim3 do double dynamic_cast else enum errno eval exit exp explicit export extends
extern false finally fabs float float1 float2 float3 float4 floor fma fmaf fmod fmodf for free friend from function global goto grid
half host hypot if implements import in inline int int1 int2 int3 int4 instanceof interface isnan j0 j1 jn kernel let linux log long
main malloc max memcpy memset min module mutable namespace new noexcept not not_eq null nullptr of operator or or_eq override package
pow printf private process protected prototype public puts register reinterpret_cast remainder require requires return round rsqrt
shared short signed sin sizeof sqrt static static_assert static_cast std stderr stdin stdout string struct super switch template tan
texture this thread thread_local throw time true try typedef typeid typename typeof undefined union unix unsigned using var virtual void
volatile warpSize wchar_t while with write read open close y0 y1 yn xor xor_eq yield abs acos acosf asin asinf atan atan2 atan2f atanf
cbrt ceil ceilf copysign cosh coshf erf erfc expf floorf log10 log10f logf powf rand random rint rintf roundf sinf sinh sinhf sqrtf
srand tanf tanh tanhf trunc gamma lgamma index abort atoi blockDim blockIdx gridDim threadIdx clock64 div ldiv signbit select signal
wait bind listen send recv stat link pipe fork kill sleep Array Atomics BigInt Buffer Float32Array Float64Array Function Infinity
Int32Array JSON Map Math NaN Number Object Promise Proxy Reflect Set SharedArrayBuffer String Symbol Uint8Array globalThis console self
get set static_ int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ssize_t ptrdiff_t uint ulong ushort uchar long2
long4 char4 uchar4 short4 double1 double2 double3 double4 int64 uint64
`.trim().split(/\s+/));

const longest = 48;

/** The nearest valid name; not yet unique. */
export function fitName(name: string): string {
  let fit = name.slice(0, 2 * longest).replace(/[^A-Za-z0-9_]/g, '_').replace(/_{2,}/g, '_').replace(/^_+/, '');
  fit = fit.slice(0, longest);
  if (!/^[A-Za-z]/.test(fit)) fit = `x${fit === '' || fit.startsWith('_') ? '' : '_'}${fit}`;
  if (fit.startsWith('wl_')) fit = `x_${fit}`;
  // All-capital words may be macros: EOF, M_PI, NULL.
  if (reserved.has(fit) || (fit.length > 1 && /^[A-Z][A-Z0-9_]*$/.test(fit))) fit = fit.endsWith('_') ? `${fit}v` : `${fit}_`;
  return fit;
}

/** Assigns unique valid names. */
export class Namer {
  readonly #next = new Map<string, number>();

  /** A valid form of the name, with a number if it has been used before. */
  unique(name: string): string {
    const fit = fitName(name);
    const seen = this.#next.get(fit);
    if (seen === undefined) {
      this.#next.set(fit, 2);
      return fit;
    }
    for (let number = seen; ; ++number) {
      const candidate = `${fit}${fit.endsWith('_') ? '' : '_'}${number}`;
      if (this.#next.has(candidate)) continue;
      this.#next.set(fit, number + 1);
      this.#next.set(candidate, 2);
      return candidate;
    }
  }
}
