// tridiagonal.condition on the cpu backend: each thread takes one system at a time.
#include "cuda/tridiagonal/condition.h"

#include "native/tridiagonal/matrix_run.h"

#pragma GCC optimize("fp-contract=off")
#define WARPLOOM_ISA estimates
#define WARPLOOM_VECTOR_BYTES 16
#include "native/tridiagonal/estimate.h"

namespace warploom::cpu {
namespace {

using operation::ConditionParameters;

/// Bands and right-hand side, solution, weights, and the arrays of Inverse.
template <class T>
constexpr int64_t condition_arrays() {
  return 6 + estimates::Inverse<T>::kArrays;
}

template <class T>
int64_t condition_bytes(const ConditionParameters& p) {
  return condition_arrays<T>() * p.n * static_cast<int64_t>(sizeof(T));
}

/// Estimates of one system; problem.rhs is the right-hand side, problem.solution its answer.
template <class T>
void estimate_system(const Problem<estimates::RealType<T>>& problem, const ConditionParameters& p,
                     int64_t system, void* scratch) {
  using namespace estimates;
  T* memory = static_cast<T*>(scratch);
  const int64_t n = problem.rows(system), first = system * p.rhs_count;
  System<T> s;
  s.n = n;
  s.lower = memory;
  s.diagonal = memory + n;
  s.upper = memory + 2 * n;
  s.rhs = memory + 3 * n;
  T *x = memory + 4 * n, *weights = memory + 5 * n;
  for (int64_t r = 0; r < (p.rhs_count > 0 ? p.rhs_count : 1); ++r) {
    const bool bounds = p.rhs_count > 0;
    const TileLanes<T> tile(problem, bounds ? first + r : system, 1);
    const Sources<T> sources(tile, problem);
    load_system(tile, sources, &s, bounds);
    s.periodic = s.periodic && n >= 3;
    Inverse<T> inverse(s, memory + 6 * n);
    if (r == 0 && p.reciprocal_condition.data != nullptr) {
      p.reciprocal_condition.data[system] = reciprocal_condition(s, inverse);
    }
    if (!bounds) return;
    double backward = 0, forward = 0;
    if (n > 0) {
      tile.load(sources.solution, 0, n, x);
      error_bounds(s, x, weights, inverse, &backward, &forward);
    }
    if (p.backward_error.data != nullptr) p.backward_error.data[first + r] = backward;
    if (p.forward_error.data != nullptr) p.forward_error.data[first + r] = forward;
  }
}

template <class T>
Status condition(CpuDevice& device, const ConditionParameters& p, Control& control) {
  if (p.n == 0) {
    fill(p.reciprocal_condition, 1.0);
    fill(p.forward_error, 0.0);
    fill(p.backward_error, 0.0);
    return {};
  }
  using R = estimates::RealType<T>;
  const bool complex = is_complex(p.type);
  Problem<R> problem = matrix_problem<R>(p, complex);
  if (p.rhs_count > 0) {
    problem.rhs_count = p.rhs_count;
    problem.rhs = band_of<R>(p.rhs, complex, p.offsets.data != nullptr);
    problem.solution = band_of<R>(p.solution, complex, p.offsets.data != nullptr);
  }
  WARPLOOM_TRY(device.reserve_scratch(condition_bytes<T>(p)));
  return device.threads().run(
      p.batch,
      [&](int64_t system, int worker) {
        estimate_system<T>(problem, p, system, device.scratch(worker));
        return Status();
      },
      control, 0, static_cast<double>(p.batch));
}

template <class Call>
auto by_type(ScalarType type, const Call& call) {
  switch (type) {
    case ScalarType::float32: return call(float());
    case ScalarType::float64: return call(double());
    case ScalarType::complex64: return call(estimates::Complex<float>());
    default: return call(estimates::Complex<double>());
  }
}

}  // namespace

Status tridiagonal_condition(Device& device, const ConditionParameters& p, Control& control) {
  const Stopwatch stopwatch(control);
  auto& cpu = static_cast<CpuDevice&>(device);
  return by_type(p.type, [&](auto scalar) { return condition<decltype(scalar)>(cpu, p, control); });
}

int64_t tridiagonal_condition_workspace(const Device& device, const ConditionParameters& p) {
  const auto& cpu = static_cast<const CpuDevice&>(device);
  return by_type(p.type, [&](auto scalar) { return condition_bytes<decltype(scalar)>(p); }) *
         cpu.thread_count();
}

}  // namespace warploom::cpu
