// The kernel table of one instruction set: the last include of each isa_*.cpp.
#pragma once
#include "native/swept/classic_kernel.h"
#include "native/swept/measure_kernel.h"
#include "native/swept/tile_kernel.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class E>
EquationKernels<typename E::Real> equation_kernels() {
  EquationKernels<typename E::Real> kernels = {{&classic_substep<E, 0>, nullptr}, &run_tiles<E>, &tile_bytes<E>};
  if constexpr (E::kSubsteps == 2) kernels.substep[1] = &classic_substep<E, 1>;
  return kernels;
}

/// One set of kernels for each limiter; under sanitizers, which compile slowly, one set for all.
#if defined(WARPLOOM_SANITIZE_ADDRESS) || defined(WARPLOOM_SANITIZE_THREAD)
inline constexpr bool kEachLimiter = false;
#else
inline constexpr bool kEachLimiter = true;
#endif
template <class R, int kLimiter>
EquationKernels<R> euler_kernels() {
  return equation_kernels<Euler<R, kEachLimiter ? kLimiter : ::warploom::swept::kAnyLimiter>>();
}

template <class R>
SweptKernels<R> swept_kernels_of() {
  return {kWidth<R>, equation_kernels<Heat<R>>(), equation_kernels<KuramotoSivashinsky<R>>(),
          {euler_kernels<R, 0>(), euler_kernels<R, 1>(), euler_kernels<R, 2>(), euler_kernels<R, 3>()},
          &measure_chunk<R>, &all_finite<R>};
}

/// swept_kernels_<isa>() of kernels.h.
inline SweptKernelSet make_swept_kernels(const char* name) {
  return {name, swept_kernels_of<float>(), swept_kernels_of<double>()};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
