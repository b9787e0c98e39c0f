// The variant `march` of primal-dual: one iteration is one pass over memory. A thread makes the image's step for its
// patch and for the points after it along x and y, one plane ahead of the dual variable's step.
#pragma once
#include "cuda/imaging/tv_task.cuh"

namespace warploom::WARPLOOM_TARGET::imaging {

/// kPlanar: an image, whose rows are the planes of the march; q's second component lies along the march.
template <class T, bool kPlanar, bool kPacked>
class TvMarch {
  static constexpr int kRows = kPlanar ? 1 : operation::curvature_policy::kTvRows, kAll = kPlanar ? 1 : kRows + 1;
  using Place = MarchPlace<T, kRows, kPacked>;
  static constexpr int kWide = Place::kWide;
  using Rows = T[kAll][kWide + 1];
  using Own = T[kRows][kWide];

 public:
  WARPLOOM_DEVICE TvMarch(const device::Block& block, const TvTask<T>& p, int64_t iteration)
      : p_(p), place_(block, p.shape), step_(p.step(iteration)), rise_x_(step_.s * p.weights.x),
        rise_y_(step_.s * p.weights.y), rise_z_(step_.s * (kPlanar ? p.weights.y : p.weights.z)), from_(static_cast<int>(iteration & 1)) {
    const int nx = p.shape.nx;
    WARPLOOM_UNROLL
    for (int i = 0; i < kAll; ++i) {
      const int row = held(place_.y0 + i, p.shape.ny) * nx;
      own_[i] = place_.places(row, nx);
      left_[i] = row + held(place_.x0 - 1, nx);
      right_[i] = row + held(place_.x0 + kWide, nx);
    }
    const int row = held(place_.y0 - 1, p.shape.ny) * nx;
    before_ = place_.places(row, nx);
    before_right_ = row + held(place_.x0 + kWide, nx);
    plane_ = static_cast<int64_t>(nx) * p.shape.ny;
    z_ = place_.z0;
    at_ = place_.origin + z_ * plane_;
  }
  WARPLOOM_DEVICE bool idle() const { return place_.idle; }

  WARPLOOM_DEVICE void run() {
    Rows a, b;
    WARPLOOM_UNROLL
    for (int i = 0; i < kAll; ++i) {
      WARPLOOM_UNROLL
      for (int j = 0; j <= kWide; ++j) q_z_[i][j] = 0;
    }
    if (z_ > 0) load(p_.q[from_] + kAlong * p_.total + at_ - plane_, q_z_);
    primal(true, a);
    WARPLOOM_NO_UNROLL
    while (true) {
      if (pass(a, b)) return;
      if (pass(b, a)) return;
    }
  }

 private:
  static constexpr int kAlong = kPlanar ? 1 : 2;  ///< component of q along the march

  WARPLOOM_DEVICE void load(const T* plane, Rows& v) const {
    WARPLOOM_UNROLL
    for (int i = 0; i < kAll; ++i) {
      place_.load(plane, own_[i], v[i]);
      v[i][kWide] = plane[right_[i]];
    }
  }
  /// The components of q across the march, for the patch in the plane at at_, and their part of the divergence.
  WARPLOOM_DEVICE void across(Rows& dx, Rows& dy) {
    const T* const qx = p_.q[from_] + at_;
    WARPLOOM_UNROLL
    for (int i = 0; i < kAll; ++i) {
      T v[kWide + 2];
      v[0] = place_.x0 == 0 ? T(0) : qx[left_[i]];
      place_.load(qx, own_[i], v + 1);
      v[kWide + 1] = qx[right_[i]];
      WARPLOOM_UNROLL
      for (int j = 0; j <= kWide; ++j) dx[i][j] = v[j + 1] - v[j];
      WARPLOOM_UNROLL
      for (int k = 0; k < kWide; ++k) {
        if (i < kRows) q_x_[i < kRows ? i : 0][k] = v[k + 1];
      }
    }
    if constexpr (kPlanar) {
      WARPLOOM_UNROLL
      for (int j = 0; j <= kWide; ++j) dy[0][j] = 0;
    } else {
      const T* const qy = p_.q[from_] + p_.total + at_;
      T low[kWide + 1];
      place_.load(qy, before_, low);
      low[kWide] = qy[before_right_];
      WARPLOOM_UNROLL
      for (int i = 0; i < kAll; ++i) {
        T v[kWide + 1];
        place_.load(qy, own_[i], v);
        v[kWide] = qy[right_[i]];
        WARPLOOM_UNROLL
        for (int j = 0; j <= kWide; ++j) {
          dy[i][j] = v[j] - (i == 0 && place_.y0 == 0 ? T(0) : low[j]);
          low[j] = v[j];
          if (i < kRows && j < kWide) q_y_[i < kRows ? i : 0][j < kWide ? j : 0] = v[j];
        }
      }
    }
  }
  /// The image's step in the plane at at_; stored if the plane belongs to the thread.
  WARPLOOM_DEVICE void primal(bool own, Rows& bar) {
    Rows dx, dy, qz, u, f;
    across(dx, dy);
    load(p_.q[from_] + kAlong * p_.total + at_, qz);
    load(p_.u[from_] + at_, u);
    load(p_.f + at_, f);
    WARPLOOM_UNROLL
    for (int i = 0; i < kAll; ++i) {
      T next[kWide];
      WARPLOOM_UNROLL
      for (int j = 0; j <= kWide; ++j) {
        const T dz = qz[i][j] - q_z_[i][j];
        const T divergence = kPlanar ? operation::divergence(dx[i][j], dz, T(0), p_.weights.yx, p_.weights.zx)
                                      : operation::divergence(dx[i][j], dy[i][j], dz, p_.weights.yx, p_.weights.zx);
        const T value = p_.primal(step_, u[i][j], f[i][j], divergence);
        bar[i][j] = operation::extrapolated(step_, value, u[i][j]);
        q_z_[i][j] = qz[i][j];
        if (j < kWide) next[j < kWide ? j : 0] = value;
      }
      if (own && i < kRows && place_.y0 + i < p_.shape.ny) place_.store(p_.u[1 - from_] + at_, own_[i], p_.shape.nx, next);
    }
  }

  /// The dual variable's step in plane z_, and the image's step in the next plane; true at the end.
  WARPLOOM_DEVICE bool pass(const Rows& bar, Rows& above) {
    Own x, y, z;  // q of this plane
    WARPLOOM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kWide; ++k) {
        x[r][k] = q_x_[r][k];
        y[r][k] = kPlanar ? T(0) : q_y_[r][k];
        z[r][k] = q_z_[r][k];
      }
    }
    const int64_t at = at_;
    const bool last = z_ + 1 == place_.z1;
    if (z_ + 1 < p_.shape.nz) {
      at_ += plane_;
      primal(!last, above);
    } else {
      WARPLOOM_UNROLL
      for (int i = 0; i < kAll; ++i) {
        WARPLOOM_UNROLL
        for (int j = 0; j <= kWide; ++j) above[i][j] = bar[i][j];
      }
    }
    WARPLOOM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kWide; ++k) dual(r, k, bar, above, x[r][k], y[r][k], z[r][k]);
      if (place_.y0 + r >= p_.shape.ny) continue;
      T* const q = p_.q[1 - from_] + at;
      place_.store(q, own_[r], p_.shape.nx, x[r]);
      if constexpr (!kPlanar) place_.store(q + p_.total, own_[r], p_.shape.nx, y[r]);
      place_.store(q + kAlong * p_.total, own_[r], p_.shape.nx, z[r]);
    }
    ++z_;
    return last;
  }
  WARPLOOM_DEVICE void dual(int r, int k, const Rows& bar, const Rows& above, T& x, T& y, T& z) const {
    const T here = bar[r][k];
    const T gx = place_.x0 + k + 1 < p_.shape.nx ? bar[r][k + 1] - here : T(0);
    const T gz = above[r][k] - here;
    x = device::fma(rise_x_, gx, x);
    z = device::fma(rise_z_, gz, z);
    T square;
    if constexpr (kPlanar) {
      square = operation::add_square(T(0), x, z, T(0));
    } else {
      const T gy = place_.y0 + r + 1 < p_.shape.ny ? bar[kPlanar ? 0 : r + 1][k] - here : T(0);
      y = device::fma(rise_y_, gy, y);
      square = operation::add_square(T(0), x, y, z);
    }
    const T shrink = operation::shrinking(square);
    x *= shrink;
    y *= shrink;
    z *= shrink;
  }

  const TvTask<T>& p_;
  const Place place_;
  const operation::TvStep<T> step_;
  const T rise_x_, rise_y_, rise_z_;  ///< steps of q's components; z: along the march
  const int from_;
  typename Place::Places own_[kAll], before_;
  int left_[kAll], right_[kAll], before_right_;
  int64_t plane_, at_;  ///< points of a plane; start of the plane of the image's step
  int z_;               ///< for the dual variable's step
  Rows q_z_;            ///< component along the march, in the last plane that the image's step has visited
  Own q_x_, q_y_;
};

template <class T, bool kPlanar, bool kPacked>
struct TvMarchAgent {
  static constexpr int kMaxThreads = operation::curvature_policy::kMarchThreads;
  static constexpr int kMinBlocks = operation::curvature_policy::tv_blocks(sizeof(T), kPlanar, kPacked);
  static constexpr bool kOverlapped = true;
  using Parameters = TvTask<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    device::follow_previous_launch();
    const int64_t iteration = iteration_of(p.state, p.ahead);
    if (iteration < 0) return;
    TvMarch<T, kPlanar, kPacked> march(block, p, iteration);
    if (!march.idle()) march.run();
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
