// The node that the ends of the domain split, on the host: `hybrid` computes it while the GPU computes the others.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "cuda/swept/domain.h"
#include "cuda/swept/flux.h"
#include "cuda/swept/nodes.h"

namespace warploom::swept {

template <class Equation>
class SplitNode {
 public:
  using Real = typename Equation::Real;
  using Value = typename Equation::Value;
  static constexpr int kReach = Equation::kReach;

  SplitNode(const Equation& equation, const Domain& domain, const Nodes& nodes)
      : equation_(equation), first_(static_cast<int>(nodes.first(0, true))), end_(static_cast<int>(nodes.end(0, true))),
        gap_(domain.left == Boundary::periodic ? 0 : 2 * kReach) {
    for (std::vector<Value>& row : rows_) row.resize(static_cast<size_t>(width() + gap_));
    pressures_.resize(rows_[0].size());
    if (gap_ == 0) return;
    if (domain.frozen_point(0)) frozen_.push_back(column(0));
    if (domain.frozen_point(domain.n - 1)) frozen_.push_back(column(-1));
    for (int i = 0; i < 2 * kReach; ++i) {
      const int64_t beyond = i < kReach ? domain.n + i : i - 2 * kReach;  // in the order of the columns
      const Source source = domain.source(beyond);
      const bool at_right = i < kReach;
      images_.push_back({column(0) - 2 * kReach + i, column(static_cast<int>(source.point - (at_right ? domain.n : 0))), source.mirrored});
    }
  }

  int width() const { return end_ - first_; }
  /// One problem's part: two rows, each of kComponents rows of width() values, from the last points of the domain to
  /// the first.
  static constexpr int kRows = 2 * Equation::kComponents;

  void advance(Real* edges, const Phase& phase) {
    load(edges);
    for (int level = 1; level <= phase.down; ++level) substep(level, -kReach * level, kReach * level);
    if (phase.down % 2 == 1) std::swap(rows_[0], rows_[1]);  // the way up begins in the first row
    for (int level = 1; level <= phase.up; ++level) substep(level, first_ + kReach * level, end_ - kReach * level);
    store(edges);
  }

 private:
  struct Image {
    int column, of;
    bool mirrored;
  };

  /// The column of a place, where -1 is the domain's last point. The images beyond the two ends lie between the halves.
  int column(int place) const { return place - first_ + (place < 0 ? 0 : gap_); }

  void load(const Real* edges) {
    for (int row = 0; row < 2; ++row) {
      for (int k = 0; k < Equation::kComponents; ++k, edges += width()) {
        for (int place = first_; place < end_; ++place) rows_[row][static_cast<size_t>(column(place))].item[k] = edges[place - first_];
      }
      reflect(rows_[row].data());
    }
  }
  void store(Real* edges) const {
    for (int row = 0; row < 2; ++row) {
      for (int k = 0; k < Equation::kComponents; ++k, edges += width()) {
        for (int place = first_; place < end_; ++place) edges[place - first_] = rows_[row][static_cast<size_t>(column(place))].item[k];
      }
    }
  }
  void reflect(Value* row) const {
    for (const Image& image : images_) row[image.column] = image.mirrored ? equation_.mirrored(row[image.of]) : row[image.of];
  }

  /// Sub-step `level` of one way, at places begin…end-1.
  void substep(int level, int begin, int end) {
    const Value* const from = rows_[(level + 1) % 2].data();
    Value* const to = rows_[level % 2].data();
    if (Equation::kSubsteps == 2 && level % 2 == 0) step<Equation::kSubsteps - 1>(from, to, to, begin, end);
    else step<0>(from, from, to, begin, end);
    for (const int held : frozen_) to[held] = from[held];
    reflect(to);
  }
  template <int kSubstep>
  void step(const Value* from, const Value* base, Value* to, int begin, int end) {
    if (gap_ == 0) return piece<kSubstep>(from, base, to, column(begin), column(end - 1) + 1);
    piece<kSubstep>(from, base, to, column(begin), column(-1) + 1);
    piece<kSubstep>(from, base, to, column(0), column(end - 1) + 1);
  }
  template <int kSubstep>
  void piece(const Value* from, const Value* base, Value* to, int begin, int end) {
    if constexpr (kHasFluxes<Equation>) {
      if (begin >= end) return;
      for (int c = begin - 2; c < end + 2 && needs_pressures(equation_); ++c) {
        pressures_[static_cast<size_t>(c)] = equation_.pressure(from[c]);
      }
      const auto flux_right_of = [&](int c) { return twice_flux_right_of(equation_, from + c, pressures_.data() + c); };
      Value left = flux_right_of(begin - 1);
      for (int c = begin; c < end; ++c) {
        const Value right = flux_right_of(c);
        to[c] = equation_.template update<kSubstep>(base[c], left, right);
        left = right;
      }
    } else {
      for (int c = begin; c < end; ++c) {
        Value around[2 * kReach + 1];
        for (int d = -kReach; d <= kReach; ++d) around[d + kReach] = from[c + d];
        to[c] = equation_.template next<kSubstep>(around, base[c]);
      }
    }
  }

  Equation equation_;
  int first_, end_, gap_;
  std::vector<Value> rows_[2];
  std::vector<Real> pressures_;
  std::vector<int> frozen_;
  std::vector<Image> images_;
};

}  // namespace warploom::swept
