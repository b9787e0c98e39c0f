// Calls of imaging.segment for its test programs, and its definition as plain loops.
#pragma once
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/core/view.h"
#include "cuda/imaging/segment.h"
#include "cuda/core/operations.h"
#include "native/cpu/device.h"
#include "native/cpu/isa.h"
#include "test/device/support/harness.h"
#include "test/device/support/simt_device.h"

namespace segment_test {

using namespace warploom;
using namespace warploom::imaging;

inline constexpr bool kSanitized = harness::kThreadSanitizer || harness::kAddressSanitizer;

/// A call: an image of two discs with noise, and the options.
template <class R>
struct Example {
  SegmentParameters p;
  std::vector<R> image, given;
  std::vector<double> weights;

  Example(int64_t nx, int64_t ny, int64_t nz = 1, int64_t channels = 1) {
    p.type = sizeof(R) == 4 ? ScalarType::float32 : ScalarType::float64;
    p.grid = {nx, ny, nz};
    p.channels = channels;
    p.iterations = 7;
    p.tolerance = 0;
    const int64_t points = nx * ny * nz;
    uint64_t state = static_cast<uint64_t>(points) * 0x9e3779b97f4a7c15u + 1;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < points; ++i) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const double noise = static_cast<double>(state >> 11) * 0x1p-53;
        const double x = static_cast<double>(i % nx) - 0.4 * static_cast<double>(nx);
        const double y = static_cast<double>(i / nx % ny) - 0.5 * static_cast<double>(ny);
        const double z = static_cast<double>(i / (nx * ny)) - 0.5 * static_cast<double>(nz);
        const double radius = 0.3 * static_cast<double>(nx + ny) / 2;
        image.push_back(static_cast<R>((x * x + y * y + z * z < radius * radius ? 100 + 30 * c : 40) + 25 * noise));
      }
    }
  }
};

/// All that a call gives back.
template <class R>
struct Outcome {
  Status status;
  std::vector<R> level;
  std::vector<uint8_t> mask;
  std::vector<RegionMeans> means;
  std::vector<SegmentEntry> history;
  SegmentReport report;

  /// The first difference to another outcome, empty where there is none; the variant that ran may differ.
  std::string difference(const Outcome& other) const {
    if (!status.ok() || !other.status.ok()) return status.message() + "/" + other.status.message();
    for (size_t i = 0; i < level.size(); ++i) {
      if (std::memcmp(&level[i], &other.level[i], sizeof(R)) != 0) {
        return "level " + std::to_string(i) + ": " + std::to_string(level[i]) + ", " + std::to_string(other.level[i]);
      }
    }
    if (mask != other.mask) return "mask";
    const SegmentReport &a = report, &b = other.report;
    if (a.iterations != b.iterations || a.converged != b.converged || a.inside != b.inside || a.valid != b.valid) return "counts";
    const size_t bytes = means.size() * sizeof(RegionMeans);
    if (std::memcmp(means.data(), other.means.data(), bytes) != 0) return "means " + std::to_string(means[0].inside - other.means[0].inside);
    if (std::memcmp(&a.energy, &b.energy, 8) != 0 || std::memcmp(&a.change, &b.change, 8) != 0) return "energy or change";
    if (history.size() != other.history.size()) return "entries";
    return std::memcmp(history.data(), other.history.data(), history.size() * sizeof(SegmentEntry)) != 0 ? "history" : "";
  }
};

struct Quiet final : Control {};

/// Runs a call with device memory of exactly the arrays' sizes, `shift` elements into each allocation.
template <class R>
Outcome<R> run(Device& device, const Example<R>& example, SegmentVariant variant, int64_t shift = 0, bool want_mask = true,
               Control* control = nullptr) {
  SegmentParameters p = example.p;
  p.variant = variant;
  const int64_t points = points_of(p.grid);
  Outcome<R> out;
  out.level.assign(static_cast<size_t>(points), R(-7));
  out.mask.assign(static_cast<size_t>(want_mask ? points : 0), 9);
  out.means.resize(static_cast<size_t>(p.channels));
  out.history.resize(static_cast<size_t>(most_entries(p)));
  std::vector<void*> held;
  const auto place = [&](const void* data, int64_t bytes) {
    void* memory = nullptr;
    if (!device.allocate(bytes + shift * static_cast<int64_t>(sizeof(R)), &memory).ok()) std::abort();
    held.push_back(memory);
    void* const at = static_cast<char*>(memory) + shift * static_cast<int64_t>(sizeof(R));
    if (!device.upload(at, data, bytes).ok()) std::abort();
    return at;
  };
  const auto view = [&](void* at, int64_t count) {
    View v;
    v.data = static_cast<R*>(at) - shift;
    v.length = count + shift;
    v.offset = shift;
    lay_out(&v, {count});
    return v;
  };
  const int64_t bytes = static_cast<int64_t>(sizeof(R));
  p.image = view(place(example.image.data(), p.channels * points * bytes), p.channels * points);
  if (!example.given.empty()) {
    p.initial = Initial::given;
    p.given = view(place(example.given.data(), points * bytes), points);
  }
  void* const level = place(out.level.data(), points * bytes);
  p.level_set = view(level, points);
  if (want_mask) p.mask = {static_cast<uint8_t*>(place(out.mask.data(), points)), points};
  if (!example.weights.empty()) p.weights = {static_cast<double*>(place(example.weights.data(), p.channels * 8)), p.channels};
  out.report.means = {out.means.data(), p.channels};
  out.report.history = {out.history.data(), most_entries(p)};
  p.report = &out.report;
  Quiet quiet;
  out.status = check(p);
  const bool on_cpu = dynamic_cast<cpu::CpuDevice*>(&device) != nullptr;
  if (out.status.ok()) {
    out.status = on_cpu ? cpu::imaging_segment(device, p, control != nullptr ? *control : quiet)
                        : simt::imaging_segment(device, p, control != nullptr ? *control : quiet);
  }
  if (!device.download(out.level.data(), level, points * bytes).ok()) std::abort();
  if (want_mask && !device.download(out.mask.data(), p.mask.data, points).ok()) std::abort();
  for (void* memory : held) device.release(memory);
  return out;
}

/// One step of the definition in float64, apart from the library's code. Returns the new level set; means by channel as found.
inline std::vector<double> defined_step(const SegmentParameters& p, const std::vector<double>& image, const std::vector<double>& phi,
                                        const std::vector<double>& weights, double range) {
  const Grid& g = p.grid;
  const int dimensions = g.nz > 1 ? 3 : 2;
  const int64_t points = points_of(g), extents[3] = {g.nx, g.ny, g.nz};
  using Place = std::vector<int64_t>;
  const auto at = [&](Place i) {
    for (int a = 0; a < 3; ++a) i[size_t(a)] = std::max<int64_t>(0, std::min(extents[a] - 1, i[size_t(a)]));
    return phi[size_t((i[2] * g.ny + i[1]) * g.nx + i[0])];
  };
  const auto moved = [](Place i, int axis, int64_t by) {
    i[size_t(axis)] += by;
    return i;
  };
  std::vector<double> inside(size_t(p.channels), 0), outside(size_t(p.channels), 0), all(size_t(p.channels), 0);
  double count[2] = {0, 0};
  const auto has_data = [&](int64_t i) {
    for (int64_t c = 0; c < p.channels; ++c) {
      if (!std::isfinite(image[size_t(c * points + i)])) return false;
    }
    return true;
  };
  for (int64_t i = 0; i < points; ++i) {
    const bool in = phi[size_t(i)] > 0, counts = has_data(i);
    count[in ? 0 : 1] += counts;
    for (int64_t c = 0; c < p.channels && counts; ++c) (in ? inside : outside)[size_t(c)] += image[size_t(c * points + i)];
  }
  for (size_t c = 0; c < inside.size(); ++c) {
    all[c] = (inside[c] + outside[c]) / std::max(1.0, count[0] + count[1]);
    inside[c] = count[0] > 0 ? inside[c] / count[0] : all[c];
    outside[c] = count[1] > 0 ? outside[c] / count[1] : all[c];
  }
  std::vector<double> next(phi.size());
  for (int64_t i = 0; i < points; ++i) {
    const Place here = {i % g.nx, i / g.nx % g.ny, i / (g.nx * g.ny)};
    double curvature = 0, sum = 0;
    for (int axis = 0; axis < dimensions; ++axis) {
      for (const int64_t side : {0, 1}) {
        const Place low = moved(here, axis, side - 1), high = moved(here, axis, side);
        const double d = at(high) - at(low);
        double square = d * d + p.eta;
        for (int b = 0; b < dimensions; ++b) {
          if (b == axis) continue;
          const double mean = (at(moved(low, b, 1)) - at(moved(low, b, -1)) + at(moved(high, b, 1)) - at(moved(high, b, -1))) / 4;
          square += mean * mean;
        }
        curvature += (side == 1 ? d : -d) / std::sqrt(square);
        sum += 1 / std::sqrt(square);
      }
    }
    double force = p.nu;
    for (int64_t c = 0; c < p.channels && has_data(i); ++c) {
      const double f = image[size_t(c * points + i)], a = (f - inside[size_t(c)]) / range, b = (f - outside[size_t(c)]) / range;
      force += weights[size_t(c)] * (p.lambda1 * a * a - p.lambda2 * b * b);
    }
    const double value = phi[size_t(i)], delta = p.epsilon / (p.epsilon * p.epsilon + value * value);
    const double step = p.dt * delta * (p.mu * curvature - force), damping = p.dt * delta * p.mu * sum;
    next[size_t(i)] = value + step / (p.step == StepKind::semi_implicit ? 1 + damping : std::max(1.0, damping));
  }
  return next;
}

}  // namespace segment_test
