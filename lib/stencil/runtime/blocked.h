// Several steps per pass over memory, tile by tile. A tile moves through the planes of the grid (in two dimensions a plane is one row, in
// one dimension there is one plane); every stage of every step, a level, follows `margin` planes behind the one before it. Of each level
// only the planes that others still read are kept (rings.h), and stay in the cache. Cells around a tile are computed by its neighbours
// too, so that no tile waits for another.
//
// Planes, rows and columns beyond a boundary are stored next to the others, and made from them once they are there: first planes, then
// rows, then columns, so that corners are what the last axis makes of what the axes before it have made. Along periodic axes indices just
// run on, and are wrapped where the grid's own arrays or the places of cells are meant.
//
// Where that does not do (S::kStaged: some fields are periodic along an axis and others are not, or a condition depends on the place along
// a periodic axis), a pass is one stage on whole rows and columns of planes, and periodic fields are copied beyond boundaries.
#pragma once
#include <cstring>
#include "places.h"
#include "rings.h"
#include "rows.h"
#include "stencil.h"

namespace wl_stencil {

template <class S>
class Blocked {
  template <class> friend struct Place;
  template <class> friend struct State;
  template <class> friend struct Ghost;
  using Scheme = S;
  using Real = typename S::Real;
  using Kept = Rings<S>;
  static constexpr int kStages = Kept::kStages, kPlaneMargin = S::kMargin[0], kLine = Kept::kLine, kVector = Kept::kVector;
  static constexpr int kFields = S::kFields, kScalars = Kept::kScalars;

  using Level = typename Kept::Level;

  const Pass& pass_;
  const Tile& tile_;
  const Grid& grid_;
  Level* levels_;
  int count_, base_row_, base_column_, rows_, stride_;
  /// Planes that no level has.
  Real** free_;
  int free_count_;
  /// Whether the first level is read where it is in memory.
  bool direct_;
  bool good_ = true;
  Real* rates_;
  double rate_ = 0;

 public:
  static bool advance(const Pass& pass, const Tile& tile, void* scratch, double& rate) {
    Blocked all(pass, tile, scratch);
    all.run();
    rate = all.rate_;
    return all.good_;
  }

  static double rate(const Pass& pass, const Tile& tile, void* scratch) {
    Blocked all(pass, tile, scratch);
    for (int plane = tile.low[0]; plane < tile.high[0]; ++plane) {
      for (int row = tile.low[1]; row < tile.high[1]; ++row) {
        all.take_rates((const Real*)pass.from, plane, row, tile.low[2], tile.high[2] - tile.low[2]);
      }
    }
    return all.rate_;
  }

 private:
  Blocked(const Pass& pass, const Tile& tile, void* scratch)
      : pass_(pass), tile_(tile), grid_(*pass.grid),
        levels_((Level*)((char*)scratch + Kept::aligned(Kept::stride_of(*pass.shape) * sizeof(Real)))),
        count_(pass.steps * kStages), rates_((Real*)scratch) {
    rows_ = Kept::rows_of(*pass.shape);
    stride_ = Kept::stride_of(*pass.shape);
    base_row_ = tile.low[1] - count_ * S::kMargin[1] - S::kReach[1];
    base_column_ = tile.low[2] - Kept::border_of(count_);
    const int levels = pass.shape->depth * kStages;
    free_ = (Real**)((char*)levels_ + Kept::aligned((levels + 1) * sizeof(Level)));
    free_count_ = Kept::planes_of(levels);
    const size_t plane = Kept::plane_of(*pass.shape);
    Real* const memory = (Real*)((char*)free_ + Kept::aligned(free_count_ * sizeof(Real*)));
    Real* const faces = memory + kFields * free_count_ * plane;
    for (int i = 0; i < free_count_; ++i) free_[i] = memory + kFields * i * plane;
    for (int at = 0; at <= count_; ++at) {
      Level& level = levels_[at];
      for (int axis = 0; axis < 3; ++axis) {
        const int margin = (count_ - at) * S::kMargin[axis];
        const bool periodic = S::kPeriodic[axis];
        level.low[axis] = periodic ? tile.low[axis] - margin : larger(0, tile.low[axis] - margin);
        level.high[axis] = periodic ? tile.high[axis] + margin : smaller(grid_.n[axis], tile.high[axis] + margin);
      }
      level.faces = faces + (kPlaneMargin == 0 ? 0 : at) * 2 * S::kFaces * plane;
      level.row_stride = stride_;
      level.field_stride = plane;
      level.origin = -(int64_t)base_row_ * stride_ - base_column_;
    }
    for (int at = 0; at < count_; ++at) {
      for (int axis = 0; axis < 3; ++axis) {
        const int reach = S::kReach[axis];
        const bool open = !S::kPeriodic[axis] && reach > 0;
        levels_[at].ghost_low[axis] = open && levels_[at + 1].low[axis] < reach;
        levels_[at].ghost_high[axis] = open && levels_[at + 1].high[axis] > grid_.n[axis] - reach;
      }
      Kept::begin(levels_[at], at);
    }
    direct_ = Kept::is_direct(levels_[0], grid_);
    if (direct_) {
      levels_[0].y.last = -1;
      levels_[0].row_stride = grid_.n[2];
      levels_[0].field_stride = grid_.cells;
      levels_[0].origin = 0;
    }
    for (int at = 1; at <= count_; ++at) {
      const int s = stage_of(at);
      const double dt = pass_.dt, h = S::kDivisorH[s] == 0 ? 0 : dt / S::kDivisorH[s], g = S::kDivisorG[s] == 0 ? 0 : dt / S::kDivisorG[s];
      set_scalars(levels_[at].q, pass_.times[(at - 1) / kStages] + S::kTime[s] * dt, dt, h, g);
    }
  }

  /// The stage that makes a level.
  int stage_of(int level) const { return S::kStaged ? pass_.stage : (level - 1) % kStages; }

  void set_scalars(Real* q, double t, double dt, double h, double g) const {
    q[0] = (Real)t;
    q[1] = (Real)dt;
    q[2] = (Real)h;
    q[3] = (Real)g;
    const Real* const parameters = (const Real*)grid_.parameters + tile_.member * S::kParameters;
    for (int i = 0; i < S::kParameters; ++i) q[4 + i] = parameters[i];
  }

  Real* y_cell(const Level& of, int field, int plane, int row, int column) const {
    return of.y[plane] + (field * of.field_stride + row * of.row_stride + column + of.origin);
  }
  Real* sum_cell(const Level& of, int field, int plane, int row, int column) const {
    return of.sum[plane] + (((int64_t)field * rows_ + row - base_row_) * stride_ + column - base_column_);
  }

  template <class Planes>
  void take(Planes& ring, int plane) {
    ring.take(plane, free_[--free_count_]);
  }

  int64_t inside(int field, int plane, int row, int column) const {
    const int* const n = grid_.n;
    return (tile_.member * kFields + field) * grid_.cells + ((int64_t)plane * n[1] + row) * n[2] + column;
  }

  /// Shifted back by the reach along the last axis.
  const Real* coefficient(int index, int plane, int row, int column) const {
    const int *const n = grid_.n, *const pad = grid_.pad;
    int64_t at = (int64_t)index * (n[0] + 2 * pad[0]) + plane + pad[0];
    at = at * (n[1] + 2 * pad[1]) + row + pad[1];
    at = at * (n[2] + 2 * pad[2]) + column + pad[2] - S::kReach[2];
    return (const Real*)grid_.coefficients + at;
  }

  void take_rates(const Real* of, int plane, int row, int column, int count) {
    Real q[kScalars];
    set_scalars(q, pass_.limits->time, 0, pass_.limits->h, pass_.limits->g);
    const int i[3] = {plane, row, column};
    S::limit(State<Blocked>{*this, of, plane, row, column}, count, i, grid_.n, q);
    const double most = largest(rates_, count);
    if (most > rate_) rate_ = most;
  }

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
    for (int front = levels_[0].low[0]; front < end; front += S::kBatch) {
      for (int level = 0; level <= count_; ++level) {
        ask(front + S::kBatch, level);
        advance_level(level, front - level * kPlaneMargin);
        for (int from = larger(0, level - kStages); from <= level && from < count_; ++from) {
          levels_[from].y.give(level, free_, free_count_);
          levels_[from].sum.give(level, free_, free_count_);
        }
      }
    }
  }

  /// How many planes are computed together from here on: all are wanted, and their places follow each other.
  int together(int at, int plane, int end) const {
    const int all = S::kGroup;
    if (at == 0 || plane + all > end || !S::groups(stage_of(at))) return 1;
    const Level& level = levels_[at];
    const bool fits = plane >= level.low[0] && plane + all <= level.high[0];
    return fits && index_of(0, plane) + all - 1 == index_of(0, plane + all - 1) ? all : 1;
  }

  void advance_level(int at, int first) {
    Level& level = levels_[at];
    const int end = first + S::kBatch;
    for (int plane = first, planes; plane < end; plane += planes) {
      planes = together(at, plane, end);
      if (is_inside(level, plane)) {
        for (int i = 0; i < planes && at < count_; ++i) {
          if (at > 0 || !direct_) take(level.y, plane + i);
          if (Kept::has_sum(at % kStages)) take(level.sum, plane + i);
        }
        if (at == 0) load(plane);
        else compute(at, plane, planes);
      }
      for (int i = 0; i < planes && at < count_; ++i) add_beyond(at, plane + i);
    }
  }

  static bool is_inside(const Level& level, int plane) { return plane >= level.low[0] && plane < level.high[0]; }

  /// What is beyond boundaries, once a plane is there.
  void add_beyond(int at, int plane) {
    const Level& level = levels_[at];
    if (is_inside(level, plane)) add_edges(at, plane);
    if (S::kReach[0] == 0 || S::kPeriodic[0]) return;
    if (level.ghost_low[0] && plane == S::kInner[0]) {
      for (int k = 1; k <= S::kReach[0]; ++k) add_plane(at, 0, k);
    }
    const int k = plane - grid_.n[0] + 1;
    if (level.ghost_high[0] && k >= 1 && k <= S::kReach[0]) add_plane(at, 1, k);
  }

  /// Asks for what is wanted one turn later, from the front on: each level for a part of the columns, because a core waits with more
  /// than a few lines on their way.
  void ask(int front, int part) {
    if (kPlaneMargin == 0) return;
    const int last = front - count_ * kPlaneMargin;
    for (int i = 0; i < S::kBatch; ++i) {
      if (is_inside(levels_[0], front + i)) fetch<0>(levels_[0], (const Real*)pass_.from, front + i, part);
      if (is_inside(levels_[count_], last + i)) fetch<1>(levels_[count_], (const Real*)pass_.to, last + i, part);
    }
  }

  template <int kWrites>
  void fetch(const Level& level, const Real* of, int plane, int part) {
    const int low = level.low[2], high = level.high[2], width = kLine * ((Kept::lines(high - low) + count_) / (count_ + 1));
    const int begin = low + part * width, end = smaller(high, begin + width);
    for (int row = level.low[1]; row < level.high[1] && begin < end; ++row) {
      each_part(begin, end, [&](int, int count, int index) {
        for (int field = 0; field < kFields; ++field) {
          const Real* const from = of + inside(field, index_of(0, plane), index_of(1, row), index);
          for (int j = 0; j < count; j += kLine) __builtin_prefetch(from + j, kWrites);
        }
      });
    }
  }

  void load(int plane) {
    Level& level = levels_[0];
    const Real* const from = (const Real*)pass_.from;
    const int source = index_of(0, plane);
    if (direct_) {
      level.y[plane] = (Real*)from + inside(0, source, 0, 0);
      return;
    }
    for (int field = 0; field < kFields; ++field) {
      for (int row = level.low[1]; row < level.high[1]; ++row) {
        const Real* const line = from + inside(field, source, index_of(1, row), 0);
        each_part(level.low[2], level.high[2], [&](int column, int count, int index) {
          memcpy(y_cell(level, field, plane, row, column), line + index, count * sizeof(Real));
        });
      }
    }
  }

  /// Rows are rounded to whole vectors. What comes of that beyond them is never read, or replaced by what is beyond the boundary.
  void compute(int at, int plane, int planes) {
    const Level& level = levels_[at];
    const int stage = stage_of(at);
    if (S::shares(stage)) {
      if (plane == level.low[0]) share(at, plane - 1);
      share(at, plane);
    }
    for (int row = level.low[1]; row < level.high[1]; ++row) {
      each_part(level.low[2], level.high[2], [&](int column, int count, int index) {
        const int before = at < count_ && column == level.low[2] ? (column - base_column_) % kVector : 0;
        const bool rounds = at < count_ && column + count == level.high[2];
        const int i[3] = {index_of(0, plane), index_of(1, row), index - before};
        const int all = rounds ? (before + count + kVector - 1) / kVector * kVector : before + count;
        const Place<Blocked> place{*this, at, plane, row, column - before};
        if (planes > 1) S::group(stage, place, all, i, grid_.n, level.q);
        else S::stage(stage, place, all, i, grid_.n, level.q);
        for (int by = 0; by < planes; ++by) look(at, plane + by, row, column, count);
      });
    }
  }

  /// From one column before those that are computed on.
  void share(int at, int plane) {
    const Level& level = levels_[at];
    const int before = at < count_ ? (level.low[2] - base_column_) % kVector : 0, columns = before + level.high[2] - level.low[2];
    const int all = at < count_ ? (columns + kVector - 1) / kVector * kVector : columns, none[3] = {};
    for (int row = level.low[1]; row < level.high[1]; ++row) {
      S::share(stage_of(at), Place<Blocked>{*this, at, plane, row, level.low[2] - before - 1}, all + 1, none, grid_.n, level.q);
    }
  }

  /// What a row is for beside the next level.
  void look(int at, int plane, int row, int column, int count) {
    const Level& level = levels_[at];
    const bool is_last = stage_of(at) == S::kStages - 1, is_checked = is_last && (S::kChecksAll || at == count_);
    if (is_checked && !S::check(Place<Blocked>{*this, at, plane, row, column}, count, grid_.n, level.q)) good_ = false;
    if (S::kLimited && is_last && at == count_ && pass_.limits != nullptr) {
      take_rates((const Real*)pass_.to, plane, row, column, count);
    }
  }

  // Beyond boundaries. The numbers of a condition are those of the stage that reads.

  void add_plane(int at, int side, int k) {
    const Level& level = levels_[at];
    const int plane = side == 0 ? -k : grid_.n[0] - 1 + k;
    take(levels_[at].y, plane);
    for (int row = level.low[1]; row < level.high[1]; ++row) add_row(at, 0, side, k, plane, row);
    add_edges(at, plane);
  }

  void add_row(int at, int axis, int side, int k, int plane, int row) {
    const Level& level = levels_[at];
    each_part(level.low[2], level.high[2], [&](int column, int count, int index) {
      const int i[3] = {index_of(0, plane), index_of(1, row), index};
      S::fill(axis, side, k, Ghost<Blocked>{*this, at, axis, side, {plane, row, column}}, count, i, grid_.n, levels_[at + 1].q);
      copy_periodic(at, axis, plane, row, column, count);
    });
  }

  /// What periodic fields have beyond the boundary of an axis: stages see the whole grid in memory, and whole planes of it here.
  void copy_periodic(int at, int axis, int plane, int row, int column, int count) {
    if constexpr (S::kStaged) {
      const int *const n = grid_.n, of_plane = axis == 0 ? wrapped(plane, n[0]) : plane;
      const int of_row = axis == 1 ? wrapped(row, n[1]) : row, of_column = axis == 2 ? wrapped(column, n[2]) : column;
      for (int field = 0; field < kFields; ++field) {
        if (!S::periodic(field, axis)) continue;
        const Real* const from = axis == 0 ? (const Real*)pass_.from + inside(field, of_plane, row, column)
                                           : y_cell(levels_[at], field, of_plane, of_row, of_column);
        memcpy(y_cell(levels_[at], field, plane, row, column), from, count * sizeof(Real));
      }
    }
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
    S::fill(2, side, k, Ghost<Blocked>{*this, at, 2, side, {plane, row, column}}, 1, i, grid_.n, levels_[at + 1].q);
    copy_periodic(at, 2, plane, row, column, 1);
  }
};

/// The program of a scheme.
template <class S>
constexpr Program program_of() {
  return {S::kFields, S::kParameters, S::kCoefficients, (int)sizeof(typename S::Real),
          {S::kReach[0], S::kReach[1], S::kReach[2]}, {S::kMargin[0], S::kMargin[1], S::kMargin[2]}, S::kStages,
          {S::kWraps[0], S::kWraps[1], S::kWraps[2]}, S::kStaged, Rings<S>::scratch_bytes, Blocked<S>::advance, Blocked<S>::rate};
}

}  // namespace wl_stencil
