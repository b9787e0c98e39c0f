// Condition estimates and error bounds against inverses and solutions in long double.
#include "cuda/core/runtime.h"
#include "tridiagonal_views.h"

#include "test/device/support/operations.h"

namespace {

using namespace warploom::simt;
using cases::Exact;
using cases::Layout;
using cases::Tally;
using cases::TestBatch;
using warploom::tridiagonal::ConditionParameters;
using warploom::tridiagonal::Transpose;

template <class T>
constexpr double epsilon() { return sizeof(RealOf<T>) == 4 ? 0x1p-23 : 0x1p-52; }

/// op(A) of a system, as a system; its right-hand side and answer stay.
cases::System transposed(const cases::System& a, Transpose transpose) {
  if (transpose == Transpose::none) return a;
  const bool conjugate = transpose == Transpose::conjugate;
  const auto op = [=](const Exact& value) { return conjugate ? std::conj(value) : value; };
  cases::System b = a;
  const int64_t n = a.rows();
  for (int64_t i = 0; i < n; ++i) {
    b.diagonal[i] = op(a.diagonal[i]);
    if (i > 0) b.lower[i] = op(a.upper[i - 1]);
    if (i + 1 < n) b.upper[i] = op(a.lower[i + 1]);
  }
  b.corner_first = op(a.corner_last);
  b.corner_last = op(a.corner_first);
  return b;
}

/// 1 / (|A|_1 |A^-1|_1) by solving for every unit vector.
long double reciprocal_condition(const cases::System& a) {
  const int64_t n = a.rows();
  cases::System unit = a;
  long double inverse = 0, norm = 0;
  std::vector<std::vector<Exact>> columns(n, std::vector<Exact>(n));
  for (int64_t i = 0; i < n; ++i) {
    columns[i][i] += a.diagonal[i];
    if (i > 0) columns[i - 1][i] += a.lower[i];
    if (i + 1 < n) columns[i + 1][i] += a.upper[i];
  }
  columns[n - 1][0] += a.corner_first;
  columns[0][n - 1] += a.corner_last;
  for (int64_t j = 0; j < n; ++j) {
    long double column = 0, sum = 0;
    for (const Exact& entry : columns[j]) column += std::abs(entry);
    norm = std::max(norm, column);
    unit.rhs.assign(n, 0);
    unit.rhs[j] = 1;
    unit.solve_exactly();
    for (const Exact& entry : unit.x) sum += std::abs(entry);
    inverse = std::max(inverse, sum);
  }
  return 1 / norm / inverse;
}

/// Answers that are the exact ones, rounded, so that the bounds must cover rounding only. Returns the exact ones.
template <class T>
std::vector<cases::System> store_exact(TestBatch<T>& test, Transpose transpose) {
  std::vector<cases::System> exact;
  const auto& x = test.batch.solution;
  for (int64_t q = 0; q < test.batch.problems(); ++q) {
    const int64_t s = q / test.batch.rhs_count, r = q % test.batch.rhs_count;
    exact.push_back(transposed(test.answer(q), transpose));
    if (exact.back().rows() > 0) exact.back().solve_exactly();
    for (int64_t i = 0; i < exact.back().rows(); ++i) {
      const Exact value = exact.back().x[i];
      x.store(x.index(test.batch.origin(s), i, r),
              cases::narrow<T>(static_cast<double>(value.real()), static_cast<double>(value.imag())));
    }
  }
  return exact;
}

template <class T>
void check_batch(Tally& tally, GpuDevice& device, const std::vector<int64_t>& sizes, const cases::Options& options,
                 Transpose transpose, bool periodic) {
  TestBatch<T> test(sizes, options);
  const int families[] = {1, 6, 17, 16, 18, 20, 13, 3};
  for (size_t s = 0; s < sizes.size(); ++s) {
    const int f = families[s % 8];
    test.fill(static_cast<int64_t>(s), cases::family(f, sizes[s], s + 3), cases::family(f, sizes[s], s + 50), 4, periodic);
  }
  if (periodic) cases::store_corners(test);
  const std::vector<cases::System> exact = store_exact(test, transpose);
  ConditionParameters p;
  cases::set_matrix(p, test);
  p.rhs_count = test.batch.rhs_count;
  p.rhs = cases::view_of(test.batch, test.batch.rhs, test.batch.rhs_count);
  p.solution = cases::view_of(test.batch, test.batch.solution, test.batch.rhs_count);
  p.periodic = periodic;
  p.transpose = transpose;
  const int64_t problems = test.batch.problems();
  std::vector<double> reciprocal(p.batch, -1), forward(problems, -1), backward(problems, -1);
  p.reciprocal_condition = {reciprocal.data(), p.batch};
  p.forward_error = {forward.data(), problems};
  p.backward_error = {backward.data(), problems};
  warploom::Control control;
  const warploom::Status status = tridiagonal_condition(device, p, control);
  tally.expect(status.ok(), "condition failed: %s", status.message().c_str());
  for (int64_t q = 0; q < problems; ++q) {
    const int64_t s = q / test.batch.rhs_count;
    const long long n = test.batch.rows(s), system = s;
    if (n == 0) {
      tally.expect(reciprocal[s] == 1 && forward[q] == 0 && backward[q] == 0, "empty system");
      continue;
    }
    const cases::System answer = transposed(test.answer(q), transpose);
    const long double truth = reciprocal_condition(answer);
    // The estimate of |A^-1| is a lower bound, and the solves behind it lose what the condition costs.
    const long double slack = 20 * n * epsilon<T>() / truth;
    tally.expect(reciprocal[s] >= truth * (1 - slack) * 0.999L && (slack > 0.5L || reciprocal[s] <= 10 * truth),
                 "transpose=%d periodic=%d n=%lld system %lld: reciprocal condition %.4g, true %.4Lg",
                 static_cast<int>(transpose), periodic, n, system, reciprocal[s], truth);
    long double error = 0, largest = 0;
    for (int64_t i = 0; i < n; ++i) {
      error = std::max(error, std::abs(answer.x[i] - exact[q].x[i]));
      largest = std::max(largest, std::abs(answer.x[i]));
    }
    tally.expect(error / largest <= forward[q] && (slack > 0.5L || forward[q] <= 40 * n * epsilon<T>() / truth),
                 "transpose=%d periodic=%d n=%lld system %lld: bound %.3g, error %.3Lg, reciprocal condition %.3Lg",
                 static_cast<int>(transpose), periodic, n, system, forward[q], error / largest, truth);
    const double reference = static_cast<double>(answer.backward_error());
    tally.expect(std::fabs(backward[q] - reference) <= 3 * epsilon<double>() + 1e-6 * reference,
                 "n=%lld system %lld: backward error %.3g, in long double %.3g", n, system, backward[q], reference);
  }
}

template <class T>
void check_bad(Tally& tally, GpuDevice& device) {
  TestBatch<T> test(std::vector<int64_t>(3, 12), {});
  for (int64_t s = 0; s < 3; ++s) test.fill(s, cases::family(6, 12, s), cases::family(6, 12, s), 4);
  const auto& b = test.batch;
  for (const auto* band : {&b.lower, &b.diagonal, &b.upper}) band->store(band->index(1, 5, 0), T(0));
  b.diagonal.store(b.diagonal.index(2, 5, 0), T(NAN));
  for (int64_t i = 0; i < 36; ++i) b.solution.store(i, T(1));
  ConditionParameters p;
  cases::set_matrix(p, test);
  p.rhs_count = 1;
  p.rhs = cases::view_of(b, b.rhs, b.rhs_count);
  p.solution = cases::view_of(b, b.solution, b.rhs_count);
  std::vector<double> reciprocal(3, -1), forward(3, -1), backward(3, -1);
  p.reciprocal_condition = {reciprocal.data(), 3};
  p.forward_error = {forward.data(), 3};
  p.backward_error = {backward.data(), 3};
  warploom::Control control;
  (void)tridiagonal_condition(device, p, control);
  tally.expect(reciprocal[0] > 0.1 && std::isfinite(forward[0]), "sound system: %g %g", reciprocal[0], forward[0]);
  tally.expect(reciprocal[1] == 0 && std::isinf(forward[1]) && std::isfinite(backward[1]), "singular: %g %g %g",
               reciprocal[1], forward[1], backward[1]);
  tally.expect(reciprocal[2] == 0 && std::isinf(forward[2]) && std::isinf(backward[2]), "NaN: %g %g %g", reciprocal[2],
               forward[2], backward[2]);
}

template <class T>
void check_type(Tally& tally, GpuDevice& device) {
  for (const Transpose transpose : {Transpose::none, Transpose::transpose, Transpose::conjugate}) {
    for (const bool periodic : {false, true}) {
      for (const int64_t n : {2, 3, 10, 33}) {
        if (cases::kSanitized && n != 3 && n != 10) continue;
        check_batch<T>(tally, device, std::vector<int64_t>(8, n), {}, transpose, periodic);
      }
      check_batch<T>(tally, device, std::vector<int64_t>(8, 20), {Layout::interleaved, false, 2}, transpose, periodic);
      check_batch<T>(tally, device, {9, 0, 25, 4, 31}, {Layout::ragged, false, 1}, transpose, periodic);
    }
    check_batch<T>(tally, device, std::vector<int64_t>(8, 1), {}, transpose, false);
  }
  check_bad<T>(tally, device);
}

}  // namespace

int main() {
  const std::unique_ptr<warploom::Device> owner = warploom::test::open_simt();
  GpuDevice& device = static_cast<GpuDevice&>(*owner);
  Tally tally;
  if (cases::kSelection) {
    check_batch<float>(tally, device, std::vector<int64_t>(8, 20), {}, Transpose::none, true);
    return tally.finish();
  }
  warploom::test::each_type([&](auto value) { check_type<decltype(value)>(tally, device); });
  return tally.finish();
}
