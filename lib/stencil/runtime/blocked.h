// Several steps per pass over memory, tile by tile. A tile moves through the planes of the grid (in two dimensions a plane is one row, in
// one dimension there is one plane); every stage of every step, a level, follows `margin` planes behind the one before it. Of each level
// only the planes that others still read are kept, in a ring that stays in the cache. Cells around a tile are computed by its neighbours
// too, so that no tile waits for another.
//
// Planes, rows and columns beyond a boundary are stored next to the others, and made from them once they are there: first planes, then
// rows, then columns, so that corners are what the last axis makes of what the axes before it have made. Along periodic axes indices just
// run on, and are wrapped where the grid's own arrays or the places of cells are meant.
#pragma once
#include <cstring>
#include "stencil.h"

namespace wl_stencil {

inline int wrapped(int i, int n) {
  if (i >= 0 && i < n) return i;
  const int rest = i % n;
  return rest < 0 ? rest + n : rest;
}

constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int smaller(int a, int b) { return a < b ? a : b; }

/// Whether numbers are finite: compilers turn this into vector code.
inline bool all_finite(const double* x, int count) {
  uint64_t bad = 0;
  for (int i = 0; i < count; ++i) {
    uint64_t bits;
    memcpy(&bits, x + i, 8);
    bad |= (uint64_t)((bits & 0x7ff0000000000000u) == 0x7ff0000000000000u);
  }
  return bad == 0;
}
inline bool all_finite(const float* x, int count) {
  uint32_t bad = 0;
  for (int i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, x + i, 4);
    bad |= (uint32_t)((bits & 0x7f800000u) == 0x7f800000u);
  }
  return bad == 0;
}

template <class S>
class Blocked {
  using Real = typename S::Real;
  static constexpr int kStages = S::kStages, kFields = S::kFields, kScalars = 4 + S::kParameters;
  static constexpr int kPlaneMargin = S::kMargin[0];

  /// Planes that are kept of the level that stage `phase - 1` makes; 0: the beginning of a step.
  static constexpr int planes_of(int phase) {
    int planes = kPlaneMargin + S::kReach[0] + 1;
    for (int s = 0; s < kStages && phase == 0; ++s) {
      if (S::reads_start(s)) planes = larger(planes, (s + 1) * kPlaneMargin + 1);
    }
    return planes;
  }

  /// The phase at which the sum that a stage reads was written.
  static constexpr int sum_phase(int stage) {
    int found = 0;
    for (int s = 0; s < stage; ++s) {
      if (S::writes_sum(s)) found = s + 1;
    }
    return found;
  }

  /// Planes that are kept of the sum that stage `phase - 1` writes.
  static constexpr int sum_planes_of(int phase) {
    int planes = phase > 0 && S::writes_sum(phase - 1) ? 1 : 0;
    for (int s = phase; s < kStages && planes > 0; ++s) {
      if (S::reads_sum(s) && sum_phase(s) == phase) planes = larger(planes, (s + 1 - phase) * kPlaneMargin + 1);
    }
    return planes;
  }

  /// A state after some stages, on the part of the grid that later ones need.
  struct Level {
    int low[3], high[3];
    /// Whether the next level reads beyond the boundaries.
    bool ghost_low[3], ghost_high[3];
    Real *y, *sum;
    int planes, sum_planes;
    /// A plane at the start of the rings, at most as many before the newest as a ring has.
    int origin, sum_origin;
    Real q[kScalars];  // of the stage that makes it
  };

  const Pass& pass_;
  const Tile& tile_;
  const Grid& grid_;
  Level* levels_;
  int count_, base_row_, base_column_, rows_, stride_;
  bool good_ = true;

  // The layout of a thread's memory: levels, then their planes. Lines are 64 bytes.

  static constexpr int kLine = 64 / (int)sizeof(Real), kVector = kLine / 2;
  static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }
  static int rows_of(const Shape& shape) { return shape.tile[1] + 2 * (shape.depth * kStages * S::kMargin[1] + S::kReach[1]); }
  static int lines(int columns) { return (columns + kLine - 1) / kLine; }
  /// Columns before and behind a tile.
  static int border_of(int levels) { return kLine * lines(levels * S::kMargin[2] + S::kReach[2] + kVector); }
  static int stride_of(const Shape& shape) {
    // An odd number of lines, so that rows do not compete for the same sets of a cache.
    return (lines(shape.tile[2] + 2 * border_of(shape.depth * kStages)) | 1) * kLine;
  }
  static int largest_planes() {
    int most = 0;
    for (int phase = 0; phase < kStages; ++phase) most = larger(most, planes_of(phase) + sum_planes_of(phase));
    return most;
  }
  /// If levels do not follow behind each other, a step needs no more than its own.
  static int slots_of(int levels) { return kPlaneMargin == 0 ? smaller(levels, kStages + 1) : levels; }

 public:
  static size_t scratch_bytes(const Shape& shape) {
    const int levels = shape.depth * kStages;
    const size_t plane = (size_t)rows_of(shape) * stride_of(shape) * sizeof(Real);
    return aligned((levels + 1) * sizeof(Level)) + slots_of(levels) * (size_t)largest_planes() * kFields * plane + 4096;
  }

  static bool advance(const Pass& pass, const Tile& tile, void* scratch) {
    Blocked all(pass, tile, scratch);
    all.run();
    return all.good_;
  }

 private:
  Blocked(const Pass& pass, const Tile& tile, void* scratch)
      : pass_(pass), tile_(tile), grid_(*pass.grid), levels_((Level*)scratch), count_(pass.steps * kStages) {
    rows_ = rows_of(*pass.shape);
    stride_ = stride_of(*pass.shape);
    base_row_ = tile.low[1] - count_ * S::kMargin[1] - S::kReach[1];
    base_column_ = tile.low[2] - border_of(count_);
    const size_t plane = (size_t)rows_ * stride_;
    Real* const memory = (Real*)((char*)scratch + aligned((pass.shape->depth * kStages + 1) * sizeof(Level)));
    size_t used = 0;
    for (int at = 0; at <= count_; ++at) {
      Level& level = levels_[at];
      const int phase = at % kStages;
      level.planes = planes_of(phase);
      level.sum_planes = sum_planes_of(phase);
      if (kPlaneMargin == 0) used = (size_t)(at % (kStages + 1)) * largest_planes() * kFields * plane;
      level.y = memory + used;
      level.sum = level.y + kFields * level.planes * plane;
      if (at < count_) used += kFields * (level.planes + level.sum_planes) * plane;
      for (int axis = 0; axis < 3; ++axis) {
        const int margin = (count_ - at) * S::kMargin[axis];
        const bool periodic = S::kPeriodic[axis];
        level.low[axis] = periodic ? tile.low[axis] - margin : larger(0, tile.low[axis] - margin);
        level.high[axis] = periodic ? tile.high[axis] + margin : smaller(grid_.n[axis], tile.high[axis] + margin);
      }
      level.origin = level.sum_origin = level.low[0];
    }
    for (int at = 0; at < count_; ++at) {
      for (int axis = 0; axis < 3; ++axis) {
        const int reach = S::kReach[axis];
        const bool open = !S::kPeriodic[axis] && reach > 0;
        levels_[at].ghost_low[axis] = open && levels_[at + 1].low[axis] < reach;
        levels_[at].ghost_high[axis] = open && levels_[at + 1].high[axis] > grid_.n[axis] - reach;
      }
    }
    for (int at = 1; at <= count_; ++at) set_scalars(levels_[at].q, (at - 1) / kStages, (at - 1) % kStages);
  }

  void set_scalars(Real* q, int step, int stage) const {
    q[0] = (Real)(pass_.times[step] + S::kTime[stage] * pass_.dt);
    q[1] = (Real)pass_.dt;
    q[2] = S::kDivisorH[stage] == 0 ? Real(0) : (Real)(pass_.dt / S::kDivisorH[stage]);
    q[3] = S::kDivisorG[stage] == 0 ? Real(0) : (Real)(pass_.dt / S::kDivisorG[stage]);
    const Real* const parameters = (const Real*)grid_.parameters + tile_.member * S::kParameters;
    for (int i = 0; i < S::kParameters; ++i) q[4 + i] = parameters[i];
  }

  /// A cell of a ring. The plane is one that the ring has, or the next.
  Real* cell(Real* ring, int planes, int origin, int field, int plane, int row, int column) const {
    const int from = plane - origin;
    const int64_t at = (int64_t)(field * planes + (from < 0 ? from + planes : from)) * rows_ + (row - base_row_);
    return ring + at * stride_ + (column - base_column_);
  }
  Real* y_cell(const Level& of, int field, int plane, int row, int column) const {
    return cell(of.y, of.planes, of.origin, field, plane, row, column);
  }
  Real* sum_cell(const Level& of, int field, int plane, int row, int column) const {
    return cell(of.sum, of.sum_planes, of.sum_origin, field, plane, row, column);
  }

  int64_t inside(int field, int plane, int row, int column) const {
    const int* const n = grid_.n;
    return (tile_.member * kFields + field) * grid_.cells + ((int64_t)plane * n[1] + row) * n[2] + column;
  }

  /// Where a stage finds its numbers and puts its results: pointers to a cell of a row.
  struct Place {
    const Blocked& all;
    int level, plane, row, column;

    /// Shifted back by the reach along the last axis.
    const Real* y(int field, int by_plane, int by_row) const {
      const Level& from = all.levels_[level - 1];
      return all.y_cell(from, field, plane + by_plane, row + by_row, column - S::kReach[2]);
    }
    const Real* start(int field) const {
      const Level& from = all.levels_[(level - 1) / kStages * kStages];
      return all.y_cell(from, field, plane, row, column);
    }
    const Real* sum(int field) const {
      const Level& from = all.levels_[(level - 1) / kStages * kStages + sum_phase((level - 1) % kStages)];
      return all.sum_cell(from, field, plane, row, column);
    }
    Real* sum_out(int field) const {
      const Level& to = all.levels_[level];
      return all.sum_cell(to, field, plane, row, column);
    }
    Real* out(int field) const {
      const Level& to = all.levels_[level];
      if (level == all.count_) return (Real*)all.pass_.to + all.inside(field, plane, row, column);
      return all.y_cell(to, field, plane, row, column);
    }
    const Real* coefficient(int index, int by_plane, int by_row) const {
      const int *const n = all.grid_.n, *const pad = all.grid_.pad;
      int64_t at = (int64_t)index * (n[0] + 2 * pad[0]) + plane + by_plane + pad[0];
      at = at * (n[1] + 2 * pad[1]) + row + by_row + pad[1];
      at = at * (n[2] + 2 * pad[2]) + column + pad[2] - S::kReach[2];
      return (const Real*)all.grid_.coefficients + at;
    }
  };

  /// The same for cells beyond the boundary of an axis.
  struct Ghost {
    const Blocked& all;
    int level, axis, side;
    int at[3];

    Real* out(int field) const {
      const Level& of = all.levels_[level];
      return all.y_cell(of, field, at[0], at[1], at[2]);
    }
    /// The cell at a distance from the boundary.
    const Real* inner(int field, int distance) const {
      const Level& of = all.levels_[level];
      int from[3] = {at[0], at[1], at[2]};
      from[axis] = side == 0 ? distance : all.grid_.n[axis] - 1 - distance;
      return all.y_cell(of, field, from[0], from[1], from[2]);
    }
  };

  /// Calls `use` for the parts of a row between multiples of the grid's extent.
  template <class Use>
  void each_part(int low, int high, Use use) const {
    const int n = grid_.n[2];
    for (int from = low; from < high;) {
      const int index = wrapped(from, n), to = smaller(high, from + n - index);
      use(from, to - from, index);
      from = to;
    }
  }

  int index_of(int axis, int i) const { return S::kPeriodic[axis] ? wrapped(i, grid_.n[axis]) : i; }

  void run() {
    const int end = tile_.high[0] + count_ * kPlaneMargin;
    for (int front = levels_[0].low[0]; front < end; ++front) {
      for (int level = 0; level <= count_; ++level) advance_level(level, front - level * kPlaneMargin);
    }
  }

  void advance_level(int at, int plane) {
    Level& level = levels_[at];
    const bool inside = plane >= level.low[0] && plane < level.high[0];
    if (plane - level.origin >= level.planes) level.origin += level.planes;
    if (plane - level.sum_origin >= level.sum_planes) level.sum_origin += level.sum_planes;
    if (inside) {
      if (at == 0) load(plane);
      else compute(at, plane);
    }
    if (at == count_) return;
    if (inside) add_edges(at, plane);
    if (S::kReach[0] == 0 || S::kPeriodic[0]) return;
    if (level.ghost_low[0] && plane == S::kInner[0]) {
      for (int k = 1; k <= S::kReach[0]; ++k) add_plane(at, 0, k);
    }
    const int k = plane - grid_.n[0] + 1;
    if (level.ghost_high[0] && k >= 1 && k <= S::kReach[0]) add_plane(at, 1, k);
  }

  /// Asks for a part of a row that is wanted one plane later: memory answers while the levels are computed.
  template <int kWrites>
  static void fetch(const Real* from, int count) {
    for (int i = 0; i < count; i += kLine) __builtin_prefetch(from + i, kWrites);
  }

  void load(int plane) {
    const Level& level = levels_[0];
    const Real* const from = (const Real*)pass_.from;
    const int source = index_of(0, plane), next = plane + 1;
    const bool has_next = next < level.high[0];
    for (int field = 0; field < kFields; ++field) {
      for (int row = level.low[1]; row < level.high[1]; ++row) {
        const Real* const line = from + inside(field, source, index_of(1, row), 0);
        each_part(level.low[2], level.high[2], [&](int column, int count, int index) {
          memcpy(y_cell(level, field, plane, row, column), line + index, count * sizeof(Real));
          if (has_next) fetch<0>(from + inside(field, index_of(0, next), index_of(1, row), index), count);
        });
      }
    }
  }

  /// Rows are rounded to whole vectors. What comes of that beyond them is never read, or replaced by what is beyond the boundary.
  void compute(int at, int plane) {
    const Level& level = levels_[at];
    const int stage = (at - 1) % kStages;
    const bool is_checked = stage == kStages - 1 && (S::kChecksAll || at == count_);
    for (int row = level.low[1]; row < level.high[1]; ++row) {
      each_part(level.low[2], level.high[2], [&](int column, int count, int index) {
        const int before = at < count_ && column == level.low[2] ? (column - base_column_) % kVector : 0;
        const bool rounds = at < count_ && column + count == level.high[2];
        const int i[3] = {index_of(0, plane), index_of(1, row), index - before};
        const int all = rounds ? (before + count + kVector - 1) / kVector * kVector : before + count;
        S::stage(stage, Place{*this, at, plane, row, column - before}, all, i, grid_.n, level.q);
        if (at == count_ && plane + 1 < level.high[0]) {
          for (int field = 0; field < kFields; ++field) {
            fetch<1>((const Real*)pass_.to + inside(field, plane + 1, row, column), count);
          }
        }
        if (is_checked && !S::check(Place{*this, at, plane, row, column}, count, grid_.n, level.q)) good_ = false;
      });
    }
  }

  // Beyond boundaries. The numbers of a condition are those of the stage that reads.

  void add_plane(int at, int side, int k) {
    const Level& level = levels_[at];
    const int plane = side == 0 ? -k : grid_.n[0] - 1 + k;
    for (int row = level.low[1]; row < level.high[1]; ++row) add_row(at, 0, side, k, plane, row);
    add_edges(at, plane);
  }

  void add_row(int at, int axis, int side, int k, int plane, int row) {
    const Level& level = levels_[at];
    each_part(level.low[2], level.high[2], [&](int column, int count, int index) {
      const int i[3] = {index_of(0, plane), index_of(1, row), index};
      S::fill(axis, side, k, Ghost{*this, at, axis, side, {plane, row, column}}, count, i, grid_.n, levels_[at + 1].q);
    });
  }

  /// The rows beyond a plane, then the columns beyond all of its rows.
  void add_edges(int at, int plane) {
    const Level& level = levels_[at];
    const int rows = grid_.n[1], columns = grid_.n[2];
    const bool low = level.ghost_low[1], high = level.ghost_high[1];
    for (int k = 1; k <= S::kReach[1]; ++k) {
      if (low) add_row(at, 1, 0, k, plane, -k);
      if (high) add_row(at, 1, 1, k, plane, rows - 1 + k);
    }
    if (!level.ghost_low[2] && !level.ghost_high[2]) return;
    const int from = low ? -S::kReach[1] : level.low[1], to = high ? rows + S::kReach[1] : level.high[1];
    for (int row = from; row < to; ++row) {
      for (int k = 1; k <= S::kReach[2]; ++k) {
        if (level.ghost_low[2]) add_column(at, 0, k, plane, row, -k);
        if (level.ghost_high[2]) add_column(at, 1, k, plane, row, columns - 1 + k);
      }
    }
  }

  void add_column(int at, int side, int k, int plane, int row, int column) {
    const int i[3] = {index_of(0, plane), index_of(1, row), column};
    S::fill(2, side, k, Ghost{*this, at, 2, side, {plane, row, column}}, 1, i, grid_.n, levels_[at + 1].q);
  }
};

/// The program of a scheme.
template <class S>
constexpr Program program_of() {
  return {S::kFields, S::kParameters, S::kCoefficients, (int)sizeof(typename S::Real),
          {S::kReach[0], S::kReach[1], S::kReach[2]}, {S::kMargin[0], S::kMargin[1], S::kMargin[2]}, S::kStages,
          {S::kPeriodic[0], S::kPeriodic[1], S::kPeriodic[2]}, Blocked<S>::scratch_bytes, Blocked<S>::advance};
}

}  // namespace wl_stencil
