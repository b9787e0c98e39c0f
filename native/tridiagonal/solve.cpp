// tridiagonal.solve on the cpu backend.
#include <limits>

#include "native/tridiagonal/batch_run.h"

namespace warploom::cpu {
namespace {

using operation::Algorithm;
using operation::SolveParameters;

template <class R>
Problem<R> problem_of(const SolveParameters& p, bool complex) {
  Problem<R> problem;
  problem.n = p.n;
  problem.systems = p.batch;
  problem.rhs_count = p.rhs_count;
  problem.offsets = p.offsets.data;
  problem.periodic = p.periodic;
  set_matrix(p.lower, p.diagonal, p.upper, p.transpose, p.structure, complex, &problem);
  problem.rhs = band_of<R>(p.rhs, complex);
  problem.solution = band_of<R>(p.solution, complex);
  // Bands have no right-hand side of their own.
  problem.lower.rhs_stride = problem.diagonal.rhs_stride = problem.upper.rhs_stride = 0;
  return problem;
}

Options options_of(const SolveParameters& p) {
  // Results larger than this leave the caches before anyone reads them.
  constexpr int64_t kStreamBytes = int64_t{16} << 20;
  Options options;
  options.algorithm = p.algorithm;
  if (p.algorithm == Algorithm::automatic) {
    options.algorithm = p.stable ? Algorithm::pivoting : Algorithm::thomas;
  }
  options.check = p.check;
  const bool single = p.type == ScalarType::float32 || p.type == ScalarType::complex64;
  options.refine = p.refine && single;
  const double epsilon = single ? std::numeric_limits<float>::epsilon()
                                : std::numeric_limits<double>::epsilon();
  options.tolerance = p.tolerance > 0 ? p.tolerance : 64 * epsilon;
  options.stream = p.rhs.data != p.solution.data &&
                   p.n * p.batch * p.rhs_count * scalar_bytes(p.type) >= kStreamBytes;
  return options;
}

template <class R>
Status solve(CpuDevice& device, const SolveParameters& p, Control& control) {
  const bool complex = is_complex(p.type);
  const Problem<R> problem = problem_of<R>(p, complex);
  const Options options = options_of(p);
  const Results results{p.status.data, p.row.data, p.backward_error.data};
  WARPLOOM_TRY(run_batch(device, problem, options, results, complex, control));
  if (p.used.data != nullptr) {
    p.used.data[0] = static_cast<int32_t>(options.algorithm);
    p.used.data[1] = p.depth;
    p.used.data[2] = 1;
    p.used.data[3] = 1;
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
  return bytes * device.thread_count();
}

bool is_single(ScalarType type) {
  return type == ScalarType::float32 || type == ScalarType::complex64;
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
