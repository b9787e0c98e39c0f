// One phase of the nodes of one block with the working array in registers (the paper's Register): one warp = one node of at most 32
// points, one lane = one point, neighbours by shuffles.
#pragma once
#include "cuda/swept/node_point.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <class Equation_>
struct RegisterAgent {
  using Equation = Equation_;
  using Value = typename Equation::Value;
  using Parameters = PhaseParameters<Equation>;
  static constexpr int kReach = Equation::kReach;
  static constexpr int kMaxThreads = 1024;
  static constexpr int kMinBlocks = 1;
  static constexpr int kMostPoints = 32;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t id = block.index() * (block.threads() / 32) + block.warp();
    const int64_t problem = id / p.nodes.count, node = id - problem * p.nodes.count;
    if (problem >= p.problems) return;
    const bool split = p.phase.shifted && node == 0 && p.domain.left != Boundary::periodic;
    if (p.whole || split) Point<true>(block, p, node).run(block, p, problem);
    else Point<false>(block, p, node).run(block, p, problem);
  }

 private:
  /// kEnds: neighbours may stand beyond an end of the domain; then they are images of points of the same half of the node.
  template <bool kEnds>
  struct Point : NodePoint<Equation> {
    using Base = NodePoint<Equation>;
    using Base::value;
    int lane[2 * kReach + 1];  ///< of the neighbours
    bool mirrored[2 * kReach + 1];

    WARPLOOM_DEVICE Point(const device::Block& block, const Parameters& p, int64_t node) : Base(p, node, block.lane()) {
      WARPLOOM_UNROLL
      for (int d = -kReach; d <= kReach; ++d) {
        lane[d + kReach] = this->index + d;
        mirrored[d + kReach] = false;
        const int64_t neighbour = this->place + d;
        if (!kEnds || !this->mine || p.domain.holds(neighbour)) continue;
        const Source source = p.domain.source(neighbour);
        const bool at_right = !p.whole && this->index < this->valley;
        lane[d + kReach] = static_cast<int>(source.point - (at_right ? p.nodes.n : 0)) + (p.whole ? 0 : this->valley);
        mirrored[d + kReach] = source.mirrored;
      }
    }

    template <int kSubstep, int kFrom, int kBase>
    WARPLOOM_DEVICE void substep(const device::Block& block, const Equation& equation, int level, const Limits& limits) {
      Value around[2 * kReach + 1];
      WARPLOOM_UNROLL
      for (int i = 0; i <= 2 * kReach; ++i) {
        if (i == kReach) {
          around[i] = value[kFrom];
          continue;
        }
        around[i] = device::shuffle(block, value[kFrom], lane[i]);
        if (kEnds && mirrored[i]) around[i] = equation.mirrored(around[i]);
      }
      const Value next = equation.template next<kSubstep>(around, value[kBase]);
      if (level <= limits.own) value[1 - kFrom] = next;
    }
    WARPLOOM_DEVICE void exchange_rows() { exchange(value); }

    WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p, int64_t problem) {
      this->load(p, problem);
      take_substeps<-1>(block, p.equation, *this, p.phase.down, this->down());
      take_substeps<1>(block, p.equation, *this, p.phase.up, this->up(p.whole));
      this->store(p, problem);
    }
  };
};

}  // namespace warploom::WARPLOOM_TARGET::swept
