// imaging.denoise on the cpu backend.
#include "cuda/imaging/denoise.h"

#include <atomic>
#include <chrono>
#include <cstring>

#include "cuda/core/operations.h"
#include "cuda/imaging/denoise_driver.h"
#include "native/imaging/curvature_march.h"
#include "native/imaging/quiet.h"

namespace warploom::cpu {
namespace {

using namespace ::warploom::imaging;

/// Extrapolated planes that a slab keeps.
constexpr int64_t kSlabEdges = 4;
/// Sizes of the workspace, in elements of R unless said otherwise.
struct Sizes {
  Grid planes;
  int64_t plane = 1, points = 1, all = 1, axes = 2, stride = 1, groups = 1, depth = 1, slabs = 1;
  int64_t edges = 0;  ///< extrapolated planes at the ends of slabs
  int64_t parts = 0;  ///< bytes
  int64_t bytes = 0;

  static Sizes make(const DenoiseParameters& p, int threads) {
    Sizes s;
    s.planes = as_planes(p.grid);
    s.plane = s.planes.nx * s.planes.ny;
    s.points = points_of(p.grid);
    s.all = s.points * p.channels;
    s.axes = p.grid.nz == 1 ? 2 : 3;
    s.stride = (s.all + 15) / 16 * 16;
    s.groups = p.coupled ? 1 : p.channels;
    s.depth = slab_planes(s.planes.nz, s.plane, s.groups, threads);
    s.slabs = (s.planes.nz + s.depth - 1) / s.depth;
    const bool flow = p.method == DenoiseMethod::flow;
    s.edges = flow ? 0 : kSlabEdges * s.slabs * p.channels * s.plane;
    s.parts = SumShape::make(p.grid.nx, p.grid.ny, p.grid.nz, p.channels).parts * static_cast<int64_t>(sizeof(SurveyPart));
    const int64_t images = flow ? 2 : 1 + s.axes;
    s.bytes = s.parts + (images * s.stride + s.edges) * scalar_bytes(p.type);
    return s;
  }
};

template <class R>
class CpuBackend final : public DenoiseBackend {
 public:
  CpuBackend(CpuDevice& device, const DenoiseParameters& p, const Sizes& sizes, const Workspace& workspace, const Control& control)
      : device_(device), p_(p), s_(sizes), kernels_(imaging_kernels<R>().denoise), control_(control),
          flow_(p.method == DenoiseMethod::flow),
        group_(p.coupled ? p.channels : 1), f_(static_cast<const R*>(p.image.data) + p.image.offset), parts_(workspace.as<void>()),
        axes_(weights_of(p.grid, p.spacing)), weights_(tv_weights<R>(axes_)) {
    u_[0] = workspace.as<R>(sizes.parts);
    u_[1] = q_ = u_[0] + sizes.stride;
    edges_ = q_ + sizes.axes * sizes.stride;
  }

  Status survey(SurveyPart* out) override {
    const SumShape shape = SumShape::make(p_.grid.nx, p_.grid.ny, p_.grid.nz, p_.channels);
    return sum<SurveyPart>(shape, out, [&](int64_t r, int64_t begin, int64_t end, SurveyPart* lanes) {
      const R* const row = f_ + r * p_.grid.nx;
      for (int64_t x = begin; x < end; ++x) lanes[x % kSumLanes].take(static_cast<double>(row[x]));
    });
  }

  Status count_details(double limit, int64_t* all, int64_t* below) override {
    const DetailShape shape = DetailShape::make(p_.grid.nx, p_.grid.ny, p_.grid.nz, p_.channels);
    constexpr int64_t kPiece = 16384;
    std::atomic<int64_t> counts[2] = {};
    WARPLOOM_TRY(device_.threads().run((shape.count + kPiece - 1) / kPiece, [&](int64_t piece, int) {
      int64_t some = 0, few = 0;
      for (int64_t i = piece * kPiece; i < std::min(shape.count, (piece + 1) * kPiece); ++i) {
        const double magnitude = detail_at(f_, shape, i);
        some += magnitude == magnitude ? 1 : 0;
        few += magnitude <= limit ? 1 : 0;
      }
      counts[0] += some;
      counts[1] += few;
      return Status();
    }, control_));
    *all = counts[0];
    *below = counts[1];
    return {};
  }

  Status begin(const DenoiseState& state, const std::vector<TvStep<double>>& steps, const TvBounds<double>& bounds, double fill,
      bool first) override {
    weight_ = state.weight;
    bounds_ = bounds;
    steps_.clear();
    for (const auto& s : steps) {
      steps_.push_back({static_cast<R>(s.keep), static_cast<R>(s.pull), static_cast<R>(s.data), static_cast<R>(s.rise),
          static_cast<R>(s.tau),
                        static_cast<R>(s.theta), static_cast<R>(s.s)});
    }
    if (!first) return {};
    for (int64_t i = 0; i < s_.all; ++i) u_[0][i] = f_[i] == f_[i] ? f_[i] : static_cast<R>(fill);
    if (!flow_) std::fill(q_, q_ + s_.axes * s_.stride, R(0));
    return {};
  }

  Status run(DenoiseState* state, DenoiseEntry* history) override {
    const int64_t end = std::min(state->limit, state->iterations + state->check_every);
    for (int64_t k = state->iterations; k < end;) {
      const bool twice = !flow_ && k + 1 < end;
      WARPLOOM_TRY(flow_ ? flow_step(k) : twice ? iterate_twice(k) : iterate(k));
      k += twice ? 2 : 1;
    }
    TvPart part;
    WARPLOOM_TRY(energies(end, &part));
    judge(*state, part, history);
    result_ = u_[flow_ ? end & 1 : 0];
    return {};
  }
  const R* result() const { return result_; }

 private:
  Status flow_step(int64_t k) {
    CurvatureCall<R> call;
    call.grid = p_.grid;
    call.channels = p_.channels;
    call.group = group_;
    call.u = u_[k & 1];
    call.result = u_[1 - (k & 1)];
    call.eps16 = static_cast<R>(16 * p_.eps);
    call.axes = axis_factors<R>(p_.grid, p_.spacing);
    call.even = is_even(p_.grid, p_.spacing);
    call.flow = true;
    call.f = f_;
    call.weight4 = static_cast<R>(4 * weight_);
    call.dt = static_cast<R>(p_.dt != 0 ? p_.dt : stable_step(p_, weight_));
    return group_ > 1 || !call.even ? direct_curvature(device_, call, control_) : march_curvature(device_, call, control_);
  }

  /// Component c of q along an axis in plane z.
  const R* q_at(int64_t axis, int64_t c, int64_t z) const { return q_ + axis * s_.stride + c * s_.points + z * s_.plane; }

  /// The image's step in plane z of component c. zero: a row of zeros.
  void primal(const TvStep<R>& step, int64_t c, int64_t z, R* bar, const R* zero) const {
    const Grid& g = s_.planes;
    const int64_t at = c * s_.points + z * s_.plane, along = s_.axes - 1;
    for (int64_t y = 0; y < g.ny; ++y) {
      const int64_t row = y * g.nx;
      PrimalRow<R> p;
      p.nx = g.nx;
      p.step = &step;
      p.yx = weights_.yx;
      p.zx = s_.axes == 2 ? weights_.yx : weights_.zx;
      p.f = f_ + at + row;
      p.u = u_[0] + at + row;
      p.x = q_at(0, c, z) + row;
      p.y = s_.axes == 2 ? zero : q_at(1, c, z) + row;
      p.y_before = s_.axes == 2 || y == 0 ? zero : p.y - g.nx;
      p.z = q_at(along, c, z) + row;
      p.z_before = z == 0 ? zero : q_at(along, c, z - 1) + row;
      p.bar = bar + row;
      kernels_.primal_row(p, p_.noise == NoiseKind::impulse);
    }
  }
  /// The dual variable's step in plane z, for the components from c on; bars hold `group_` planes each.
  void dual(const TvStep<R>& step, int64_t c, int64_t z, const R* bar, const R* above, R* zero) const {
    const Grid& g = s_.planes;
    for (int64_t y = 0; y < g.ny; ++y) {
      const int64_t row = y * g.nx;
      DualRow<R> p;
      p.nx = g.nx;
      p.channels = group_;
      p.q_stride = s_.points;
      p.y_stride = s_.axes == 2 ? 0 : s_.points;
      p.bar_stride = s_.plane;
      p.s[0] = step.s * weights_.x;
      p.s[1] = step.s * weights_.y;
      p.s[2] = step.s * (s_.axes == 2 ? weights_.y : weights_.z);
      p.bar = bar + row;
      p.after = y + 1 < g.ny ? bar + row + g.nx : p.bar;
      p.above = above + row;
      p.x = const_cast<R*>(q_at(0, c, z)) + row;
      p.y = const_cast<R*>(q_at(1, c, z)) + row;
      p.z = const_cast<R*>(q_at(s_.axes - 1, c, z)) + row;
      if (s_.axes == 2) p.y = zero;
      kernels_.dual_row(p);
    }
  }

  /// Planes z0 … z1 - 1 of the components that share a norm: the work of one thread. `own`: the thread's scratch
  /// planes, `zero`: a row of zeros.
  struct Slab {
    int64_t group, index, first, z0, z1;
    R *own, *zero;
  };
  /// Extrapolated planes that other slabs or later passes need: from the first iteration plane z0; from the second the
  /// planes z0, z0 + 1 and z1 - 1.
  enum Edge { kFirst, kSecond, kSecondNext, kSecondLast };
  R* edge(const Slab& s, Edge which, int64_t later = 0) const {
    return edges_ + ((s.group * s_.slabs + s.index + later) * kSlabEdges + which) * group_ * s_.plane;
  }
  template <class Body>
  Status each_slab(const Body& body) {
    const int64_t planes = group_ * s_.plane;
    WARPLOOM_TRY(device_.reserve_scratch((4 * planes + s_.planes.nx) * static_cast<int64_t>(sizeof(R))));
    return device_.threads().run(s_.groups * s_.slabs, [&](int64_t task, int worker) {
      Slab s;
      s.group = task / s_.slabs;
      s.index = task - s.group * s_.slabs;
      s.first = s.group * group_;
      s.z0 = s.index * s_.depth;
      s.z1 = std::min(s_.planes.nz, s.z0 + s_.depth);
      s.own = static_cast<R*>(device_.scratch(worker));
      s.zero = s.own + 4 * planes;
      std::fill(s.zero, s.zero + s_.planes.nx, R(0));
      body(s);
      return Status();
    }, control_);
  }
  void primal_planes(const TvStep<R>& step, const Slab& s, int64_t z, R* bar) const {
    for (int64_t c = 0; c < group_; ++c) primal(step, s.first + c, z, bar + c * s_.plane, s.zero);
  }
  /// The plane above the slab's last one, which the dual step of that last plane reads.
  const R* above_last(const Slab& s, Edge which, const R* bar) const { return s.z1 < s_.planes.nz ? edge(s, which, 1) : bar; }
  const TvStep<R>& step_of(int64_t k) const { return steps_.size() == 1 ? steps_[0] : steps_[static_cast<size_t>(k)]; }

  /// One iteration. Each plane of q is updated right after the image plane above it. The step of each slab's first
  /// image plane runs before any slab changes q; the slab's edge keeps the extrapolated plane.
  Status iterate(int64_t k) {
    const TvStep<R> step = step_of(k);
    WARPLOOM_TRY(each_slab([&](const Slab& s) { primal_planes(step, s, s.z0, edge(s, kFirst)); }));
    return each_slab([&](const Slab& s) { sweep(step, s, [](int64_t) {}); });
  }
  /// One iteration over the planes of a slab; `behind(z)` runs after the dual step of plane z.
  template <class Behind>
  void sweep(const TvStep<R>& step, const Slab& s, const Behind& behind) {
    const R* bar = edge(s, kFirst);
    for (int64_t z = s.z0; z < s.z1; ++z) {
      const R* above = above_last(s, kFirst, bar);
      if (z + 1 < s.z1) {
        R* const next = s.own + (z & 1) * group_ * s_.plane;
        primal_planes(step, s, z + 1, next);
        above = next;
      }
      dual(step, s.first, z, bar, above, s.zero);
      bar = above;
      behind(z);
    }
  }

  /// Two iterations in one sweep, the second a plane behind the first, so that their inputs are read from memory once.
  /// In the second iteration, the slab's first plane and the dual steps of its outermost planes need planes of other
  /// slabs; they run afterwards.
  Status iterate_twice(int64_t k) {
    const TvStep<R> step = step_of(k), second = step_of(k + 1);
    const int64_t planes = group_ * s_.plane;
    const auto bar_of = [&](const Slab& s, int64_t z) {
      return z == s.z0 + 1 ? edge(s, kSecondNext) : z == s.z1 - 1 ? edge(s, kSecondLast) : s.own + (2 + (z & 1)) * planes;
    };
    WARPLOOM_TRY(each_slab([&](const Slab& s) { primal_planes(step, s, s.z0, edge(s, kFirst)); }));
    WARPLOOM_TRY(each_slab([&](const Slab& s) {
      sweep(step, s, [&](int64_t z) {
        if (z == s.z0) return;
        primal_planes(second, s, z, bar_of(s, z));
        if (z - 1 > s.z0) dual(second, s.first, z - 1, bar_of(s, z - 1), bar_of(s, z), s.zero);
      });
    }));
    WARPLOOM_TRY(each_slab([&](const Slab& s) { primal_planes(second, s, s.z0, edge(s, kSecond)); }));
    return each_slab([&](const Slab& s) {
      const R* last = edge(s, kSecond);
      if (s.z1 - s.z0 > 1) {
        dual(second, s.first, s.z0, last, edge(s, kSecondNext), s.zero);
        last = bar_of(s, s.z1 - 1);
      }
      dual(second, s.first, s.z1 - 1, last, above_last(s, kSecond, last), s.zero);
    });
  }

  /// The energies after `count` iterations.
  Status energies(int64_t count, TvPart* out) {
    const Grid& g = p_.grid;
    const SumShape shape = SumShape::make(g.nx, g.ny, g.nz, p_.channels / group_);
    const std::vector<R> zeros(static_cast<size_t>(g.nx), R(0));
    return sum<TvPart>(shape, out, [&](int64_t r, int64_t begin, int64_t end, TvPart* lanes) {
      const int64_t rows = g.ny * g.nz, group = r / rows, row = r - group * rows, z = row / g.ny, y = row - z * g.ny;
      const int64_t at = group * group_ * s_.points + row * g.nx;
      EnergyRow<R> e{};
      e.nx = g.nx;
      e.begin = begin;
      e.end = end;
      e.channels = group_;
      e.points = s_.points;
      e.impulse = p_.noise == NoiseKind::impulse;
      e.flow = flow_;
      e.weight = weight_ * axes_.x;
      e.weights = &weights_;
      e.least = bounds_.least;
      e.most = bounds_.most;
      e.u = u_[flow_ ? count & 1 : 0] + at;
      e.after = y + 1 < g.ny ? e.u + g.nx : e.u;
      e.above = z + 1 < g.nz ? e.u + g.nx * g.ny : e.u;
      e.f = f_ + at;
      if (!flow_) {
        e.x = q_ + at;
        e.y = q_ + s_.stride + at;
        e.y_before = y > 0 ? e.y - g.nx : zeros.data();
        e.y_stride = y > 0 ? s_.points : 0;
        if (g.nz > 1) {
          e.z = q_ + 2 * s_.stride + at;
          e.z_before = z > 0 ? e.z - g.nx * g.ny : zeros.data();
          e.z_stride = z > 0 ? s_.points : 0;
        }
      }
      double sums[3 * kSumLanes];
      for (int l = 0; l < kSumLanes; ++l) {
        sums[l] = lanes[l].variation;
        sums[kSumLanes + l] = lanes[l].data;
        sums[2 * kSumLanes + l] = lanes[l].dual;
      }
      e.lanes = sums;
      kernels_.energy_row(e);
      for (int l = 0; l < kSumLanes; ++l) lanes[l] = {sums[l], sums[kSumLanes + l], sums[2 * kSumLanes + l]};
    });
  }

  /// A sum in the order of tv_sums.h; add_row(row, begin, end, lanes).
  template <class Part, class AddRow>
  Status sum(const SumShape& s, Part* out, const AddRow& add_row) {
    Part* const parts = static_cast<Part*>(parts_);
    constexpr int64_t kPiece = 8;
    WARPLOOM_TRY(device_.threads().run((s.parts + kPiece - 1) / kPiece, [&](int64_t piece, int) {
      for (int64_t i = piece * kPiece; i < std::min(s.parts, (piece + 1) * kPiece); ++i) {
        const int64_t rows = i / s.segments, first = (i - rows * s.segments) * kSumWidth, end = std::min(s.nx, first + kSumWidth);
        Part lanes[kSumLanes];
        for (int64_t r = rows * kSumRows; r < std::min(s.rows, (rows + 1) * kSumRows); ++r) add_row(r, first, end, lanes);
        combine(lanes, kSumLanes);
        parts[i] = lanes[0];
      }
      return Status();
    }, control_));
    Part lanes[kListLanes];
    for (int l = 0; l < kListLanes; ++l) {
      for (int64_t i = l; i < s.parts; i += kListLanes) lanes[l].add(parts[i]);
    }
    combine(lanes, kListLanes);
    *out = lanes[0];
    return {};
  }
  template <class Part>
  static void combine(Part* lanes, int count) {
    for (int distance = count / 2; distance > 0; distance /= 2) {
      for (int l = 0; l < distance; ++l) lanes[l].add(lanes[l + distance]);
    }
  }

  CpuDevice& device_;
  const DenoiseParameters& p_;
  const Sizes& s_;
  const DenoiseKernels<R>& kernels_;
  Quiet control_;
  const bool flow_;
  const int64_t group_;  ///< components that share a norm
  const R* f_;
  void* parts_;
  R *u_[2], *q_, *edges_;
  const R* result_ = nullptr;
  std::vector<TvStep<R>> steps_;
  TvBounds<double> bounds_{};
  double weight_ = 0;
  const AxisWeights axes_;
  const TvWeights<R> weights_;
};

template <class R>
Status run_denoise(CpuDevice& device, const DenoiseParameters& p, Control& control) {
  const Sizes sizes = Sizes::make(p, device.thread_count());
  Workspace workspace(device);
  WARPLOOM_TRY(workspace.reserve(sizes.bytes));
  CpuBackend<R> backend(device, p, sizes, workspace, control);
  WARPLOOM_TRY(denoise(p, backend, control));
  return device.copy(static_cast<R*>(p.result.data) + p.result.offset, backend.result(), sizes.all * static_cast<int64_t>(sizeof(R)));
}

}  // namespace

Status imaging_denoise(Device& device, const DenoiseParameters& p, Control& control) {
  if (p.variant == DenoiseVariant::direct) return {Code::unsupported, "variant direct needs a GPU; the cpu backend has march", "variant"};
  const auto start = std::chrono::steady_clock::now();
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  WARPLOOM_TRY(p.type == ScalarType::float32 ? run_denoise<float>(cpu, p, control) : run_denoise<double>(cpu, p, control));
  if (p.report != nullptr) p.report->variant = DenoiseVariant::march;
  control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

int64_t imaging_denoise_workspace(const Device& device, const DenoiseParameters& p) {
  return Sizes::make(p, static_cast<const CpuDevice&>(device).thread_count()).bytes;
}

}  // namespace warploom::cpu
