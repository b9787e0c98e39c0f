// tridiagonal.solve_factored on a GPU.
#include "cuda/tridiagonal/factor/solve_factored_pivoted.cuh"

#include <algorithm>
#include <cmath>

#include "cuda/core/measuring_device.h"
#include "cuda/linear/summary.cuh"
#include "cuda/tridiagonal/solve_factored.h"
#include "cuda/tridiagonal/factor/factored_policy.h"
#include "cuda/tridiagonal/factor/factored_rows_agent.cuh"
#include "cuda/tridiagonal/factor/solve_factored_segments.cuh"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/periodic/periodic.cuh"
#include "cuda/tridiagonal/verify/verify.cuh"

namespace warploom::WARPLOOM_TARGET {

namespace tridiagonal {

namespace {

using ::warploom::tridiagonal::FactorLayout;
using ::warploom::tridiagonal::factored_shape;
using ::warploom::tridiagonal::PivotingShape;

template <class T>
class FactoredSolve {
 public:
  using Agent = ScanSolveAgent<T>;

  FactoredSolve(GpuDevice& device, const operation::SolveFactoredParameters& p)
      : device_(device), p_(p), layout_(FactorLayout::of(p.type, p.n, factored_systems(p), p.periodic, p.factorisation)) {
    batch_.n = p.n;
    batch_.systems = p.batch;
    batch_.whole_systems = p.slice.whole;
    batch_.rhs_count = p.rhs_count;
    batch_.offsets = p.offsets.data;
    batch_.rhs = strided<T>(p.rhs, batch_.offsets != nullptr);
    batch_.solution = strided<T>(p.solution, batch_.offsets != nullptr);
    batch_.status = p.status.data;
    batch_.row = p.row.data;
  }

  Status run() {
    if (p_.n == 0) {
      LaunchShape shape;
      shape.threads = EmptyAgent::kMaxThreads;
      shape.blocks = (batch_.problems() + shape.threads - 1) / shape.threads;
      return launch<EmptyAgent>(device_, shape,
                                {batch_.problems(), p_.status.data, p_.row.data, p_.backward_error.data});
    }
    WARPLOOM_TRY(make_words(device_, &batch_, &words_));
    if (!p_.check) return solve();
    Batch<T> kept;
    Verification<T> verification;
    WARPLOOM_TRY(prepare_check(&verification, &kept));
    WARPLOOM_TRY(solve());
    Used used;
    return verify(device_, kept, verification, &used);
  }

 private:
  /// The original matrix and right-hand sides.
  Status prepare_check(Verification<T>* verification, Batch<T>* kept) {
    const Bands<T> bands = resolve_bands<T>(p_);
    batch_.lower = bands.lower;
    batch_.diagonal = bands.diagonal;
    batch_.upper = bands.upper;
    verification->tolerance = p_.tolerance;
    verification->backward_error = p_.backward_error.data;
    WARPLOOM_TRY(keep_rhs(device_, batch_, &rhs_, kept));
    if (!p_.periodic) return {};
    Used used;
    WARPLOOM_TRY(Workspace::make(device_, 2 * p_.batch * static_cast<int64_t>(sizeof(T)), &corners_));
    WARPLOOM_TRY(gather_corners(device_, batch_, bands, corners_.as<T>(), &used));
    verification->corners = corners_.as<T>();
    return {};
  }

  Status solve() {
    if (p_.factorisation == operation::Factorisation::pivoted) return pivoted();
    if (takes_rows()) return by_rows();
    const PivotingShape shape = factored_shape(static_cast<int>(sizeof(T)), p_.n);
    ScanSolveParameters<T> p = parameters(shape);
    if (shape.segments == 1) {
      // Enough blocks to fill the device; more would read the factors more often.
      const int64_t groups = (p_.batch + shape.systems - 1) / shape.systems;
      const int64_t wanted = 8 * int64_t{device_.limits().multiprocessors};
      p.rhs_groups = std::max<int64_t>(1, std::min<int64_t>(p_.rhs_count, wanted / groups));
      return launch_scan(shape, groups * p.rhs_groups, p);
    }
    return segmented(shape, p);
  }

  /// Systems of the whole call; slices find their own among them.
  static int64_t factored_systems(const operation::SolveFactoredParameters& p) {
    return p.shared ? 1 : p.slice.whole > 0 ? p.slice.whole : p.batch;
  }
  uint8_t* factors(int64_t at) const { return const_cast<uint8_t*>(p_.factors.data) + at; }
  T* array(int index, int64_t first) const {
    return reinterpret_cast<T*>(factors(0)) + index * layout_.entries + (p_.shared ? 0 : first);
  }
  T* rows(int index) const { return array(index, p_.slice.first_row); }
  int32_t* states() const {
    return reinterpret_cast<int32_t*>(factors(layout_.states_at)) + (p_.shared ? 0 : p_.slice.first);
  }

  Status pivoted() {
    using Solve = PivotedSolveAgent<T>;
    typename Solve::Parameters p;
    p.batch = batch_;
    p.arrays = array(0, p_.slice.first);
    p.choices = reinterpret_cast<int8_t*>(factors(layout_.choices_at)) + (p_.shared ? 0 : p_.slice.first);
    p.states = states();
    p.factored_systems = factored_systems(p_);
    p.periodic = p_.periodic;
    p.shared = p_.shared;
    LaunchShape shape;
    shape.threads = Solve::kMaxThreads;
    shape.blocks = (batch_.problems() + shape.threads - 1) / shape.threads;
    return launch<Solve>(device_, shape, p);
  }

  /// Whether FactoredRowsAgent can solve the call.
  bool takes_rows() const {
    return layout_.border < 0 && lies_in_vectors(batch_) && p_.n <= operation::factored_rows(sizeof(T)) &&
           reinterpret_cast<uintptr_t>(p_.factors.data) % 16 == 0 && batch_.planned_problems() < 1 << 30;
  }
  Status by_rows() {
    constexpr int kDepth = operation::factored_depth(sizeof(T));
    const int lanes = static_cast<int>((p_.n + kDepth - 1) / kDepth);
    FactoredRowsParameters<T> p{};
    p.lower = rows(FactorLayout::kLower);
    p.inverse = rows(FactorLayout::kInverse);
    p.upper = p_.factorisation == operation::Factorisation::regpack ? rows(FactorLayout::kUpper) : nullptr;
    p.states = states();
    p.rhs = batch_.rhs.data;
    p.solution = batch_.solution.data;
    p.rhs_system = batch_.rhs.system_stride;
    p.rhs_side = batch_.rhs.rhs_stride;
    p.solution_system = batch_.solution.system_stride;
    p.solution_side = batch_.solution.rhs_stride;
    p.systems = static_cast<int32_t>(p_.batch);
    p.sides = static_cast<int32_t>(p_.rhs_count);
    p.n = static_cast<int32_t>(p_.n);
    p.width = 1;
    while (p.width < lanes && p.width < 32) p.width = 1 << ++p.width_log2;
    p.shared = p_.shared;
    p.status = batch_.status;
    p.row = batch_.row;
    if (lanes <= 32) return launch_rows<kDepth, 1>(p, 128);
    const int threads = (lanes + 31) / 32 * 32;
    if (lanes <= 64) return launch_rows<kDepth, 2>(p, threads);
    return lanes <= 128 ? launch_rows<kDepth, 4>(p, threads) : launch_rows<kDepth, operation::kFactoredWarps>(p, threads);
  }
  template <int kDepth, int kWarps>
  Status launch_rows(FactoredRowsParameters<T>& p, int threads) {
    using Rows = FactoredRowsAgent<T, kDepth, kWarps>;
    const int multiprocessors = device_.limits().multiprocessors;
    const int64_t lines = p.shared ? batch_.problems() : p_.batch;
    LaunchShape shape;
    shape.threads = threads;
    shape.shared_bytes = Rows::shared_bytes();
    const auto groups = [&] {
      const int slots = kWarps > 1 ? 1 : shape.threads >> p.width_log2;
      return (lines + slots - 1) / slots;
    };
    // If there are few systems, spreads them over more multiprocessors.
    while (kWarps == 1 && shape.threads > 32 && groups() < multiprocessors) shape.threads /= 2;
    // Enough blocks to fill the device; more would read the factors more often.
    const int64_t resident = resident_blocks<Rows>(device_, shape.threads, shape.shared_bytes);
    const int64_t wanted = std::max<int64_t>(1, resident) * multiprocessors;
    const int64_t turns = p.shared ? groups() : p_.rhs_count, matrices = p.shared ? 1 : groups();
    p.turns = static_cast<int32_t>(turns);
    p.shares = static_cast<int32_t>(std::max<int64_t>(1, std::min<int64_t>(turns, wanted / matrices)));
    shape.blocks = matrices * p.shares;
    return launch<Rows>(device_, shape, p);
  }

  ScanSolveParameters<T> parameters(const PivotingShape& shape) const {
    ScanSolveParameters<T> p{};
    p.batch = batch_;
    p.lower = rows(FactorLayout::kLower);
    p.inverse = rows(FactorLayout::kInverse);
    p.upper = p_.factorisation == operation::Factorisation::regpack ? rows(FactorLayout::kUpper) : nullptr;
    p.border = layout_.border >= 0 ? rows(layout_.border) : nullptr;
    p.closing = reinterpret_cast<T*>(factors(layout_.closing_at)) + (p_.shared ? 0 : 3 * p_.slice.first);
    p.states = states();
    p.shared = p_.shared;
    p.mode = ScanMode::whole;
    p.depth = shape.depth;
    p.width = shape.width;
    p.systems = shape.systems;
    p.rhs_groups = 1;
    p.segments = shape.segments;
    p.systems_first = shape.systems > 1 && batch_.offsets == nullptr &&
                      batch_.rhs.row_stride > batch_.rhs.system_stride;
    return p;
  }

  Status launch_scan(const PivotingShape& shape, int64_t blocks, const ScanSolveParameters<T>& p) {
    if (blocks > device_.limits().max_blocks) {
      return Status(Code::unsupported, "too many blocks for one launch of a factored solve", "batch");
    }
    LaunchShape launch_shape;
    launch_shape.blocks = blocks;
    launch_shape.threads = shape.threads();
    launch_shape.shared_bytes = Agent::shared_bytes(shape);
    return launch<Agent>(device_, launch_shape, p);
  }

  /// Computes the value entering every segment.
  Status scan_segments(const ScanSolveParameters<T>& p, T* entering, bool reverse) {
    using Scan = SegmentScanAgent<T>;
    LaunchShape shape;
    shape.blocks = batch_.problems();
    while (shape.threads < Scan::kMaxThreads && shape.threads < p.segments) shape.threads *= 2;
    shape.shared_bytes = Scan::shared_bytes(shape.threads);
    return launch<Scan>(device_, shape, {p.segments, reverse, p.totals, entering});
  }

  Status segmented(const PivotingShape& shape, ScanSolveParameters<T> p) {
    const int64_t problems = batch_.problems(), blocks = problems * shape.segments;
    const auto padded = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
    const int64_t totals_bytes = padded(blocks * static_cast<int64_t>(sizeof(Affine<T>)));
    const int64_t entering_bytes = padded(blocks * static_cast<int64_t>(sizeof(T)));
    const int64_t last_bytes = padded(problems * static_cast<int64_t>(sizeof(T)));
    Workspace memory;
    WARPLOOM_TRY(Workspace::make(device_, totals_bytes + entering_bytes + last_bytes + 4 * problems, &memory));
    T* const entering = memory.as<T>(totals_bytes);
    p.totals = memory.as<Affine<T>>();
    p.entering = entering;
    p.flags = memory.as<int32_t>(totals_bytes + entering_bytes + last_bytes);
    WARPLOOM_TRY(device_.fill_zero(p.flags, 4 * problems));
    p.mode = ScanMode::probe;
    WARPLOOM_TRY(launch_scan(shape, blocks, p));
    WARPLOOM_TRY(scan_segments(p, entering, false));
    p.mode = ScanMode::forward;
    WARPLOOM_TRY(launch_scan(shape, blocks, p));
    WARPLOOM_TRY(scan_segments(p, entering, true));
    p.mode = ScanMode::backward;
    WARPLOOM_TRY(launch_scan(shape, blocks, p));

    using Finish = ScanFinishAgent<T>;
    typename Finish::Parameters finish{p, 1, memory.as<T>(totals_bytes + entering_bytes), 0};
    LaunchShape finish_shape;
    finish_shape.threads = Finish::kMaxThreads;
    if (p.border != nullptr) {
      finish_shape.blocks = (problems + finish_shape.threads - 1) / finish_shape.threads;
      WARPLOOM_TRY(launch<Finish>(device_, finish_shape, finish));
      finish.blocks_per_problem = std::max<int64_t>(1, std::min<int64_t>(shape.segments, 1024));
    }
    finish.phase = 1;
    finish_shape.blocks = problems * finish.blocks_per_problem;
    return launch<Finish>(device_, finish_shape, finish);
  }

  GpuDevice& device_;
  const operation::SolveFactoredParameters& p_;
  FactorLayout layout_;
  Batch<T> batch_;
  Workspace words_, rhs_, corners_;
};

template <class T>
Status solve_factored(GpuDevice& device, const operation::SolveFactoredParameters& p, Control& control) {
  const int64_t problems = p.batch * p.rhs_count;
  if (problems == 0 && !p.summarize) return {};
  if (control.cancelled()) return Status(Code::cancelled, "the call was cancelled");
  WARPLOOM_TRY(device.begin_operation(control));
  if (problems > 0) WARPLOOM_TRY(FactoredSolve<T>(device, p).run());
  int launches = 0;
  WARPLOOM_TRY(summarise(device, p, problems, &launches, p.slice.first * p.rhs_count));
  WARPLOOM_TRY(device.end_operation(control));
  control.progress(1, 1);
  return {};
}

Status solve_factored_any(GpuDevice& device, const operation::SolveFactoredParameters& p, Control& control) {
  switch (p.type) {
    case ScalarType::float32: return solve_factored<float>(device, p, control);
    case ScalarType::float64: return solve_factored<double>(device, p, control);
    case ScalarType::complex64: return solve_factored<Complex<float>>(device, p, control);
    default: return solve_factored<Complex<double>>(device, p, control);
  }
}

}  // namespace

}  // namespace tridiagonal

Status tridiagonal_solve_factored(Device& device, const ::warploom::tridiagonal::SolveFactoredParameters& p,
                                  Control& control) {
  return tridiagonal::solve_factored_any(static_cast<GpuDevice&>(device), p, control);
}

int64_t tridiagonal_solve_factored_workspace(const Device& device,
                                             const ::warploom::tridiagonal::SolveFactoredParameters& p) {
  MeasuringDevice measuring(static_cast<GpuDevice&>(const_cast<Device&>(device)));
  Control control;
  (void)tridiagonal::solve_factored_any(measuring, p, control);
  return measuring.peak_bytes();
}

}  // namespace warploom::WARPLOOM_TARGET
