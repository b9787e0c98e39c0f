// The variants of swept.advance, and the equations for which they are compiled.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/swept/euler.h"
#include "cuda/swept/heat.h"
#include "cuda/swept/kuramoto_sivashinsky.h"
#include "cuda/swept/march.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

// For explicit instantiation: M(Equation) for each equation and precision.
#define WARPLOOM_FOR_EQUATIONS(M)                                                            \
  M(operation::Heat<float>) M(operation::Heat<double>) M(operation::KuramotoSivashinsky<float>) \
  M(operation::KuramotoSivashinsky<double>) M(operation::Euler<float>) M(operation::Euler<double>)

// One function per variant, defined in <variant>*.cu for Heat, KuramotoSivashinsky and Euler of float and double. Each
// leaves the state after march.steps >= 1 steps in march.to.
template <class Equation>
Status march_classic(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);
template <class Equation>
Status march_classic_graph(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);
template <class Equation>
Status march_shared(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);
template <class Equation>
Status march_hybrid(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);
template <class Equation>
Status march_register(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);
template <class Equation>
Status march_tiled(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);

}  // namespace warploom::WARPLOOM_TARGET::swept
