// The loops of kernels from functions (cuda/kernel): results of all sizes, for arrays with and without gaps, under the sanitizer of the build.
#define WL_STRUCT_LANES
#include "cuda/core/device.cuh"
#include "lib/kernel/print/arithmetic.h"

#include "cuda/kernel/reduce.cuh"
#include "test/device/support/shim_launch.h"

using namespace shim;

namespace {

namespace kernel = warploom::simt::kernel;

/// a · b, as lib/kernel/call/device-text.ts prints it.
template <int kRank, int kGroupItems>
struct Product {
  using Parameters = kernel::ArrayParameters<3, 0, kRank>;
  static constexpr int kThreads = 256, kGroup = kGroupItems, kUnroll = 2, kResults = 1;
  template <int kCount>
  struct Items {
    kernel::Group<double, kCount> a0;
    kernel::Group<float, kCount> a1;
    kernel::Group<double, kCount> r0;
    template <class Place>
    void load(const Place& place) {
      place.template load<0>(a0);
      place.template load<1>(a1);
    }
    void compute(const Parameters&) {
      for (int k = 0; k < kCount; ++k) r0.item[k] = a0.item[k] * static_cast<double>(a1.item[k]);
    }
    template <class Place>
    void store(const Place& place) const { place.template store<2>(r0); }
    double value(int, int k) const { return r0.item[k]; }
  };
};

struct Data {
  std::vector<double> a, r;
  std::vector<float> b;
  explicit Data(int64_t n) : a(static_cast<size_t>(n) + 4), r(static_cast<size_t>(n) + 4, -1.0), b(static_cast<size_t>(n) + 4) {
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 97) - 48.25, b[i] = static_cast<float>(i % 31) * 0.125f;
  }
};

constexpr int64_t kSizes[] = {1, 2, 31, 33, 511, 4095, 4096, 4097, 9001};

template <int kGroup>
void test_map(int64_t n, int64_t offset, bool is_aligned) {
  using Point = Product<0, kGroup>;
  Data data(n);
  typename Point::Parameters p{};
  p.data[0] = data.a.data(), p.data[1] = data.b.data(), p.data[2] = data.r.data();
  p.offset[0] = p.offset[1] = p.offset[2] = offset;
  p.count = n, p.is_aligned = is_aligned ? 1 : 0;
  expect_right("map of " + std::to_string(n) + " from " + std::to_string(offset), {2, 256},
    [&](const Block& block) { kernel::Map<Point>::run(block, p); }, [&] {
      int wrong = data.r[static_cast<size_t>(offset + n)] != -1.0;
      for (int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<size_t>(offset + i);
        wrong += data.r[at] != data.a[at] * static_cast<double>(data.b[at]);
      }
      return wrong;
    });
}

/// A matrix of n columns that is read along its columns, and a row.
template <int kGroup>
void test_strided(int64_t rows, int64_t columns) {
  using Point = Product<2, kGroup>;
  Data data(rows * columns);
  typename Point::Parameters p{};
  p.data[0] = data.a.data(), p.data[1] = data.b.data(), p.data[2] = data.r.data();
  p.extent[0] = columns, p.extent[1] = rows;
  p.stride[0][0] = 1, p.stride[0][1] = columns;
  p.stride[1][1] = 1;
  p.stride[2][0] = rows, p.stride[2][1] = 1;
  p.count = rows * columns;
  p.is_aligned = rows % 4 == 0 ? 1 : 0;
  expect_right("map of " + std::to_string(rows) + " x " + std::to_string(columns), {3, 256},
    [&](const Block& block) { kernel::Map<Point>::run(block, p); }, [&] {
      int wrong = 0;
      for (int64_t c = 0; c < columns; ++c) {
        for (int64_t r = 0; r < rows; ++r) {
          wrong += data.r[static_cast<size_t>(c * rows + r)]
              != data.a[static_cast<size_t>(c + r * columns)] * static_cast<double>(data.b[static_cast<size_t>(r)]);
        }
      }
      return wrong;
    });
}

/// The sum in the order of lib/kernel/call/order.ts, within each block of 4096.
std::vector<double> sums_of(const Data& data, int64_t n, int64_t offset) {
  std::vector<double> found;
  for (int64_t begin = 0; begin < n; begin += kernel::kReducedItems) {
    std::vector<double> sums(kernel::kAccumulators, -0.0);
    for (int64_t i = begin; i < n && i < begin + kernel::kReducedItems; ++i) {
      const auto at = static_cast<size_t>(offset + i);
      sums[static_cast<size_t>((i - begin) % kernel::kAccumulators)] += data.a[at] * static_cast<double>(data.b[at]);
    }
    for (size_t half = sums.size() / 2; half > 0; half /= 2) {
      for (size_t c = 0; c < half; ++c) sums[c] += sums[c + half];
    }
    found.push_back(sums[0]);
  }
  return found;
}

void test_reduce(int64_t n, int64_t offset, bool is_aligned) {
  using Point = Product<0, 2>;
  Data data(n);
  kernel::ReduceParameters<Point> p{};
  p.map.data[0] = data.a.data(), p.map.data[1] = data.b.data(), p.map.data[2] = data.r.data();
  p.map.offset[0] = p.map.offset[1] = offset;
  p.map.count = n, p.map.is_aligned = is_aligned ? 1 : 0;
  p.partial = data.r.data();
  expect_right("sum of " + std::to_string(n) + " from " + std::to_string(offset), {2, kernel::kReducedThreads, 2048},
    [&](const Block& block) { kernel::Reduce<Point, kernel::Sum>::run(block, p); }, [&] {
      const std::vector<double> want = sums_of(data, n, offset);
      int wrong = 0;
      for (size_t i = 0; i < want.size(); ++i) wrong += data.r[i] != want[i];
      return wrong;
    });
}

}  // namespace

int main() {
  for (const int64_t n : kSizes) {
    // Making fibers takes long there, and threads of maps have nothing in common.
    if (harness::kThreadSanitizer && n != 33 && n != 4097) continue;
    if (n != 33 || !harness::kThreadSanitizer) test_map<4>(n, 0, true);
    test_reduce(n, 1, false);
    if (harness::kThreadSanitizer) continue;
    test_map<1>(n, 0, true);
    test_map<4>(n, 1, false);
    test_reduce(n, 0, true);
  }
  test_strided<4>(12, 100);
  if (!harness::kThreadSanitizer) {
    test_strided<1>(7, 300);
    test_strided<4>(7, 300);
    test_strided<4>(1, 5);
  }
  return harness::summary();
}
