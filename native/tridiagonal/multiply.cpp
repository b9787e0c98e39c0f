// tridiagonal.multiply on the cpu backend.
#include "cuda/tridiagonal/multiply.h"

#include "native/tridiagonal/matrix_run.h"

namespace warploom::cpu {
namespace {

using operation::MultiplyParameters;

template <class R>
Status multiply(CpuDevice& device, const MultiplyParameters& p, Control& control) {
  if (p.n == 0) return {};  // no element of y, however many systems there are
  const bool complex = is_complex(p.type);
  Problem<R> problem = matrix_problem<R>(p, complex);
  problem.rhs_count = p.rhs_count;
  problem.rhs = band_of<R>(p.x, complex, p.offsets.data != nullptr);
  problem.solution = band_of<R>(p.y, complex, p.offsets.data != nullptr);
  const int64_t problems = problem.problems();
  const MatrixKernels<R>& tiles = matrix_tiles<R>(complex, p.n, problems);
  return run_tiles(device, tiles, p.n, problems, kMatrixArrays, control,
                   [&](int64_t first, int count, void* scratch) {
                     tiles.multiply(problem, p.alpha, p.beta, first, count, scratch);
                   });
}

}  // namespace

Status tridiagonal_multiply(Device& device, const MultiplyParameters& p, Control& control) {
  const Stopwatch stopwatch(control);
  auto& cpu = static_cast<CpuDevice&>(device);
  return is_single(p.type) ? multiply<float>(cpu, p, control) : multiply<double>(cpu, p, control);
}

int64_t tridiagonal_multiply_workspace(const Device& device, const MultiplyParameters& p) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  const int64_t problems = p.batch * p.rhs_count;
  return is_single(p.type) ? matrix_workspace<float>(cpu, is_complex(p.type), p.n, problems)
                           : matrix_workspace<double>(cpu, is_complex(p.type), p.n, problems);
}

}  // namespace warploom::cpu
