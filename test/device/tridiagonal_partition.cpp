// The partition method on the shim, whose device holds eight blocks at once: one pass with few and with many problems
// per slot, two chunks per block, two passes; bad systems, layouts, tags that begin again.
#include "test/device/support/operations.h"
#include "test/device/support/harness.h"
#include "test/device/tridiagonal_direct.h"

namespace warploom::test {
namespace {

/// Under ThreadSanitizer, in which a barrier takes a thousand times longer: every barrier, with few sizes.
constexpr bool kSelection = harness::kThreadSanitizer;

template <class T>
void good_sizes(Report& report) {
  const int64_t rows = tri::kChunkRows<T>;
  struct Size {
    int64_t n, systems, rhs;
  };
  std::vector<Size> sizes = {{3, 2, 1}, {3, 70, 1}, {rows / 4 + 1, 20, 1}, {rows, 19, 1}, {rows + 1, 9, 1},
                             {rows + 1, 3, 3}, {2 * rows + 5, 7, 1}, {2 * rows + 5, 2, 1}, {rows + 1, 1, 1}, {9 * rows, 3, 1}, {17 * rows, 1, 1}};
  if (kSanitized) sizes = {{3, 70, 1}, {rows / 4 + 1, 20, 1}, {rows + 1, 5, 1}, {rows + 1, 1, 1}};
  int turn = 0;
  for (const Size& size : sizes) {
    for (const char* order : kOrders) {
      const auto device = open_simt(order);
      Shape shape;
      shape.n = size.n;
      shape.systems = size.systems;
      shape.rhs_count = size.rhs;
      shape.layout = kLayouts[turn++ % (sizeof kLayouts / sizeof *kLayouts)];
      good<T>(report, *device, shape, kPartition, order);
      if (shape.n <= 4 * rows) good<T>(report, *device, shape, kManyBlocks, order);
      if (kSanitized) break;
    }
  }
}

template <class T>
void bad_systems(Report& report) {
  const auto device = open_simt("random:7");
  const int64_t rows = tri::kChunkRows<T>;
  if (kSelection) {
    bad<T>(report, *device, Layout::contiguous, rows / 4 + 10, rows / 4, kPartition);
    return in_place<T>(report, *device, rows / 4 + 10, kManyBlocks);
  }
  for (const int64_t n : {rows / 4 + 10, rows + 10, 9 * rows, 17 * rows}) {
    if (kSanitized && n > rows) break;
    for (const int64_t at : {int64_t{0}, rows / 4 - 1, rows / 4, rows - 1, rows, n - 1}) {
      if (at >= n || (n > 2 * rows && at != rows - 1)) continue;
      bad<T>(report, *device, Layout::contiguous, n, at, kPartition);
      if (n < 2 * rows) bad<T>(report, *device, Layout::contiguous, n, at, kManyBlocks);
    }
    in_place<T>(report, *device, n, kPartition);
    if (n < 2 * rows) in_place<T>(report, *device, n, kManyBlocks);
  }
}

/// Interleaved systems in chunks of some warps' rows: whole and cut tiles of systems and of rows, bands of their own and
/// shared ones, unknowns at the ends of chunks that are bad.
template <class T>
void across(Report& report) {
  const int64_t chunk = warploom::tridiagonal::kAcrossWidth * tri::kChunkDepth<T>;
  const int64_t tile = warploom::tridiagonal::across_systems(sizeof(T));
  for (const char* order : kOrders) {
    const auto device = open_simt(order);
    for (const int64_t n : {chunk - 1, chunk, chunk + 1, 3 * chunk + 7}) {
      if (kSelection && n <= chunk) continue;
      for (const int64_t systems : {tile, 2 * tile + 3}) {
        if (kSelection && (systems == tile) == (n > 2 * chunk)) continue;
        Shape shape;
        shape.n = n;
        shape.systems = systems;
        shape.layout = Layout::interleaved;
        good<T>(report, *device, shape, kPartition, order);
      }
      for (const int64_t at : {int64_t{0}, chunk - 1, n - 1}) {
        if (at < n && (!kSelection || at == chunk - 1)) bad<T>(report, *device, Layout::interleaved, n, at, kPartition, tile);
      }
    }
    if (kSanitized) break;
  }
}

/// One system, on the agent for one phase: a row of any warp of any block, also the last verdict of all, is named.
template <class T>
void bad_alone(Report& report) {
  const int64_t rows = tri::kChunkRows<T>, n = rows + 10;
  for (const int64_t at : {int64_t{0}, rows / 2 + 3, rows - 1, n - 1}) {
    if (kSelection && at != n - 1) continue;
    const auto device = open_simt("forward");
    Shape shape;
    shape.n = n;
    Case<T> c = make_case<T>(shape);
    c.diagonal.set(c.at(c.diagonal.view, 0, at, 0), INFINITY);
    std::vector<int32_t> status, row;
    const bool right = solve(*device, c, kManyBlocks, status, row).ok() && status[0] == 2 && row[0] == at;
    report.check(right, "alone, bad at " + std::to_string(at) + " of " + c.name() + ": row " + std::to_string(row[0]));
  }
}

/// The last launch before the tags would run out clears the mailbox, and the next ones begin again.
void tags_begin_again(Report& report) {
  const auto device = open_simt("forward");
  int* head = static_cast<int*>(dynamic_cast<simt::GpuDevice&>(*device).mailbox());
  head[0] = (1 << 30) - 3;
  for (int turn = 0; turn < 3; ++turn) {
    Shape shape;
    shape.n = 300;
    shape.systems = 20;
    good<double>(report, *device, shape, kPartition, "tags run out");
    report.check(head[0] < 16 && head[1] == 0, "tags used: " + std::to_string(head[0]));
  }
}

template <class T>
void all(Report& report) {
  good_sizes<T>(report);
  bad_systems<T>(report);
  across<T>(report);
  bad_alone<T>(report);
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom;
  test::Report report;
  test::tags_begin_again(report);
  test::each_type([&](auto value) { test::all<decltype(value)>(report); });
  return report.finish();
}
