// The kernels of every instruction set this processor runs give the same bits: all algorithms, with
// and without periodicity, check and refinement.
#include "native/tridiagonal/kernels.h"
#include "test/device/cpu_support.h"

namespace cpu_test {
namespace {

using cpu::KernelSet;

std::vector<const KernelSet*> available() {
  std::vector<const KernelSet*> sets = {&cpu::kernels_single(), &cpu::kernels_sse2()};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) sets.push_back(&cpu::kernels_avx2());
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    sets.push_back(&cpu::kernels_avx512());
  }
#endif
  return sets;
}

/// Solves `systems` contiguous systems with one set's kernels.
template <class R>
std::vector<R> solve_with(const KernelSet& set, bool complex, bool streaming, cpu::Problem<R> problem,
                          const cpu::Options& options, int64_t reals) {
  std::vector<R> solution(static_cast<size_t>(reals), R(0));
  problem.solution.re = solution.data();
  if (complex) problem.solution.im = solution.data() + 1;
  const auto& kernels = cpu::kernels_of<R>(set, complex, streaming);
  const auto bytes = static_cast<size_t>(kernels.bytes(options, problem.periodic, problem.n));
  void* scratch = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  for (int64_t first = 0; first < problem.systems; first += kernels.lanes) {
    const int64_t left = problem.systems - first;
    kernels.solve(problem, options, {}, first, int(left < kernels.lanes ? left : kernels.lanes), scratch);
  }
  std::free(scratch);
  return solution;
}

template <class R>
void same_bits(bool complex) {
  constexpr int64_t kSystems = 45, kRows = 91;
  const int64_t parts = complex ? 2 : 1, reals = kSystems * kRows * parts;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<R> uniform(-1, 1);
  std::vector<R> bands[4];
  for (auto& band : bands) {
    for (int64_t i = 0; i < reals; ++i) band.push_back(uniform(random));
  }
  cpu::Problem<R> problem;
  problem.n = kRows;
  problem.systems = kSystems;
  problem.bottom_row = cpu::kLastRow;
  cpu::Band<R>* const targets[] = {&problem.lower, &problem.diagonal, &problem.upper, &problem.rhs,
                                   &problem.solution};
  for (int k = 0; k < 5; ++k) {
    targets[k]->row_stride = parts;
    targets[k]->system_stride = kRows * parts;
    if (k == 4) continue;
    targets[k]->re = bands[k].data();
    if (complex) targets[k]->im = bands[k].data() + 1;
  }
  const auto sets = available();
  for (int algorithm = 1; algorithm < 8; ++algorithm) {
    for (int option = 0; option < 9; ++option) {
      cpu::Options options;
      options.algorithm = static_cast<tri::Algorithm>(algorithm);
      problem.periodic = option & 1;
      options.check = option & 2;
      options.refine = option & 4;
      options.tolerance = 1e-6;
      const bool streaming = option == 8;
      if (streaming && algorithm != int(tri::Algorithm::thomas)) continue;
      const auto expected = solve_with<R>(*sets[0], complex, streaming, problem, options, reals);
      for (const KernelSet* set : sets) {
        const auto got = solve_with<R>(*set, complex, streaming, problem, options, reals);
        EXPECT(std::memcmp(got.data(), expected.data(), sizeof(R) * size_t(reals)) == 0,
               "%s, %d bytes, complex=%d, %s, option %d", set->name, int(sizeof(R)), complex,
               tri::kAlgorithmNames[algorithm], option);
      }
    }
  }
}

}  // namespace
}  // namespace cpu_test

int main() {
  using namespace cpu_test;
  for (bool complex : {false, true}) {
    same_bits<double>(complex);
    same_bits<float>(complex);
  }
  return finish("cpu_isa");
}
