// Entry points of the per-instruction-set kernels of swept, and their choice at run time. Names types of cuda/swept/ without including
// their headers: isa_*.cpp must include those after the choice of the instruction set, since templates there take vectors.
#pragma once
#include <cstdint>

namespace warploom::swept {
struct Domain;
struct Part;
}  // namespace warploom::swept

namespace warploom::cpu {

using ::warploom::swept::Domain;

/// Points begin…end-1 of one problem for one sub-step, in memory.
template <class R>
struct SubstepTask {
  const Domain* domain;
  const R* around;  ///< the state that the sub-step reads
  const R* base;    ///< the state at the start of the step; may be `result`
  R* result;
  int64_t begin, end;
};

/// Some steps of all problems, cut into tiles that take them independently: each tile starts from its points and as many beyond
/// on both sides as the steps reach. Lanes of a vector are tiles.
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

/// Kernels of one instruction set. The bits of a result do not depend on which is taken.
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

/// Sets this processor runs, the best one first.
int swept_kernel_sets(const SweptKernelSet* (&sets)[3]);
/// The best set, or the one that the environment variable WARPLOOM_CPU_ISA allows.
const SweptKernelSet& swept_kernels();

}  // namespace warploom::cpu
