#include "native/cpu/isa.h"

#include <cstdlib>
#include <cstring>

namespace warploom::cpu {
namespace {

Isa choose() {
  const char* const wanted = std::getenv("WARPLOOM_CPU_ISA");
  int first = 0;
  if (wanted != nullptr) {
    while (first < 2 && std::strcmp(wanted, kIsaNames[first]) != 0) ++first;
  }
  while (!has_isa(static_cast<Isa>(first))) ++first;
  return static_cast<Isa>(first);
}

}  // namespace

bool has_isa(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) {
#ifdef WARPLOOM_NO_AVX512
    return false;
#else
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw");
#endif
  }
  if (isa == Isa::avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
  return isa == Isa::baseline;
}

Isa chosen_isa() {
  static const Isa isa = choose();
  return isa;
}

}  // namespace warploom::cpu
