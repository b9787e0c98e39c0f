// One phase of the nodes of one block, with the working array in registers (the paper's Register): one warp = one node
// of at most 32 points, one lane = one point; neighbours are read by shuffles.
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
  static constexpr int kMostPoints = policy::kRegisterPoints;
  static constexpr bool kTips = true;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t id = block.index() * (block.threads() / 32) + block.warp();
    const int64_t problem = id / p.nodes.count, node = id - problem * p.nodes.count;
    if (problem >= p.problems) return;
    const bool at_end = node == 0 || (!p.phase.shifted && node == p.nodes.count - 1);
    if (p.whole || (at_end && p.domain.left != Boundary::periodic)) Point<true>(block, p, node).run(block, p, problem);
    else Point<false>(block, p, node).run(block, p, problem);
  }

 private:
  /// kEnds: neighbours may lie beyond an end of the domain. Then they are images of points of the node; in a split
  /// node, of the same half.
  template <bool kEnds>
  struct Point : NodePoint<Equation> {
    using Base = NodePoint<Equation>;
    using Base::value;
    int lane[2 * kReach + 1];  ///< of the neighbours
    bool mirrored[2 * kReach + 1];
    int64_t node;
    Value tip;                 ///< points left of the node, then those right of it, one per lane
    int tip_level = 0;         ///< of the sub-step that reads them; 0: none

    WARPLOOM_DEVICE Point(const device::Block& block, const Parameters& p, int64_t node_) : Base(p, node_, block.lane()), node(node_) {
      // For a node with an end of the domain.
      const int64_t first = p.phase.shifted ? -this->valley : p.nodes.begin(node);
      WARPLOOM_UNROLL
      for (int d = -kReach; d <= kReach; ++d) {
        lane[d + kReach] = this->index + d;
        mirrored[d + kReach] = false;
        const int64_t neighbour = this->place + d;
        if (!kEnds || !this->mine || p.domain.holds(neighbour)) continue;
        const Source source = p.domain.source(neighbour);
        const bool at_right = p.phase.shifted && this->index < this->valley;
        lane[d + kReach] = static_cast<int>(source.point - (at_right ? p.nodes.n : 0) - first);
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
        if (level == tip_level) around[i] = beyond(block, i, around[i]);
        if (kEnds && mirrored[i]) around[i] = equation.mirrored(around[i]);
      }
      const Value next = equation.template next<kSubstep>(around, value[kBase]);
      if (level <= limits.own) value[1 - kFrom] = next;
    }
    /// Neighbour `i` if it is outside the node, otherwise `inside`.
    WARPLOOM_DEVICE Value beyond(const device::Block& block, int i, const Value& inside) const {
      const bool left = lane[i] < 0;
      const Value outside = device::shuffle(block, tip, left ? lane[i] + kReach : lane[i] - this->width + kReach);
      return left || lane[i] >= this->width ? outside : inside;
    }
    WARPLOOM_DEVICE void exchange_rows() { exchange(value); }

    WARPLOOM_DEVICE int64_t tips_of(const Parameters& p, int64_t problem, int component, int64_t of) const {
      return ((problem * Equation::kComponents + component) * p.nodes.count + of) * 2 * kReach;
    }
    /// From the two nodes of the previous phase in whose middles this node begins and ends.
    WARPLOOM_DEVICE void load_tips(const Parameters& p, int64_t problem) {
      tip = value[0];
      if (!p.has_tips(p.phase.down)) return;
      tip_level = -p.phase.down;
      if (this->index >= 2 * kReach) return;
      const bool right = this->index >= kReach;
      int64_t from = node;
      if (p.phase.shifted && !right) from = node == 0 ? p.nodes.count - 1 : node - 1;
      if (!p.phase.shifted && right) from = node == p.nodes.count - 1 ? 0 : node + 1;
      WARPLOOM_UNROLL
      for (int k = 0; k < Equation::kComponents; ++k) {
        tip.item[k] = p.tips[p.phase.shifted ? 0 : 1][tips_of(p, problem, k, from) + this->index];
      }
    }
    WARPLOOM_DEVICE void store_tips(const Parameters& p, int64_t problem) const {
      const int at = this->index - this->valley + kReach;
      if (p.whole || !p.has_tips(p.phase.up) || at < 0 || at >= 2 * kReach) return;
      WARPLOOM_UNROLL
      for (int k = 0; k < Equation::kComponents; ++k) {
        // From the second-to-last sub-step.
        p.tips[p.phase.shifted ? 1 : 0][tips_of(p, problem, k, node) + at] = value[1].item[k];
      }
    }

    WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p, int64_t problem) {
      this->load(p, problem);
      load_tips(p, problem);
      take_substeps<-1>(block, p.equation, *this, p.phase.down, this->down());
      take_substeps<1>(block, p.equation, *this, p.phase.up, this->up(p.whole));
      store_tips(p, problem);
      this->store(p, problem);
    }
  };
};

}  // namespace warploom::WARPLOOM_TARGET::swept
