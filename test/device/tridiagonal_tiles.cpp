// The tiled passes of pcr-thomas with plans small enough for the shim: halos, second passes, slices, words.
#include <iterator>

#include "test/device/support/operations.h"
#include "test/device/tridiagonal_case.h"

#include "cuda/tridiagonal/bands.cuh"
#include "cuda/tridiagonal/solve_policy.h"
#include "cuda/tridiagonal/classic/pcr_thomas.cuh"

namespace warploom::test {
namespace {

using tridiagonal::TilePlan;

template <class T>
simt::tridiagonal::Batch<T> batch_of(Case<T>& c, std::vector<int32_t>& status, std::vector<int32_t>& row) {
  const auto p = c.parameters();
  const auto bands = simt::tridiagonal::resolve_bands<T>(p);
  simt::tridiagonal::Batch<T> batch;
  batch.n = p.n;
  batch.systems = p.batch;
  batch.rhs_count = p.rhs_count;
  batch.offsets = p.offsets.data;
  batch.lower = bands.lower;
  batch.diagonal = bands.diagonal;
  batch.upper = bands.upper;
  batch.rhs = simt::tridiagonal::strided<T>(p.rhs, c.ragged());
  batch.solution = simt::tridiagonal::strided<T>(p.solution, c.ragged());
  status.assign(static_cast<size_t>(batch.problems()), 77);
  row = status;
  batch.status = status.data();
  batch.row = row.data();
  return batch;
}

std::string text(const TilePlan& plan) {
  return " plan " + std::to_string(plan.first_steps) + "/" + std::to_string(plan.first_depth) + " " +
         std::to_string(plan.second_steps) + "/" + std::to_string(plan.second_depth) + "/" +
         std::to_string(plan.second_width_bits);
}

template <class T>
void solve(Report& report, Device& device, const Shape& shape, const TilePlan& plan, int64_t slice_bytes) {
  Case<T> c = make_case<T>(shape);
  std::vector<int32_t> status, row;
  const auto batch = batch_of(c, status, row);
  simt::tridiagonal::Used used;
  const Status done = simt::tridiagonal::solve_pcr_thomas_tiled(static_cast<simt::GpuDevice&>(device), batch, plan,
                                                                slice_bytes, &used);
  bool good = done.ok() && padding_untouched(c);
  for (size_t i = 0; i < status.size(); ++i) good = good && status[i] == 0 && row[i] == -1;
  Errors worst;
  for (int64_t s = 0; s < shape.systems; ++s) {
    const Errors errors = judge(c, s);
    worst.backward = std::fmax(worst.backward, errors.backward);
    worst.forward = std::fmax(worst.forward, errors.forward);
  }
  report.check(good && worst.backward < 6 && worst.forward < 15,
               c.name() + text(plan) + ": backward " + std::to_string(static_cast<double>(worst.backward)) +
                   " status " + std::to_string(status[0]) + " row " + std::to_string(row[0]) + " " + done.message());
}

template <class T>
void plans(Report& report) {
  int turn = 0;
  for (const char* order : kOrders) {
    const auto device = open_simt(order);
    for (const TilePlan& plan : {TilePlan{1, 1, 0, 0, 0}, TilePlan{3, 5, 0, 0, 0}, TilePlan{4, 40, 0, 0, 0},
                                 TilePlan{3, 9, 2, 3, 1}, TilePlan{4, 20, 3, 6, 4}, TilePlan{2, 64, 1, 30, 0}}) {
      for (const int64_t n : {1, 2, 7, 8, 16, 31, 32, 33, 100, 257}) {
        // A thread costs 50 microseconds a barrier under ThreadSanitizer.
        if (kSanitized && (order != kOrders[2] || !(n == 7 || n == 33) || plan.first_depth < n / 9)) continue;
        Shape shape;
        shape.n = n;
        shape.systems = kSanitized ? 2 : 4;
        shape.rhs_count = ++turn % 4 == 0 ? 2 : 1;
        shape.layout = kLayouts[turn % std::size(kLayouts)];
        shape.seed = static_cast<uint64_t>(turn);
        // All problems at once, then slices of one and of three.
        const int64_t each = 8 * n * static_cast<int64_t>(sizeof(T)) + 256;
        solve<T>(report, *device, shape, plan, turn % 3 == 0 ? 1 << 30 : turn % 3 == 1 ? 0 : 3 * each);
      }
    }
  }
}

/// What solve_pcr_thomas itself plans for a system that no block holds.
void chosen_plan(Report& report) {
  const auto device = open_simt("random:2");
  for (const int64_t n : {3700, 9001}) {
    Shape shape;
    shape.n = kSanitized ? 3700 : n;
    shape.systems = 2;
    Case<double> c = make_case<double>(shape);
    std::vector<int32_t> status, row;
    const auto batch = batch_of(c, status, row);
    simt::tridiagonal::Used used;
    const bool ran =
        simt::tridiagonal::solve_pcr_thomas(static_cast<simt::GpuDevice&>(*device), batch, &used).ok();
    report.check(ran && used.launches >= 3 && judge(c, 0).backward < 6 && judge(c, 1).backward < 6 && status[0] == 0,
                 "chosen plan n=" + std::to_string(n));
  }
  // Plans fit their tile, have few halo rows, and make enough sub-systems where rows allow it.
  for (const int bytes : {4, 8, 16}) {
    for (const int64_t n : {5000, 1 << 20, 1 << 28}) {
      for (const int64_t problems : {1, 16, 1000}) {
        const int64_t tile = 100 * 1024 / (8 * bytes) - 16, threads = 512 * 132;
        const TilePlan plan = tridiagonal::plan_tiles(n, problems, threads, tile, bytes);
        const int64_t halo = 2 * ((1 << plan.first_steps) - 1), second = 2 * ((1 << plan.second_steps) - 1);
        bool good = plan.first_depth + halo <= tile && 2 * halo <= tile && plan.first_steps >= 5;
        good = good && (plan.second_depth + second) << plan.second_width_bits <= tile;
        good = good && plan.second_width_bits <= plan.first_steps;
        if (n >= 1 << 20 && problems >= 16) good = good && 2 * problems * plan.subsystems() >= threads;
        report.check(good, "plan for n=" + std::to_string(n) + text(plan));
      }
    }
  }
}

template <class T>
void bad_rows(Report& report) {
  const auto device = open_simt("random:9");
  for (const int64_t bad : {0, 3, 30, 59}) {
    for (const bool poison : {false, true}) {
      Shape shape;
      shape.n = 60;
      shape.systems = 3;
      Case<T> good = make_case<T>(shape), c = good;
      if (poison) {
        c.rhs.set(c.at(c.rhs.view, 1, bad, 0), NAN);
      } else {
        c.diagonal.set(c.at(c.diagonal.view, 1, bad, 0), 0);
        if (bad > 0) c.lower.set(c.at(c.lower.view, 1, bad, 0), 0);
        if (bad > 0) c.upper.set(c.at(c.upper.view, 1, bad - 1, 0), 0);
        if (bad < 59) c.upper.set(c.at(c.upper.view, 1, bad, 0), 0);
        if (bad < 59) c.lower.set(c.at(c.lower.view, 1, bad + 1, 0), 0);
      }
      std::vector<int32_t> status, row, good_status, good_row;
      simt::tridiagonal::Used used;
      auto& gpu = static_cast<simt::GpuDevice&>(*device);
      const TilePlan plan{3, 9, 2, 3, 1};
      const auto batch = batch_of(c, status, row), good_batch = batch_of(good, good_status, good_row);
      bool right = simt::tridiagonal::solve_pcr_thomas_tiled(gpu, batch, plan, 1 << 20, &used).ok() &&
                   simt::tridiagonal::solve_pcr_thomas_tiled(gpu, good_batch, plan, 1 << 20, &used).ok();
      right = right && status[0] == 0 && status[2] == 0 && status[1] == (poison ? 2 : 1) && row[1] == bad;
      for (int64_t s = 0; s < 3; s += 2) {
        for (int64_t i = 0; i < 60; ++i) {
          const int64_t at = c.at(c.solution.view, s, i, 0);
          right = right && c.solution.get(at) == good.solution.get(at);
        }
      }
      report.check(right, "bad row " + std::to_string(bad) + " poison " + std::to_string(poison) + ": status " +
                              std::to_string(status[1]) + " row " + std::to_string(row[1]));
    }
  }
}

/// The row of the device and type that stands for the size, in tables that `npm run tune` writes.
void tuned_depths(Report& report) {
  constexpr tridiagonal::TunedDepth table[] = {
      {80, 4, 64, 4}, {90, 4, 64, 8}, {90, 4, 128, 16}, {90, 8, 512, 2}, {0, 0, 0, 0}};
  const auto depth = [&](int capability, int bytes, int64_t n) {
    return tridiagonal::tuned_depth(table, capability, bytes, n);
  };
  report.check(depth(90, 4, 33) == 8 && depth(90, 4, 64) == 8 && depth(90, 4, 65) == 16, "sizes");
  report.check(depth(90, 4, 32) == 0 && depth(90, 4, 129) == 0 && depth(90, 8, 65) == 0, "sizes the table says nothing of");
  report.check(depth(80, 4, 64) == 4 && depth(90, 8, 512) == 2, "devices and types");
  report.check(depth(75, 4, 64) == 0 && depth(90, 16, 64) == 0, "what was not tuned");
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom;
  test::Report report;
  test::each_type([&](auto value) { test::plans<decltype(value)>(report); });
  test::chosen_plan(report);
  test::tuned_depths(report);
  test::bad_rows<float>(report);
  test::bad_rows<simt::Complex<double>>(report);
  return report.finish();
}
