// One phase of one node of the swept rule, with the working array in shared memory (the paper's Shared): one block = one node, one
// thread = one point. The array has two rows; a sub-step reads one and writes the other.
#pragma once
#include "cuda/swept/march.cuh"
#include "cuda/swept/nodes.h"

namespace warploom::WARPLOOM_TARGET::swept {

using operation::Nodes;
using operation::Phase;

template <class Equation_>
struct SharedAgent {
  using Equation = Equation_;
  using Real = typename Equation::Real;
  using Value = typename Equation::Value;
  static constexpr int kReach = Equation::kReach;
  /// Each flux is computed by one thread and read by its neighbour, where the equation has fluxes.
  static constexpr bool kFluxes = Equation::kEquation == operation::Equation::euler;
  static constexpr int kMaxThreads = kFluxes ? 512 : 1024;
  static constexpr int kMinBlocks = 1;

  struct Parameters {
    Equation equation;
    Domain domain;
    Nodes nodes;
    Phase phase;
    bool whole;          ///< the only node holds the domain for the whole launch, `up` sub-steps
    int64_t first_node;  ///< 1: without the node that the ends split
    const Real* from[2];  ///< rows of a phase's begin: the whole steps, and the others (not read by the first)
    Real* to[2];          ///< rows of its end; the second is null where only a state is left
  };

  static WARPLOOM_HOST_DEVICE int columns(int threads) { return threads + 2 * kReach; }
  static WARPLOOM_HOST_DEVICE int64_t shared_bytes(int threads) {
    return int64_t{2 + kFluxes} * columns(threads) * static_cast<int64_t>(sizeof(Value));
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const unsigned int index = static_cast<unsigned int>(block.index());
    const unsigned int nodes = static_cast<unsigned int>(p.nodes.count - p.first_node);
    const unsigned int problem = index / nodes;
    const int64_t node = p.first_node + (index - problem * nodes);
    const int64_t offset = problem * Equation::kComponents * p.nodes.n;
    const bool split = p.phase.shifted && node == 0 && p.domain.left != Boundary::periodic;
    if (p.whole || split) Point<true>(block, p, node).run(block, p, offset);
    else Point<false>(block, p, node).run(block, p, offset);
  }

 private:
  static constexpr int kNever = -2147483647 - 1, kAlways = 2147483647;

  /// A thread and its point. kEnds: the node holds an end of the domain inside. The places beyond stand in the working array too,
  /// written by the thread of the point they are an image of, and each half of a split node has its own.
  template <bool kEnds>
  struct Point {
    int64_t place;        ///< 0…n-1
    bool mine;            ///< the thread has a point
    int up, down;         ///< computes sub-step l where l <= up on the way up, where -l <= down on the way down
    int face_up, face_down;  ///< the same of the flux through a face
    int face = 0;         ///< column of the cell at the left of that face, from the own one
    bool frozen = false;
    int image[2] = {0, 0};  ///< columns of the point's images, from the own one; 0: none
    bool mirrored[2] = {false, false};
    Value* row[2];        ///< the own column of the rows
    Value* flux;          ///< the own column of the fluxes
    Value value[2];       ///< what the own column holds

    WARPLOOM_DEVICE Point(const device::Block& block, const Parameters& p, int64_t node) {
      const int64_t first = p.nodes.first(node, p.phase.shifted);
      const int width = static_cast<int>(p.nodes.end(node, p.phase.shifted) - first);
      const int valley = static_cast<int>(p.nodes.valley(node, p.phase.shifted) - first);
      const int j = block.thread();
      mine = j < width;
      place = first + j < 0 ? first + j + p.nodes.n : first + j;
      up = p.whole ? (mine ? kAlways : kNever) : up_of(j, width);
      down = down_of(j, width, valley);
      face_up = maximum(up, p.whole ? kNever : up_of(j + 1, width));
      face_down = maximum(down, down_of(j + 1, width, valley));
      int column = j;
      if (kEnds) column = find_images(p, j, width, valley);
      Value* const rows = block.shared<Value>();
      row[0] = rows + column;
      row[1] = row[0] + columns(block.threads());
      flux = row[1] + columns(block.threads());
    }

    WARPLOOM_DEVICE static int maximum(int a, int b) { return a > b ? a : b; }
    WARPLOOM_DEVICE static int up_of(int j, int width) {
      const int distance = j < width - 1 - j ? j : width - 1 - j;
      return distance >= 0 ? distance / kReach : kNever;
    }
    WARPLOOM_DEVICE static int down_of(int j, int width, int valley) {
      const int distance = j >= valley ? j - valley : valley - 1 - j;
      return j < width ? -(distance / kReach + 1) : kNever;
    }

    /// The own column, with the columns of images: `kReach` at each end of the domain.
    WARPLOOM_DEVICE int find_images(const Parameters& p, int j, int width, int valley) {
      const int64_t n = p.nodes.n;
      const int at_left = p.whole ? kReach : valley + 2 * kReach;             // column - place near the left end
      const int64_t at_right = p.whole ? kReach : valley - n;                 // near the right end
      const int column = p.whole ? j + kReach : (j < valley ? j : j + 2 * kReach);
      // No thread has the place left of the first face: one that has no other work computes its flux.
      if (j == (p.whole ? width : width - 1)) {
        face = at_left - 1 - column;
        face_up = face_down = kAlways;
      }
      if (!mine) return column;
      frozen = p.domain.frozen_point(place);
      WARPLOOM_NO_UNROLL
      for (int i = 0; i < 2 * kReach; ++i) {
        const int64_t beyond = i < kReach ? i - kReach : n + i - kReach;
        const Source source = p.domain.source(beyond);
        if (source.point != place) continue;
        const int shift = static_cast<int>(beyond + (i < kReach ? at_left : at_right)) - column;
        if (image[0] == 0) {
          image[0] = shift;
          mirrored[0] = source.mirrored;
        } else {
          image[1] = shift;
          mirrored[1] = source.mirrored;
        }
      }
      return column;
    }

    WARPLOOM_DEVICE void write(const Equation& equation, Value* to, const Value& v) const {
      *to = v;
      if constexpr (kEnds) {
        WARPLOOM_UNROLL
        for (int i = 0; i < 2; ++i) {
          if (image[i] != 0) to[image[i]] = mirrored[i] ? equation.mirrored(v) : v;
        }
      }
    }

    /// One sub-step from row `kFrom` to the other; the value at the begin of the time step is that of row `kBase`.
    template <int kSubstep, int kFrom, int kBase>
    WARPLOOM_DEVICE void substep(const device::Block& block, const Equation& equation, bool active, bool face_active) {
      Value next;
      if constexpr (kFluxes) {
        Value right;
        if (face_active) {
          const Value* const a = kEnds ? row[kFrom] + face : row[kFrom];
          right = flux_between(equation, a[-1], a[0], a[1], a[2]);
          flux[kEnds ? face : 0] = right;
        }
        block.sync();
        if (active) next = equation.template update<kSubstep>(value[kBase], flux[-1], right);
      } else if (active) {
        Value around[2 * kReach + 1];
        WARPLOOM_UNROLL
        for (int d = -kReach; d <= kReach; ++d) around[d + kReach] = d == 0 ? value[kFrom] : row[kFrom][d];
        next = equation.template next<kSubstep>(around, value[kBase]);
      }
      if (active) {
        value[1 - kFrom] = kEnds && frozen ? value[kBase] : next;
        write(equation, row[1 - kFrom], value[1 - kFrom]);
      }
      block.sync();
    }

    /// Twice the flux through the face between `b` and `c`.
    WARPLOOM_DEVICE static Value flux_between(const Equation& equation, const Value& a, const Value& b, const Value& c,
                                              const Value& d) {
      Real p[4] = {};
      if (equation.chosen() == operation::Limiter::paper) {
        p[0] = equation.pressure(a);
        p[1] = equation.pressure(b);
        p[2] = equation.pressure(c);
        p[3] = equation.pressure(d);
      }
      const auto behind = equation.difference(a, b, p[0], p[1]), middle = equation.difference(b, c, p[1], p[2]);
      const auto ahead = equation.difference(c, d, p[2], p[3]);
      return equation.twice_flux(equation.reconstruct(b, behind, middle).right, equation.reconstruct(c, middle, ahead).left, middle);
    }

    /// Sub-steps 1…count of a way; row 0 holds the last one afterwards. kSign: 1 up, -1 down.
    template <int kSign>
    WARPLOOM_DEVICE void go(const device::Block& block, const Equation& equation, int count, int own, int of_face) {
      int level = kSign;
      const int odd = count & 1;
      WARPLOOM_NO_UNROLL
      for (; count > odd; count -= 2, level += 2 * kSign) {
        substep<0, 0, 0>(block, equation, level <= own, level <= of_face);
        if constexpr (Equation::kSubsteps == 2) substep<1, 1, 0>(block, equation, level + kSign <= own, level + kSign <= of_face);
        else substep<0, 1, 1>(block, equation, level + kSign <= own, level + kSign <= of_face);
      }
      if constexpr (Equation::kSubsteps == 1) {
        if (odd == 0) return;
        substep<0, 0, 0>(block, equation, level <= own, level <= of_face);
        exchange(row);
        exchange(value);
      }
    }
    template <class T>
    WARPLOOM_DEVICE static void exchange(T (&pair)[2]) {
      const T first = pair[0];
      pair[0] = pair[1];
      pair[1] = first;
    }

    WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p, int64_t offset) {
      if (mine) {
        const bool both = p.phase.down > 0;
        WARPLOOM_UNROLL
        for (int k = 0; k < Equation::kComponents; ++k) {
          const int64_t at = offset + k * p.nodes.n + place;
          value[0].item[k] = p.from[0][at];
          value[1].item[k] = both ? p.from[1][at] : value[0].item[k];
        }
        write(p.equation, row[0], value[0]);
        write(p.equation, row[1], value[1]);
      }
      block.sync();
      go<-1>(block, p.equation, p.phase.down, down, face_down);
      go<1>(block, p.equation, p.phase.up, up, face_up);
      if (!mine) return;
      // The row that the next valleys begin with is that of this phase's way up, whichever holds the last sub-step.
      const bool exchanged = p.to[1] != nullptr && (p.phase.up & 1) != 0;
      WARPLOOM_UNROLL
      for (int k = 0; k < Equation::kComponents; ++k) {
        const int64_t at = offset + k * p.nodes.n + place;
        p.to[0][at] = exchanged ? value[1].item[k] : value[0].item[k];
        if (p.to[1] != nullptr) p.to[1][at] = exchanged ? value[0].item[k] : value[1].item[k];
      }
    }
  };
};

}  // namespace warploom::WARPLOOM_TARGET::swept
