// The sums that form the gradients of bands, with the same bits on every backend: their order depends on the shape
// alone.
//
// One entry of a gradient is the sum of `terms` rows: one if the band is given in full, the systems of a batch that
// shares it, or the rows of a constant one. Terms are added up in runs of at most kGradientRun. The terms of a run are
// `runs` apart, so that neighbouring threads read neighbouring rows. The sums of the runs are the next terms, until one
// is left.
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"
#include "cuda/linear/placement.h"
#include "cuda/tridiagonal/solve.h"

namespace warploom::tridiagonal {

inline constexpr int64_t kGradientRun = 256;

/// Parts of an array: element (s, i, r) is at s*system_stride + i*row_stride + r*rhs_stride of re and im, in real
/// numbers.
template <class R>
struct GradientArray {
  R* re = nullptr;
  R* im = nullptr;  ///< null for real types
  int64_t system_stride = 0, row_stride = 0, rhs_stride = 0;
};
template <class R>
GradientArray<R> gradient_array(const View& view, bool complex, bool ragged) {
  const int64_t scale = complex && view.imaginary == nullptr ? 2 : 1;
  GradientArray<R> array;
  array.re = static_cast<R*>(view.data);
  if (view.data == nullptr) return array;
  if (complex) array.im = view.imaginary == nullptr ? array.re + 1 : static_cast<R*>(view.imaginary);
  array.re += view.offset * scale;
  if (complex) array.im += view.offset * scale;
  const auto placement = placement_of(view, ragged);
  array.row_stride = placement.row * scale;
  array.system_stride = placement.system * scale;
  array.rhs_stride = placement.rhs * scale;
  return array;
}

/// A complex number, or a real one and zero.
struct GradientTerm {
  double re = 0, im = 0;
};
WARPLOOM_PORTABLE GradientTerm operator+(const GradientTerm& a, const GradientTerm& b) { return {a.re + b.re, a.im + b.im}; }

enum class GradientBand : int32_t { lower = 0, diagonal = 1, upper = 2 };

/// The gradient of one band.
template <class R>
struct BandGradient {
  GradientArray<R> w, x, out;
  const int64_t* offsets = nullptr;
  int64_t n = 0, batch = 0, rhs_count = 0;
  GradientBand band = GradientBand::diagonal;
  bool periodic = false, definite = false, swapped = false, conjugated = false;
  bool over_systems = false, over_rows = false;  ///< over what to sum
  int64_t entries = 0;                           ///< of the gradient
  int64_t terms = 0;                             ///< per entry

  WARPLOOM_PORTABLE int64_t origin(int64_t system) const { return offsets != nullptr ? offsets[system] : system; }
  WARPLOOM_PORTABLE int64_t rows(int64_t system) const {
    if (offsets == nullptr) return n;
    const int64_t own = offsets[system + 1] - offsets[system];
    return own < 0 ? 0 : own > n ? n : own;
  }
  /// -w[i] conj(x[j]) of right-hand side r.
  WARPLOOM_PORTABLE GradientTerm product(int64_t w_at, int64_t x_at) const {
    const double w_re = w.re[w_at], x_re = x.re[x_at];
    if (w.im == nullptr) return {-(w_re * x_re), 0};
    const double w_im = w.im[w_at], x_im = x.im[x_at];
    const double re = -(w_re * x_re + w_im * x_im), im = -(w_im * x_re - w_re * x_im);
    return {re, conjugated ? -im : im};
  }
  /// The term for the entry that couples row i to x[j].
  WARPLOOM_PORTABLE GradientTerm entry(int64_t system, int64_t i, int64_t j) const {
    const int64_t from = swapped ? j : i, to = swapped ? i : j;
    int64_t w_at = origin(system) * w.system_stride + from * w.row_stride;
    int64_t x_at = origin(system) * x.system_stride + to * x.row_stride;
    GradientTerm sum;
    for (int64_t r = 0; r < rhs_count; ++r) {
      sum = sum + product(w_at, x_at);
      w_at += w.rhs_stride;
      x_at += x.rhs_stride;
    }
    return sum;
  }
  WARPLOOM_PORTABLE GradientTerm row(int64_t system, int64_t i) const {
    const int64_t count = rows(system), last = count - 1;
    if (band == GradientBand::diagonal) return entry(system, i, i);
    const bool lower = band == GradientBand::lower;
    if (i == (lower ? 0 : last) && !periodic) return {};
    const int64_t j = lower ? (i > 0 ? i - 1 : last) : (i < last ? i + 1 : 0);
    const GradientTerm own = entry(system, i, j);
    if (!definite) return own;
    const GradientTerm mirrored = entry(system, j, i);
    return {own.re + mirrored.re, own.im - mirrored.im};
  }
  /// Finds the system that contains row `place` of the batch's rows, and the row within it.
  WARPLOOM_PORTABLE void locate(int64_t place, int64_t* system, int64_t* i) const {
    if (offsets == nullptr) {
      *system = place / n;
      *i = place - *system * n;
      return;
    }
    const int64_t row = offsets[0] + place;
    int64_t low = 0, high = batch;
    while (high - low > 1) {  // the last system that begins at or before the row
      const int64_t middle = (low + high) / 2;
      if (offsets[middle] <= row) low = middle; else high = middle;
    }
    *system = low;
    *i = row - offsets[low];
  }
  WARPLOOM_PORTABLE GradientTerm term(int64_t at, int64_t k) const {
    int64_t system = at, i = k;  // one constant per system
    if (over_systems != over_rows) {
      if (over_systems) system = k, i = at;
    } else {
      locate(over_systems ? k : at, &system, &i);
    }
    return row(system, i);
  }
  WARPLOOM_PORTABLE void store(int64_t at, const GradientTerm& value) const {
    int64_t system = at, i = 0;
    if (over_systems && over_rows) {
      system = 0;
    } else if (over_systems) {
      system = 0, i = at;
    } else if (!over_rows) {
      locate(at, &system, &i);
    }
    store_row(system, i, value);
  }
  WARPLOOM_PORTABLE void store_row(int64_t system, int64_t i, const GradientTerm& value) const {
    const int64_t to = (over_systems ? 0 : origin(system) * out.system_stride) + (over_rows ? 0 : i * out.row_stride);
    out.re[to] = static_cast<R>(value.re);
    if (out.im != nullptr) out.im[to] = static_cast<R>(value.im);
  }
};

/// How many runs `terms` terms are added up in; one if there are none.
WARPLOOM_PORTABLE int64_t gradient_runs(int64_t terms) { return terms < 1 ? 1 : (terms - 1) / kGradientRun + 1; }
/// Words of partial sums for every level of all runs of an entry.
inline int64_t gradient_partials(int64_t terms) {
  int64_t words = 0;
  while (terms > 1) words += terms = gradient_runs(terms);
  return words;
}
/// Run c of `runs` over term(0) … term(terms-1).
template <class Term>
WARPLOOM_PORTABLE GradientTerm gradient_run(int64_t terms, int64_t runs, int64_t c, const Term& term) {
  GradientTerm sum;
  for (int64_t k = c; k < terms; k += runs) sum = sum + term(k);
  return sum;
}

/// The gradient of `band` with output `view`, for a batch with `rows` rows in all.
template <class R, class Parameters>
BandGradient<R> band_gradient(const Parameters& p, GradientBand band, const View& view, int64_t rows) {
  const bool complex = is_complex(p.type), ragged = p.offsets.data != nullptr;
  BandGradient<R> g;
  g.w = gradient_array<R>(p.rhs_gradient, complex, ragged);
  g.x = gradient_array<R>(p.solution, complex, ragged);
  g.out = gradient_array<R>(view, complex, ragged);
  g.offsets = p.offsets.data;
  g.n = p.n;
  g.batch = p.batch;
  g.rhs_count = p.rhs_count;
  g.band = band;
  g.periodic = p.periodic;
  g.definite = p.structure == Structure::positive_definite;
  g.swapped = p.transpose != Transpose::none;
  g.conjugated = p.transpose == Transpose::conjugate;
  g.over_rows = view.rank > 0 && view.extents[view.rank - 1] == 1;
  g.over_systems = ragged ? g.over_rows : view.rank > 0 && view.extents[0] == 1;
  const int64_t sums = (g.over_rows ? p.n : 1) * (g.over_systems ? p.batch : 1);
  g.terms = ragged ? (g.over_rows ? rows : 1) : sums;
  g.entries = ragged ? (g.over_rows ? 1 : rows) : (g.over_rows ? 1 : p.n) * (g.over_systems ? 1 : p.batch);
  return g;
}

}  // namespace warploom::tridiagonal
