// Functions and words of CUDA that the pass knows.

/** The words of a whitespace-separated list. */
function words(...lines: readonly string[]): Set<string> {
  return new Set(lines.join(' ').split(' '));
}

/** Barriers of all threads of a block. */
export const blockBarriers = new Set(['__syncthreads', '__syncthreads_count', '__syncthreads_and', '__syncthreads_or']);

/** Names that need no declaration. */
export const builtinNames = words(
  'threadIdx blockIdx blockDim gridDim warpSize nullptr NULL true false std cooperative_groups',
  'INFINITY NAN HUGE_VALF HUGE_VAL FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX DBL_MIN DBL_EPSILON INT_MAX INT_MIN UINT_MAX LLONG_MAX LLONG_MIN',
  'ULLONG_MAX M_PI M_PI_2 M_E M_SQRT2 CUDART_INF_F CUDART_NAN_F CUDART_INF CUDART_PI_F CUDART_PI',
);

/** Names whose value is the same for all threads of a block. */
export const uniformNames = new Set([...builtinNames].filter((name) => name !== 'threadIdx'));

const math = words(
  'abs labs llabs fabs max min fmax fmin fma fmod remainder fdim floor ceil round rint nearbyint trunc lround llround lrint llrint',
  'sqrt rsqrt cbrt rcbrt hypot rhypot norm3d rnorm3d norm4d rnorm4d exp exp2 exp10 expm1 log log2 log10 log1p logb ilogb pow powi',
  'sin cos tan sincos sinpi cospi sincospi asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf erfc erfinv erfcinv erfcx lgamma',
  'tgamma normcdf normcdfinv j0 j1 jn y0 y1 yn ldexp scalbn scalbln frexp modf copysign nextafter isnan isinf isfinite signbit nan',
  'saturate clamp umin umax ullmin ullmax llmin llmax mulhi mul24 umul24 conj cuCadd cuCmul cuCsub cuCdiv cuCabs cuCreal cuCimag cuConj',
);

const patterns = [
  // Arithmetic with a rounding mode, fast functions, integers, halves, pieces of words.
  /^__[fd](?:add|sub|mul|div|rcp|sqrt|rsqrt|fma|ma|maf)_r[nzud]$/, /^__(?:fmaf|fmaf_ieee|frsqrt|fma)_r[nzud]$/,
  /^__(?:sin|cos|tan|exp|exp10|log|log2|log10|pow|sincos|saturate|fdivide)f$/,
  /^__u?(?:mul24|mulhi|mul64hi|sad|hadd|rhadd)$/, /^__(?:popc|clz|ffs|brev)(?:ll)?$/,
  /^__(?:byte_perm|dp4a|dp2a_(?:lo|hi)|funnelshift_[lr]c?)$/, /^__h\w+$/,
  /^h(?:sqrt|exp|exp2|log|sin|cos|rcp|rsqrt|floor|ceil|rint|trunc)$/,
  /^__v(?:abs|add|avg|cmp|max|min|neg|sad|set|sub)\w+$/, /^__(?:low|high)(?:2|s2|_as_)\w+$/, /^__(?:lows|highs|halves)2\w+$/,
  // Conversions and reinterpretations.
  /^__\w+2(?:float|half|int|uint|ll|ull|short|ushort|double|bfloat16|loint|hiint)\w*$/,
  /^__(?:int|uint|float|double|longlong)_as_(?:int|uint|float|double|longlong)$/, /^__hiloint2double$/,
  /^make_u?(?:char|short|int|long|longlong|float|double)[1-4]$/, /^make_cu(?:Float|Double)?Complex$/,
  // Textures: read-only memory of their own.
  /^tex(?:1D|2D|3D|Cubemap)\w*$/, /^tex1Dfetch$/,
];

/** Whether a function of CUDA computes from its arguments alone. */
export function isPureFunction(name: string): boolean {
  return math.has(name) || math.has(name.replace(/[fl]$/, '')) || patterns.some((pattern) => pattern.test(name));
}

/** Pure except for results returned through pointers. */
export const resultsByPointer = /^(?:__)?(?:sincos|sincospi|modf|frexp)f?$/;

/** Atomically reads and writes the location to which its first argument points. */
export function isAtomic(name: string): boolean {
  return /^atomic(?:Add|Sub|Exch|Min|Max|Inc|Dec|CAS|And|Or|Xor)(?:_block|_system)?$/.test(name);
}

/** Loads and stores of global memory with a cache hint. */
export const cachedLoad = /^__ld(?:g|cg|ca|cs|lu|cv)$/;
export const cachedStore = /^__st(?:wb|cg|cs|wt)$/;

/** Exchanges values between the lanes of a warp. */
export const shuffle = /^__(?:shfl\w*|(?:any|all|ballot)(?:_sync)?|activemask|match_(?:any|all)_sync|reduce_\w+_sync)$/;

/** Functions with side effects that access neither shared arrays nor barriers. */
export const opaqueFunctions = words(
  'printf assert __trap __brkpt clock clock64 __nanosleep __threadfence __threadfence_block __threadfence_system __assume __builtin_assume',
  '__builtin_expect __builtin_unreachable __prof_trigger surf1Dread surf1Dwrite surf2Dread surf2Dwrite surf3Dread surf3Dwrite',
);

/** Codes of {@link forbiddenWords}. */
type ForbiddenCode = 'async-copy' | 'barrier-object' | 'cluster' | 'named-barrier' | 'matrix-fragment';

/** Words that make the pass refuse a kernel wherever they occur, and why. */
export const forbiddenWords: readonly (readonly [RegExp, ForbiddenCode, string])[] = [
  [/^(?:memcpy_async|__pipeline_\w+|cp_async\w*|cuda_memcpy_async|wait_prior)$/, 'async-copy',
    'asynchronous copies write shared memory later than the point at which they are issued'],
  [/^(?:make_pipeline|pipeline|pipeline_shared_state)$/, 'async-copy', 'pipelines order asynchronous copies by themselves'],
  [/^(?:mbarrier\w*|__mbarrier\w*|barrier_arrive_tx|arrival_token|arrive_and_wait|arrive_and_drop)$/, 'barrier-object',
    'barrier objects keep state in shared memory'],
  [/^(?:this_cluster|map_shared_rank|cluster_group|cluster_dim\w*|__cluster\w*|query_shared_rank)$/, 'cluster',
    'blocks of a cluster see each other\'s shared memory'],
  [/^(?:__barrier_sync\w*|__named_barrier\w*|__syncthreads_partial)$/, 'named-barrier', 'a barrier of some threads only'],
  [/^(?:load_matrix_sync|store_matrix_sync|mma_sync|fill_fragment|wmma|nvcuda|cute|tcgen05\w*)$/, 'matrix-fragment',
    'tensor-core operations take shared pointers'],
];
