// Factor once, solve many: every factorisation, layout and size class, and what is reported about bad matrices.
#include "cuda/core/runtime.h"
#include "tridiagonal_views.h"

#include "test/device/support/operations.h"

namespace {

using namespace warploom::simt;
using cases::Layout;
using cases::Options;
using cases::Tally;
using cases::TestBatch;
using warploom::tridiagonal::Factorisation;
using warploom::tridiagonal::FactorParameters;
using warploom::tridiagonal::SolveFactoredParameters;

constexpr int32_t kOk = 0, kZeroPivot = 1, kNonFinite = 2, kInaccurate = 3;

template <class T>
constexpr long double epsilon() { return sizeof(RealOf<T>) == 4 ? 0x1p-23L : 0x1p-52L; }

/// A factorisation of a batch and its status words.
struct Factored {
  std::vector<uint8_t> factors;
  std::vector<int32_t> status, row;
};

template <class T>
Factored factor(Tally& tally, GpuDevice& device, const TestBatch<T>& test, Factorisation factorisation, bool periodic) {
  Factored result;
  FactorParameters p;
  cases::set_matrix(p, test);
  p.periodic = periodic;
  p.factorisation = factorisation;
  if (factorisation == Factorisation::cholesky) {
    p.structure = warploom::tridiagonal::Structure::positive_definite;
    p.upper = {};
  }
  const int64_t bytes = warploom::tridiagonal::factor_bytes(p.type, p.n, p.batch, periodic, factorisation);
  result.factors.assign(bytes, 0xcd);
  result.status.assign(p.batch, -7);
  result.row.assign(p.batch, -7);
  p.factors = {result.factors.data(), bytes};
  p.status = {result.status.data(), p.batch};
  p.row = {result.row.data(), p.batch};
  warploom::Control control;
  const warploom::Status status = tridiagonal_factor(device, p, control);
  tally.expect(status.ok(), "factor failed: %s", status.message().c_str());
  return result;
}

template <class T>
void solve(Tally& tally, GpuDevice& device, TestBatch<T>& test, const Factored& factored, Factorisation factorisation,
           bool periodic, bool shared = false) {
  SolveFactoredParameters p;
  p.type = cases::scalar_type<T>();
  p.n = test.batch.n;
  p.batch = test.batch.systems;
  p.rhs_count = test.batch.rhs_count;
  if (test.batch.offsets != nullptr) p.offsets = {test.batch.offsets, p.batch + 1};
  p.periodic = periodic;
  p.factorisation = factorisation;
  p.shared = shared;
  p.factors = {factored.factors.data(), static_cast<int64_t>(factored.factors.size())};
  p.rhs = cases::view_of(test.batch, test.batch.rhs, test.batch.rhs_count);
  p.solution = cases::view_of(test.batch, test.batch.solution, test.batch.rhs_count);
  p.status = {test.status.data(), test.batch.problems()};
  p.row = {test.row_word.data(), test.batch.problems()};
  warploom::Control control;
  const warploom::Status status = tridiagonal_solve_factored(device, p, control);
  tally.expect(status.ok(), "solve_factored failed: %s", status.message().c_str());
}

const char* name_of(Factorisation f) { return warploom::tridiagonal::kFactorisationNames[static_cast<int>(f)]; }

template <class T>
void check_batch(Tally& tally, GpuDevice& device, const std::vector<int64_t>& sizes, const Options& options,
                 Factorisation factorisation, bool periodic) {
  TestBatch<T> test(sizes, options);
  for (size_t s = 0; s < sizes.size(); ++s) {
    if (factorisation == Factorisation::cholesky) {
      cases::fill_positive_definite(test, static_cast<int64_t>(s), 5, periodic);
      continue;
    }
    const int dominant[] = {6, 18, 20, 17}, hard[] = {1, 14, 16, 5};
    const int f = (factorisation == Factorisation::pivoted ? hard : dominant)[s % 4];
    test.fill(static_cast<int64_t>(s), cases::family(f, sizes[s], s), cases::family(f, sizes[s], s + 50), 4, periodic);
  }
  if (periodic) cases::store_corners(test);
  const Factored factored = factor(tally, device, test, factorisation, periodic);
  solve(tally, device, test, factored, factorisation, periodic);
  for (int64_t q = 0; q < test.batch.problems(); ++q) {
    const int64_t s = q / test.batch.rhs_count;
    const cases::System answer = test.answer(q);
    const long long n = answer.rows();
    const long double ratio = n == 0 ? 0 : answer.residual_ratio(epsilon<T>());
    tally.expect(factored.status[s] == kOk && factored.row[s] == -1 && test.status[q] == kOk && ratio <= 30,
                 "%s periodic=%d layout=%d n=%lld %zu bytes problem %lld: factor %d row %d, solve %d, ratio %.3Lg",
                 name_of(factorisation), periodic, static_cast<int>(options.layout), n, sizeof(T),
                 static_cast<long long>(q), factored.status[s], factored.row[s], test.status[q], ratio);
  }
}

template <class T>
void check_layouts(Tally& tally, GpuDevice& device, Factorisation factorisation, bool periodic) {
  for (const int64_t n : {1, 2, 3, 5, 17, 18, 33, 64, 100, 513}) {
    if (cases::kSanitized && (n == 2 || n == 5 || n == 18 || n == 64 || n > 100)) continue;
    check_batch<T>(tally, device, std::vector<int64_t>(9, n), {Layout::contiguous, n % 2 == 0, 2}, factorisation,
                   periodic);
  }
  for (const Layout layout : {Layout::interleaved, Layout::padded, Layout::split}) {
    if (layout == Layout::split && !kIsComplex<T>) continue;
    check_batch<T>(tally, device, std::vector<int64_t>(70, 21), {layout, true, 1}, factorisation, periodic);
    check_batch<T>(tally, device, std::vector<int64_t>(3, 80), {layout, false, 5}, factorisation, periodic);
  }
  check_batch<T>(tally, device, {5, 0, 1, 70, 3, 129, 2, 64}, {Layout::ragged, true, 2}, factorisation, periodic);
  check_batch<T>(tally, device, std::vector<int64_t>(3, 40), {Layout::contiguous, true, 70}, factorisation, periodic);
  if (cases::kSanitized && periodic) return;  // several segments, as of one block's systems
  check_batch<T>(tally, device, {9000, 3, 0, 4352}, {Layout::ragged, true, cases::kSanitized ? 1 : 2}, factorisation, periodic);
}

/// Rows that lie together in whole vectors: every small size, then by one warp and several, filled and not.
template <class T>
void check_rows(Tally& tally, GpuDevice& device, Factorisation factorisation) {
  for (int64_t n = 1; n <= 70; ++n) {
    if (cases::kSanitized && n % 7 != 1 && n % 16 != 0) continue;
    check_batch<T>(tally, device, std::vector<int64_t>(n < 9 ? 150 : 11, n), {Layout::contiguous, n % 2 == 0, 1 + n % 3}, factorisation, false);
  }
  for (const int64_t n : {128, 132, 250, 256, 260, 300, 508, 512, 516, 700, 768, 1024, 1028, 1500, 2048, 2052}) {
    if (cases::kSanitized && n != 132 && n != 300 && n != 700) continue;
    check_batch<T>(tally, device, std::vector<int64_t>(3, n), {n % 3 == 0 ? Layout::padded : Layout::contiguous, n % 8 == 0, 1 + n % 4}, factorisation, false);
  }
}

/// One matrix for all systems.
template <class T>
void check_shared(Tally& tally, GpuDevice& device, Factorisation factorisation) {
  for (const int64_t n : {1, 4, 12, 40, 64, 129, 260, 1100}) {
    if (cases::kSanitized && n != 12 && n != 260) continue;
    for (const int64_t rhs_count : {1, 3}) {
      const auto fill = [&](TestBatch<T>& test, int64_t s) {
        // The matrix by 4 or n alone, the unknowns by s.
        if (factorisation == Factorisation::cholesky) {
          cases::fill_positive_definite(test, s, 5 - 31 * static_cast<uint64_t>(s), false);
        } else {
          test.fill(s, cases::family(18, n, 1), cases::family(18, n, 51), 4);
        }
      };
      TestBatch<T> one({n}, {}), test(std::vector<int64_t>(n < 40 ? 300 : 21, n), {Layout::contiguous, rhs_count == 3, rhs_count});
      fill(one, 0);
      for (int64_t s = 0; s < test.batch.systems; ++s) fill(test, s);
      const Factored factored = factor(tally, device, one, factorisation, false);
      solve(tally, device, test, factored, factorisation, false, true);
      for (int64_t q = 0; q < test.batch.problems(); ++q) {
        const long double ratio = test.answer(q).residual_ratio(epsilon<T>());
        tally.expect(test.status[q] == kOk && test.row_word[q] == -1 && ratio <= 30, "%s one matrix, n=%lld %zu bytes problem %lld: %d, %.3Lg",
                     name_of(factorisation), static_cast<long long>(n), sizeof(T), static_cast<long long>(q), test.status[q], ratio);
      }
    }
  }
}

/// What each right-hand side is told, of rows that lie together: the first bad row of matrix or right-hand side, before a zero
/// pivot, before an overflow; neighbours are solved.
template <class T>
void check_verdicts(Tally& tally, GpuDevice& device, Factorisation factorisation, int64_t n, bool in_place) {
  constexpr int64_t kSystems = 9, kSides = 2;
  struct Expected {
    int32_t status;
    int64_t row;
  };
  using R = RealOf<T>;
  TestBatch<T> test(std::vector<int64_t>(kSystems, n), {Layout::contiguous, in_place, kSides});
  for (int64_t s = 0; s < kSystems; ++s) cases::fill_positive_definite(test, s, 8, false);
  const auto& b = test.batch;
  const auto diagonal = [&](int64_t s, int64_t row, const T& value) { b.diagonal.store(b.diagonal.index(s, row, 0), value); };
  const auto rhs = [&](int64_t s, int64_t row, int64_t side, const T& value) { b.rhs.store(b.rhs.index(s, row, side), value); };
  const int64_t mid = n / 2, last = n - 1;
  Expected expected[kSystems][kSides];
  for (auto& system : expected) system[0] = system[1] = {kOk, -1};
  diagonal(1, 0, T(0));  // a zero pivot, and a right-hand side that is worse
  rhs(1, last, 1, T(R(NAN)));
  expected[1][0] = {kZeroPivot, 0};
  expected[1][1] = {kNonFinite, last};
  diagonal(2, mid, T(R(NAN)));
  expected[2][0] = expected[2][1] = {kNonFinite, mid};
  diagonal(3, mid, T(R(INFINITY)));  // and right-hand sides that are as bad, earlier and later
  rhs(3, 0, 0, T(R(-INFINITY)));
  rhs(3, last, 1, T(R(NAN)));
  expected[3][0] = {kNonFinite, 0};
  expected[3][1] = {kNonFinite, mid};
  rhs(4, last, 0, T(R(INFINITY)));
  rhs(4, mid, 0, T(R(NAN)));
  expected[4][0] = {kNonFinite, mid};
  rhs(5, mid, 1, T(R(-INFINITY)));
  expected[5][1] = {kNonFinite, mid};
  rhs(6, 0, 1, T(R(NAN)));
  expected[6][1] = {kNonFinite, 0};
  const R large = sizeof(R) == 4 ? R(0x1p100) : R(0x1p900);
  b.lower.store(b.lower.index(7, mid, 0), T(0));  // a row by itself that overflows
  b.upper.store(b.upper.index(7, mid, 0), T(0));
  if (mid > 0) b.upper.store(b.upper.index(7, mid - 1, 0), T(0));
  if (mid < last) b.lower.store(b.lower.index(7, mid + 1, 0), T(0));
  diagonal(7, mid, T(R(1) / large));
  rhs(7, mid, 0, T(large));
  rhs(7, mid, 1, T(R(1) / large));
  expected[7][0] = {kInaccurate, -1};
  const Factored factored = factor(tally, device, test, factorisation, false);
  solve(tally, device, test, factored, factorisation, false);
  for (int64_t q = 0; q < b.problems(); ++q) {
    const int64_t s = q / kSides;
    const Expected& e = expected[s][q % kSides];
    tally.expect(test.status[q] == e.status && test.row_word[q] == e.row, "%s n=%lld %zu bytes in place %d, problem %lld: %d row %d, not %d row %lld",
                 name_of(factorisation), static_cast<long long>(n), sizeof(T), in_place, static_cast<long long>(q), test.status[q],
                 test.row_word[q], e.status, static_cast<long long>(e.row));
    const cases::System answer = test.answer(q);
    if (e.status == kOk && s != 7) {
      tally.expect(answer.residual_ratio(epsilon<T>()) <= 30, "%s n=%lld: neighbour %lld of bad systems is wrong", name_of(factorisation),
                   static_cast<long long>(n), static_cast<long long>(q));
    }
    if (s > 0 && s < 4) {
      for (int64_t i = 0; i < n; ++i) tally.expect(std::isnan(static_cast<double>(answer.x[i].real())), "a system without an answer has one");
    }
  }
}

/// Zero pivots, indefinite matrices and NaN: reported by factor, repeated by every solve, answers NaN.
template <class T>
void check_bad(Tally& tally, GpuDevice& device, Factorisation factorisation) {
  TestBatch<T> test(std::vector<int64_t>(4, 40), {});
  for (int64_t s = 0; s < 4; ++s) cases::fill_positive_definite(test, s, 8, false);
  const auto& b = test.batch;
  b.diagonal.store(b.diagonal.index(1, 0, 0), T(0));
  if (factorisation == Factorisation::pivoted) b.lower.store(b.lower.index(1, 1, 0), T(0));
  b.diagonal.store(b.diagonal.index(2, 17, 0), T(NAN));
  b.rhs.store(b.rhs.index(3, 39, 0), T(INFINITY));
  const Factored factored = factor(tally, device, test, factorisation, false);
  solve(tally, device, test, factored, factorisation, false);
  const int32_t statuses[] = {kOk, kZeroPivot, kNonFinite, kNonFinite}, rows[] = {-1, 0, 17, -1};
  for (int64_t s = 0; s < 4; ++s) {
    tally.expect(factored.status[s] == (s == 3 ? kOk : statuses[s]) && factored.row[s] == rows[s] &&
                     test.status[s] == statuses[s],
                 "%s bad system %lld: factor %d row %d, solve %d", name_of(factorisation), static_cast<long long>(s),
                 factored.status[s], factored.row[s], test.status[s]);
    const bool lost = std::isnan(static_cast<double>(test.answer(s).x[20].real()));
    tally.expect(lost == (s == 1 || s == 2) || s == 3, "%s bad system %lld has an answer", name_of(factorisation),
                 static_cast<long long>(s));
  }
  if (factorisation != Factorisation::cholesky) return;
  TestBatch<T> indefinite(std::vector<int64_t>(1, 9), {});
  cases::fill_positive_definite(indefinite, 0, 8, false);
  indefinite.batch.diagonal.store(6, T(RealOf<T>(-1)));
  const Factored again = factor(tally, device, indefinite, factorisation, false);
  tally.expect(again.status[0] == kZeroPivot && again.row[0] == 6, "indefinite: status %d row %d", again.status[0],
               again.row[0]);
}

template <class T>
void check_type(Tally& tally, GpuDevice& device) {
  for (const Factorisation f : {Factorisation::regpack, Factorisation::pivoted, Factorisation::cholesky}) {
    for (const bool periodic : {false, true}) check_layouts<T>(tally, device, f, periodic);
    check_bad<T>(tally, device, f);
    if (f == Factorisation::pivoted) continue;
    check_rows<T>(tally, device, f);
    check_shared<T>(tally, device, f);
    for (const int64_t n : {2, 4, 8, 9, 12, 40, 64, 250, 300, 1100}) {
      if (cases::kSanitized && n != 8 && n != 40 && n != 300) continue;
      for (const bool in_place : {false, true}) check_verdicts<T>(tally, device, f, n, in_place);
    }
  }
}

}  // namespace

int main() {
  const std::unique_ptr<warploom::Device> owner = warploom::test::open_simt();
  GpuDevice& device = static_cast<GpuDevice&>(*owner);
  Tally tally;
  if (cases::kSelection) {
    for (const Factorisation f : {Factorisation::regpack, Factorisation::pivoted, Factorisation::cholesky}) {
      check_batch<float>(tally, device, std::vector<int64_t>(5, 40), {Layout::contiguous, true, 70}, f, true);
    }
    check_batch<float>(tally, device, std::vector<int64_t>(2, 700), {}, Factorisation::regpack, false);
    check_batch<float>(tally, device, std::vector<int64_t>(1, 9001), {}, Factorisation::cholesky, true);
    return tally.finish();
  }
  warploom::test::each_type([&](auto value) { check_type<decltype(value)>(tally, device); });
  return tally.finish();
}
