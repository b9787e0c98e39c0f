// One sub-step of one point per thread, from global memory to global memory (the paper's Classic, Fig. 6).
#pragma once
#include "cuda/swept/march.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <class Equation, int kSubstep>
struct ClassicAgent {
  using Real = typename Equation::Real;
  static constexpr int kMaxThreads = Equation::kComponents == 3 ? 256 : 1024;
  static constexpr int kMinBlocks = Equation::kComponents == 3 ? 3 : 1;
  struct Parameters {
    Equation equation;
    Domain domain;
    const Real* around;  ///< the state that the sub-step reads
    const Real* base;    ///< the state at the start of the step; may be `result`
    Real* result;
    unsigned int blocks;  ///< of a problem
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const unsigned int index = static_cast<unsigned int>(block.index()), problem = index / p.blocks;
    const int64_t n = p.domain.n, i = int64_t{index - problem * p.blocks} * block.threads() + block.thread();
    if (i >= n) return;
    using Value = typename Equation::Value;
    constexpr int kReach = Equation::kReach;
    const int64_t offset = problem * Equation::kComponents * n;
    Value around[2 * kReach + 1];
    if (i >= kReach && i + kReach < n) {
      WARPLOOM_UNROLL
      for (int k = 0; k < Equation::kComponents; ++k) {
        const Real* const row = p.around + offset + k * n + i;
        WARPLOOM_UNROLL
        for (int d = -kReach; d <= kReach; ++d) around[d + kReach].item[k] = row[d];
      }
    } else {
      WARPLOOM_UNROLL
      for (int d = -kReach; d <= kReach; ++d) {
        around[d + kReach] = value_at(p.equation, p.domain, p.around + offset, i + d);
      }
    }
    Value base;
    WARPLOOM_UNROLL
    for (int k = 0; k < Equation::kComponents; ++k) base.item[k] = p.base[offset + k * n + i];
    const Value next = p.domain.frozen_point(i) ? base : p.equation.template next<kSubstep>(around, base);
    WARPLOOM_UNROLL
    for (int k = 0; k < Equation::kComponents; ++k) p.result[offset + k * n + i] = next.item[k];
  }
};

}  // namespace warploom::WARPLOOM_TARGET::swept
