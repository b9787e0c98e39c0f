// Images on devices of the shim and of the cpu backend, for the programs of curvature and denoising.
#pragma once
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/core/device.cuh"
#include "cuda/imaging/curvature.h"
#include "cuda/imaging/denoise.h"
#include "cuda/core/operations.h"
#include "simt/runtime.h"
#include "test/device/support/harness.h"
#include "cuda/core/view.h"
#include "test/device/support/simt_device.h"

namespace imaging_test {

using namespace warploom;
using imaging::Grid;

inline constexpr bool kSanitized = harness::kThreadSanitizer || harness::kAddressSanitizer;

template <class T>
inline constexpr ScalarType kType = sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64;

/// Values in [0, 1) that repeat from run to run.
template <class T>
std::vector<T> noise(int64_t count, uint64_t seed) {
  std::vector<T> values(static_cast<size_t>(count));
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (T& value : values) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    value = static_cast<T>(static_cast<double>(state >> 11) * 0x1p-53);
  }
  return values;
}

/// Device memory of exactly the size of a host array, from element `shift` on, so that ASan sees what is touched beside it.
template <class T>
class Buffer {
 public:
  Buffer(Device& device, const std::vector<T>& host, size_t shift = 0) : device_(device), count_(host.size()), shift_(shift) {
    const int64_t bytes = static_cast<int64_t>(count_ * sizeof(T)), all = bytes + static_cast<int64_t>(shift * sizeof(T));
    if (!device.allocate(all, &memory_).ok() || !device.upload(data(), host.data(), bytes).ok()) std::abort();
  }
  ~Buffer() { device_.release(memory_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() const { return static_cast<T*>(memory_) + shift_; }
  View view() const {
    View view;
    view.data = memory_;
    view.length = static_cast<int64_t>(count_ + shift_);
    view.offset = static_cast<int64_t>(shift_);
    lay_out(&view, {static_cast<int64_t>(count_)});
    return view;
  }
  std::vector<T> host() const {
    std::vector<T> out(count_);
    if (!device_.download(out.data(), data(), static_cast<int64_t>(count_ * sizeof(T))).ok()) std::abort();
    return out;
  }

 private:
  Device& device_;
  void* memory_ = nullptr;
  size_t count_, shift_;
};

inline std::string name_of(const Grid& g, int64_t channels, bool coupled, size_t bytes) {
  return std::to_string(g.nx) + "x" + std::to_string(g.ny) + "x" + std::to_string(g.nz) + " of " + std::to_string(channels) +
         (coupled ? " coupled" : "") + " float" + std::to_string(8 * bytes);
}

/// What a call of imaging.denoise gives.
template <class T>
struct Denoised {
  Status status;
  std::vector<T> image;
  std::vector<imaging::DenoiseEntry> history;
  imaging::DenoiseReport report;
};

/// A call on a device of the shim, or with `function` of another backend; `shift` elements before the arrays keep rows off 16 bytes.
template <class T, class Function>
Denoised<T> denoise(Device& device, Function function, imaging::DenoiseParameters p, const std::vector<T>& pixels, size_t shift = 0,
                    Control* control = nullptr) {
  const Buffer<T> image(device, pixels, shift), result(device, std::vector<T>(pixels.size(), T(-7)), shift);
  Denoised<T> out;
  out.history.resize(static_cast<size_t>(most_checks(p)));
  out.report.history = {out.history.data(), most_checks(p)};
  p.type = kType<T>;
  p.image = image.view();
  p.result = result.view();
  p.report = &out.report;
  Control own;
  out.status = check(p);
  if (out.status.ok()) out.status = function(device, p, control != nullptr ? *control : own);
  if (out.status.ok()) out.status = device.synchronize();
  out.image = result.host();
  if (out.status.ok()) out.history.resize(static_cast<size_t>(out.report.history.count));
  return out;
}

/// The numbers of a report that are the same whatever variant ran.
inline std::vector<double> numbers_of(const imaging::DenoiseReport& r) {
  return {static_cast<double>(r.iterations), r.converged ? 1.0 : 0.0, static_cast<double>(r.filled), static_cast<double>(r.solutions),
          r.weight, r.sigma, r.energy, r.gap, r.residual, r.dt};
}

inline std::vector<double> numbers_of(const std::vector<imaging::DenoiseEntry>& history) {
  std::vector<double> numbers;
  for (const imaging::DenoiseEntry& e : history) numbers.insert(numbers.end(), {e.iteration, e.energy, e.measure});
  return numbers;
}

/// Where two arrays first differ in their bits; empty when nowhere.
template <class T>
std::string difference(const std::vector<T>& found, const std::vector<T>& expected) {
  if (found.size() != expected.size()) return std::to_string(found.size()) + " elements, expected " + std::to_string(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&found[i], &expected[i], sizeof(T)) == 0) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(found[i]) + ", expected " + std::to_string(expected[i]);
  }
  return {};
}

}  // namespace imaging_test
