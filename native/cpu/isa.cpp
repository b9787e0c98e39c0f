#include "native/cpu/isa.h"

#include <cstdlib>
#include <cstring>

namespace warploom::cpu {
namespace {

/// What every processor has; in builds with a single set, that set.
#if defined(WARPLOOM_ONLY_AVX2)
constexpr Isa kOnlyIsa = Isa::avx2;
#else
constexpr Isa kOnlyIsa = Isa::baseline;
#endif

Isa choose() {
  const char* const wanted = std::getenv("WARPLOOM_CPU_ISA");
  int first = 0;
  if (wanted != nullptr) {
    while (first < 2 && std::strcmp(wanted, kIsaNames[first]) != 0) ++first;  // any other name: the baseline
  }
  for (const Isa isa : kIsas) {
    if (static_cast<int>(isa) >= first && has_isa(isa)) return isa;
  }
  return kOnlyIsa;
}

}  // namespace

bool has_isa(Isa isa) {
#if defined(WARPLOOM_ONLY_AVX2)
  return isa == kOnlyIsa;
#elif defined(__x86_64__) && !defined(WARPLOOM_ONLY_BASELINE)
#ifndef WARPLOOM_WITHOUT_AVX512
  if (isa == Isa::avx512) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw");
  }
#endif
#ifndef WARPLOOM_WITHOUT_AVX2
  if (isa == Isa::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
#endif
  return isa == Isa::baseline;
}

Isa chosen_isa() {
  static const Isa isa = choose();
  return isa;
}

}  // namespace warploom::cpu
