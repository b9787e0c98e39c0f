// The pivoted solver on the twenty families, in every layout, at sizes around its tiles, and on singular input.
#include "cuda/core/launch.cuh"
#include "tridiagonal_batch.h"

#include "cuda/tridiagonal/pivoting/pivoting_agent.cuh"
#include "cuda/tridiagonal/pivoting/pivoting_full_agent.cuh"
#include "cuda/tridiagonal/verify/verify.cuh"

namespace {

using cases::Layout;
using cases::Options;
using cases::Tally;
using cases::TestBatch;
using warploom::simt::GpuDevice;

constexpr int32_t kOk = 0, kZeroPivot = 1, kNonFinite = 2;

template <class T>
constexpr long double epsilon() { return sizeof(warploom::simt::RealOf<T>) == 4 ? 0x1p-23L : 0x1p-52L; }

template <class T>
void expect_answers(Tally& tally, TestBatch<T>& test, const char* what, int label) {
  for (int64_t q = 0; q < test.batch.problems(); ++q) {
    const int64_t s = q / test.batch.rhs_count;
    const long long n = test.batch.rows(s);
    if (n == 0) continue;
    const int64_t singular = cases::reference_zero_pivot(test, s);
    if (singular >= 0) {
      tally.expect(test.status[q] == kZeroPivot && test.row_word[q] == singular,
                   "%s %d, n=%lld, problem %lld: status %d row %d, expected zero pivot in row %lld", what, label, n,
                   static_cast<long long>(q), test.status[q], test.row_word[q], static_cast<long long>(singular));
      continue;
    }
    const long double ratio = test.answer(q).residual_ratio(epsilon<T>());
    tally.expect(test.status[q] == kOk && test.row_word[q] == -1 && ratio <= 30,
                 "%s %d, n=%lld, %zu bytes, problem %lld: status %d, residual ratio %.3Lg", what, label, n, sizeof(T),
                 static_cast<long long>(q), test.status[q], ratio);
  }
}

template <class T>
void solve_families(Tally& tally, GpuDevice& device, int64_t n, const std::vector<std::vector<cases::Bands>>& all) {
  TestBatch<T> test(std::vector<int64_t>(20, n), {});
  for (int f = 1; f <= 20; ++f) test.fill(f - 1, all[0][f - 1], all[1][f - 1], 5);
  warploom::simt::tridiagonal::Used used;
  const warploom::Status status = warploom::simt::tridiagonal::solve_pivoting<T>(device, test.batch, &used);
  tally.expect(status.ok(), "solve_pivoting failed: %s", status.message().c_str());
  expect_answers(tally, test, "families", static_cast<int>(n));
}

template <class T>
void solve_layout(Tally& tally, GpuDevice& device, std::vector<int64_t> sizes, const Options& options) {
  TestBatch<T> test(sizes, options);
  for (size_t s = 0; s < sizes.size(); ++s) {
    const int f = 1 + static_cast<int>(s % 7);
    test.fill(static_cast<int64_t>(s), cases::family(f, sizes[s], s), cases::family(f, sizes[s], s + 50), 9);
  }
  const warploom::Status status = warploom::simt::tridiagonal::solve_pivoting<T>(device, test.batch, nullptr);
  tally.expect(status.ok(), "solve_pivoting failed: %s", status.message().c_str());
  expect_answers(tally, test, "layout", static_cast<int>(options.layout));
}

template <class T>
void solve_layouts(Tally& tally, GpuDevice& device) {
  for (const Layout layout : {Layout::contiguous, Layout::interleaved, Layout::padded, Layout::split}) {
    if (layout == Layout::split && !warploom::simt::kIsComplex<T>) continue;
    for (const bool in_place : {false, true}) {
      solve_layout<T>(tally, device, std::vector<int64_t>(37, 41), {layout, in_place, 1});
      solve_layout<T>(tally, device, std::vector<int64_t>(3, 20), {layout, in_place, 3});
    }
  }
  solve_layout<T>(tally, device, {5, 0, 1, 70, 3, 129, 2, 64}, {Layout::ragged, false, 1});
  solve_layout<T>(tally, device, {5, 1, 700, 2}, {Layout::ragged, true, 2});
}

/// Larger than a block: several segments per system.
template <class T>
void solve_large(Tally& tally, GpuDevice& device) {
  for (const bool in_place : {false, true}) {
    solve_layout<T>(tally, device, std::vector<int64_t>(2, 9001), {Layout::contiguous, in_place, 1});
  }
  solve_layout<T>(tally, device, {4400, 9, 8704}, {Layout::ragged, true, 1});
}

enum Kind { kGeneral, kRows, kChunks };

/// What the agents refuse is solved again elsewhere, so that a broken agent would only be slow: launched alone, they must
/// list the one system with a zero column and no other, and leave its solution as it was.
template <class T>
void refuse_only_bad(Tally& tally, GpuDevice& device, int64_t n, int kind) {
  namespace tri = warploom::simt::tridiagonal;
  constexpr int64_t kSystems = 15;
  TestBatch<T> test(std::vector<int64_t>(kSystems, n), {});
  const int families[] = {1, 2, 3, 4, 5, 6, 7, 13, 14, 15, 16, 17, 18, 19, 20};
  for (int64_t s = 0; s < kSystems; ++s) {
    test.fill(s, cases::family(families[s], n, s), cases::family(families[s], n, s + 50), 9);
  }
  const int64_t bad = 4, column = n / 2;
  auto& b = test.batch;
  b.diagonal.store(b.diagonal.index(bad, column, 0), T(0));
  b.upper.store(b.upper.index(bad, column - 1, 0), T(0));
  b.lower.store(b.lower.index(bad, column + 1, 0), T(0));
  std::vector<int32_t> list(kSystems, -1);
  int32_t count = 0;
  const auto shape = ::warploom::tridiagonal::pivoting_shape(static_cast<int>(sizeof(T)), n);
  warploom::Status status;
  const auto run_full = [&](auto agent) {
    using Agent = decltype(agent);
    tally.expect(Agent::takes(b, shape), "PivotingFullAgent does not take n = %lld", static_cast<long long>(n));
    return warploom::simt::launch<Agent>(device, Agent::launch_shape(b, shape),
                                         Agent::parameters(b, shape, list.data(), &count));
  };
  if (kind == kChunks) {
    status = run_full(tri::PivotingFullAgent<T>());
  } else if (kind == kRows) {
    status = run_full(tri::PivotingFullAgent<T, 1>());
  } else {
    using Agent = tri::PivotingAgent<T>;
    warploom::simt::LaunchShape launch_shape{(kSystems + shape.systems - 1) / shape.systems, shape.threads(),
                                             Agent::shared_bytes(shape)};
    status = warploom::simt::launch<Agent>(device, launch_shape, Agent::parameters(b, shape, list.data(), &count));
  }
  tally.expect(status.ok(), "launch failed: %s", status.message().c_str());
  tally.expect(count == 1 && list[0] == bad, "kind %d, n = %lld, %zu bytes: %d systems refused, the first is %d", kind,
               static_cast<long long>(n), sizeof(T), count, list[0]);
  for (int64_t s = 0; s < kSystems; ++s) {
    if (s == bad) continue;
    const long double ratio = test.answer(s).residual_ratio(epsilon<T>());
    tally.expect(test.status[s] == kOk && test.row_word[s] == -1 && ratio <= 30, "kind %d, system %lld: residual ratio %.3Lg",
                 kind, static_cast<long long>(s), ratio);
  }
  const auto canary = test.answer(bad).x[0].real();
  tally.expect(test.status[bad] == -7 && canary == -12345, "the refused system was written");
}

/// A zero row, a zero column, a NaN and an infinity stay in their systems and are reported with their rows.
template <class T>
void solve_bad_input(Tally& tally, GpuDevice& device) {
  const int64_t n = 70;
  const auto solve = [&](bool spoil, TestBatch<T>& test) {
    for (int64_t s = 0; s < 8; ++s) test.fill(s, cases::family(1, n, s), cases::family(1, n, s + 9), 3);
    if (spoil) {
      const auto& b = test.batch;
      for (const auto* band : {&b.lower, &b.diagonal, &b.upper}) band->store(band->index(1, 30, 0), T(0));
      b.diagonal.store(b.diagonal.index(3, 33, 0), T(NAN));
      b.rhs.store(b.rhs.index(5, 69, 0), T(INFINITY));
      b.diagonal.store(b.diagonal.index(6, 0, 0), T(0));
      b.lower.store(b.lower.index(6, 1, 0), T(0));
    }
    const warploom::Status status = warploom::simt::tridiagonal::solve_pivoting<T>(device, test.batch, nullptr);
    tally.expect(status.ok(), "solve_pivoting failed: %s", status.message().c_str());
  };
  TestBatch<T> clean(std::vector<int64_t>(8, n), {}), spoilt(std::vector<int64_t>(8, n), {});
  solve(false, clean);
  solve(true, spoilt);
  for (const int64_t s : {0, 2, 4, 7}) {
    bool same = true;
    for (int64_t i = 0; i < n; ++i) same = same && clean.answer(s).x[i] == spoilt.answer(s).x[i];
    tally.expect(same && spoilt.status[s] == kOk, "neighbour %lld of bad systems changed", static_cast<long long>(s));
  }
  const auto expect_word = [&](int64_t s, int32_t status, int32_t row) {
    tally.expect(spoilt.status[s] == status && spoilt.row_word[s] == row, "system %lld: status %d row %d",
                 static_cast<long long>(s), spoilt.status[s], spoilt.row_word[s]);
  };
  expect_word(1, kZeroPivot, static_cast<int32_t>(cases::reference_zero_pivot(spoilt, 1)));
  expect_word(3, kNonFinite, 33);
  expect_word(5, kNonFinite, 69);
  expect_word(6, kZeroPivot, 0);
}

}  // namespace

int main() {
  const std::unique_ptr<warploom::Device> owner = warploom::test::open_simt();
  GpuDevice& device = static_cast<GpuDevice&>(*owner);
  Tally tally;
  if (cases::kSelection) {
    refuse_only_bad<float>(tally, device, 64, kChunks);
    refuse_only_bad<double>(tally, device, 512, kRows);
    solve_layout<float>(tally, device, std::vector<int64_t>(9, 33), {});
    solve_layout<double>(tally, device, std::vector<int64_t>(5, 64), {Layout::interleaved, true, 1});
    solve_layout<float>(tally, device, std::vector<int64_t>(2, 700), {});
    solve_layout<float>(tally, device, std::vector<int64_t>(1, 9001), {});
    return tally.finish();
  }
  using warploom::test::each_type;
  for (const int64_t n : {32, 64, 100, 512, 1024}) {
    if (cases::kSanitized && n == 1024) continue;
    for (const Kind kind : {kGeneral, kRows, kChunks}) {
      each_type([&](auto value) { refuse_only_bad<decltype(value)>(tally, device, n, kind); });
    }
  }
  for (const int64_t n : {1, 2, 3, 5, 10, 31, 32, 33, 50, 64, 100, 512}) {
    if (cases::kSanitized && (n == 5 || n == 31 || n == 50 || n == 64)) continue;
    std::vector<std::vector<cases::Bands>> all(2);
    for (int f = 1; f <= 20; ++f) {
      all[0].push_back(cases::family(f, n, 1));
      all[1].push_back(n == 512 ? all[0].back() : cases::family(f, n, 2));
    }
    each_type([&](auto value) { solve_families<decltype(value)>(tally, device, n, all); });
  }
  each_type([&](auto value) { solve_layouts<decltype(value)>(tally, device); });
  solve_large<float>(tally, device);
  if constexpr (!cases::kSanitized) solve_large<double>(tally, device);
  solve_bad_input<float>(tally, device);
  solve_bad_input<warploom::simt::Complex<double>>(tally, device);
  return tally.finish();
}
