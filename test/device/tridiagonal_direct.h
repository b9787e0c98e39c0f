// Solvers on the shim, called below the front: a good batch, bad systems beside good ones, in place.
#pragma once
#include "test/device/tridiagonal_case.h"

#include "cuda/tridiagonal/batch.cuh"
#include "cuda/tridiagonal/partition/partition_launch.cuh"
#include "cuda/tridiagonal/regpack/chunk.cuh"

namespace warploom::test {

namespace tri = simt::tridiagonal;

/// Instead of a depth: the partition method, and its agents for systems of more than 32 blocks, whatever their size.
inline constexpr int kPartition = 0, kManyBlocks = -1;

template <class T>
tri::Batch<T> batch_of(Case<T>& c, std::vector<int32_t>& status, std::vector<int32_t>& row, bool in_place = false) {
  tri::Batch<T> batch;
  batch.n = c.shape.n;
  batch.systems = c.shape.systems;
  batch.rhs_count = c.shape.rhs_count;
  if (c.ragged()) batch.offsets = c.offsets.data();
  const auto strided = [&](const View& view) {
    using Real = simt::RealOf<T>;
    tri::Strided<T> s;
    const auto at = linear::placement_of(view, c.ragged());
    s.system_stride = at.system;
    s.row_stride = at.row;
    s.rhs_stride = at.rhs;
    if (view.imaginary != nullptr) {
      s.data = reinterpret_cast<T*>(static_cast<Real*>(view.data) + view.offset);
      s.imaginary = static_cast<Real*>(view.imaginary) + view.offset;
    } else {
      s.data = static_cast<T*>(view.data) + view.offset;
    }
    return s;
  };
  batch.lower = strided(c.lower.view);
  batch.diagonal = strided(c.diagonal.view);
  batch.upper = strided(c.upper.view);
  batch.rhs = strided(c.rhs.view);
  batch.solution = in_place ? batch.rhs : strided(c.solution.view);
  status.assign(static_cast<size_t>(batch.problems()), 77);
  row.assign(status.size(), 77);
  batch.status = status.data();
  batch.row = row.data();
  return batch;
}

template <class T>
Status solve(Device& device, Case<T>& c, int depth, std::vector<int32_t>& status, std::vector<int32_t>& row,
             bool in_place = false) {
  const tri::Batch<T> batch = batch_of(c, status, row, in_place);
  tri::Used used;
  auto& gpu = dynamic_cast<simt::GpuDevice&>(device);
  if (depth == kManyBlocks) {
    return tri::solve_many_blocks(gpu, batch, &used);
  }
  return depth == kPartition ? tri::solve_partition(gpu, batch, &used) : tri::solve_cr_regpack(gpu, batch, depth, &used);
}

inline std::string name_of(int depth) {
  return depth == kManyBlocks ? "many blocks" : depth == kPartition ? "partition" : "cr-regpack/" + std::to_string(depth);
}

template <class T>
void good(Report& report, Device& device, const Shape& shape, int depth, const char* order) {
  Case<T> c = make_case<T>(shape);
  std::vector<int32_t> status, row;
  const std::string name = name_of(depth) + " " + order + " " + c.name();
  const Status result = solve(device, c, depth, status, row);
  if (result.code() == Code::unsupported) return report.skip();
  if (!result.ok()) return report.check(false, name + ": " + result.message());
  long double worst = 0;
  for (int64_t s = 0; s < shape.systems; ++s) worst = std::fmax(worst, judge(c, s).backward);
  bool words = true;
  for (size_t i = 0; i < status.size(); ++i) words = words && status[i] == 0 && row[i] == -1;
  report.check(words && worst < 6 && padding_untouched(c),
               name + ": backward " + std::to_string(static_cast<double>(worst)) + " epsilon, words " +
                   (words ? "ok" : "bad"));
}

/// Five systems of `c`, of which 1 to 3 differ from `clean`: `right` judges the words of those, 0 and 4 keep every bit.
template <class T, class Right>
void beside_good(Report& report, Device& device, Case<T>& clean, Case<T>& c, int depth, const std::string& what,
                 Right right) {
  std::vector<int32_t> clean_status, status, row;
  const Status first = solve(device, clean, depth, clean_status, row);
  if (first.code() == Code::unsupported) return report.skip();
  bool good = first.ok() && solve(device, c, depth, status, row).ok() && right(status, row);
  for (const int64_t s : {0, 4}) {
    good = good && status[s] == 0 && row[s] == -1;
    for (int64_t i = 0; i < c.shape.n && good; ++i) {
      good = c.solution.get(c.at(c.solution.view, s, i, 0)) == clean.solution.get(c.at(c.solution.view, s, i, 0));
    }
  }
  std::string words;
  for (size_t s = 1; s < 4 && s < status.size(); ++s) {
    words += " " + std::to_string(status[s]) + "@" + std::to_string(row[s]);
  }
  report.check(good, name_of(depth) + " " + what + " of " + c.name() + ":" + words);
}

/// Entries that are not finite and zero pivots: the words name them, neighbours keep every bit.
template <class T>
void bad(Report& report, Device& device, Layout layout, int64_t n, int64_t at, int depth, int64_t systems = 5) {
  Shape shape;
  shape.n = n;
  shape.systems = systems;
  shape.layout = layout;
  Case<T> clean = make_case<T>(shape);
  Case<T> c = clean;
  const auto set = [&](Buffer<T>& band, int64_t s, int64_t i, Wide value) {
    if (i >= 0 && i < n) band.set(c.at(band.view, s, i, 0), value);
  };
  set(c.rhs, 1, at, NAN);
  set(c.diagonal, 2, at, INFINITY);
  set(c.diagonal, 3, at, 0);
  set(c.lower, 3, at, 0);
  set(c.upper, 3, at, 0);
  set(c.upper, 3, at - 1, 0);
  set(c.lower, 3, at + 1, 0);
  beside_good(report, device, clean, c, depth, "bad at " + std::to_string(at), [&](const auto& status, const auto& row) {
    return status[1] == 2 && row[1] == at && status[2] == 2 && row[2] == at && status[3] == 1 && row[3] == at;
  });
}

/// Pivots beyond the range of quick reciprocals, and unknowns that overflow: one system's own affair.
template <class T>
void extreme(Report& report, Device& device, Layout layout, int64_t n, int64_t at, int depth) {
  Shape shape;
  shape.n = n;
  shape.systems = 5;
  shape.layout = layout;
  Case<T> clean = make_case<T>(shape);
  Case<T> c = clean;
  using Real = simt::RealOf<T>;
  const long double tiny = std::numeric_limits<Real>::min(), huge = std::numeric_limits<Real>::max() / 4;
  const auto alone = [&](int64_t s, long double diagonal, long double rhs) {
    c.diagonal.set(c.at(c.diagonal.view, s, at, 0), diagonal);
    c.rhs.set(c.at(c.rhs.view, s, at, 0), rhs);
    if (at > 0) c.lower.set(c.at(c.lower.view, s, at, 0), 0);
    if (at + 1 < n) c.upper.set(c.at(c.upper.view, s, at, 0), 0);
    if (at > 0) c.upper.set(c.at(c.upper.view, s, at - 1, 0), 0);
    if (at + 1 < n) c.lower.set(c.at(c.lower.view, s, at + 1, 0), 0);
  };
  alone(1, tiny, tiny * 3);
  alone(2, 64 / huge, huge);
  // Only the way back overflows: row `early` leaves first, the row after it stays.
  const int64_t early = at / 2 * 2 + 1 < n ? at / 2 * 2 : 0;
  const Wide large = std::sqrt(static_cast<long double>(std::numeric_limits<Real>::max())) * 2;
  for (const int64_t i : {early, early + 1}) {
    c.lower.set(c.at(c.lower.view, 3, i, 0), 0);
    c.diagonal.set(c.at(c.diagonal.view, 3, i, 0), 1);
    c.upper.set(c.at(c.upper.view, 3, i, 0), i == early ? -large : Wide(0));
    c.rhs.set(c.at(c.rhs.view, 3, i, 0), i == early ? Wide(0) : large);
  }
  if (early > 0) c.upper.set(c.at(c.upper.view, 3, early - 1, 0), 0);
  if (early + 2 < n) c.lower.set(c.at(c.lower.view, 3, early + 2, 0), 0);
  beside_good(report, device, clean, c, depth, "extreme at " + std::to_string(at), [&](const auto& status, const auto& row) {
    return status[1] == 0 && row[1] == -1 && status[2] == 3 && row[2] == -1 && status[3] == 3 && row[3] == -1 &&
           c.solution.get(c.at(c.solution.view, 1, at, 0)) == Wide(3);
  });
}

/// However the rows come to the registers, one depth gives the same bits.
template <class T>
void same_bits(Report& report, Device& device, int64_t n, int depth) {
  Shape shape;
  shape.n = n;
  shape.systems = 5;
  Case<T> c = make_case<T>(shape);
  std::vector<int32_t> status, row;
  const Status first = solve(device, c, depth, status, row);
  if (first.code() == Code::unsupported) return report.skip();
  for (const Layout layout : {Layout::padded, Layout::interleaved}) {
    shape.layout = layout;
    Case<T> other = make_case<T>(shape);
    const auto copy = [&](Buffer<T>& to, const View& to_view, const Buffer<T>& from, const View& from_view) {
      for (int64_t s = 0; s < shape.systems; ++s) {
        for (int64_t i = 0; i < n; ++i) to.set(other.at(to_view, s, i, 0), from.get(c.at(from_view, s, i, 0)));
      }
    };
    copy(other.lower, other.lower.view, c.lower, c.lower.view);
    copy(other.diagonal, other.diagonal.view, c.diagonal, c.diagonal.view);
    copy(other.upper, other.upper.view, c.upper, c.upper.view);
    copy(other.rhs, other.rhs.view, c.rhs, c.rhs.view);
    bool right = first.ok() && solve(device, other, depth, status, row).ok();
    for (int64_t s = 0; s < shape.systems; ++s) {
      for (int64_t i = 0; i < n && right; ++i) {
        right = other.solution.get(other.at(other.solution.view, s, i, 0)) ==
                c.solution.get(c.at(c.solution.view, s, i, 0));
      }
    }
    report.check(right, name_of(depth) + ": the bits of " + c.name() + " in " + other.name());
  }
}

template <class T>
void in_place(Report& report, Device& device, int64_t n, int depth) {
  Shape shape;
  shape.n = n;
  shape.systems = 3;
  Case<T> apart = make_case<T>(shape);
  Case<T> together = apart;
  std::vector<int32_t> status, row;
  const Status first = solve(device, apart, depth, status, row);
  if (first.code() == Code::unsupported) return report.skip();
  bool right = first.ok() && solve(device, together, depth, status, row, true).ok();
  for (int64_t i = 0; i < n * 3 && right; ++i) right = together.rhs.get(i) == apart.solution.get(i);
  report.check(right, name_of(depth) + " in place " + apart.name());
}

}  // namespace warploom::test
