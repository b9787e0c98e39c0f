// imaging.curvature and imaging.denoise of the cpu backend: every instruction set and number of threads with the bits of the shim, and
// answers against problems that are solved otherwise.
#include <algorithm>
#include <limits>

#include "test/device/support/operations.h"
#include "native/cpu/device.h"
#include "native/imaging/kernels.h"
#include "test/device/imaging_denoise.h"

namespace imaging_test {
namespace {

using imaging::DenoiseMethod;
using imaging::DenoiseParameters;
using imaging::NoiseKind;

std::unique_ptr<Device> open_cpu(int threads) { return std::make_unique<cpu::CpuDevice>(DeviceDescription(), int64_t{1} << 30, threads); }

std::vector<Grid> grids() {
  if (kSanitized) return {{1, 1, 1}, {37, 9, 3}, {140, 6, 1}};
  return {{1, 1, 1}, {7, 1, 1}, {1, 9, 1}, {1, 1, 5}, {2, 2, 2}, {33, 7, 5}, {64, 70, 9}, {1030, 40, 1}, {70, 300, 1}};
}

template <class T>
std::vector<T> curvature(Device& device, bool on_cpu, const Grid& grid, int64_t channels, bool coupled) {
  const int64_t count = points_of(grid) * channels;
  const Buffer<T> image(device, noise<T>(count, 3)), result(device, std::vector<T>(static_cast<size_t>(count), T(-7)));
  imaging::CurvatureParameters p;
  p.type = kType<T>;
  p.grid = grid;
  p.channels = channels;
  p.coupled = coupled;
  p.image = image.view();
  p.result = result.view();
  Control control;
  const Status status = on_cpu ? cpu::imaging_curvature(device, p, control) : simt::imaging_curvature(device, p, control);
  harness::check(status.ok(), "curvature " + name_of(grid, channels, coupled, sizeof(T)), status.message());
  return result.host();
}

template <class T>
void same_as_shim() {
  const auto shim = test::open_simt();
  for (const Grid& grid : grids()) {
    for (const auto& [channels, coupled] : {std::pair{1, true}, {3, true}, {2, false}}) {
      const std::string name = name_of(grid, channels, coupled, sizeof(T));
      const auto expected = curvature<T>(*shim, false, grid, channels, coupled);
      for (const int threads : {1, 3}) {
        const std::string wrong = difference(curvature<T>(*open_cpu(threads), true, grid, channels, coupled), expected);
        harness::check(wrong.empty(), "curvature " + name, wrong);
      }
      for (const int kind : {0, 1, 2, 3}) {
        if (kSanitized && kind == 2) continue;
        DenoiseParameters p;
        p.grid = grid;
        p.channels = channels;
        p.coupled = coupled;
        p.weight = 0.1;
        p.tolerance = 0;
        p.iterations = 7;
        p.check_every = 3;
        if (kind == 1) p.method = DenoiseMethod::flow;
        if (kind == 2) p.noise = NoiseKind::impulse;
        std::vector<T> pixels = noise<T>(points_of(grid) * channels, 5);
        p.fill = kind == 3;
        for (size_t i = 1; kind == 3 && i < pixels.size(); i += 3) pixels[i] = std::numeric_limits<T>::quiet_NaN();
        const auto expected_image = denoise(*shim, simt::imaging_denoise, p, pixels);
        for (const int threads : {1, 3}) {
          const auto found = denoise(*open_cpu(threads), cpu::imaging_denoise, p, pixels);
          std::string wrong = found.status.message() + difference(found.image, expected_image.image);
          if (wrong.empty()) wrong = difference(numbers_of(found.history), numbers_of(expected_image.history));
          harness::check(wrong.empty(), "denoise " + name + " kind " + std::to_string(kind) + " threads " + std::to_string(threads), wrong);
        }
      }
    }
  }
}

}  // namespace
}  // namespace imaging_test

int main() {
  using namespace imaging_test;
  same_as_shim<float>();
  same_as_shim<double>();
  return harness::summary();
}
