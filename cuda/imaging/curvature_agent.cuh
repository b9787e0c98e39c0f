// The variants `direct` and `march` of imaging.curvature, and the curvature flow step built on them.
#pragma once
#include "cuda/imaging/curvature_march.cuh"
#include "cuda/imaging/curvature_point.h"
#include "cuda/imaging/curvature_policy.h"
#include "cuda/imaging/denoise_state.h"

namespace warploom::WARPLOOM_TARGET::imaging {

namespace operation = ::warploom::imaging;

template <class T>
struct CurvatureTask {
  T* u = nullptr;  ///< the image; written only by the flow
  T* result = nullptr;
  T eps16 = 0;  ///< 16 eps
  ::warploom::imaging::AxisFactors<T> axes;  ///< for `direct`
  bool even = true;                          ///< all factors are 1
  MarchShape shape;
  int64_t channels = 1;  ///< of a coupled image, for `direct`
  // Only for the flow, which goes from u to result in even iterations and back in odd ones:
  const T* f = nullptr;
  T weight4 = 0, dt = 0;
  const operation::DenoiseState* state = nullptr;
  int64_t ahead = 0;  ///< iterations since state->iterations
};

/// The iteration of a launch, or -1 if none is left.
WARPLOOM_DEVICE int64_t iteration_of(const operation::DenoiseState* state, int64_t ahead) {
  const int64_t iteration = state->iterations + ahead;
  return state->stopped != 0 || iteration >= state->limit ? -1 : iteration;
}

/// The arrays that a launch reads and writes.
template <class T, bool kFlow>
struct FromTo {
  const T* from;
  T* to;
  bool idle = false;
  WARPLOOM_DEVICE explicit FromTo(const CurvatureTask<T>& p) : from(p.u), to(p.result) {
    if constexpr (kFlow) {
      const int64_t iteration = iteration_of(p.state, p.ahead);
      idle = iteration < 0;
      if ((iteration & 1) != 0) {
        from = p.result;
        to = p.u;
      }
    }
  }
};

/// Uses a curvature: stores it, or makes a step of the flow.
template <class T, bool kFlow>
WARPLOOM_DEVICE T finished(const CurvatureTask<T>& p, const T& quarter, const T& u, const T& f) {
  if constexpr (kFlow) return operation::flow_step(u, f, quarter, p.weight4, p.dt);
  else return T(4) * quarter;
}

/// One thread per point. kEven: points are equally far apart along all axes.
template <class T, bool kFlow, bool kEven>
struct CurvatureDirectAgent {
  static constexpr int kMaxThreads = operation::curvature_policy::kDirectThreads, kMinBlocks = 2;
  static constexpr bool kOverlapped = kFlow;
  using Parameters = CurvatureTask<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    if constexpr (kFlow) device::follow_previous_launch();
    const FromTo<T, kFlow> images(p);
    if (images.idle) return;
    if constexpr (kEven) points(block, p, images, operation::EvenAxes());
    else points(block, p, images, p.axes);
  }

 private:
  template <class Axes>
  static WARPLOOM_DEVICE void points(const device::Block& block, const Parameters& p, const FromTo<T, kFlow>& images, const Axes& axes) {
    const MarchShape& s = p.shape;
    const int64_t index = block.index() * block.threads() + block.thread(), group = index / s.points, at = index - group * s.points;
    if (group >= s.chunks) return;
    const int64_t row = at / s.nx, plane = row / s.ny;
    const int64_t first = group * p.channels, i[3] = {at - row * s.nx, row - plane * s.ny, plane}, extent[3] = {s.nx, s.ny, s.nz};
    const auto around = operation::Surroundings<T>::at(images.from + first * s.points, s.points, i, extent);
    const auto squares = operation::face_squares(around, p.channels, p.eps16, axes);
    for (int64_t c = 0; c < p.channels; ++c) {
      const T quarter = operation::quarter_curvature(around, c, squares, axes);
      const int64_t place = (first + c) * s.points + at;
      images.to[place] = finished<T, kFlow>(p, quarter, images.from[place], kFlow ? p.f[place] : T(0));
    }
  }
};

/// A thread's patch in one plane, with its surroundings: column j holds x0 + j - 1, row i holds y0 + i - kHalo.
template <class T, int kAll>
struct Patch {
  static constexpr int kWide = 16 / static_cast<int>(sizeof(T));
  T v[kAll][kWide + 2];
};

/// The march. kPlanar: the grid has one row per plane, an image.
template <class T, bool kPlanar, bool kPacked, bool kFlow>
class CurvatureMarch {
  static constexpr int kRows = kPlanar ? 1 : operation::curvature_policy::march_rows(kFlow);
  static constexpr int kHalo = kPlanar ? 0 : 1, kAll = kRows + 2 * kHalo;
  using Place = MarchPlace<T, kRows, kPacked>;
  static constexpr int kWide = Place::kWide;
  using P = Patch<T, kAll>;

 public:
  WARPLOOM_DEVICE CurvatureMarch(const device::Block& block, const CurvatureTask<T>& p, const FromTo<T, kFlow>& images)
      : p_(p), place_(block, p.shape) {
    WARPLOOM_UNROLL
    for (int i = 0; i < kAll; ++i) {
      const int nx = p.shape.nx, row = held(place_.y0 + i - kHalo, p.shape.ny) * nx;
      own_[i] = place_.places(row, nx);
      left_[i] = row + held(place_.x0 - 1, nx);
      right_[i] = row + held(place_.x0 + kWide, nx);
    }
    plane_ = static_cast<int64_t>(p.shape.nx) * p.shape.ny;
    next_ = images.from + place_.origin + held(place_.z0 - 1, p.shape.nz) * plane_;
    out_ = images.to + place_.origin + place_.z0 * plane_;
    if (kFlow) f_ = p.f + place_.origin + place_.z0 * plane_;
  }
  WARPLOOM_DEVICE bool idle() const { return place_.idle; }

  WARPLOOM_DEVICE void run() {
    const int z0 = place_.z0, z1 = place_.z1;
    P a, b, c;
    load(z0, a);
    load(z0 + 1, b);
    load(z0 + 2, c);
    WARPLOOM_UNROLL
    for (int r = 0; r < kRows; ++r) along_z(a, b, r + kHalo, low_z_[r]);
    // The three patches rotate without being copied.
    WARPLOOM_NO_UNROLL
    for (int z = z0;; ++z) {
      step(z, a, b, c);
      if (++z == z1) return;
      step(z, b, c, a);
      if (++z == z1) return;
      step(z, c, a, b);
      if (z + 1 == z1) return;
    }
  }

 private:
  /// Loads the plane at next_, which becomes plane z; keeps the old one if none is left.
  WARPLOOM_DEVICE void load(int z, P& plane) {
    WARPLOOM_UNROLL
    for (int i = 0; i < kAll; ++i) {
      place_.load(next_, own_[i], plane.v[i] + 1);
      plane.v[i][0] = next_[left_[i]];
      plane.v[i][kWide + 1] = next_[right_[i]];
    }
    if (z > 0 && z < p_.shape.nz) next_ += plane_;
  }
  WARPLOOM_DEVICE T flux(const T& d, const T& p, const T& q) const {
    return operation::face_flux(d, operation::face_square(d, p, q, p_.eps16));
  }
  /// Differences in row i (of the patch's kAll) along x and along y, at the patch's own values.
  static WARPLOOM_DEVICE T cross_x(const P& plane, int i, int k) { return plane.v[i][k + 2] - plane.v[i][k]; }
  static WARPLOOM_DEVICE T cross_y(const P& plane, int i, int j) {
    if constexpr (kPlanar) return T(0);
    else return plane.v[i + 1][j] - plane.v[i - 1][j];
  }
  /// Fluxes from one plane to the next in row i.
  WARPLOOM_DEVICE void along_z(const P& low, const P& high, int i, T (&out)[kWide]) const {
    WARPLOOM_UNROLL
    for (int k = 0; k < kWide; ++k) {
      out[k] = flux(high.v[i][k + 1] - low.v[i][k + 1], cross_x(low, i, k) + cross_x(high, i, k),
                    cross_y(low, i, k + 1) + cross_y(high, i, k + 1));
    }
  }
  /// Fluxes from row i to the next; `cz`: differences along z.
  WARPLOOM_DEVICE void along_y(const P& here, const P& cz, int i, T (&out)[kWide]) const {
    WARPLOOM_UNROLL
    for (int k = 0; k < kWide; ++k) {
      out[k] = flux(here.v[i + 1][k + 1] - here.v[i][k + 1], cross_x(here, i, k) + cross_x(here, i + 1, k),
                    cz.v[i][k + 1] + cz.v[i + 1][k + 1]);
    }
  }
  /// Fluxes above minus below along x in row i.
  WARPLOOM_DEVICE void along_x(const P& here, const P& cz, int i, T (&out)[kWide]) const {
    T low = 0;
    WARPLOOM_UNROLL
    for (int j = 0; j <= kWide; ++j) {  // from column j to the next
      const T face = flux(here.v[i][j + 1] - here.v[i][j], cross_y(here, i, j) + cross_y(here, i, j + 1), cz.v[i][j] + cz.v[i][j + 1]);
      if (j > 0) out[j - 1] = face - low;
      low = face;
    }
  }

  /// The patch's points in plane z. On return `below` holds the plane after `above`.
  WARPLOOM_DEVICE void step(int z, P& below, const P& here, const P& above) {
    P cz;
    WARPLOOM_UNROLL
    for (int i = 0; i < kAll; ++i) {
      WARPLOOM_UNROLL
      for (int j = 0; j < kWide + 2; ++j) cz.v[i][j] = above.v[i][j] - below.v[i][j];
    }
    load(z + 3, below);
    T low_y[kWide] = {};
    if constexpr (!kPlanar) along_y(here, cz, 0, low_y);
    WARPLOOM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const int i = r + kHalo;
      T f[kWide] = {}, sum_x[kWide], high_y[kWide] = {}, high_z[kWide];
      if constexpr (kFlow) place_.load(f_, own_[i], f);
      along_x(here, cz, i, sum_x);
      if constexpr (!kPlanar) along_y(here, cz, i, high_y);
      along_z(here, above, i, high_z);
      WARPLOOM_UNROLL
      for (int k = 0; k < kWide; ++k) {
        const T quarter = operation::flux_sum(sum_x[k], high_y[k] - low_y[k], high_z[k] - low_z_[r][k]);
        low_y[k] = high_y[k];
        low_z_[r][k] = high_z[k];
        f[k] = finished<T, kFlow>(p_, quarter, here.v[i][k + 1], f[k]);
      }
      if (place_.y0 + r < p_.shape.ny) place_.store(out_, own_[i], p_.shape.nx, f);
    }
    out_ += plane_;
    if (kFlow) f_ += plane_;
  }

  const CurvatureTask<T>& p_;
  const Place place_;
  typename Place::Places own_[kAll];
  int left_[kAll], right_[kAll];  ///< positions in a plane
  int64_t plane_;                 ///< points of a plane
  const T* next_;                 ///< the plane to read next
  T* out_;
  const T* f_ = nullptr;
  T low_z_[kRows][kWide];  ///< fluxes from the last plane to the next one
};

template <class T, bool kPlanar, bool kPacked, bool kFlow>
struct CurvatureMarchAgent {
  static constexpr int kMaxThreads = operation::curvature_policy::kMarchThreads;
  static constexpr int kMinBlocks = operation::curvature_policy::march_blocks(sizeof(T), kPlanar, kFlow, kPacked);
  static constexpr bool kOverlapped = kFlow;
  using Parameters = CurvatureTask<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    if constexpr (kFlow) device::follow_previous_launch();
    const FromTo<T, kFlow> images(p);
    if (images.idle) return;
    CurvatureMarch<T, kPlanar, kPacked, kFlow> march(block, p, images);
    if (!march.idle()) march.run();
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
