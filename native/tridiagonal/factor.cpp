// tridiagonal.factor on the cpu backend.
#include "native/tridiagonal/matrix_run.h"

namespace warploom::cpu {
namespace {

using operation::FactorParameters;

template <class R>
Status factor(CpuDevice& device, const FactorParameters& p, Control& control) {
  if (p.n == 0) {
    fill(p.status, static_cast<int32_t>(operation::SystemStatus::ok));
    fill(p.row, int32_t{-1});
    summarise(p);
    return {};
  }
  const bool complex = is_complex(p.type);
  const Problem<R> problem = matrix_problem<R>(p, complex);
  FactorJob job;
  job.kind = p.factorisation;
  job.memory = p.factors.data;
  job.n = p.n;
  job.batch = p.batch;
  job.periodic = p.periodic;
  job.status = p.status.data;
  job.row = p.row.data;
  const MatrixKernels<R>& tiles = matrix_tiles<R>(complex, p.n, p.batch);
  WARPLOOM_TRY(run_tiles(device, tiles, p.n, p.batch, kMatrixArrays, control, [&](int64_t first, int count, void* scratch) {
    tiles.factor(problem, job, first, count, scratch);
  }));
  summarise(p);
  return {};
}

}  // namespace

Status tridiagonal_factor(Device& device, const FactorParameters& p, Control& control) {
  const Stopwatch stopwatch(control);
  auto& cpu = static_cast<CpuDevice&>(device);
  return is_single(p.type) ? factor<float>(cpu, p, control) : factor<double>(cpu, p, control);
}

int64_t tridiagonal_factor_workspace(const Device& device, const FactorParameters& p) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  return is_single(p.type) ? matrix_workspace<float>(cpu, is_complex(p.type), p.n, p.batch)
                           : matrix_workspace<double>(cpu, is_complex(p.type), p.n, p.batch);
}

}  // namespace warploom::cpu
