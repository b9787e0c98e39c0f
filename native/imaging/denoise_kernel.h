// Kernels of imaging.curvature and imaging.denoise on vectors: include only from native/imaging/isa_table.h.
#pragma once
#include "cuda/imaging/curvature_point.h"
#include "cuda/imaging/tv_point.h"
#include "native/cpu/vector.h"
#include "native/imaging/denoise_kernels.h"

namespace warploom::cpu::WARPLOOM_ISA {

namespace denoising {

using namespace ::warploom::imaging;

/// A number, or a vector of adjacent ones.
template <class V, class R>
WARPLOOM_INLINE V fetch(const R* from) {
  if constexpr (sizeof(V) == sizeof(R)) return *from;
  else return V::load(from);
}
template <class R>
WARPLOOM_INLINE void put(R* to, const R& value) { *to = value; }
template <class R>
WARPLOOM_INLINE void put(R* to, const Vector<R>& value) { value.store(to); }

/// Calls body.template at<V>(x) for whole vectors of a row, then for the remaining points.
template <class R, class Body>
WARPLOOM_INLINE void along(int64_t nx, const Body& body) {
  int64_t x = 0;
  for (; x + kWidth<R> <= nx; x += kWidth<R>) body.template at<Vector<R>>(x);
  for (; x < nx; ++x) body.template at<R>(x);
}

/// The values after those at x, and before them; beyond either end of the row, its end value repeats.
template <class V, class R>
WARPLOOM_INLINE V after(const R* row, int64_t x, int64_t nx) {
  if constexpr (sizeof(V) == sizeof(R)) {
    return row[x + 1 < nx ? x + 1 : x];
  } else {
    if (x + kWidth<R> < nx) return V::load(row + x + 1);
    typename V::Bits place = {};
    for (int l = 0; l < kWidth<R>; ++l) place[l] = l + 1 < kWidth<R> ? l + 1 : l;
    return shuffled(V::load(row + x).v, V::load(row + x).v, place);
  }
}
template <class V, class R>
WARPLOOM_INLINE V before(const R* row, int64_t x) {
  if constexpr (sizeof(V) == sizeof(R)) {
    return row[x > 0 ? x - 1 : x];
  } else {
    if (x > 0) return V::load(row + x - 1);
    typename V::Bits place = {};
    for (int l = 0; l < kWidth<R>; ++l) place[l] = l > 0 ? l - 1 : 0;
    return shuffled(V::load(row + x).v, V::load(row + x).v, place);
  }
}
/// The values before those at x; zero before the row.
template <class V, class R>
WARPLOOM_INLINE V before_or_zero(const R* row, int64_t x) {
  V values = before<V>(row, x);
  if constexpr (sizeof(V) == sizeof(R)) {
    return x > 0 ? values : R(0);
  } else {
    if (x == 0) values.v[0] = 0;
    return values;
  }
}

/// Fluxes from the row `low` to the adjacent row `high`. before and after: the rows next to each of them along the
/// third axis.
template <class R>
struct FluxRows {
  const R *low, *low_before, *low_after, *high, *high_before, *high_after;
  R eps16;
  R* out;
  int64_t nx;
  template <class V>
  WARPLOOM_INLINE void at(int64_t x) const {
    const V d = fetch<V>(high + x) - fetch<V>(low + x);
    const V along_x = (after<V>(low, x, nx) - before<V>(low, x)) + (after<V>(high, x, nx) - before<V>(high, x));
    const V third = (fetch<V>(low_after + x) - fetch<V>(low_before + x)) + (fetch<V>(high_after + x) - fetch<V>(high_before + x));
    put(out + x, face_flux(d, face_square(d, along_x, third, V(eps16))));
  }
};

/// Fluxes along x: out[x] from x to x + 1.
template <class R>
struct FluxAlong {
  const R *here, *y_before, *y_after, *z_before, *z_after;
  R eps16;
  R* out;
  int64_t nx;
  template <class V>
  WARPLOOM_INLINE void at(int64_t x) const {
    const V d = after<V>(here, x, nx) - fetch<V>(here + x);
    const V y = (fetch<V>(y_after + x) - fetch<V>(y_before + x)) + (after<V>(y_after, x, nx) - after<V>(y_before, x, nx));
    const V z = (fetch<V>(z_after + x) - fetch<V>(z_before + x)) + (after<V>(z_after, x, nx) - after<V>(z_before, x, nx));
    put(out + x, face_flux(d, face_square(d, y, z, V(eps16))));
  }
};

/// Adds up the fluxes of a row and writes the result; low_z receives high_z.
template <class R, bool kFlow>
struct Collect {
  const R *along_x, *low_y, *high_y, *high_z;  ///< along_x[-1]: zero
  R* low_z;
  const R *u, *f;
  R weight4, dt;
  R* result;
  template <class V>
  WARPLOOM_INLINE void at(int64_t x) const {
    const V z = fetch<V>(high_z + x);
    const V quarter = flux_sum<V>(fetch<V>(along_x + x) - fetch<V>(along_x + x - 1), fetch<V>(high_y + x) - fetch<V>(low_y + x),
        z - fetch<V>(low_z + x));
    put(low_z + x, z);
    if constexpr (kFlow) put(result + x, flow_step(fetch<V>(u + x), fetch<V>(f + x), quarter, V(weight4), V(dt)));
    else put(result + x, V(R(4)) * quarter);
  }
};

template <class R>
void flux_between(const CurvaturePlane<R>& p) {
  for (int64_t y = 0; y < p.ny; ++y) {
    const int64_t row = y * p.nx, before = (y > 0 ? y - 1 : y) * p.nx, after = (y + 1 < p.ny ? y + 1 : y) * p.nx;
    along<R>(p.nx, FluxRows<R>{p.below + row, p.below + before, p.below + after, p.here + row, p.here + before, p.here + after, p.eps16,
                               p.low_z + row, p.nx});
  }
}

template <class R, bool kFlow>
void curvature_rows(const CurvaturePlane<R>& p) {
  R *low_y = p.rows, *high_y = p.rows + p.nx, *const high_z = p.rows + 2 * p.nx, *const along_x = p.rows + 3 * p.nx + 1;
  along_x[-1] = 0;
  for (int64_t x = 0; x < p.nx; ++x) low_y[x] = 0;
  for (int64_t y = 0; y < p.ny; ++y) {
    const int64_t row = y * p.nx, before = (y > 0 ? y - 1 : y) * p.nx, after = (y + 1 < p.ny ? y + 1 : y) * p.nx;
    along<R>(p.nx, FluxRows<R>{p.here + row, p.below + row, p.above + row, p.here + after, p.below + after, p.above + after, p.eps16,
        high_y, p.nx});
    along<R>(p.nx, FluxRows<R>{p.here + row, p.here + before, p.here + after, p.above + row, p.above + before, p.above + after, p.eps16,
        high_z, p.nx});
    along<R>(p.nx, FluxAlong<R>{p.here + row, p.here + before, p.here + after, p.below + row, p.above + row, p.eps16, along_x, p.nx});
    along<R>(p.nx, Collect<R, kFlow>{along_x, low_y, high_y, high_z, p.low_z + row, p.here + row, kFlow ? p.f + row : nullptr, p.weight4,
        p.dt,
                                     p.result + row});
    R* const next = low_y;
    low_y = high_y;
    high_y = next;
  }
}
template <class R>
void curvature_plane(const CurvaturePlane<R>& p, bool flow) {
  if (flow) curvature_rows<R, true>(p);
  else curvature_rows<R, false>(p);
}

/// The same coefficients in every lane.
template <class V, class R>
WARPLOOM_INLINE TvStep<V> spread(const TvStep<R>& s) {
  return {V(s.keep), V(s.pull), V(s.data), V(s.rise), V(s.tau), V(s.theta), V(s.s)};
}

template <class R, bool kImpulse>
struct Primal {
  const PrimalRow<R>& p;
  TvStep<R> step;
  TvStep<Vector<R>> steps;
  template <class V>
  WARPLOOM_INLINE const auto& step_of() const {
    if constexpr (sizeof(V) == sizeof(R)) return step;
    else return steps;
  }
  template <class V>
  WARPLOOM_INLINE void at(int64_t x) const {
    const V rise = divergence<V>(fetch<V>(p.x + x) - before_or_zero<V>(p.x, x), fetch<V>(p.y + x) - fetch<V>(p.y_before + x),
                                 fetch<V>(p.z + x) - fetch<V>(p.z_before + x), V(p.yx), V(p.zx));
    const V u = fetch<V>(p.u + x), next = primal_step<kImpulse>(step_of<V>(), u, fetch<V>(p.f + x), rise);
    put(p.u + x, next);
    put(p.bar + x, extrapolated(step_of<V>(), next, u));
  }
};
template <class R>
void primal_row(const PrimalRow<R>& p, bool impulse) {
  const TvStep<R> step = *p.step;
  const auto steps = spread<Vector<R>>(step);
  if (impulse) along<R>(p.nx, Primal<R, true>{p, step, steps});
  else along<R>(p.nx, Primal<R, false>{p, step, steps});
}

template <class R>
struct Dual {
  const DualRow<R>& p;
  template <class V>
  WARPLOOM_INLINE void at(int64_t x) const {
    using portable::fma;
    const V sx(p.s[0]), sy(p.s[1]), sz(p.s[2]);
    V square(R(0)), vx, vy, vz;
    for (int64_t c = 0; c < p.channels; ++c) {
      const int64_t i = c * p.bar_stride + x, q = c * p.q_stride + x, y = c * p.y_stride + x;
      const V here = fetch<V>(p.bar + i);
      vx = fma(sx, denoising::after<V>(p.bar + c * p.bar_stride, x, p.nx) - here, fetch<V>(p.x + q));
      vy = fma(sy, fetch<V>(p.after + i) - here, fetch<V>(p.y + y));
      vz = fma(sz, fetch<V>(p.above + i) - here, fetch<V>(p.z + q));
      square = add_square(square, vx, vy, vz);
      if (p.channels == 1) break;
      put(p.x + q, vx);
      put(p.y + y, vy);
      put(p.z + q, vz);
    }
    const V shrink = shrinking(square);
    if (p.channels == 1) {
      put(p.x + x, vx * shrink);
      put(p.y + x, vy * shrink);
      put(p.z + x, vz * shrink);
      return;
    }
    for (int64_t c = 0; c < p.channels; ++c) {
      const int64_t q = c * p.q_stride + x, y = c * p.y_stride + x;
      put(p.x + q, fetch<V>(p.x + q) * shrink);
      put(p.y + y, fetch<V>(p.y + y) * shrink);
      put(p.z + q, fetch<V>(p.z + q) * shrink);
    }
  }
};
template <class R>
void dual_row(const DualRow<R>& p) {
  along<R>(p.nx, Dual<R>{p});
}

/// A vector's numbers, or one, as float64.
template <class V, class R>
struct Wide {
  using Number = std::conditional_t<sizeof(V) == sizeof(R), double, Vector<double>>;
  static constexpr int kCount = sizeof(V) == sizeof(R) || sizeof(R) == 8 ? 1 : 2;
  Number part[kCount];
  WARPLOOM_INLINE explicit Wide(const V& value) {
    if constexpr (sizeof(V) == sizeof(R)) {
      part[0] = static_cast<double>(value);
    } else if constexpr (sizeof(R) == 8) {
      part[0] = value;
    } else {
      typedef float Half __attribute__((vector_size(WARPLOOM_VECTOR_BYTES / 2)));
      for (int h = 0; h < 2; ++h) {
        Half half;
        __builtin_memcpy(&half, reinterpret_cast<const char*>(&value.v) + h * sizeof(Half), sizeof(Half));
        part[h] = Number(__builtin_convertvector(half, typename RegisterOf<double>::Lanes));
      }
    }
  }
};

template <class R, bool kImpulse>
struct Energy {
  const EnergyRow<R>& p;

  template <class V>
  WARPLOOM_INLINE void at(int64_t x) const {
    using Many = Wide<V, R>;
    using D = typename Many::Number;
    constexpr int kCount = Many::kCount, kStep = kCount == 2 || sizeof(V) > sizeof(R) ? kWidth<double> : 1;
    double* const lanes = p.lanes + (x & 31);
    V square(R(0));
    for (int64_t c = 0; c < p.channels; ++c) {
      const int64_t i = c * p.points + x;
      const V here = fetch<V>(p.u + i);
      square = add_square(square, V(p.weights->x) * (denoising::after<V>(p.u + c * p.points, x, p.nx) - here),
                          V(p.weights->y) * (fetch<V>(p.after + i) - here), V(p.weights->z) * (fetch<V>(p.above + i) - here));
      const Many u(here), f(fetch<V>(p.f + i));
      for (int k = 0; k < kCount; ++k) add(lanes + 32 + k * kStep, data_energy<kImpulse>(u.part[k], f.part[k]));
      if (p.flow) continue;
      const V z = p.z == nullptr ? V(R(0)) : fetch<V>(p.z + i) - fetch<V>(p.z_before + c * p.z_stride + x);
      const Many rise(divergence<V>(fetch<V>(p.x + i) - before_or_zero<V>(p.x + c * p.points, x),
                                    fetch<V>(p.y + i) - fetch<V>(p.y_before + c * p.y_stride + x), z, V(p.weights->yx), V(p.weights->zx)));
      for (int k = 0; k < kCount; ++k) {
        add(lanes + 64 + k * kStep, dual_energy<kImpulse>(TvBounds<D>{D(p.least), D(p.most)}, f.part[k], D(p.weight) * rise.part[k]));
      }
    }
    const Many length(length_of(square, R(0)));
    for (int k = 0; k < kCount; ++k) add(lanes + k * kStep, length.part[k]);
  }
  template <class D>
  static WARPLOOM_INLINE void add(double* lanes, const D& value) {
    put(lanes, fetch<D>(lanes) + value);
  }
  void run() const {
    int64_t x = p.begin;
    for (; x + kWidth<R> <= p.end; x += kWidth<R>) at<Vector<R>>(x);
    for (; x < p.end; ++x) at<R>(x);
  }
};
template <class R>
void energy_row(const EnergyRow<R>& p) {
  if (p.impulse) Energy<R, true>{p}.run();
  else Energy<R, false>{p}.run();
}

}  // namespace denoising

template <class R>
DenoiseKernels<R> denoise_kernels_of() {
  return {kWidth<R>, &denoising::flux_between<R>, &denoising::curvature_plane<R>, &denoising::primal_row<R>, &denoising::dual_row<R>,
          &denoising::energy_row<R>};
}

}  // namespace warploom::cpu::WARPLOOM_ISA
