// One call of tridiagonal.solve for one element type: everything around the algorithm.
#pragma once
#include <algorithm>

#include "cuda/core/launch.cuh"
#include "cuda/linear/summary.cuh"
#include "cuda/tridiagonal/bands.cuh"
#include "cuda/tridiagonal/periodic/periodic.cuh"
#include "cuda/tridiagonal/verify/verify.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Runs the algorithm that a caller requested, on systems that are not periodic.
template <class T>
Status run_algorithm(GpuDevice& device, operation::Algorithm algorithm, int depth, const Batch<T>& batch,
                     Used* used) {
  switch (algorithm) {
    case operation::Algorithm::cr: return solve_cr(device, batch, used);
    case operation::Algorithm::pcr: return solve_pcr(device, batch, used);
    case operation::Algorithm::cr_pcr: return solve_cr_pcr(device, batch, used);
    case operation::Algorithm::pcr_thomas: return solve_pcr_thomas(device, batch, used);
    case operation::Algorithm::thomas: return solve_thomas(device, batch, used);
    case operation::Algorithm::cr_regpack: return solve_cr_regpack(device, batch, depth, used);
    case operation::Algorithm::partition: return solve_partition(device, batch, used);
    case operation::Algorithm::pivoting: return solve_pivoting(device, batch, used);
    default: return solve_automatic(device, batch, used);
  }
}

template <class T>
class SolveCall {
 public:
  SolveCall(GpuDevice& device, const operation::SolveParameters& p, Control& control)
      : device_(device), p_(p), control_(control), bands_(resolve_bands<T>(p)) {}

  Status run() {
    const bool none = p_.batch * p_.rhs_count == 0;
    if (none && !p_.summarize) return report();
    if (!none) WARPLOOM_TRY(make_batch());
    WARPLOOM_TRY(device_.begin_operation(control_));
    if (!none) WARPLOOM_TRY(p_.n == 0 ? empty() : solve());
    WARPLOOM_TRY(summarise(device_, p_, batch_.problems(), &used_.launches, p_.slice.first * p_.rhs_count));
    WARPLOOM_TRY(device_.end_operation(control_));
    return report();
  }

 private:
  Status make_batch() {
    batch_.n = p_.n;
    batch_.systems = p_.batch;
    batch_.whole_systems = p_.slice.whole;
    batch_.rhs_count = p_.rhs_count;
    batch_.offsets = p_.offsets.data;
    batch_.lower = bands_.lower;
    batch_.diagonal = bands_.diagonal;
    batch_.upper = bands_.upper;
    batch_.rhs = strided<T>(p_.rhs, batch_.offsets != nullptr);
    batch_.solution = strided<T>(p_.solution, batch_.offsets != nullptr);
    batch_.status = p_.status.data;
    batch_.row = p_.row.data;
    return make_words(device_, &batch_, &words_);
  }

  Status empty() {
    LaunchShape shape;
    shape.threads = 128;
    shape.blocks = (batch_.problems() + 127) / 128;
    ++used_.launches;
    return launch<EmptyAgent>(device_, shape,
                              {batch_.problems(), batch_.status, batch_.row, p_.backward_error.data});
  }

  Status solve() {
    Batch<T> kept = batch_;
    if (p_.check || p_.refine) WARPLOOM_TRY(keep_rhs(device_, batch_, &rhs_, &kept));
    Verification<T> verification;
    verification.tolerance = p_.tolerance;
    verification.backward_error = p_.backward_error.data;
    WARPLOOM_TRY(step(0));
    if (p_.check && may_verify_at_once()) {
      const Status status = solve_verified(device_, kept, p_.depth, verification, &used_);
      if (status.code() != Code::unsupported) {
        WARPLOOM_TRY(status);
        return step(3);
      }
    }
    WARPLOOM_TRY(solve_once(kept, &used_));
    WARPLOOM_TRY(step(1));
    if (p_.periodic && (p_.check || p_.refine)) {
      WARPLOOM_TRY(find_corners(&used_));
      verification.corners = corners_.as<T>();
    }
    if (p_.refine) {
      Used used;
      WARPLOOM_TRY(refine<T>(
          device_, kept, verification,
          [this](const Batch<T>& correction) {
            if (control_.cancelled()) return cancelled();
            Used again;
            const Status status = solve_once(correction, &again);
            used_.launches += again.launches;
            return status;
          },
          &used));
      used_.launches += used.launches;
    }
    WARPLOOM_TRY(step(2));
    if (p_.check) {
      Used used;
      WARPLOOM_TRY(verify(device_, kept, verification, &used));
      used_.launches += used.launches;
    }
    return step(3);
  }

  bool may_verify_at_once() const {
    const bool packs = p_.algorithm == operation::Algorithm::automatic || p_.algorithm == operation::Algorithm::cr_regpack;
    return packs && !p_.refine && !p_.periodic && !p_.stable;
  }

  /// Solves for any right-hand side of the call's matrices; overwrites `used`.
  Status solve_once(const Batch<T>& batch, Used* used) {
    *used = Used();
    const auto algorithm = p_.stable ? operation::Algorithm::pivoting : p_.algorithm;
    if (!p_.periodic) return run_algorithm(device_, algorithm, p_.depth, batch, used);
    if (algorithm == operation::Algorithm::automatic) {
      const Status status = solve_periodic_regpack(device_, batch, used);
      if (status.code() != Code::unsupported) return status;
    }
    Used gathered;  // algorithms may overwrite `used` rather than add to it
    WARPLOOM_TRY(find_corners(&gathered));
    if (algorithm == operation::Algorithm::pivoting) {
      const Status status = solve_pivoting_periodic(device_, batch, corners_.as<T>(), used);
      used->launches += gathered.launches;
      return status;
    }
    const int64_t rows = total_rows(batch.n, batch.systems, batch.offsets != nullptr, p_.solution);
    const Status status = solve_periodic<T>(
        device_, batch, corners_.as<T>(), rows,
        [=](const Batch<T>& inner, Used* inner_used) {
          if (control_.cancelled()) return cancelled();
          return run_algorithm(device_, algorithm, p_.depth, inner, inner_used);
        },
        used);
    used->launches += gathered.launches;
    return status;
  }

  /// Computes the corners, once per call.
  Status find_corners(Used* used) {
    if (corners_.as<T>() != nullptr) return {};
    WARPLOOM_TRY(Workspace::make(device_, 2 * p_.batch * static_cast<int64_t>(sizeof(T)), &corners_));
    return gather_corners(device_, batch_, bands_, corners_.as<T>(), used);
  }

  static Status cancelled() { return Status(Code::cancelled, "the call was cancelled"); }

  /// Between launches: stops a cancelled call, reports progress in three steps.
  Status step(int done) {
    if (control_.cancelled()) return cancelled();
    control_.progress(done, 3);
    return {};
  }

  Status report() {
    if (p_.report == nullptr) return {};
    operation::SolveReport& report = *p_.report;
    if (p_.slice.first > 0) used_.launches += report.launches;
    report.algorithm = used_.algorithm;
    report.depth = used_.depth;
    report.threads = used_.threads;
    report.launches = used_.launches;
    return {};
  }

  GpuDevice& device_;
  const operation::SolveParameters& p_;
  Control& control_;
  Bands<T> bands_;
  Batch<T> batch_;
  Workspace words_, rhs_, corners_;
  Used used_;
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
