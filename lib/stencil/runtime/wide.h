// Vectors of 64 bytes, for functions of rows that are compiled for processors with AVX-512 besides others (lib/stencil/compile/wide.ts).
// GCC alone: other compilers have other names for it.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define WL_WIDE __attribute__((noinline, target("avx512f")))
typedef WL_REAL wl_wide __attribute__((vector_size(64)));
/// The same anywhere in memory.
typedef WL_REAL wl_wide_at __attribute__((vector_size(64), aligned(sizeof(WL_REAL)), may_alias));
typedef WL_LANE wl_lanes __attribute__((vector_size(64)));
static const bool wl_has_wide = __builtin_cpu_supports("avx512f");
#define WL_EITHER(name) (wl_has_wide ? name##_wide : name)
#else
#define WL_EITHER(name) name
#endif
