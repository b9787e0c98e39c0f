// Entry points of the per-instruction-set kernels of swept, and their selection at run time. Names types of cuda/swept/
// without including their headers: isa_*.cpp must select the instruction set first, because templates in those headers
// take vectors.
#pragma once
#include <cstdint>

namespace warploom::swept {
struct Domain;
struct Part;
}  // namespace warploom::swept

namespace warploom::cpu {

using ::warploom::swept::Domain;

/// Points begin…end-1 of one problem for one sub-step, from memory to memory.
template <class R>
struct SubstepTask {
  const Domain* domain;
  const R* around;  ///< the state that the sub-step reads
  const R* base;    ///< the state at the start of the step; may be `result`
  R* result;
  int64_t begin, end;
};

/// Several steps of all problems, cut into independent tiles. Each tile loads its own points and, on both sides, as
/// many more as the steps reach. The lanes of a vector are tiles.
template <class R>
struct TileTask {
  const Domain* domain = nullptr;
  int64_t problems = 1;
  int64_t tiles = 1;   ///< of a problem
  int64_t length = 0;  ///< points of a tile; the last one of a problem may have fewer
  int64_t steps = 1;
  const R* from = nullptr;
  R* to = nullptr;
};

/// Kernels of one equation; `equation` is the struct of coefficients in R.
template <class R>
struct EquationKernels {
  void (*substep[2])(const void* equation, const SubstepTask<R>&);
  /// Tiles group * lanes … group * lanes + lanes - 1, counted over all problems.
  void (*tiles)(const void* equation, const TileTask<R>&, int64_t group, void* scratch);
  /// Bytes of scratch that `tiles` needs.
  int64_t (*tile_bytes)(int64_t length, int64_t steps);
};

/// Kernels of one element type.
template <class R>
struct SweptKernels {
  int lanes;  ///< of a vector
  EquationKernels<R> heat, kuramoto_sivashinsky;
  EquationKernels<R> euler[4];  ///< for each Limiter
  /// The sums and bounds of one chunk of swept.measure, count <= kChunk points.
  ::warploom::swept::Part (*measure_chunk)(const R* values, int64_t count);
  bool (*all_finite)(const R* values, int64_t count);
};

/// Kernels of one instruction set. Results have the same bits with every set.
struct SweptKernelSet {
  const char* name;
  SweptKernels<float> float32;
  SweptKernels<double> float64;
};
template <class R>
const SweptKernels<R>& kernels_of(const SweptKernelSet& set) {
  if constexpr (sizeof(R) == 4) return set.float32;
  else return set.float64;
}

const SweptKernelSet& swept_kernels_baseline();
const SweptKernelSet& swept_kernels_avx2();
const SweptKernelSet& swept_kernels_avx512();

/// The sets that this processor can run, best first.
int swept_kernel_sets(const SweptKernelSet* (&sets)[3]);
/// The best set that the environment variable WARPLOOM_CPU_ISA allows.
const SweptKernelSet& swept_kernels();

}  // namespace warploom::cpu
