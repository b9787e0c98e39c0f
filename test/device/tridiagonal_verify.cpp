// Check, repair, refinement and periodic pivoting: what they compute, and that they change nothing else.
#include "tridiagonal_batch.h"

#include "cuda/tridiagonal/verify/verify.cuh"

namespace {

using namespace warploom::simt;
using namespace warploom::simt::tridiagonal;
using cases::Layout;
using cases::Options;
using cases::Tally;
using cases::TestBatch;

constexpr int32_t kOk = 0, kZeroPivot = 1, kNonFinite = 2;
constexpr int32_t kRepaired = operation::kResolvedByPivoting;

template <class T>
constexpr double epsilon() { return sizeof(RealOf<T>) == 4 ? 0x1p-23 : 0x1p-52; }

void expect_ok(Tally& tally, const warploom::Status& status) {
  tally.expect(status.ok(), "call failed: %s", status.message().c_str());
}

template <class T>
void fill(TestBatch<T>& test, int64_t systems, bool periodic) {
  for (int64_t s = 0; s < systems; ++s) {
    const int f = s % 3 == 0 ? 1 : s % 3 == 1 ? 18 : 5;
    const int64_t n = test.batch.rows(s);
    test.fill(s, cases::family(f, n, s), cases::family(f, n, s + 50), 4, periodic);
  }
}

/// Spoils answers, checks, and expects repairs exactly there.
template <class T>
void check_repairs(Tally& tally, GpuDevice& device, const std::vector<int64_t>& sizes, const Options& options,
                   bool periodic) {
  const int64_t systems = static_cast<int64_t>(sizes.size());
  TestBatch<T> test(sizes, options);
  fill(test, systems, periodic);
  Workspace memory;
  Batch<T> kept;
  expect_ok(tally, keep_rhs(device, test.batch, &memory, &kept));
  const T* corners = periodic ? test.corners.data() : nullptr;
  expect_ok(tally, periodic ? solve_pivoting_periodic(device, kept, corners, nullptr)
                            : solve_pivoting(device, kept, nullptr));
  const int64_t problems = test.batch.problems();
  std::vector<cases::System> before;
  std::vector<bool> spoilt(problems, false);
  for (int64_t q = 0; q < problems; ++q) {
    const int64_t s = q / test.batch.rhs_count, r = q % test.batch.rhs_count, n = test.batch.rows(s);
    before.push_back(test.answer(q));
    if (q % 4 == 0 || n == 0) continue;
    const auto& x = test.batch.solution;
    const int64_t at = x.index(test.batch.origin(s), n / 2, r);
    spoilt[q] = true;
    if (q % 4 == 1) x.store(at, x.load(at) * T(RealOf<T>(1.01)) + T(RealOf<T>(0.01)));
    if (q % 4 == 2) x.store(at, T(NAN));
    if (q % 4 == 3) test.status[q] = kZeroPivot;
  }
  std::vector<double> errors(problems, -1);
  const double tolerance = 100 * epsilon<T>();
  expect_ok(tally, verify<T>(device, kept, {tolerance, errors.data(), corners}, nullptr));
  for (int64_t q = 0; q < problems; ++q) {
    const cases::System after = test.answer(q);
    const double reference = static_cast<double>(after.backward_error());
    const long long problem = q, n = after.rows();
    tally.expect(test.status[q] == (spoilt[q] ? kRepaired : kOk) && test.row_word[q] == -1,
                 "n=%lld problem %lld: status %d row %d", n, problem, test.status[q], test.row_word[q]);
    tally.expect(std::fabs(errors[q] - reference) <= 3 * epsilon<double>() + 1e-6 * reference,
                 "n=%lld problem %lld: backward error %.3g, in long double %.3g", n, problem, errors[q], reference);
    bool same = true;
    for (int64_t i = 0; i < n; ++i) same = same && after.x[i] == before[q].x[i];
    tally.expect(spoilt[q] ? reference <= tolerance : same, "n=%lld problem %lld: %s", n, problem,
                 spoilt[q] ? "not repaired" : "changed");
  }
}

/// Statuses of answers that cannot be repaired.
template <class T>
void check_hopeless(Tally& tally, GpuDevice& device) {
  const int64_t n = 45;
  TestBatch<T> test(std::vector<int64_t>(6, n), {});
  fill(test, 6, false);
  const auto& b = test.batch;
  for (const auto* band : {&b.lower, &b.diagonal, &b.upper}) band->store(band->index(2, 20, 0), T(0));
  b.upper.store(b.upper.index(4, 7, 0), T(NAN));
  for (int64_t q = 0; q < 6; ++q) {
    for (int64_t i = 0; i < n; ++i) b.solution.store(b.solution.index(q, i, 0), T(1));
    test.status[q] = kOk;
  }
  std::vector<double> errors(6);
  expect_ok(tally, verify<T>(device, b, {0, errors.data(), nullptr}, nullptr));
  tally.expect(test.status[2] == kZeroPivot && test.row_word[2] == cases::reference_zero_pivot(test, 2),
               "singular: status %d row %d", test.status[2], test.row_word[2]);
  tally.expect(test.status[4] == kNonFinite && test.row_word[4] == 7, "NaN: status %d row %d", test.status[4],
               test.row_word[4]);
  tally.expect(std::isinf(errors[2]) && std::isinf(errors[4]), "backward errors of no answer: %g %g", errors[2],
               errors[4]);
  for (const int q : {0, 1, 3, 5}) tally.expect(test.status[q] == kRepaired, "problem %d: status %d", q, test.status[q]);
}

/// Periodic systems of all families at small sizes.
template <class T>
void check_periodic(Tally& tally, GpuDevice& device, int64_t n) {
  TestBatch<T> test(std::vector<int64_t>(20, n), {});
  for (int f = 1; f <= 20; ++f) test.fill(f - 1, cases::family(f, n, 3), cases::family(f, n, 4), 6, true);
  expect_ok(tally, solve_pivoting_periodic(device, test.batch, test.corners.data(), nullptr));
  for (int f = 1; f <= 20; ++f) {
    const long double ratio = test.answer(f - 1).residual_ratio(epsilon<T>());
    const bool singular = test.status[f - 1] == kZeroPivot;
    tally.expect(singular ? f == 15 || f == 3 || n < 4 : test.status[f - 1] == kOk && ratio <= 30,
                 "periodic family %d n=%lld: status %d row %d ratio %.3Lg", f, static_cast<long long>(n),
                 test.status[f - 1], test.row_word[f - 1], ratio);
  }
}

/// Refined answers are the exact ones rounded to T, up to half a unit in a few.
template <class T>
void check_refinement(Tally& tally, GpuDevice& device, const Options& options, bool periodic) {
  const std::vector<int64_t> sizes = options.layout == Layout::ragged ? std::vector<int64_t>{40, 1, 17, 64, 2}
                                                                      : std::vector<int64_t>(7, 40);
  const int64_t systems = static_cast<int64_t>(sizes.size());
  TestBatch<T> test(sizes, options);
  fill(test, systems, periodic);
  Workspace memory;
  Batch<T> kept;
  const T* corners = periodic ? test.corners.data() : nullptr;
  const auto solve = [&](const Batch<T>& batch) {
    return periodic ? solve_pivoting_periodic(device, batch, corners, nullptr) : solve_pivoting(device, batch, nullptr);
  };
  expect_ok(tally, keep_rhs(device, test.batch, &memory, &kept));
  expect_ok(tally, solve(kept));
  expect_ok(tally, refine<T>(device, kept, {0, nullptr, corners}, solve, nullptr));
  for (int64_t q = 0; q < test.batch.problems(); ++q) {
    const cases::System answer = test.answer(q);
    cases::System exact = answer;
    exact.solve_exactly();
    long double worst = 0;
    for (int64_t i = 0; i < answer.rows(); ++i) {
      const long double size = cases::System::size(exact.x[i]);
      worst = std::max(worst, cases::System::size(answer.x[i] - exact.x[i]) / std::max(size, 1e-30L));
    }
    // Each part within half a unit in the last place of its own; complex parts may differ in size.
    tally.expect(worst <= (kIsComplex<T> ? 1.5 : 1.001) * epsilon<T>() / 2, "refined problem %lld: error %.3Lg epsilon",
                 static_cast<long long>(q), worst / epsilon<T>());
  }
}

template <class T>
void check_type(Tally& tally, GpuDevice& device) {
  for (const bool periodic : {false, true}) {
    for (const bool in_place : {false, true}) {
      for (const Layout layout : {Layout::contiguous, Layout::interleaved, Layout::padded, Layout::split}) {
        if (layout == Layout::split && !kIsComplex<T>) continue;
        check_repairs<T>(tally, device, std::vector<int64_t>(21, 37), {layout, in_place, 1}, periodic);
        check_repairs<T>(tally, device, std::vector<int64_t>(5, 6), {layout, in_place, 3}, periodic);
      }
      check_repairs<T>(tally, device, {3, 1, 60, 2, 33, 7}, {Layout::ragged, in_place, 2}, periodic);
    }
  }
  check_repairs<T>(tally, device, std::vector<int64_t>(2, 9000), {Layout::contiguous, true, 1}, false);
  check_hopeless<T>(tally, device);
  for (const int64_t n : {1, 2, 3, 4, 5, 10, 32, 33, 100}) check_periodic<T>(tally, device, n);
}

}  // namespace

int main() {
  const std::unique_ptr<warploom::Device> owner = warploom::test::open_simt();
  GpuDevice& device = static_cast<GpuDevice&>(*owner);
  Tally tally;
  if (cases::kSelection) {
    check_repairs<float>(tally, device, std::vector<int64_t>(9, 37), {}, false);
    check_repairs<double>(tally, device, std::vector<int64_t>(5, 20), {Layout::interleaved, true, 2}, true);
    check_refinement<float>(tally, device, {Layout::ragged, true, 2}, false);
    return tally.finish();
  }
  warploom::test::each_type([&](auto value) { check_type<decltype(value)>(tally, device); });
  for (const bool periodic : {false, true}) {
    check_refinement<float>(tally, device, {}, periodic);
    check_refinement<float>(tally, device, {Layout::interleaved, true, 2}, periodic);
    check_refinement<float>(tally, device, {Layout::ragged, true, 2}, periodic);
    check_refinement<Complex<float>>(tally, device, {Layout::split, true, 1}, periodic);
  }
  return tally.finish();
}
