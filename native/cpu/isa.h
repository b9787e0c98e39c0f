// Selects the instruction set, among those that a domain's kernels are compiled for.
#pragma once

namespace warploom::cpu {

/// In order of preference; baseline is what the compiler's target has.
enum class Isa { avx512 = 0, avx2 = 1, baseline = 2 };
inline constexpr Isa kIsas[] = {Isa::avx512, Isa::avx2, Isa::baseline};
inline constexpr const char* kIsaNames[] = {"avx512", "avx2", "baseline"};

/// A domain's kernels for `isa`: prefix##baseline() and so on. Sanitizer builds compile slowly, so they have one
/// instruction set (the library is tested with all of them in test/core/instruction-sets.test.ts). WARPLOOM_WITHOUT_…
/// marks sets left out of builds for one machine (scripts/build-native.mjs); only the four isa.cpp depend on it.
#if defined(WARPLOOM_ONLY_AVX2)
#define WARPLOOM_ISA_SET(isa, prefix) (static_cast<void>(isa), prefix##avx2())
#elif defined(__x86_64__) && !defined(WARPLOOM_ONLY_BASELINE)
#ifdef WARPLOOM_WITHOUT_AVX2
#define WARPLOOM_AVX2_SET(prefix) prefix##baseline()
#else
#define WARPLOOM_AVX2_SET(prefix) prefix##avx2()
#endif
#ifdef WARPLOOM_WITHOUT_AVX512
#define WARPLOOM_AVX512_SET(prefix) prefix##baseline()
#else
#define WARPLOOM_AVX512_SET(prefix) prefix##avx512()
#endif
#define WARPLOOM_ISA_SET(isa, prefix)                    \
  ((isa) == Isa::avx512 ? WARPLOOM_AVX512_SET(prefix)    \
   : (isa) == Isa::avx2 ? WARPLOOM_AVX2_SET(prefix)      \
                        : prefix##baseline())
#else
#define WARPLOOM_ISA_SET(isa, prefix) (static_cast<void>(isa), prefix##baseline())
#endif

/// Whether this processor, and this build, can run code for it.
bool has_isa(Isa isa);
/// The best set, but not above the one named by the environment variable WARPLOOM_CPU_ISA (sse2: baseline). Read once
/// per process.
Isa chosen_isa();

}  // namespace warploom::cpu
