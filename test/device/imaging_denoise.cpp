// imaging.curvature and imaging.denoise on the shim: every variant with the same bits, in every order of threads.
#include <limits>

#include "test/device/support/operations.h"
#include "test/device/imaging_denoise.h"

namespace imaging_test {
namespace {

using imaging::CurvatureVariant;

template <class T>
std::vector<T> curvature(Device& device, const Grid& grid, int64_t channels, bool coupled, CurvatureVariant variant, size_t shift = 0) {
  const int64_t count = points_of(grid) * channels;
  const Buffer<T> image(device, noise<T>(count, 3), shift), result(device, std::vector<T>(static_cast<size_t>(count), T(-7)), shift);
  imaging::CurvatureParameters p;
  p.type = kType<T>;
  p.grid = grid;
  p.channels = channels;
  p.coupled = coupled;
  p.variant = variant;
  p.image = image.view();
  p.result = result.view();
  Control control;
  Status status = check(p);
  if (status.ok()) status = simt::imaging_curvature(device, p, control);
  if (status.ok()) status = device.synchronize();
  harness::check(status.ok(), "curvature " + name_of(grid, channels, coupled, sizeof(T)), status.message());
  return result.host();
}

/// Sizes around a warp's lanes and a tile, one row, one column, planes and volumes.
std::vector<Grid> grids() {
  if (harness::kThreadSanitizer) return {{37, 9, 3}, {140, 6, 1}};
  if (harness::kAddressSanitizer) return {{1, 1, 1}, {1, 5, 3}, {33, 9, 3}, {140, 6, 4}, {135, 5, 1}};
  return {{1, 1, 1}, {7, 1, 1}, {1, 9, 1}, {1, 1, 5}, {2, 2, 2}, {31, 8, 3}, {32, 9, 2}, {33, 7, 5}, {129, 5, 3}, {256, 3, 2}, {260, 6, 1}, {127, 40, 1}};
}

template <class T>
void curvature_variants() {
  const auto device = test::open_simt();
  for (const Grid& grid : grids()) {
    const auto expected = curvature<T>(*device, grid, 2, false, CurvatureVariant::direct);
    const std::string name = name_of(grid, 2, false, sizeof(T));
    for (const auto variant : {CurvatureVariant::tile, CurvatureVariant::march}) {
      const std::string which = std::string(imaging::kCurvatureVariantNames[static_cast<int>(variant)]) + " " + name;
      for (const size_t shift : {size_t{0}, size_t{1}}) {
        const std::string wrong = difference(curvature<T>(*device, grid, 2, false, variant, shift), expected);
        harness::check(wrong.empty(), "curvature " + which, wrong);
      }
    }
  }
}

void curvature_orders() {
  const Grid grid{140, 11, 5};
  const auto expected = curvature<float>(*test::open_simt(), grid, 1, true, CurvatureVariant::direct);
  for (const char* order : test::kOrders) {
    const auto device = test::open_simt(order);
    for (const auto variant : {CurvatureVariant::tile, CurvatureVariant::march, CurvatureVariant::direct}) {
      const std::string wrong = difference(curvature<float>(*device, grid, 1, true, variant), expected);
      harness::check(wrong.empty(), std::string("curvature ") + order, wrong);
    }
  }
}

imaging::DenoiseParameters parameters(const Grid& grid, int64_t channels, bool coupled) {
  imaging::DenoiseParameters p;
  p.grid = grid;
  p.channels = channels;
  p.coupled = coupled;
  p.weight = 0.1;
  p.iterations = 7;
  p.check_every = 3;
  p.tolerance = 0;
  return p;
}

/// Bits of the image, the history and the rest of the report.
template <class T>
void same(const Denoised<T>& found, const Denoised<T>& expected, const std::string& name) {
  harness::check(found.status.ok() && expected.status.ok(), name, found.status.message() + expected.status.message());
  std::string wrong = difference(found.image, expected.image);
  if (wrong.empty()) wrong = difference(numbers_of(found.history), numbers_of(expected.history));
  if (wrong.empty()) wrong = difference(numbers_of(found.report), numbers_of(expected.report));
  harness::check(wrong.empty(), name, wrong);
}

/// Every method, kind of noise and missing pixels.
template <class T>
void denoise_variants() {
  const auto device = test::open_simt();
  for (const Grid& grid : grids()) {
    for (const int kind : {0, 1, 2, 3}) {
      if (harness::kThreadSanitizer && kind > 1) continue;
      imaging::DenoiseParameters p = parameters(grid, 2, false);
      if (kind == 1) p.method = imaging::DenoiseMethod::flow;
      if (kind == 2) p.noise = imaging::NoiseKind::impulse;
      std::vector<T> pixels = noise<T>(points_of(grid) * 2, 5);
      if (kind == 3) {
        p.fill = true;
        for (size_t i = 1; i < pixels.size(); i += 3) pixels[i] = std::numeric_limits<T>::quiet_NaN();
      }
      p.variant = imaging::DenoiseVariant::direct;
      const auto expected = denoise(*device, simt::imaging_denoise, p, pixels);
      p.variant = imaging::DenoiseVariant::march;
      const std::string name = "denoise " + name_of(grid, 2, false, sizeof(T)) + " kind " + std::to_string(kind);
      for (const size_t shift : {size_t{0}, size_t{1}}) same(denoise(*device, simt::imaging_denoise, p, pixels, shift), expected, name);
    }
  }
}

}  // namespace
}  // namespace imaging_test

int main() {
  using namespace imaging_test;
  denoise_variants<float>();
  denoise_variants<double>();
  curvature_variants<float>();
  curvature_variants<double>();
  curvature_orders();
  return harness::summary();
}
