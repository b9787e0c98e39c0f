// Right-hand sides that share a matrix, on the shim, called below the front: by rows and by columns, sizes and counts of every
// kind, bad right-hand sides beside good ones, bad matrices.
#include "cuda/tridiagonal/regpack/matrix_launch.cuh"
#include "test/device/support/harness.h"
#include "test/device/support/operations.h"
#include "test/device/tridiagonal_direct.h"

namespace warploom::test {
namespace {

enum class Way { rows, columns };

template <class T>
Status solve_shared(Device& device, Case<T>& c, Way way, std::vector<int32_t>& status, std::vector<int32_t>& row,
                    bool in_place = false) {
  const tri::Batch<T> batch = batch_of(c, status, row, in_place);
  tri::Used used;
  auto& gpu = dynamic_cast<simt::GpuDevice&>(device);
  return way == Way::rows ? tri::launch_matrix_rows(gpu, batch, &used) : tri::solve_matrix_columns(gpu, batch, &used);
}

/// One matrix for all systems, unless `own`: one for the right-hand sides of each.
template <class T>
Case<T> make_shared(Way way, int64_t n, int64_t systems, int64_t rhs_count = 1, bool own = false) {
  Shape shape;
  shape.n = n;
  shape.systems = systems;
  shape.rhs_count = rhs_count;
  shape.seed = static_cast<uint64_t>(n * 31 + systems);
  shape.layout = way == Way::columns ? Layout::interleaved : own ? Layout::contiguous : Layout::shared;
  Case<T> c = make_case<T>(shape);
  if (way == Way::rows) return c;
  Shape shared = shape;
  shared.layout = Layout::shared;
  for (Buffer<T>* band : {&c.lower, &c.diagonal, &c.upper}) place(*band, shared, n, true);
  std::mt19937_64 random(shape.seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (int64_t i = 0; i < n; ++i) {
    if (i > 0) c.lower.set(i, uniform(random));
    if (i + 1 < n) c.upper.set(i, uniform(random));
    c.diagonal.set(i, 2.1 + uniform(random) / 16);
  }
  fill_rhs(c);
  return c;
}

template <class T>
std::string about(Way way, const Case<T>& c) { return (way == Way::rows ? "rows of one matrix, " : "columns of one matrix, ") + c.name(); }

template <class T>
void good_shared(Report& report, Device& device, Way way, int64_t n, int64_t systems, int64_t rhs_count = 1, bool own = false) {
  Case<T> c = make_shared<T>(way, n, systems, rhs_count, own);
  std::vector<int32_t> status, row;
  const Status result = solve_shared(device, c, way, status, row);
  if (!result.ok()) return report.check(false, about(way, c) + ": " + result.message());
  long double worst = 0;
  for (int64_t s = 0; s < systems; ++s) worst = std::fmax(worst, judge(c, s).backward);
  bool words = true;
  for (size_t i = 0; i < status.size(); ++i) words = words && status[i] == 0 && row[i] == -1;
  // Columns: rows are dominant by 0.1 only.
  report.check(words && worst < (way == Way::rows ? 6 : 12) && padding_untouched(c), about(way, c) + ": backward " + std::to_string(static_cast<double>(worst)));
  Case<T> together = c;
  const bool ran = solve_shared(device, together, way, status, row, true).ok();
  report.check(ran && together.rhs.same_bits(c.solution), about(way, c) + ": in place");
  if (way == Way::columns) return;
  Case<T> apart = c;
  const bool same = solve(device, apart, tridiagonal::matrix_depth(n), status, row).ok() && apart.solution.same_bits(c.solution);
  report.check(same, about(way, c) + ": the bits of cr-regpack at its depth");
}

/// NaN in one right-hand side; zero pivots and entries that are not finite in the matrix.
template <class T>
void bad_shared(Report& report, Device& device, Way way, int64_t n, int64_t systems, int64_t at) {
  const Case<T> clean = make_shared<T>(way, n, systems);
  Case<T> right = clean, c = clean;
  std::vector<int32_t> status, row;
  bool good = solve_shared(device, right, way, status, row).ok();
  c.rhs.set(c.at(c.rhs.view, 1, at, 0), NAN);
  good = good && solve_shared(device, c, way, status, row).ok();
  for (int64_t s = 0; s < systems && good; ++s) {
    good = s == 1 ? status[1] == 2 && row[1] == at : status[s] == 0 && row[s] == -1;
    for (int64_t i = 0; i < n && s != 1 && good; ++i) {
      good = c.solution.get(c.at(c.solution.view, s, i, 0)) == right.solution.get(c.at(c.solution.view, s, i, 0));
    }
  }
  report.check(good, about(way, c) + ": NaN at " + std::to_string(at));
  const auto expect = [&](const char* what, int32_t wanted_status, int64_t wanted_row, auto&& set) {
    Case<T> bad = clean;
    set(bad);
    bool all = solve_shared(device, bad, way, status, row).ok();
    for (int64_t s = 0; s < systems; ++s) all = all && status[s] == wanted_status && row[s] == wanted_row;
    report.check(all, about(way, bad) + ": " + what + " at " + std::to_string(at) + ", " + std::to_string(status[0]) + "@" + std::to_string(row[0]));
  };
  expect("an infinite entry", 2, at, [&](Case<T>& bad) { bad.diagonal.set(at, INFINITY); });
  expect("NaN", 2, at, [&](Case<T>& bad) { bad.diagonal.set(at, NAN); });
  expect("a row of zeros", 1, at, [&](Case<T>& bad) {
    bad.diagonal.set(at, 0);
    if (at > 0) bad.lower.set(at, 0), bad.upper.set(at - 1, 0);
    if (at + 1 < n) bad.upper.set(at, 0), bad.lower.set(at + 1, 0);
  });
  using Real = simt::RealOf<T>;
  expect("an overflow", 3, -1, [&](Case<T>& bad) {
    bad.diagonal.set(at, 64 / (std::numeric_limits<Real>::max() / 4));
    if (at > 0) bad.lower.set(at, 0), bad.upper.set(at - 1, 0);
    if (at + 1 < n) bad.upper.set(at, 0), bad.lower.set(at + 1, 0);
    for (int64_t s = 0; s < systems; ++s) bad.rhs.set(bad.at(bad.rhs.view, s, at, 0), std::numeric_limits<Real>::max() / 4);
  });
}

template <class T>
void all(Report& report) {
  std::vector<int64_t> rows = {4, 8, 12, 16, 20, 32, 60, 64, 100, 124, 128, 132, 252, 256, 260, 380, 500, 508, 512, 1024, 2048, 4096};
  std::vector<int64_t> columns = {513, 514, 600, 1024, 1025, 1100, 2048, 2049, 4095, 4096};
  if (kSanitized) rows = {4, 20, 64, 256, 300, 1024}, columns = {513};
  int turn = 0;
  for (const char* order : kOrders) {
    if (kSanitized && order != kOrders[2]) continue;
    const auto device = open_simt(order);
    for (const int64_t n : rows) {
      // More than the blocks of the device at once, so that each takes several.
      const int64_t systems = n > 260 ? 21 : n > 60 ? 75 : 1100;
      good_shared<T>(report, *device, Way::rows, n, kSanitized ? 40 : systems);
      if (++turn % 3 == 0) good_shared<T>(report, *device, Way::rows, n, 5, 9);
      if (turn % 3 == 1) good_shared<T>(report, *device, Way::rows, n, 13, 7, true);
    }
    for (const int64_t n : columns) {
      if (++turn % 2 == 0 && !kSanitized) continue;
      good_shared<T>(report, *device, Way::columns, n, kSanitized ? 35 : n > 2048 ? 133 : 300);
      good_shared<T>(report, *device, Way::columns, n, 37);
    }
    for (const int64_t at : {0, 7, 39}) bad_shared<T>(report, *device, Way::rows, 40, 9, at);
    for (const int64_t at : {0, 255, 256, 299}) bad_shared<T>(report, *device, Way::rows, 300, 19, at);
    for (const int64_t at : {0, 511, 512, 1023}) bad_shared<T>(report, *device, Way::rows, 1024, 11, at);
    for (const int64_t at : {0, 31, 127, 512}) bad_shared<T>(report, *device, Way::columns, 513, 33, at);
  }
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom;
  test::Report report;
  if (!::harness::kThreadSanitizer) test::all<float>(report);  // the same barriers
  test::all<double>(report);
  return report.finish();
}
