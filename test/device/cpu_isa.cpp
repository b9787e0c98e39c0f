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
#ifndef WARPLOOM_NO_AVX512
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
    sets.push_back(&cpu::kernels_avx512());
  }
#endif
#endif
  return sets;
}

/// Solves the systems with some kernels.
template <class R>
std::vector<R> solve_with(const cpu::Kernels<R>& kernels, bool complex, cpu::Problem<R> problem,
                          const cpu::Options& options, int64_t reals) {
  std::vector<R> solution(static_cast<size_t>(reals), R(0));
  problem.solution.re = solution.data();
  if (complex) problem.solution.im = solution.data() + 1;
  const auto bytes = static_cast<size_t>(kernels.bytes(options, problem.periodic, problem.n));
  void* scratch = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  for (int64_t first = 0; first < problem.systems; first += kernels.lanes) {
    const int64_t left = problem.systems - first;
    kernels.solve(problem, options, {}, first, int(left < kernels.lanes ? left : kernels.lanes), scratch);
  }
  std::free(scratch);
  return solution;
}

/// Random systems, contiguous or adjacent (row i of all systems side by side).
template <class R>
struct RandomSystems {
  static constexpr int64_t kSystems = 205, kRows = 91;
  std::vector<R> bands[4];
  cpu::Problem<R> problem;
  int64_t reals;

  RandomSystems(bool complex, bool adjacent) {
    const int64_t parts = complex ? 2 : 1;
    reals = kSystems * kRows * parts;
    std::mt19937_64 random(5);
    std::uniform_real_distribution<R> uniform(-1, 1);
    for (auto& band : bands) {
      for (int64_t i = 0; i < reals; ++i) band.push_back(uniform(random));
    }
    problem.n = kRows;
    problem.systems = kSystems;
    problem.bottom_row = cpu::kLastRow;
    cpu::Band<R>* const targets[] = {&problem.lower, &problem.diagonal, &problem.upper, &problem.rhs,
                                     &problem.solution};
    for (int k = 0; k < 5; ++k) {
      targets[k]->row_stride = parts * (adjacent ? kSystems : 1);
      targets[k]->system_stride = parts * (adjacent ? 1 : kRows);
      if (k == 4) continue;
      targets[k]->re = bands[k].data();
      if (complex) targets[k]->im = bands[k].data() + 1;
    }
  }
};

/// Kernels that run straight across adjacent systems agree with one system at a time.
template <class R>
void same_bits_across(bool complex) {
  const RandomSystems<R> systems(complex, true);
  const auto sets = available();
  start_case("%d bytes, complex=%d, across adjacent systems", int(sizeof(R)), int(complex));
  for (bool stream : {false, true}) {
    cpu::Options options;
    options.stream = stream;
    const auto with = [&](const cpu::Kernels<R>& kernels) {
      return solve_with<R>(kernels, complex, systems.problem, options, systems.reals);
    };
    const auto expected = with(cpu::kernels_of<R>(*sets[0], complex));
    for (const KernelSet* set : sets) {
      if (set == sets[0]) continue;
      const auto got = with(cpu::across_kernels_of<R>(*set, complex));
      EXPECT(std::memcmp(got.data(), expected.data(), sizeof(R) * size_t(systems.reals)) == 0, "%s", set->name);
    }
  }
}

template <class R>
void same_bits(bool complex) {
  RandomSystems<R> systems(complex, false);
  cpu::Problem<R>& problem = systems.problem;
  const int64_t reals = systems.reals;
  const auto sets = available();
  for (int algorithm = 1; algorithm < 8; ++algorithm) {
    for (int option = 0; option < 8; ++option) {
      start_case("%d bytes, complex=%d, %s, option %d", int(sizeof(R)), int(complex),
                 tri::kAlgorithmNames[algorithm], option);
      cpu::Options options;
      options.algorithm = static_cast<tri::Algorithm>(algorithm);
      problem.periodic = option & 1;
      options.check = option & 2;
      options.refine = option & 4;
      options.tolerance = 1e-6;
      const auto with = [&](const cpu::Kernels<R>& kernels) {
        return solve_with<R>(kernels, complex, problem, options, reals);
      };
      const auto expected = with(cpu::kernels_of<R>(*sets[0], complex));
      for (const KernelSet* set : sets) {
        const auto got = with(cpu::kernels_of<R>(*set, complex));
        EXPECT(std::memcmp(got.data(), expected.data(), sizeof(R) * size_t(reals)) == 0, "%s", set->name);
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
    same_bits_across<double>(complex);
    same_bits_across<float>(complex);
  }
  return finish();
}
