// Where functions of rows find their numbers and put their results (blocked.h): pointers to a cell of a row.
#pragma once
#include <cstdint>

namespace wl_stencil {

/// Where a stage finds its numbers and puts its results.
template <class B>
struct Place {
  using S = typename B::Scheme;
  using Real = typename S::Real;
  const B& all;
  int level, plane, row, column;

  /// Shifted back by the reach along the last axis.
  const Real* y(int field, int by_plane, int by_row) const {
    const auto& from = all.levels_[level - 1];
    return all.y_cell(from, field, plane + by_plane, row + by_row, column - S::kReach[2]);
  }
  const Real* start(int field, int by_plane) const {
    if constexpr (S::kStaged) return (const Real*)all.pass_.start + all.inside(field, plane, row, column);
    const auto& from = all.levels_[(level - 1) / B::kStages * B::kStages];
    return all.y_cell(from, field, plane + by_plane, row, column);
  }
  const Real* sum(int field, int by_plane) const {
    if constexpr (S::kStaged) return (const Real*)all.pass_.sum + all.inside(field, plane, row, column);
    const auto& from = all.levels_[(level - 1) / B::kStages * B::kStages + B::Kept::sum_phase((level - 1) % B::kStages)];
    return all.sum_cell(from, field, plane + by_plane, row, column);
  }
  Real* sum_out(int field, int by_plane) const {
    if constexpr (S::kStaged) return (Real*)all.pass_.sum_to + all.inside(field, plane, row, column);
    return all.sum_cell(all.levels_[level], field, plane + by_plane, row, column);
  }
  Real* out(int field, int by_plane = 0) const {
    if (level == all.count_) return (Real*)all.pass_.to + all.inside(field, plane + by_plane, row, column);
    return all.y_cell(all.levels_[level], field, plane + by_plane, row, column);
  }
  const Real* coefficient(int index, int by_plane, int by_row) const {
    return all.coefficient(index, plane + by_plane, row + by_row, column);
  }
  /// What cells make for themselves and for their neighbours: kept for this plane and the one before it.
  Real* made(int component, int planes_back, int columns_back) const {
    const int64_t at = (int64_t)(component * 2 + ((plane - planes_back) & 1)) * all.rows_ + (row - all.base_row_);
    return all.levels_[level].faces + at * all.stride_ + (column - columns_back - all.base_column_);
  }
};

/// Where the rates of a row find their numbers and are put.
template <class B>
struct State {
  using S = typename B::Scheme;
  using Real = typename S::Real;
  const B& all;
  const Real* of;
  int plane, row, column;

  const Real* state(int field) const { return of + all.inside(field, plane, row, column); }
  const Real* coefficient(int index, int, int) const { return all.coefficient(index, plane, row, column); }
  Real* rates() const { return all.rates_; }
};

/// The same for cells beyond the boundary of an axis.
template <class B>
struct Ghost {
  using S = typename B::Scheme;
  using Real = typename S::Real;
  const B& all;
  int level, axis, side;
  int at[3];

  Real* out(int field) const {
    const auto& of = all.levels_[level];
    return all.y_cell(of, field, at[0], at[1], at[2]);
  }
  /// The cell at a distance from the boundary.
  const Real* inner(int field, int distance) const {
    const auto& of = all.levels_[level];
    int from[3] = {at[0], at[1], at[2]};
    from[axis] = side == 0 ? distance : all.grid_.n[axis] - 1 - distance;
    return all.y_cell(of, field, from[0], from[1], from[2]);
  }
};

}  // namespace wl_stencil
