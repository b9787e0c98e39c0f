// Factorisations of a tile, and products with a tile. Include once per instruction set, after the standard headers.
#pragma once
#include "native/tridiagonal/factor_pivoted.h"
#include "native/tridiagonal/tile_check.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Arrays of the factorisations without exchanges: reciprocal pivots, lower band or multipliers, c'.
enum PlainArray { kInverse = 0, kLower = 1, kRatio = 2 };

/// How many rows ahead factors are prefetched.
inline constexpr int64_t kFetchAhead = 12;

/// Elimination multipliers without pivoting.
template <class S>
void factor_plain(const System<S>& s, const FactorStore<S>& store, Tile<S>& t) {
  S ratio = constant<S>(0);
  for (int64_t i = 0; i < s.n; ++i) {
    const S pivot = i == 0 ? s.diagonal[0] : s.diagonal[i] - s.lower[i] * ratio;
    note_pivot(t, pivot, i);
    const S inverse = reciprocal(pivot);
    ratio = s.upper[i] * inverse;
    store.put(kInverse, i, inverse);
    store.put(kLower, i, s.lower[i]);
    store.put(kRatio, i, ratio);
  }
}

/// L D L^H of a Hermitian positive definite matrix: reciprocal pivots and L. A pivot that is not positive is reported
/// as zero, and becomes NaN so that every later solve shows it.
template <class S>
void factor_cholesky(const System<S>& s, const FactorStore<S>& store, Tile<S>& t) {
  using V = LanesType<S>;
  const V not_a_number = broadcast<V>(RealLimits<RealType<S>>::kInfinity) * broadcast<V>(0);
  const auto real = [](const S& a) {
    if constexpr (kParts<S> == 2) return a.re; else return a;
  };
  V inverse = broadcast<V>(0);
  for (int64_t i = 0; i < s.n; ++i) {
    S multiplier = constant<S>(0);
    V pivot = real(s.diagonal[i]);
    if (i > 0) {
      const S l = s.lower[i];
      if constexpr (kParts<S> == 2) {
        multiplier = {l.re * inverse, l.im * inverse};
        pivot = pivot - (l.re * l.re + l.im * l.im) * inverse;
      } else {
        multiplier = l * inverse;
        pivot = pivot - l * l * inverse;
      }
    }
    const auto positive = broadcast<V>(0) < pivot;
    S flagged = constant<S>(0);
    reinterpret_cast<V&>(flagged) = select(positive, pivot, broadcast<V>(0));
    note_pivot(t, flagged, i);
    inverse = select(positive, reciprocal(pivot), not_a_number);
    S stored = constant<S>(0);
    reinterpret_cast<V&>(stored) = inverse;
    store.put(kInverse, i, stored);
    store.put(kLower, i, multiplier);
  }
}

template <class S>
WARPLOOM_INLINE S conjugated(const S& a) {
  if constexpr (kParts<S> == 2) return {a.re, -a.im};
  else return a;
}

/// NaN in lanes where a solve met a non-finite value.
template <class S>
struct Noted {
  LanesType<S> rhs, solution;
};
/// (An implicit constructor would be compiled for the wrong instruction set.)
template <class S>
WARPLOOM_INLINE Noted<S> nothing_noted() {
  return {broadcast<LanesType<S>>(0), broadcast<LanesType<S>>(0)};
}

/// Solves in place with factors without exchanges, and notes non-finite values.
template <class S>
void apply_plain(const FactorStore<S>& store, int64_t n, S* x, Noted<S>* noted) {
  for (int64_t i = 0; i < n; ++i) {
    store.fetch(kLower, i + kFetchAhead);
    store.fetch(kInverse, i + kFetchAhead);
    noted->rhs = noted->rhs + trouble(x[i]);
    x[i] = (i == 0 ? x[0] : x[i] - store.get(kLower, i) * x[i - 1]) * store.get(kInverse, i);
  }
  noted->solution = noted->solution + trouble(x[n - 1]);
  for (int64_t i = n - 2; i >= 0; --i) {
    store.fetch(kRatio, i - kFetchAhead);
    x[i] = x[i] - store.get(kRatio, i) * x[i + 1];
    noted->solution = noted->solution + trouble(x[i]);
  }
}
template <class S>
void apply_cholesky(const FactorStore<S>& store, int64_t n, S* x, Noted<S>* noted) {
  noted->rhs = noted->rhs + trouble(x[0]);
  for (int64_t i = 1; i < n; ++i) {
    noted->rhs = noted->rhs + trouble(x[i]);
    x[i] = x[i] - store.get(kLower, i) * x[i - 1];
  }
  for (int64_t i = n - 1; i >= 0; --i) {
    x[i] = x[i] * store.get(kInverse, i);
    if (i + 1 < n) x[i] = x[i] - conjugated(store.get(kLower, i + 1)) * x[i + 1];
    noted->solution = noted->solution + trouble(x[i]);
  }
}
template <class S>
WARPLOOM_INLINE void note_all(const S* x, int64_t n, LanesType<S>* noted) {
  for (int64_t i = 0; i < n; ++i) *noted = *noted + trouble(x[i]);
}

/// Whether every lane has `n` rows. If so, a tile is processed as a whole; otherwise lane by lane where the last row
/// matters.
template <class S>
bool is_uniform(const TileLanes<S>& tile) {
  return tile.least_rows == tile.n;
}

/// Copies one lane's rows out of an array of a tile, and back.
template <class S>
void copy_lane(const S* from, int64_t rows, int lane, One<S>* to) {
  for (int64_t i = 0; i < rows; ++i) to[i] = get_lane(from[i], lane);
}

/// The pivoted factorisation of a tile. `scratch`: n entries.
template <class S>
void factor_pivoted_tile(const TileLanes<S>& tile, const System<S>& s, const FactorStore<S>& store, S* scratch,
                         Tile<S>& t) {
  if (!s.periodic) return factor_pivoted(s, store, t);
  if (is_uniform(tile)) return s.n >= 3 ? factor_cyclic(s, store, t) : factor_pivoted(s, store, t);
  using T = One<S>;
  for (int l = 0; l < tile.lanes; ++l) {
    System<T> one;
    one.n = one.rows[0] = s.rows[l];
    if (one.n == 0) continue;
    T* memory = reinterpret_cast<T*>(scratch);
    for (const auto& [band, to] : {std::pair(s.lower, &one.lower), std::pair(s.diagonal, &one.diagonal),
                                   std::pair(s.upper, &one.upper)}) {
      copy_lane(band, one.n, l, memory);
      *to = memory;
      memory += s.n;
    }
    one.top = get_lane(s.top, l);
    one.bottom = get_lane(s.bottom, l);
    const LaneStore<S> lane{&store, l};
    Tile<T> found;
    found.n = one.n;
    found.zero_row = -1;
    if (one.n >= 3) factor_cyclic(one, lane, found);
    else factor_pivoted(one, lane, found);
    set_row<S>(t.zero_row, l, found.zero_row);
  }
}

/// Solves a tile in place with pivoted factors. `scratch`: n entries.
template <class S>
void solve_pivoted_tile(const TileLanes<S>& tile, const FactorStore<S>& store, bool periodic, S* x, S* scratch) {
  if (!periodic) return solve_pivoted(store, tile.n, x);
  if (is_uniform(tile)) return tile.n >= 3 ? solve_cyclic(store, tile.n, x) : solve_pivoted(store, tile.n, x);
  auto* const own = reinterpret_cast<One<S>*>(scratch);
  for (int l = 0; l < tile.lanes; ++l) {
    const int64_t rows = tile.rows[l];
    if (rows == 0) continue;
    const LaneStore<S> lane{&store, l};
    copy_lane(x, rows, l, own);
    if (rows >= 3) solve_cyclic(lane, rows, own);
    else solve_pivoted(lane, rows, own);
    for (int64_t i = 0; i < rows; ++i) set_lane(x[i], l, own[i]);
  }
}

/// Cuts off the last row of periodic systems, and returns the border in s.rhs. For factors without exchanges, which
/// need regular leading parts anyway.
template <class S>
void split_border(System<S>& s, const FactorStore<S>& store, One<S>* last_diagonal, int lanes) {
  using T = One<S>;
  for (int64_t i = 0; i < s.n; ++i) s.rhs[i] = constant<S>(0);
  for (int l = 0; l < kLanes<S>; ++l) {
    const int64_t m = s.rows[l];
    if (m < 3) continue;
    if (l < lanes) {
      store.closing(l, 0) = get_lane(s.bottom, l);
      store.closing(l, 1) = get_lane(s.lower[m - 1], l);
    }
    last_diagonal[l] = get_lane(s.diagonal[m - 1], l);
    set_lane(s.rhs[0], l, get_lane(s.top, l));
    set_lane(s.rhs[m - 2], l, get_lane(s.rhs[m - 2], l) + get_lane(s.upper[m - 2], l));
    set_lane(s.lower[m - 1], l, constant<T>(0));
    set_lane(s.diagonal[m - 1], l, constant<T>(1));
    set_lane(s.upper[m - 2], l, constant<T>(0));
  }
}

/// Factors without exchanges, with the border of periodic systems.
template <class S>
void factor_plain_tile(operation::Factorisation kind, System<S>& s, const FactorStore<S>& store, int lanes, Tile<S>& t) {
  const bool cholesky = kind == operation::Factorisation::cholesky;
  One<S> last_diagonal[kLanes<S>] = {};
  if (s.periodic) split_border(s, store, last_diagonal, lanes);
  if (cholesky) factor_cholesky(s, store, t);
  else factor_plain(s, store, t);
  if (!s.periodic) return;
  Noted<S> unused = nothing_noted<S>();
  if (cholesky) apply_cholesky(store, s.n, s.rhs, &unused);
  else apply_plain(store, s.n, s.rhs, &unused);
  for (int64_t i = 0; i < s.n; ++i) store.put(store.border(), i, s.rhs[i]);
  for (int l = 0; l < lanes; ++l) {
    const int64_t m = s.rows[l];
    if (m < 3) continue;
    const One<S> schur = last_diagonal[l] - store.closing(l, 0) * get_lane(s.rhs[0], l) -
                         store.closing(l, 1) * get_lane(s.rhs[m - 2], l);
    store.closing(l, 2) = schur;
    if (is_zero(schur) && get_row<S>(t.zero_row, l) < 0) set_row<S>(t.zero_row, l, m - 1);
  }
}

/// Factors systems first…first+lanes-1 into the job's memory and writes their status words.
template <class S>
void factor_tile(const Problem<RealType<S>>& problem, const FactorJob& job, int64_t first, int lanes,
                 void* scratch) {
  using V = LanesType<S>;
  const TileLanes<S> tile(problem, first, lanes);
  const FactorStore<S> store(job, tile);
  IndexType<S> zero_row = index_lanes<V>(-1);
  int64_t non_finite[kLanes<S>];
  for (int64_t& row : non_finite) row = -1;
  if (tile.n > 0) {
    System<S> s;
    S* memory = static_cast<S*>(scratch);
    s.n = tile.n;
    s.lower = memory;
    s.diagonal = memory + s.n;
    s.upper = memory + 2 * s.n;
    s.rhs = memory + 3 * s.n;
    load_system(tile, Sources<S>(tile, problem), &s, false);
    find_non_finite(s, non_finite);
    Tile<S> t;
    t.n = s.n;
    t.zero_row = zero_row;
    if (job.kind == operation::Factorisation::pivoted) factor_pivoted_tile(tile, s, store, s.rhs, t);
    else factor_plain_tile(job.kind, s, store, lanes, t);
    zero_row = t.zero_row;
  }
  for (int l = 0; l < lanes; ++l) {
    using operation::SystemStatus;
    const int64_t zero = get_row<S>(zero_row, l);
    const SystemStatus outcome = non_finite[l] >= 0 ? SystemStatus::non_finite
                                 : zero >= 0        ? SystemStatus::zero_pivot
                                                    : SystemStatus::ok;
    store.state(l) = FactorLayout::state(non_finite[l], zero);
    if (job.status != nullptr) job.status[first + l] = static_cast<int32_t>(outcome);
    if (job.row != nullptr) {
      job.row[first + l] = static_cast<int32_t>(non_finite[l] >= 0 ? non_finite[l] : zero);
    }
  }
}

/// y = alpha A x + beta y for problems first…first+lanes-1 (x in `rhs`, y in `solution`).
template <class S>
void multiply_tile(const Problem<RealType<S>>& problem, double alpha, double beta, int64_t first,
                   int lanes, void* scratch) {
  using R = RealType<S>;
  const TileLanes<S> tile(problem, first, lanes);
  if (tile.n == 0) return;
  const Sources<S> sources(tile, problem);
  System<S> s;
  S* memory = static_cast<S*>(scratch);
  s.n = tile.n;
  s.lower = memory;
  s.diagonal = memory + s.n;
  s.upper = memory + 2 * s.n;
  s.rhs = memory + 3 * s.n;
  S* y = memory + 4 * s.n;
  load_system(tile, sources, &s, true);
  if (beta != 0) tile.load(sources.solution, 0, s.n, y);
  const S* x = s.rhs;
  const auto scale = [](double factor, const S& value) {
    const auto wide = broadcast<LanesType<S>>(static_cast<R>(factor));
    if constexpr (kParts<S> == 2) return S{wide * value.re, wide * value.im};
    else return wide * value;
  };
  for (int64_t i = 0; i < s.n; ++i) {
    S sum = s.diagonal[i] * x[i];
    if (i > 0) sum = sum + s.lower[i] * x[i - 1];
    if (i + 1 < s.n) sum = sum + s.upper[i] * x[i + 1];
    for (int l = 0; l < kLanes<S> && s.periodic; ++l) {
      const int64_t last = s.rows[l] - 1;
      One<S> value = get_lane(sum, l);
      if (last >= 2 && i == 0) value = value + get_lane(s.top, l) * get_lane(x[last], l);
      if (last >= 2 && i == last) value = value + get_lane(s.bottom, l) * get_lane(x[0], l);
      set_lane(sum, l, value);
    }
    y[i] = beta != 0 ? scale(alpha, sum) + scale(beta, y[i]) : scale(alpha, sum);
  }
  tile.store(sources.solution, 0, s.n, y, false);
}

}  // namespace warploom::cpu::WARPLOOM_ISA
