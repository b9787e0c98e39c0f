// One phase of one node of the swept rule, with the working array in shared memory (the paper's Shared): one block =
// one node, one thread = one point. The array has two rows; a sub-step reads one and writes the other.
#pragma once
#include "cuda/swept/flux.h"
#include "cuda/swept/node_point.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

#include "cuda/swept/shared_layout.inc"

/// kByWarp: warps without an active point skip a sub-step; other warps compute it in all lanes. If many warps share the
/// issue slots this gains a quarter (heat, blocks of 512); if few do, it costs a fifth.
template <class Equation_, bool kByWarp = false>
struct SharedAgent {
  using Equation = Equation_;
  using Real = typename Equation::Real;
  using Value = typename Equation::Value;
  using Parameters = PhaseParameters<Equation>;
  static constexpr int kReach = Equation::kReach;
  static constexpr bool kTips = false;
  /// If the equation has fluxes, one thread computes each flux and its neighbour reads it.
  static constexpr bool kFluxes = operation::kHasFluxes<Equation>;
  static constexpr int kMaxThreads = kFluxes ? 256 : 1024;
  static constexpr int kMinBlocks = kFluxes ? 3 : 2;  // without spills: Euler in 80 registers, the others in 32

  /// Columns of a row; a constant if registers are scarce.
  static WARPLOOM_HOST_DEVICE int columns(int threads) { return (kFluxes ? kMaxThreads : threads) + 2 * kReach; }
  using Layout = FluxLayout<sizeof(Real)>;
  static_assert(!kFluxes || Layout::kBytes == (kMaxThreads + 2 * kReach) * (3 * sizeof(Value) + 2 * sizeof(Real)), "laid out for others");
  static WARPLOOM_HOST_DEVICE int64_t shared_bytes(int threads) {
    return kFluxes ? static_cast<int64_t>(Layout::kBytes) : columns(threads) * static_cast<int64_t>(2 * sizeof(Value));
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const unsigned int index = static_cast<unsigned int>(block.index());
    const unsigned int nodes = static_cast<unsigned int>(p.nodes.count - p.first_node);
    const unsigned int problem = index / nodes;
    const int64_t node = p.first_node + (index - problem * nodes);
    const bool split = p.phase.shifted && node == 0 && p.domain.left != Boundary::periodic;
    if (p.whole || split) Point<true>(block, p, node).run(block, p, problem);
    else Point<false>(block, p, node).run(block, p, problem);
  }

 private:
  /// kEnds: the node has an end of the domain inside. The working array then includes places beyond the end; each is
  /// written by the thread of the point whose image it is. Each half of a split node has its own.
  template <bool kEnds>
  struct Point : NodePoint<Equation> {
    using Base = NodePoint<Equation>;
    using Base::value;
    /// Column of the cell to the left of the thread's face, relative to its own.
    int face = 0;
    bool frozen = false;
    int image[2] = {0, 0};  ///< columns of the point's images, relative to its own; 0: none
    bool mirrored[2] = {false, false};
    Value* row[2];          ///< the thread's column of the rows
    Value* flux;            ///< the same of the fluxes
    Real* pressure[2];      ///< and of the rows' pressures

    WARPLOOM_DEVICE Point(const device::Block& block, const Parameters& p, int64_t node) : Base(p, node, block.thread()) {
      int column = this->index;
      if constexpr (kEnds) column = find_images(p);
      row[0] = block.shared<Value>(Layout::kRow0) + column;
      row[1] = kFluxes ? block.shared<Value>(Layout::kRow1) + column : row[0] + columns(block.threads());
      flux = block.shared<Value>(Layout::kFluxes) + column;
      pressure[0] = block.shared<Real>(Layout::kPressure0) + column;
      pressure[1] = block.shared<Real>(Layout::kPressure1) + column;
    }

    /// The thread's column, if images take `kReach` columns at each end of the domain.
    WARPLOOM_DEVICE int find_images(const Parameters& p) {
      const int64_t n = p.nodes.n;
      const int at_left = p.whole ? kReach : this->valley + 2 * kReach;  // column minus place near the left end
      const int64_t at_right = p.whole ? kReach : this->valley - n;      // near the right end
      const int column = this->index + (p.whole ? kReach : this->index < this->valley ? 0 : 2 * kReach);
      if (this->index == of_first_face(p)) face = at_left - 1 - column;
      if (!this->mine) return column;
      frozen = p.domain.frozen_point(this->place);
      WARPLOOM_NO_UNROLL
      for (int i = 0; i < 2 * kReach; ++i) {
        const int64_t beyond = i < kReach ? i - kReach : n + i - kReach;
        const Source source = p.domain.source(beyond);
        if (source.point != this->place) continue;
        image[1] = image[0];
        mirrored[1] = mirrored[0];
        image[0] = static_cast<int>(beyond + (i < kReach ? at_left : at_right)) - column;
        mirrored[0] = source.mirrored;
      }
      return column;
    }

    /// No thread owns the place left of the domain's first face. This thread has no other work, so it computes that
    /// face's flux.
    WARPLOOM_DEVICE int of_first_face(const Parameters& p) const { return p.whole ? this->width : this->width - 1; }
    WARPLOOM_DEVICE Limits with_first_face(const Parameters& p, Limits limits) const {
      if (!kFluxes || !kEnds) return limits;
      if (this->index == of_first_face(p)) limits.face = Base::kAlways;
      if (this->index / 32 == of_first_face(p) / 32) limits.warp = Base::kAlways;
      return limits;
    }

    /// Writes to the thread's column of a row, and to the columns of its images.
    template <int kRow>
    WARPLOOM_DEVICE void write(const Equation& equation, const Value& v) const {
      *row[kRow] = v;
      if constexpr (kEnds) {
        WARPLOOM_UNROLL
        for (int i = 0; i < 2; ++i) {
          if (image[i] != 0) row[kRow][image[i]] = mirrored[i] ? equation.mirrored(v) : v;
        }
      }
      if constexpr (kFluxes) {
        if (!operation::needs_pressures(equation)) return;
        const Real p = equation.pressure(v);  // equal for an image
        *pressure[kRow] = p;
        if (kEnds && image[0] != 0) pressure[kRow][image[0]] = p;
        if (kEnds && image[1] != 0) pressure[kRow][image[1]] = p;
      }
    }

    template <int kSubstep, int kFrom, int kBase>
    WARPLOOM_DEVICE void substep(const device::Block& block, const Equation& equation, int level, const Limits& limits) {
      const bool active = level <= limits.own;
      if constexpr (kFluxes) {
        Value right;
        if (level <= limits.face) {
          const int shift = kEnds ? face : 0;
          right = operation::twice_flux_right_of(equation, row[kFrom] + shift, pressure[kFrom] + shift);
          flux[shift] = right;
        }
        block.sync();
        if (active) {
          // Not from `value`: so many registers are better spent on another block.
          const Value base = *row[kBase];
          write<1 - kFrom>(equation, kEnds && frozen ? base : equation.template update<kSubstep>(base, flux[-1], right));
        }
      } else if (kByWarp ? level <= limits.warp : active) {
        Value around[2 * kReach + 1];
        WARPLOOM_UNROLL
        for (int d = -kReach; d <= kReach; ++d) around[d + kReach] = d == 0 ? value[kFrom] : row[kFrom][d];
        const Value next = equation.template next<kSubstep>(around, value[kBase]);
        if (active) {
          value[1 - kFrom] = kEnds && frozen ? value[kBase] : next;
          write<1 - kFrom>(equation, value[1 - kFrom]);
        }
      }
      block.sync();
    }

    WARPLOOM_DEVICE void exchange_rows() {
      exchange(row);
      exchange(value);  // only used for equations without fluxes, so no pressures
    }

    WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p, int64_t problem) {
      this->load(p, problem);
      if (this->mine) {
        write<0>(p.equation, value[0]);
        write<1>(p.equation, value[1]);
      }
      block.sync();
      take_substeps<-1>(block, p.equation, *this, p.phase.down, with_first_face(p, this->down()));
      take_substeps<1>(block, p.equation, *this, p.phase.up, with_first_face(p, this->up(p.whole)));
      if (kFluxes) value[0] = *row[0], value[1] = *row[1];
      this->store(p, problem);
    }
  };
};

}  // namespace warploom::WARPLOOM_TARGET::swept
