// CR-RegPack on the shim, called below the front: every depth, layout and thread order, bad systems beside good ones.
#include "test/device/support/operations.h"
#include "test/device/tridiagonal_direct.h"

namespace warploom::test {
namespace {

/// The paper's largest block: 4096 rows at depth 4, a row of Table 1.
void widest(Report& report) {
  const auto device = open_simt(kOrders[1]);
  Shape shape;
  shape.n = 4096;
  shape.systems = 2;
  Case<float> c = make_case<float>(shape);
  std::vector<int32_t> status, row;
  const bool ran = solve(*device, c, 4, status, row).ok();
  report.check(ran && judge(c, 0).backward < 6 && judge(c, 1).backward < 6, "4096 rows at depth 4");
}

template <class T>
void all(Report& report) {
  std::vector<int64_t> sizes;
  for (int64_t n = 1; n <= 36; ++n) sizes.push_back(n);
  for (const int64_t n : {63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1024, 1025}) sizes.push_back(n);
  if (kSanitized) sizes = {1, 2, 3, 17, 64, 129, 257};
  int turn = 0;
  for (const char* order : kOrders) {
    if (kSanitized && order != kOrders[2]) continue;
    const auto device = open_simt(order);
    for (const int depth : {2, 4, 8, 16, 32, 9, 13, 17}) {
      if (depth % 2 == 1 && simt::kIsComplex<T>) continue;
      for (const int64_t n : sizes) {
        for (const Layout layout : kLayouts) {
          if (++turn % (n > 9 ? 11 : 4) != 0) continue;
          Shape shape;
          shape.n = n;
          shape.systems = n > 300 ? 2 : n > 40 ? 5 : 37;
          shape.rhs_count = turn % 3 == 0 ? 3 : 1;
          shape.layout = layout;
          shape.seed = static_cast<uint64_t>(turn);
          good<T>(report, *device, shape, depth, order);
        }
      }
      for (const int64_t at : {0, 7, 39}) bad<T>(report, *device, Layout::contiguous, 40, at, depth);
      bad<T>(report, *device, Layout::interleaved, 300, 299, depth);
      bad<T>(report, *device, Layout::contiguous, 256, 131, depth);
      for (const int64_t at : {0, 11, 255}) extreme<T>(report, *device, Layout::contiguous, 256, at, depth);
      extreme<T>(report, *device, Layout::contiguous, 20, 9, depth);
      extreme<T>(report, *device, Layout::interleaved, 40, 7, depth);
      for (const int64_t n : {20, 64, 100, 256, 500}) same_bits<T>(report, *device, n, depth);
      if (depth % 2 == 1 && !kSanitized) {
        for (const int64_t n : {63, 511, 513, 1025, 4097}) same_bits<T>(report, *device, n, depth);
      }
      in_place<T>(report, *device, 130, depth);
    }
  }
}

}  // namespace
}  // namespace warploom::test

int main() {
  using namespace warploom;
  test::Report report;
  test::each_type([&](auto value) { test::all<decltype(value)>(report); });
  if (!test::kSanitized) test::widest(report);
  return report.finish();
}
