// Factorisations of a tile, their storage and the solves with them; products of a tile. Include once
// per instruction set, after the standard headers.
#pragma once
#include "native/tridiagonal/tile_check.h"

namespace warploom::cpu::WARPLOOM_ISA {

inline constexpr int64_t kFactorArrays = 6;
/// The last array holds the border's solution of periodic systems.
inline constexpr int64_t kBorderArray = 5;

/// Where the factors of one tile lie: kFactorArrays arrays of tile rows, each row the lanes' real
/// parts and then their imaginary parts; and four numbers per periodic system at the end of all.
template <class S>
class FactorStore {
 public:
  using R = RealType<S>;
  FactorStore(const FactorJob& job, const TileLanes<S>& tile)
      : n_(tile.n), lanes_(tile.lanes) {
    const int64_t reals = kFactorArrays * kParts<S>;
    data_ = reinterpret_cast<R*>(job.memory) + tile.first * job.n * reals;
    corners_ = reinterpret_cast<One<S>*>(reinterpret_cast<R*>(job.memory) + job.batch * job.n * reals) +
               tile.first * 4;
  }
  WARPLOOM_INLINE void put(int64_t array, int64_t row, const S& value) const {
    const R* reals = reinterpret_cast<const R*>(&value);
    R* to = data_ + (array * n_ + row) * lanes_ * kParts<S>;
    for (int part = 0; part < kParts<S>; ++part) {
      if (kLanes<S> == 1 || lanes_ == kLanes<S>) {
        __builtin_memcpy(to + part * kLanes<S>, reals + part * kLanes<S>, sizeof(R) * kLanes<S>);
      } else {
        for (int l = 0; l < lanes_; ++l) to[part * lanes_ + l] = reals[part * kLanes<S> + l];
      }
    }
  }
  WARPLOOM_INLINE S get(int64_t array, int64_t row) const {
    S value;
    R* reals = reinterpret_cast<R*>(&value);
    const R* from = data_ + (array * n_ + row) * lanes_ * kParts<S>;
    for (int part = 0; part < kParts<S>; ++part) {
      if (kLanes<S> == 1 || lanes_ == kLanes<S>) {
        __builtin_memcpy(reals + part * kLanes<S>, from + part * kLanes<S>, sizeof(R) * kLanes<S>);
      } else {
        for (int l = 0; l < kLanes<S>; ++l) {
          reals[part * kLanes<S> + l] = from[part * lanes_ + (l < lanes_ ? l : lanes_ - 1)];
        }
      }
    }
    return value;
  }
  /// bottom corner, lower entry of the last row, Schur complement of a lane's border.
  One<S>& corner(int lane, int which) const { return corners_[4 * lane + which]; }

 private:
  int64_t n_;
  int lanes_;
  R* data_;
  One<S>* corners_;
};

/// Elimination multipliers without pivoting: reciprocal pivots, lower band, c'.
template <class S>
void factor_plain(const System<S>& s, const FactorStore<S>& store, Tile<S>& t) {
  S ratio = constant<S>(0);
  for (int64_t i = 0; i < s.n; ++i) {
    const S pivot = i == 0 ? s.diagonal[0] : s.diagonal[i] - s.lower[i] * ratio;
    note_pivot(t, pivot, i);
    const S inverse = reciprocal(pivot);
    ratio = s.upper[i] * inverse;
    store.put(0, i, inverse);
    store.put(1, i, s.lower[i]);
    store.put(2, i, ratio);
  }
}

/// gttrf: multipliers, three diagonals of U, and a nonzero number where rows were exchanged.
template <class S>
void factor_pivoted(const System<S>& s, const FactorStore<S>& store, Tile<S>& t) {
  const S zero = constant<S>(0), one = constant<S>(1);
  S d = s.diagonal[0], u = s.upper[0];
  for (int64_t i = 0; i + 1 < s.n; ++i) {
    const S l = s.lower[i + 1], next_d = s.diagonal[i + 1], next_u = s.upper[i + 1];
    const auto swap = absolute(d) < absolute(l);
    const S pivot = select(swap, l, d), first = select(swap, next_d, u), second = select(swap, next_u, zero);
    note_pivot(t, pivot, i);
    const S factor = select(swap, d, l) / pivot;
    store.put(0, i, pivot);
    store.put(1, i, first);
    store.put(2, i, second);
    store.put(3, i, factor);
    store.put(4, i, select(swap, one, zero));
    d = select(swap, u, next_d) - factor * first;
    u = select(swap, zero, next_u) - factor * second;
  }
  note_pivot(t, d, s.n - 1);
  store.put(0, s.n - 1, d);
}

/// L D L^H of a Hermitian positive definite matrix: reciprocal pivots and L. A pivot that is not
/// positive is reported as zero, and becomes NaN so that no solve passes for good.
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
    store.put(0, i, stored);
    store.put(1, i, multiplier);
  }
}

template <class S>
WARPLOOM_INLINE S conjugated(const S& a) {
  if constexpr (kParts<S> == 2) return {a.re, -a.im};
  else return a;
}

/// Solves in place with stored factors; adds NaN to `bad` in lanes with a zero pivot.
template <class S>
void apply_factors(const FactorStore<S>& store, operation::Factorisation kind, int64_t n, S* x,
                   LanesType<S>* bad) {
  using operation::Factorisation;
  if (kind == Factorisation::regpack) {
    for (int64_t i = 0; i < n; ++i) {
      const S inverse = store.get(0, i);
      *bad = *bad + trouble(inverse);
      x[i] = (i == 0 ? x[0] : x[i] - store.get(1, i) * x[i - 1]) * inverse;
    }
    for (int64_t i = n - 2; i >= 0; --i) x[i] = x[i] - store.get(2, i) * x[i + 1];
  } else if (kind == Factorisation::cholesky) {
    for (int64_t i = 1; i < n; ++i) x[i] = x[i] - store.get(1, i) * x[i - 1];
    for (int64_t i = n - 1; i >= 0; --i) {
      const S inverse = store.get(0, i);
      *bad = *bad + trouble(inverse);
      x[i] = x[i] * inverse;
      if (i + 1 < n) x[i] = x[i] - conjugated(store.get(1, i + 1)) * x[i + 1];
    }
  } else {
    S b = x[0];
    for (int64_t i = 0; i + 1 < n; ++i) {
      const auto kept = is_zero(store.get(4, i));
      const S next = x[i + 1];
      x[i] = select(kept, b, next);
      b = select(kept, next, b) - store.get(3, i) * x[i];
    }
    x[n - 1] = b;
    for (int64_t i = n - 1; i >= 0; --i) {
      const S pivot = store.get(0, i);
      *bad = *bad + trouble(reciprocal(pivot));
      if (i + 1 < n) x[i] = x[i] - store.get(1, i) * x[i + 1];
      if (i + 2 < n) x[i] = x[i] - store.get(2, i) * x[i + 2];
      x[i] = x[i] / pivot;
    }
  }
}

/// Cuts the last row of periodic systems off and returns the border in s.rhs.
template <class S>
void split_border(System<S>& s, const FactorStore<S>& store, One<S>* last_diagonal, int lanes) {
  using T = One<S>;
  for (int64_t i = 0; i < s.n; ++i) s.rhs[i] = constant<S>(0);
  for (int l = 0; l < kLanes<S>; ++l) {
    const int64_t m = s.rows[l];
    if (m < 3) continue;
    if (l < lanes) {
      store.corner(l, 0) = get_lane(s.bottom, l);
      store.corner(l, 1) = get_lane(s.lower[m - 1], l);
    }
    last_diagonal[l] = get_lane(s.diagonal[m - 1], l);
    set_lane(s.rhs[0], l, get_lane(s.top, l));
    set_lane(s.rhs[m - 2], l, get_lane(s.rhs[m - 2], l) + get_lane(s.upper[m - 2], l));
    set_lane(s.lower[m - 1], l, constant<T>(0));
    set_lane(s.diagonal[m - 1], l, constant<T>(1));
    set_lane(s.upper[m - 2], l, constant<T>(0));
  }
}

/// Factors systems first…first+lanes-1 into the job's memory and writes their status words.
template <class S>
void factor_tile(const Problem<RealType<S>>& problem, const FactorJob& job, int64_t first, int lanes,
                 void* scratch) {
  using V = LanesType<S>;
  const TileLanes<S> tile(problem, first, lanes);
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
    const FactorStore<S> store(job, tile);
    One<S> last_diagonal[kLanes<S>] = {};
    if (s.periodic) split_border(s, store, last_diagonal, lanes);
    Tile<S> t;
    t.n = s.n;
    t.zero_row = zero_row;
    switch (job.kind) {
      case operation::Factorisation::regpack: factor_plain(s, store, t); break;
      case operation::Factorisation::pivoted: factor_pivoted(s, store, t); break;
      case operation::Factorisation::cholesky: factor_cholesky(s, store, t); break;
    }
    if (s.periodic) {
      V unused = broadcast<V>(0);
      apply_factors(store, job.kind, s.n, s.rhs, &unused);
      for (int64_t i = 0; i < s.n; ++i) store.put(kBorderArray, i, s.rhs[i]);
      for (int l = 0; l < lanes; ++l) {
        const int64_t m = s.rows[l];
        if (m < 3) continue;
        const One<S> schur = last_diagonal[l] - store.corner(l, 0) * get_lane(s.rhs[0], l) -
                             store.corner(l, 1) * get_lane(s.rhs[m - 2], l);
        store.corner(l, 2) = schur;
        if (is_zero(schur) && get_row<S>(t.zero_row, l) < 0) set_row<S>(t.zero_row, l, m - 1);
      }
    }
    zero_row = t.zero_row;
  }
  for (int l = 0; l < lanes; ++l) {
    using operation::SystemStatus;
    const int64_t zero = get_row<S>(zero_row, l);
    const SystemStatus outcome = non_finite[l] >= 0 ? SystemStatus::non_finite
                                 : zero >= 0        ? SystemStatus::zero_pivot
                                                    : SystemStatus::ok;
    if (job.status != nullptr) job.status[first + l] = static_cast<int32_t>(outcome);
    if (job.row != nullptr) {
      job.row[first + l] = static_cast<int32_t>(non_finite[l] >= 0 ? non_finite[l] : zero);
    }
  }
}

/// x from the factors and right-hand sides already in x; `bad` as in apply_factors.
template <class S>
void solve_with_factors(const TileLanes<S>& tile, const FactorJob& job, S* x, LanesType<S>* bad) {
  const FactorStore<S> store(job, tile);
  if (!job.periodic) return apply_factors(store, job.kind, tile.n, x, bad);
  using T = One<S>;
  T last[kLanes<S>] = {};
  for (int l = 0; l < kLanes<S>; ++l) {
    if (tile.rows[l] < 3) continue;
    last[l] = get_lane(x[tile.rows[l] - 1], l);
    set_lane(x[tile.rows[l] - 1], l, constant<T>(0));
  }
  apply_factors(store, job.kind, tile.n, x, bad);
  S corner = constant<S>(0);
  for (int l = 0; l < tile.lanes; ++l) {
    const int64_t m = tile.rows[l];
    if (m < 3) continue;
    const T schur = store.corner(l, 2);
    const T value = last[l] - store.corner(l, 0) * get_lane(x[0], l) -
                    store.corner(l, 1) * get_lane(x[m - 2], l);
    set_lane(corner, l, value / schur);
    if (is_zero(schur)) set_lane<LanesType<S>>(*bad, l, trouble(reciprocal(absolute(schur))));
  }
  for (int64_t i = 0; i < tile.n; ++i) x[i] = x[i] - store.get(kBorderArray, i) * corner;
  for (int l = 0; l < tile.lanes; ++l) {
    if (tile.rows[l] >= 3) set_lane(x[tile.rows[l] - 1], l, get_lane(corner, l));
  }
}

/// Solves every right-hand side of systems first…first+lanes-1. `problem` counts one right-hand side.
template <class S>
void solve_factored_tile(const Problem<RealType<S>>& problem, const FactorJob& job, int64_t first,
                         int lanes, void* scratch) {
  using V = LanesType<S>;
  using operation::SystemStatus;
  const TileLanes<S> tile(problem, first, lanes);
  S* x = static_cast<S*>(scratch);
  for (int64_t r = 0; r < job.rhs_count; ++r) {
    V bad_rhs = broadcast<V>(0), bad_pivot = bad_rhs, bad = bad_rhs;
    if (tile.n > 0) {
      Band<RealType<S>> rhs = problem.rhs, solution = problem.solution;
      rhs.origin += r * rhs.rhs_stride;
      solution.origin += r * solution.rhs_stride;
      tile.load(tile.source(rhs, 0, 0, 0), 0, tile.n, x);
      for (int64_t i = 0; i < tile.n; ++i) bad_rhs = bad_rhs + trouble(x[i]);
      solve_with_factors(tile, job, x, &bad_pivot);
      for (int64_t i = 0; i < tile.n; ++i) bad = bad + trouble(x[i]);
      tile.store(tile.source(solution, 0, 0, 0), 0, tile.n, x, false);
    }
    for (int l = 0; l < lanes && job.status != nullptr; ++l) {
      const SystemStatus outcome = get_lane<V>(bad_rhs, l) != 0     ? SystemStatus::non_finite
                                   : get_lane<V>(bad_pivot, l) != 0 ? SystemStatus::zero_pivot
                                   : get_lane<V>(bad, l) != 0       ? SystemStatus::inaccurate
                                                                    : SystemStatus::ok;
      job.status[(first + l) * job.rhs_count + r] = static_cast<int32_t>(outcome);
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
