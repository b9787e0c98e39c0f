// What the pass does not follow: every case keeps the text and names code, line and remedy.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { optimize } from '../../lib/scratchpad/optimize.ts';
import { refusalCodes, remedyOf } from '../../lib/scratchpad/refusal.ts';
import { head, pass, refusal } from './pass.ts';

const tail = '\n  __syncthreads();\n  b[t] = a[63 - t];\n  __syncthreads();\n  out[t] = b[t ^ 1];';

const accessTail = '\n  __syncthreads();\n  out[t] += a[63 - t];';

/** Title, code, what stands between the declarations (lines 2 and 3) and the tail, and what stands before the kernel on one line. */
type Case = readonly [title: string, code: string, body: string, before?: string];

const cases: readonly Case[] = [
  // Pointers and aliases.
  ['the address of an array', 'address-of', 'a[t] = in[t]; out[t] = &a[0] != nullptr;'],
  ['an array as a value', 'escaping-pointer', 'a[t] = in[t]; out[t] = *(in + (a - b));'],
  ['an array passed to a function without a body', 'escaping-pointer', 'a[t] = in[t]; sort64(a);', '__device__ void sort64(float* p); '],
  ['memset of an array', 'escaping-pointer', 'memset(a, 0, sizeof(a));'],
  ['a pointer that may stand for two arrays', 'pointer-alias', 'a[t] = 1; b[t] = 2; float* p = n > 0 ? a : b; p[t] = 3;'],
  ['a pointer set to another array later', 'pointer-alias', 'a[t] = 1; float* p = a; p = b; p[t] = 3;'],
  ['a pointer set after its declaration', 'pointer-alias', 'float* p; p = a; p[t] = 1;'],
  ['arrays in an array of pointers', 'pointer-alias', 'float* rows[2] = {a, b}; rows[0][t] = 1;'],
  ['a reference that may stand for two elements', 'pointer-alias', 'a[t] = 1; b[t] = 1; float& r = n > 0 ? a[t] : b[t]; r = 2;'],
  ['a pointer kept in a global', 'pointer-alias', 'a[t] = 1; kept = a;', '__device__ float* kept; '],
  ['a cast of an array', 'reinterpret-cast', 'reinterpret_cast<float4*>(a)[t / 4] = make_float4(0, 0, 0, 0);'],
  ['a C cast of an array', 'reinterpret-cast', '((int*)a)[t] = 3;'],
  ['an element seen as another type', 'reinterpret-cast', 'a[t] = 1; out[t] = reinterpret_cast<int&>(a[t]);'],
  ['a function that returns a place', 'escaping-pointer', 'place(a, t) = 1;', '__device__ float& place(float* p, int i) { return p[i]; } '],
  ['a value assigned to what a call gives', 'unrecognised-use', 'a[t] = 0; static_cast<float&>(a[t]) = 1;'],
  ['swapping elements', 'unknown-function', 'a[t] = 1; std::swap(a[t], b[t]);'],
  ['a loop over the elements', 'range-for', 'for (float& x : a) x = 1;'],
  ['a lambda', 'lambda', 'auto put = [&](float x) { a[t] = x; }; put(1);'],
  ['the type of an array', 'decltype', 'a[t] = 1; decltype(a[0]) x = 1; out[t] = x;'],
  ['a member function of an element', 'unrecognised-use', '__shared__ P c[4]; c[t].go();', 'struct P { float x; __device__ void go() { x = 1; } }; '],
  ['operators that change what they take', 'constructor', '__shared__ P c[4]; c[t] << 3;',
    'struct P { float x; }; __device__ void operator<<(P& p, int i) { p.x = i; } '],
  // Statements behind macros, which read like declarations.
  ['a store behind a macro', 'macro', 'IF_FIRST b[0] = in[t];', '#define IF_FIRST if (threadIdx.x == 0)\n'],
  ['a store behind a macro, of two', 'macro', 'IF_FIRST a[0] = 1, b[1] = 2;', '#define IF_FIRST if (threadIdx.x == 0)\n'],
  ['a variable set behind a macro', 'macro', 'float x = 1; IF_FIRST x = 3; a[t] = x;', '#define IF_FIRST if (threadIdx.x == 0)\n'],
  ['a return behind a macro', 'macro', 'a[t] = 1; IF_FIRST return;', '#define IF_FIRST if (threadIdx.x == 0)\n'],
  ['a barrier behind a macro', 'macro', 'a[t] = 1; IF_FIRST __syncthreads();', '#define IF_FIRST if (threadIdx.x == 0)\n'],
  ['a call behind a macro', 'macro', 'a[t] = 1; IF_FIRST twice(t);', '#define IF_FIRST if (threadIdx.x == 0)\n__device__ void twice(int n) {} '],
  ['a store behind a macro in a function', 'macro', 'put(a, t);',
    '#define IF_FIRST if (threadIdx.x == 0)\n__device__ void put(float* p, int i) { IF_FIRST p[0] = 1; p[i] = 2; } '],
  ['a store behind a word of a header', 'ambiguous-syntax', 'IF_FIRST b[0] = in[t];', '#include "unseen.h"\n'],
  ['a return behind a word of a header', 'ambiguous-syntax', 'a[t] = 1; IF_FIRST return;', '#include "unseen.h"\n'],
  ['a barrier behind a word of a header', 'ambiguous-syntax', 'a[t] = 1; IF_FIRST __syncthreads();', '#include "unseen.h"\n'],
  ['a store behind a word of a header in a function', 'ambiguous-syntax', 'put(a, t);',
    '#include "unseen.h"\n__device__ void put(float* p, int i) { IF_FIRST p[0] = 1; p[i] = 2; } '],
  ['a block behind a word of a header', 'parse-error', 'IF_FIRST { b[0] = 1; }', '#include "unseen.h"\n'],
  ['a variable that reads like a function', 'ambiguous-syntax', 'a[t] = 1; float x(t); b[t] = x;'],
  // Objects that keep references.
  ['a reference kept in an object', 'object-of-element', 'a[t] = 1; Ref q{b[t]}; q.r = 3;', 'struct Ref { float& r; }; '],
  ['an object set from an element', 'object-of-element', 'a[t] = 1; Ref q = {b[t]}; q.r = 3;', 'struct Ref { float& r; }; '],
  ['an object made in an expression', 'object-of-element', 'a[t] = 1; Ref{b[t]}.r = 3;', 'struct Ref { float& r; }; '],
  ['an object made by a call', 'object-of-element', 'a[t] = 1; auto q = Ref(b[t]); q.r = 3;', 'struct Ref { float& r; __device__ Ref(float& x) : r(x) {} }; '],
  ['an object of an unseen type', 'object-of-element', '__shared__ int c[64]; a[t] = 1; cuda::atomic_ref<int> r{c[t]}; r.fetch_add(1);'],
  ['an object given an element later', 'object-of-element', 'a[t] = 1; Ref q; q = b[t]; q.put(3);', '#include "unseen.h"\n'],
  ['an operator of an object', 'object-of-element', 'a[t] = 1; Ref q; q << b[t];', '#include "unseen.h"\n'],
  ['an object that a function takes', 'object-of-element', 'a[t] = 1; put(b[t]);', 'struct Ref { float& r; }; __device__ void put(Ref q) { q.r = 1; } '],
  ['an object that a function takes by reference', 'object-of-element', 'a[t] = 1; put(b[t]);',
    'struct Ref { float& r; }; __device__ void put(const Ref& q) { q.r = 1; } '],
  ['an object that a function returns', 'object-of-element', 'a[t] = 1; auto q = get(b[t]); q.r = 1;',
    'struct Ref { float& r; }; __device__ Ref get(float& x) { return Ref{x}; } '],
  ['an object of a type of the kernel', 'object-of-element', 'struct Ref { float& r; }; a[t] = 1; Ref q{b[t]}; q.r = 3;'],
  ['an object named in template arguments', 'object-of-element', 'a[t] = 1; put<Ref>(b[t]);',
    'struct Ref { float& r; }; template <class T> __device__ void put(T q) { } '],
  // Loops that wait for other threads.
  ['a wait for an atomic', 'spin-wait', 'a[t] = 1; if (t == 0) { while (atomicAdd(&flag, 0) == 0); }', '__device__ int flag; '],
  ['a wait for a lock', 'spin-wait', 'a[t] = 1; if (t == 0) while (atomicCAS(&flag, 0, 1) != 0) { }', '__device__ int flag; '],
  ['a wait for a lock with a pause', 'spin-wait', 'a[t] = 1; if (t == 0) while (true) { if (atomicExch(&flag, 1) == 0) break; __nanosleep(20); }', '__device__ int flag; '],
  ['a wait for a variable set from a lock', 'spin-wait',
    'a[t] = 1; bool done = false; while (!done) { if (atomicCAS(&flag, 0, 1) == 0) { done = true; } }', '__device__ int flag; '],
  ['a wait for memory', 'spin-wait', 'a[t] = 1; if (t == 0) while (in[0] == 0.0f) { }'],
  ['a wait for an element', 'spin-wait', 'a[t] = 1; if (t == 0) while (b[0] == 0.0f) { }'],
  ['a wait for volatile memory', 'spin-wait', 'a[t] = 1; volatile int* p = &flag; if (t == 0) while (*p == 0) { }', '__device__ int flag; '],
  ['a wait in a function', 'spin-wait', 'a[t] = 1; if (t == 0) lock(&flag);',
    '__device__ int flag; __device__ void lock(int* p) { while (atomicCAS(p, 0, 1) != 0); } '],
  // Names of CUDA with another meaning.
  ['a barrier that is a macro', 'macro', 'a[t] = 1; __syncthreads();', '#define __syncthreads() if (threadIdx.x < 32) __syncwarp()\n'],
  ['a barrier that is a function', 'ambiguous-function', 'a[t] = 1; __syncthreads();', '__device__ void __syncthreads() { } '],
  ['a barrier of a group that is a function', 'ambiguous-function', 'a[t] = 1; sync(t);', '__device__ void sync(int) { } '],
  ['an atomic that is a macro', 'macro', 'a[t] = 1; atomicAdd(&a[t], 1.0f);', '#define atomicAdd(p, v) (*(p) + (v))\n'],
  // Alignments that nobody knows.
  ['an alignment of a name', 'unknown-extent', '__shared__ alignas(WIDE) float c[64]; c[t] = 1;'],
  // Orders other than barriers of the block.
  ['__syncwarp', 'warp-synchronous', 'a[t] = 1; __syncwarp();'],
  ['the tail of a reduction without barriers', 'warp-synchronous',
    'a[t] = in[t]; __syncthreads(); if (t < 32) { a[t] += a[t + 32]; a[t] += a[t + 16]; a[t] += a[t + 8]; }'],
  ['a shuffle between a write and a read', 'warp-synchronous', 'a[t] = in[t]; float x = __shfl_sync(~0u, in[t], 0); out[t] = a[t ^ 1] + x;'],
  ['volatile', 'volatile-shared', 'volatile float* v = a; v[t] = 1;'],
  ['a tile of a warp', 'warp-synchronous', 'auto w = cg::tiled_partition<32>(cg::this_thread_block()); a[t] = 1; w.sync();',
    'namespace cg = cooperative_groups; '],
  ['inline assembly', 'inline-assembly', 'a[t] = 1; asm volatile("bar.sync 1, 64;");'],
  ['a named barrier', 'named-barrier', 'a[t] = 1; __barrier_sync(1);'],
  ['cp.async', 'async-copy', '__pipeline_memcpy_async(&a[t], &in[t], 4);'],
  ['memcpy_async of a group', 'async-copy', 'cg::memcpy_async(cg::this_thread_block(), a, in, 256);', 'namespace cg = cooperative_groups; '],
  ['a barrier object', 'barrier-object', '__shared__ cuda::barrier<cuda::thread_scope_block> bar; a[t] = 1;'],
  ['cluster memory', 'cluster', 'auto c = cg::this_cluster(); a[t] = *c.map_shared_rank(b, 1);', 'namespace cg = cooperative_groups; '],
  ['a grid barrier', 'grid-barrier', 'a[t] = 1; cg::this_grid().sync();', 'namespace cg = cooperative_groups; '],
  ['tensor cores', 'matrix-fragment', 'wmma::load_matrix_sync(f, a, 16);'],
  // Control flow.
  ['a barrier that some threads pass', 'divergent-barrier', 'a[t] = 1; if (t < 32) __syncthreads();'],
  ['a barrier behind a loaded condition', 'divergent-barrier', 'a[t] = 1; if (out[0] > 0) { __syncthreads(); }'],
  ['a barrier behind a shared flag', 'divergent-barrier', 'a[t] = 1; if (a[0] > 0) { __syncthreads(); }'],
  ['a barrier in a loop of a thread', 'divergent-barrier', 'for (int i = t; i < n; i += 64) { a[t] = i; __syncthreads(); }'],
  ['a barrier in a loop that threads leave one by one', 'divergent-barrier', 'for (int i = 0; i < n; ++i) { a[t] = i; if (in[t] > i) break; __syncthreads(); }'],
  ['a barrier after a divergent continue', 'divergent-barrier', 'for (int i = 0; i < n; ++i) { a[t] = i; if (t > i) continue; __syncthreads(); }'],
  ['a condition that a divergent branch changes', 'divergent-barrier', 'int m = 0; if (t == 3) m = 1; a[t] = 1; if (m > 0) __syncthreads();'],
  ['a condition that a divergent loop changes', 'divergent-barrier', 'int m = 0; for (int i = 0; i < t; ++i) m = 2; a[t] = 1; if (m > 0) __syncthreads();'],
  ['a condition changed through a pointer', 'divergent-barrier', 'int m = 0; int* q = &m; *q = t; a[t] = 1; if (m > 0) __syncthreads();'],
  ['a condition changed through a reference', 'divergent-barrier', 'int m = 0; int& q = m; q = t; a[t] = 1; if (m > 0) __syncthreads();'],
  ['a condition changed by a function', 'divergent-barrier', 'int m = 0; set(m); a[t] = 1; if (m > 0) __syncthreads();',
    '__device__ void set(int& x) { x = threadIdx.x; } '],
  ['a condition computed by a divergent function', 'divergent-barrier', 'a[t] = 1; if (odd()) __syncthreads();',
    '__device__ bool odd() { return threadIdx.x % 2; } '],
  ['threads that return before a barrier', 'divergent-return', 'if (t >= n) return; a[t] = 1;'],
  ['threads that return in a loop before a barrier', 'divergent-return', 'for (int i = 0; i < n; ++i) { if (in[t] > i) return; } a[t] = 1;'],
  ['a barrier in a part of an expression', 'barrier-in-expression', 'a[t] = 1; bool x = n > 0 && __syncthreads_or(t); out[0] = x;'],
  ['a barrier beside an access', 'barrier-in-expression', 'b[t] = 1; a[t] = b[t ^ 1] + __syncthreads_count(t);'],
  ['goto', 'goto', 'again: a[t] = 1; if (--n > 0) goto again;'],
  ['a case that falls through', 'switch-fallthrough', 'switch (n) { case 1: a[t] = 1; case 2: __syncthreads(); break; default: a[t] = 2; }'],
  ['recursion', 'recursion', 'a[t] = f(a, n);', '__device__ float f(float* p, int m) { return m == 0 ? p[0] : f(p, m - 1); } '],
  ['try', 'unsupported-statement', 'try { a[t] = 1; } catch (...) {}'],
  // Declarations and names.
  ['a type without a definition', 'unknown-type', '__shared__ Elsewhere c[4]; c[t].x = 1;'],
  ['a type that the kernel hides', 'unknown-type', 'using real = double; __shared__ real c[4]; c[t & 3] = 1;', 'typedef float real; '],
  ['an extent of unknown value', 'unknown-extent', '__shared__ float c[kSize]; c[t] = 1;'],
  ['an extent defined twice', 'unknown-extent', '__shared__ float c[W]; c[t] = 1;', '\n#define W 4\n#undef W\n'],
  ['a constructor', 'constructor', '__shared__ P c[4]; c[t].x = 1;', 'struct P { float x; __device__ P() {} }; '],
  ['a default value', 'constructor', '__shared__ P c[4]; c[t].x = 1;', 'struct P { float x = 1; }; '],
  ['a base class', 'constructor', '__shared__ P c[4]; c[t].x = 1;', 'struct Q { int y; }; struct P : Q { float x; }; '],
  ['a union', 'constructor', '__shared__ P c[4]; c[t].x = 1;', 'union P { float x; int y; }; '],
  ['a type defined in the declaration', 'inline-type', '__shared__ struct { float x; } c[4]; c[t].x = 1;'],
  ['an initial value', 'initializer', '__shared__ float c[2] = {0, 0}; out[t] = c[0];'],
  ['a shared array of a function', 'shared-in-callee', 'a[t] = f(t);', '__device__ float f(int t) { __shared__ float own[64]; own[t] = 1; return own[t]; } '],
  ['a macro that touches an array', 'macro', 'a[t] = 1; SHOW(t);', '\n#define SHOW(i) (a[i])\n'],
  ['a macro that assigns', 'macro', 'a[t] = 1; PUT(n);', '\n#define PUT(x) x = 1\n'],
  ['a macro that returns', 'macro', 'a[t] = 1; LEAVE;', '\n#define LEAVE return\n'],
  ['a function of several bodies', 'ambiguous-function', 'a[t] = f(t);', '__device__ float f(int x) { return x; } __device__ float f(float x) { return x; } '],
  ['a function that is nowhere', 'unknown-function', 'a[t] = nowhere(t);'],
  ['a name that is nowhere', 'unknown-name', 'a[t] = kNowhere;'],
  ['#if inside the kernel', 'preprocessor', 'a[t] = 1;\n#if FAST\n  __syncwarp();\n#endif'],
  ['text that is no C++', 'parse-error', 'a[t] = = 1;'],
  ['a read before any write', 'uninitialised-read', 'out[0] = a[t]; a[t] = 1;'],
  ['a count without a beginning', 'uninitialised-read', 'atomicAdd(&a[t], 1.0f);'],
  ['a comparison that reads like a template', 'ambiguous-syntax', 'a[t] = 1; out[0] = n < t && t > (n);'],
];

describe('scratchpad: refusals', function () {
  this.timeout(120_000); // on busy machines
  for (const [title, code, body, before] of cases) {
    it(`${title}: ${code}`, async () => {
      const refused = await refusal(`${head}  ${body}${tail}`, before);
      strictEqual(refused.code, code, `${refused.code} at line ${refused.line}: ${refused.reason}`);
      const lines = (before ?? '').split('\n').length + 3;
      // Where a function of the text does it, the place is there.
      const inCallee = /\) \{/.test(before?.split('\n').at(-1) ?? '') && refused.line === (before ?? '').split('\n').length;
      ok(inCallee || (refused.line >= lines && refused.line <= lines + 4), `line ${refused.line}, not ${lines}`);
      ok(refused.column >= 1 && refused.reason.length > 5 && refused.remedy === remedyOf(refused.code));
    });
  }

  it('says what to do for every code, and has a case here or in the corpus for most', () => {
    for (const code of refusalCodes) match(remedyOf(code), /\w{3}/);
    const seen = new Set(cases.map(([, code]) => code));
    deepStrictEqual(refusalCodes.filter((code) => !seen.has(code)).sort(), ['dynamic-and-large', 'symbolic-scope', 'too-deep']);
  });

  const accepted: readonly (readonly [title: string, body: string, before?: string])[] = [
    ['macros that are types', 'REAL x = in[t]; a[t] = x;', '#define REAL float\n'],
    ['types of headers, of new names', 'Unseen x = in[t]; a[t] = 1;', '#include "unseen.h"\n'],
    ['plain structs, aliases and enumerations',
      '__shared__ P c[64]; using real = float; c[t] = {in[t]}; a[t] = 1; __syncthreads(); P q = c[t ^ 1]; real z = a[t]; Kind k = (Kind)a[t]; out[t] = q.x + z + k;',
      'struct P { float x; }; enum Kind { one, two }; '],
    ['values that functions take and return', 'a[t] = in[t]; out[t] = twice(a[t]); float x(1.0f); b[t] = x;',
      'template <class T> __device__ T twice(T x) { return x + x; } '],
    ['a retry of an atomic', 
      'a[t] = in[t]; int old = flag, assumed; do { assumed = old; old = atomicCAS(&flag, assumed, assumed + 1); } while (assumed != old);', '__device__ int flag; '],
    ['tickets', 'a[t] = in[t]; for (int i = atomicAdd(&flag, 1); i < n; i = atomicAdd(&flag, 1)) out[i] = 1;', '__device__ int flag; '],
    ['loops that search', 'a[t] = in[t]; int i = t; while (i < n && in[i] > 0) ++i; out[t] = i; while (in[i] > in[0]) --i; out[t] += i;'],
    ['a bounded number of attempts', 'a[t] = in[t]; for (int i = 0; i < 100; ++i) if (atomicCAS(&flag, 0, 1) == 0) break;', '__device__ int flag; '],
  ];
  for (const [title, body, before] of accepted) it(`but not ${title}`, () => pass(`${head}  ${body}${accessTail}`, {}, before));

  it('template parameters that elements initialise are kept from being classes', async () => {
    const text = 'template <class T, class Sum> __global__ void k(T* out) { __shared__ T a[64], b[64]; int t = threadIdx.x; a[t] = out[t]; __syncthreads(); '
      + 'T own = a[t]; Sum x = a[t ^ 1]; __syncthreads(); b[t] = x + own; __syncthreads(); out[t] = b[t ^ 1]; }\n';
    const { source, report } = await optimize(text);
    strictEqual(report.kernels[0]?.status, 'rewritten');
    match(source, /static_assert\(!__is_class\(Sum\) && !__is_union\(Sum\)/);
    ok(!source.includes('__is_class(T)'));
  });

  it('keeps alignas where the compiler computes the layout', async () => {
    const text = 'template <class T> __global__ void k(T* out) { __shared__ alignas(128) T a[64]; __shared__ T b[64]; int t = threadIdx.x; a[t] = out[t]; '
      + '__syncthreads(); out[t] = a[t ^ 1]; __syncthreads(); b[t] = 1; __syncthreads(); out[t] += b[t ^ 1]; }\n';
    const { source } = await optimize(text);
    match(source, /__shared__ alignas\(128\) unsigned char/);
    match(source, /\+ 127\) \/ 128 \* 128/);
  });

  it('refuses one kernel and treats the other', async () => {
    const good = '__global__ void good(float* out) { __shared__ float x[64], y[64]; int t = threadIdx.x; x[t] = 1; __syncthreads(); out[t] = x[t ^ 1]; '
      + '__syncthreads(); y[t] = 2; __syncthreads(); out[t] += y[t ^ 1]; }\n';
    const bad = '__global__ void bad(float* out) { __shared__ float x[64], y[64]; x[threadIdx.x] = 1; __syncwarp(); y[0] = x[1]; }\n';
    const { report, source } = await optimize(good + bad);
    deepStrictEqual(report.kernels.map(({ kernel, bytesAfter }) => [kernel, bytesAfter]), [['good', 256]]);
    deepStrictEqual(report.refused.map(({ kernel, line, code }) => [kernel, line, code]), [['bad', 2, 'warp-synchronous']]);
    ok(source.endsWith(bad));
  });

  it('a pool over 48 KB beside dynamic shared memory: dynamic-and-large', async () => {
    const refused = await refusal('  extern __shared__ float more[];\n  __shared__ float a[10000], b[10000];\n  const int t = threadIdx.x;\n  a[t] = more[t];'
      + '\n  b[t] = in[t];\n  __syncthreads();\n  out[t] = a[t ^ 1] + b[t ^ 1];', '', { reuse: false });
    strictEqual(refused.code, 'dynamic-and-large');
    strictEqual(refused.line, 2);
  });

  it('very long expressions: too-deep', async () => {
    const refused = await refusal(`${head}  a[t] = ${'in[t] + '.repeat(700)}1;${tail}`);
    strictEqual(refused.code, 'too-deep');
    strictEqual(refused.line, 4);
  });

  it('sizes of template parameters in an inner block: symbolic-scope', async () => {
    const text = 'template <int M> __global__ void k(float* out) {\n  const int t = threadIdx.x;\n  {\n    __shared__ float a[M];\n    a[t] = 1;\n'
      + '    __syncthreads();\n    out[t] = a[t ^ 1];\n  }\n  __syncthreads();\n  __shared__ float b[M];\n  b[t] = 1;\n  __syncthreads();\n  out[t] += b[t ^ 1];\n}\n';
    const { report } = await optimize(text);
    deepStrictEqual(report.refused.map(({ code, line }) => [code, line]), [['symbolic-scope', 4]]);
  });
});
