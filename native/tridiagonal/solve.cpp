// tridiagonal.solve on the cpu backend.
#include "native/tridiagonal/matrix_run.h"
#include "native/tridiagonal/partition.h"

namespace warploom::cpu {
namespace {

using operation::Algorithm;
using operation::SolveParameters;

template <class R>
Problem<R> problem_of(const SolveParameters& p, bool complex) {
  Problem<R> problem = matrix_problem<R>(p, complex);
  problem.rhs_count = p.rhs_count;
  problem.rhs = band_of<R>(p.rhs, complex, p.offsets.data != nullptr);
  problem.solution = band_of<R>(p.solution, complex, p.offsets.data != nullptr);
  return problem;
}

Options options_of(const SolveParameters& p) {
  Options options;
  options.algorithm = p.algorithm;
  if (p.algorithm == Algorithm::automatic) {
    options.algorithm = p.stable ? Algorithm::pivoting : Algorithm::thomas;
  }
  // If a partition does not pay or is not possible, the whole system is solved as if it were a single chunk.
  if (p.algorithm == Algorithm::partition) options.algorithm = Algorithm::thomas;
  options.check = p.check;
  options.refine = p.refine;
  options.tolerance = tolerance_of(p.type, p.tolerance);
  options.stream = stores_around_caches(p);
  return options;
}

/// Few long systems: only chunks give threads and lanes enough work. Depends on the shape alone.
template <class R>
bool partitions(const SolveParameters& p, const Problem<R>& problem, const Options& options) {
  constexpr int64_t kFewSystems = 16;
  const bool wanted = p.algorithm == Algorithm::partition ||
                      (p.algorithm == Algorithm::automatic && !p.stable &&
                       problem.problems() < kFewSystems && problem.n >= 4 * kPartitionRows);
  return wanted && can_partition(problem, options);
}

template <class R>
Status solve(CpuDevice& device, const SolveParameters& p, Control& control) {
  const bool complex = is_complex(p.type);
  const Problem<R> problem = problem_of<R>(p, complex);
  const Options options = options_of(p);
  const Results results{p.status.data, p.row.data, p.backward_error.data};
  const bool chunks = partitions(p, problem, options);
  if (p.n == 0) {
    fill(p.status, static_cast<int32_t>(operation::SystemStatus::ok));
    fill(p.row, int32_t{-1});
    fill(p.backward_error, 0.0);
  } else if (chunks) {
    WARPLOOM_TRY(run_partition(device, problem, options, results, complex, control));
  } else {
    WARPLOOM_TRY(run_batch(device, problem, options, results, complex, control));
  }
  summarise(p, p.slice.first * p.rhs_count);
  if (p.report != nullptr) {
    p.report->algorithm = chunks ? Algorithm::partition : options.algorithm;
    p.report->depth = p.depth;
    p.report->threads = 1;
    p.report->launches = 1;
  }
  return {};
}

template <class R>
int64_t workspace(const CpuDevice& device, const SolveParameters& p) {
  const bool complex = is_complex(p.type);
  const Problem<R> problem = problem_of<R>(p, complex);
  const Options options = options_of(p);
  const int64_t bytes =
      tile_kernels(problem, options, complex).bytes(options, p.periodic, p.n);
  const int64_t shared = partitions(p, problem, options)
                             ? partition_bytes(p.n, scalar_bytes(p.type))
                             : 0;
  return bytes * device.thread_count() + shared;
}

}  // namespace

Status tridiagonal_solve(Device& device, const SolveParameters& p, Control& control) {
  const Stopwatch stopwatch(control);
  auto& cpu = static_cast<CpuDevice&>(device);
  return is_single(p.type) ? solve<float>(cpu, p, control) : solve<double>(cpu, p, control);
}

int64_t tridiagonal_solve_workspace(const Device& device, const SolveParameters& p) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  return is_single(p.type) ? workspace<float>(cpu, p) : workspace<double>(cpu, p);
}

}  // namespace warploom::cpu
