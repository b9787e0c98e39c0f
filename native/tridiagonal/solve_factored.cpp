// tridiagonal.solve_factored on the cpu backend.
#include "cuda/tridiagonal/solve_factored.h"

#include "native/tridiagonal/matrix_run.h"

namespace warploom::cpu {
namespace {

using operation::SolveFactoredParameters;

template <class R>
Status solve_factored(CpuDevice& device, const SolveFactoredParameters& p, Control& control) {
  if (p.n == 0) {
    fill(p.status, static_cast<int32_t>(operation::SystemStatus::ok));
    return {};
  }
  const bool complex = is_complex(p.type);
  Problem<R> problem;  // one right-hand side: the kernel walks through them
  problem.n = p.n;
  problem.systems = p.batch;
  problem.offsets = p.offsets.data;
  problem.periodic = p.periodic;
  problem.rhs = band_of<R>(p.rhs, complex);
  problem.solution = band_of<R>(p.solution, complex);
  FactorJob job;
  job.kind = p.factorisation;
  job.memory = const_cast<uint8_t*>(p.factors.data);
  job.n = p.n;
  job.batch = p.batch;
  job.rhs_count = p.rhs_count;
  job.periodic = p.periodic;
  job.status = p.status.data;
  const MatrixKernels<R>& tiles = matrix_tiles<R>(complex, p.n, p.batch);
  return run_tiles(device, tiles, p.n, p.batch, control,
                   [&](int64_t first, int count, void* scratch) {
                     tiles.solve_factored(problem, job, first, count, scratch);
                   });
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
  return is_single(p.type) ? matrix_workspace<float>(cpu, is_complex(p.type), p.n, p.batch)
                           : matrix_workspace<double>(cpu, is_complex(p.type), p.n, p.batch);
}

}  // namespace warploom::cpu
