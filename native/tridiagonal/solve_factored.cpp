// tridiagonal.solve_factored on the cpu backend.
#include "cuda/tridiagonal/solve_factored.h"

#include "native/tridiagonal/matrix_run.h"

namespace warploom::cpu {
namespace {

using operation::SolveFactoredParameters;

/// The problem that the kernels process: one right-hand side at a time.
template <class R>
Problem<R> problem_of(const SolveFactoredParameters& p, bool complex) {
  Problem<R> problem;
  if (p.check) {
    problem = matrix_problem<R>(p, complex);
  } else {
    problem.n = p.n;
    problem.systems = p.batch;
    problem.offsets = p.offsets.data;
    problem.periodic = p.periodic;
  }
  problem.rhs = band_of<R>(p.rhs, complex, p.offsets.data != nullptr);
  problem.solution = band_of<R>(p.solution, complex, p.offsets.data != nullptr);
  return problem;
}

template <class R>
FactorJob job_of(const SolveFactoredParameters& p) {
  FactorJob job;
  job.kind = p.factorisation;
  job.memory = const_cast<uint8_t*>(p.factors.data);
  job.n = p.n;
  job.batch = p.batch;
  job.rhs_count = p.rhs_count;
  job.periodic = p.periodic;
  job.shared = p.shared;
  job.check = p.check;
  job.tolerance = tolerance_of(p.type, p.tolerance);
  job.stream = stores_around_caches(p);
  job.status = p.status.data;
  job.row = p.row.data;
  job.backward_error = p.backward_error.data;
  return job;
}

template <class R>
int64_t scratch_arrays(const SolveFactoredParameters& p, const MatrixKernels<R>& tiles) {
  return p.check ? tiles.check_arrays : kMatrixArrays;
}

template <class R>
Status solve_factored(CpuDevice& device, const SolveFactoredParameters& p, Control& control) {
  if (p.n == 0) {
    fill(p.status, static_cast<int32_t>(operation::SystemStatus::ok));
    fill(p.row, int32_t{-1});
    fill(p.backward_error, 0.0);
  } else {
    const bool complex = is_complex(p.type);
    const Problem<R> problem = problem_of<R>(p, complex);
    const FactorJob job = job_of<R>(p);
    const MatrixKernels<R>& tiles = matrix_tiles<R>(complex, p.n, p.batch);
    const auto body = [&](int64_t first, int count, void* scratch) {
      tiles.solve_factored(problem, job, first, count, scratch);
    };
    WARPLOOM_TRY(run_tiles(device, tiles, p.n, p.batch, scratch_arrays<R>(p, tiles), control, body));
  }
  summarise(p);
  return {};
}

template <class R>
int64_t workspace(const CpuDevice& device, const SolveFactoredParameters& p) {
  const bool complex = is_complex(p.type);
  const int64_t arrays = scratch_arrays<R>(p, matrix_tiles<R>(complex, p.n, p.batch));
  return matrix_workspace<R>(device, complex, p.n, p.batch, arrays);
}

}  // namespace

Status tridiagonal_solve_factored(Device& device, const SolveFactoredParameters& p,
                                  Control& control) {
  const Stopwatch stopwatch(control);
  auto& cpu = static_cast<CpuDevice&>(device);
  return is_single(p.type) ? solve_factored<float>(cpu, p, control)
                           : solve_factored<double>(cpu, p, control);
}

int64_t tridiagonal_solve_factored_workspace(const Device& device,
                                             const SolveFactoredParameters& p) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  return is_single(p.type) ? workspace<float>(cpu, p) : workspace<double>(cpu, p);
}

}  // namespace warploom::cpu
