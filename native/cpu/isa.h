// The choice of the instruction set among the ones a domain's kernels are compiled for.
#pragma once

namespace warploom::cpu {

/// In the order of preference; baseline is what the compiler's target has.
enum class Isa { avx512 = 0, avx2 = 1, baseline = 2 };
inline constexpr Isa kIsas[] = {Isa::avx512, Isa::avx2, Isa::baseline};
inline constexpr const char* kIsaNames[] = {"avx512", "avx2", "baseline"};

/// Whether this processor (and this build) runs code for it.
bool has_isa(Isa isa);
/// The best one, or the best up to the one that the environment variable WARPLOOM_CPU_ISA names. Read once per process.
Isa chosen_isa();

}  // namespace warploom::cpu
