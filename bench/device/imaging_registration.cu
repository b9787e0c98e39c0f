// imaging.registration on a GPU without Node: bits against the cpu backend, seconds per iteration, and errors on pairs whose
// displacement is known (those of lib/imaging/phantoms.ts).
//   bench/device/build_imaging_registration.sh OUT && OUT/imaging_registration [bits] [time] [quality [sweep]] [profile]
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>

#include "bench/device/bench_device.cuh"
#include "bench/device/imaging_registration_pair.h"
#include "cuda/core/operations.h"
#include "cuda/imaging/registration.h"
#include "cuda/imaging/resample.h"
#include "native/cpu/device.h"

namespace warploom::bench {
namespace {

using namespace ::warploom::imaging;

template <class T>
View view_of(const T* data, int64_t length) {
  View view;
  view.data = const_cast<T*>(data);
  view.length = length;
  return view;
}

/// An array on the GPU.
template <class T>
struct OnGpu {
  cuda::Workspace memory;
  int64_t length;
  BenchDevice& device;
  OnGpu(BenchDevice& d, int64_t count) : length(count), device(d) {
    require(cuda::Workspace::make(d, count * static_cast<int64_t>(sizeof(T)), &memory), "memory");
  }
  OnGpu(BenchDevice& d, const std::vector<T>& from) : OnGpu(d, static_cast<int64_t>(from.size())) {
    require(d.upload(data(), from.data(), length * static_cast<int64_t>(sizeof(T))), "upload");
    require(d.synchronize(), "upload");
  }
  T* data() const { return memory.template as<T>(); }
  View view() const { return view_of(data(), length); }
  std::vector<T> host() const {
    std::vector<T> result(static_cast<size_t>(length));
    require(device.download(result.data(), data(), length * static_cast<int64_t>(sizeof(T))), "download");
    return result;
  }
};

/// A report with memory for its history.
struct Reported {
  std::vector<RegistrationEntry> history;
  RegistrationReport report;
};

template <class T>
RegistrationParameters parameters_of(const KnownPair& pair, Reported& reported, int iterations) {
  RegistrationParameters p;
  p.type = sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64;
  p.grid = pair.grid;
  p.iterations = iterations;
  reported.history.assign(static_cast<size_t>(iterations) + 1, {});
  reported.report.history = {reported.history.data(), iterations + 1};
  p.report = &reported.report;
  return p;
}

template <class T>
int compare_bits(BenchDevice& device, cpu::CpuDevice& host, const KnownPair& pair, RegistrationVariant variant, Measure measure) {
  const auto reference = pair.as<T>(pair.reference), moving = pair.as<T>(pair.moving);
  const int64_t count = static_cast<int64_t>(reference.size()), axes = dimensions_of(pair.grid);
  Reported on_device, on_host;
  RegistrationParameters p = parameters_of<T>(pair, on_host, 12);
  p.variant = variant;
  p.measure = measure;
  if (variant == RegistrationVariant::explicit_) p.step_scale = 1.5;
  p.accelerate = measure == Measure::ssd;
  std::vector<T> expected(static_cast<size_t>(axes * count));
  p.reference = view_of(reference.data(), count);
  p.image = view_of(moving.data(), count);
  p.result = view_of(expected.data(), axes * count);
  Control control;
  require(check(p), "check");
  require(cpu::imaging_registration(host, p, control), "cpu");
  OnGpu<T> r(device, reference), t(device, moving), u(device, axes * count);
  RegistrationParameters q = parameters_of<T>(pair, on_device, 12);
  q.variant = p.variant;
  q.measure = p.measure;
  q.step_scale = p.step_scale;
  q.accelerate = p.accelerate;
  q.reference = r.view();
  q.image = t.view();
  q.result = u.view();
  require(cuda::imaging_registration(device, q, control), "cuda");
  const std::vector<T> found = u.host();
  int64_t different = 0, first = -1, step = -1;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i]) continue;
    if (different++ == 0) first = static_cast<int64_t>(i);
  }
  const std::vector<RegistrationEntry>&history = on_device.history, &host_history = on_host.history;
  for (size_t i = 0; i < history.size() && step < 0; ++i) {
    if (history[i].value != host_history[i].value) step = static_cast<int64_t>(i);
  }
  const bool same = different == 0 && step < 0;
  if (!same) {
    std::printf("%lld values differ, the first is %lld; history differs from %lld on: %.17g %.17g\n", static_cast<long long>(different),
                static_cast<long long>(first), static_cast<long long>(step), step < 0 ? 0 : history[static_cast<size_t>(step)].value,
                step < 0 ? 0 : host_history[static_cast<size_t>(step)].value);
  }
  std::printf("bits %s %s %s %lldx%lldx%lld: %s (measure %.6g -> %.6g)\n", sizeof(T) == 4 ? "float32" : "float64",
              kRegistrationVariantNames[static_cast<int>(variant)], kMeasureNames[static_cast<int>(measure)],
              static_cast<long long>(pair.grid.nx), static_cast<long long>(pair.grid.ny), static_cast<long long>(pair.grid.nz),
              same ? "same" : "DIFFERENT", history[0].value, history[12].value);
  return same ? 0 : 1;
}

/// Seconds of one iteration: calls of many and of few, on one upload.
template <class T>
void time_iterations(BenchDevice& device, const KnownPair& pair, Measure measure, int few = 20, int repeats = 4) {
  const auto reference = pair.as<T>(pair.reference), moving = pair.as<T>(pair.moving);
  OnGpu<T> r(device, reference), t(device, moving), u(device, dimensions_of(pair.grid) * static_cast<int64_t>(reference.size()));
  double best[2] = {1e30, 1e30};
  const int counts[2] = {few, few + 10 * few};
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (int i = 0; i < 2; ++i) {
      Reported reported;
      RegistrationParameters p = parameters_of<T>(pair, reported, counts[i]);
      p.measure = measure;
      p.reference = r.view();
      p.image = t.view();
      p.result = u.view();
      Control control;
      const auto start = std::chrono::steady_clock::now();
      require(cuda::imaging_registration(device, p, control), "cuda");
      best[i] = std::min(best[i], std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }
  std::printf("time %s %s %lld^%d: %.2f us per iteration (%d iterations %.3f ms)\n", sizeof(T) == 4 ? "float32" : "float64",
              kMeasureNames[static_cast<int>(measure)], static_cast<long long>(pair.grid.nx), dimensions_of(pair.grid),
              (best[1] - best[0]) / (counts[1] - counts[0]) * 1e6, counts[1], best[1] * 1e3);
}

struct Plan {
  double alpha, step, scale;
  int levels, iterations;
  bool accelerate = true;
};

/// Both images on all levels, the finest first.
struct Pyramid {
  std::vector<OnGpu<float>> references, movings;
  std::vector<Grid> grids;

  Pyramid(BenchDevice& device, const KnownPair& pair, int levels) : grids{pair.grid} {
    references.emplace_back(device, pair.as<float>(pair.reference));
    movings.emplace_back(device, pair.as<float>(pair.moving));
    Control control;
    for (int level = 1; level < levels; ++level) {
      ResampleParameters p;
      p.grid = grids.back();
      p.halve_z = dimensions_of(pair.grid) == 3;
      const Grid coarse = coarse_grid(p);
      for (auto* images : {&references, &movings}) {
        OnGpu<float> next(device, points_of(coarse));
        p.values = images->back().view();
        p.result = next.view();
        require(cuda::imaging_resample(device, p, control), "halve");
        images->push_back(std::move(next));
      }
      grids.push_back(coarse);
    }
  }
};

/// A displacement on the finer grid.
OnGpu<float> doubled(BenchDevice& device, const Grid& fine, const OnGpu<float>& coarse) {
  const int axes = dimensions_of(fine);
  ResampleParameters up;
  up.grid = fine;
  up.halve_z = axes == 3;
  up.up = true;
  up.channels = axes;
  OnGpu<float> result(device, axes * points_of(fine));
  up.values = coarse.view();
  up.result = result.view();
  Control control;
  require(cuda::imaging_resample(device, up, control), "double");
  return result;
}

/// Registers from coarse to fine, and prints the errors within the object.
void measure_quality(BenchDevice& device, const KnownPair& pair, const Plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  const Pyramid pyramid(device, pair, plan.levels);
  std::vector<OnGpu<float>> fields;
  double last = 0, step = 0;
  Control control;
  for (int level = plan.levels - 1; level >= 0; --level) {
    const size_t l = static_cast<size_t>(level);
    Reported reported;
    RegistrationParameters p = parameters_of<float>(pair, reported, plan.iterations);
    p.grid = pyramid.grids[l];
    p.alpha = plan.alpha;
    p.step = plan.step;
    p.step_scale = plan.scale;
    p.accelerate = plan.accelerate;
    p.reference = pyramid.references[l].view();
    p.image = pyramid.movings[l].view();
    if (!fields.empty()) {
      fields.push_back(doubled(device, pyramid.grids[l], fields.back()));
      p.initial = fields.back().view();
    }
    OnGpu<float> result(device, dimensions_of(pair.grid) * points_of(pyramid.grids[l]));
    p.result = result.view();
    require(cuda::imaging_registration(device, p, control), "registration");
    fields.push_back(std::move(result));
    last = reported.history.back().value;
    step = reported.report.step;
  }
  require(device.synchronize(), "end");
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::vector<float> u = fields.back().host();
  const Errors errors = pair.errors(std::vector<double>(u.begin(), u.end()));
  std::printf("quality %s %lld^%d alpha %g step %g scale %g %dx%d: TRE mean %.5f p95 %.4f max %.3f, measure %.3g, step %.1f, %.2f ms\n",
              plan.accelerate ? "accelerated" : "plain", static_cast<long long>(pair.grid.nx), dimensions_of(pair.grid), plan.alpha,
              plan.step, plan.scale, plan.levels, plan.iterations, errors.mean, errors.p95, errors.most, last, step, seconds * 1e3);
}

int run(int argc, char** argv) {
  std::string what = argc < 2 ? "bits time quality" : "";
  for (int i = 1; i < argc; ++i) what += std::string(" ") + argv[i];
  BenchDevice device;
  DeviceDescription description;
  cpu::CpuDevice host(description, int64_t{8} << 30, 8);
  int failures = 0;
  if (what.find("bits") != std::string::npos) {
    const Grid grids[] = {{64, 64, 1}, {33, 17, 1}, {128, 96, 1}, {24, 20, 18}, {11, 13, 7}, {101, 211, 1}, {5000, 3, 1}};
    for (const Grid& grid : grids) {
      const KnownPair pair(grid, 1);
      for (const Measure m : {Measure::ssd, Measure::ncc}) {
        failures += compare_bits<float>(device, host, pair, RegistrationVariant::semi_implicit, m);
        failures += compare_bits<double>(device, host, pair, RegistrationVariant::semi_implicit, m);
      }
      failures += compare_bits<float>(device, host, pair, RegistrationVariant::explicit_, Measure::ssd);
    }
  }
  if (what.find("time") != std::string::npos) {
    for (const int n : {128, 256, 512, 1024, 2048}) time_iterations<float>(device, KnownPair({n, n, 1}, n / 32.0), Measure::ssd);
    for (const int n : {32, 64, 128, 256}) time_iterations<float>(device, KnownPair({n, n, n}, n / 32.0), Measure::ssd);
    time_iterations<double>(device, KnownPair({1024, 1024, 1}, 32), Measure::ssd);
    time_iterations<double>(device, KnownPair({128, 128, 128}, 4), Measure::ssd);
    time_iterations<float>(device, KnownPair({128, 128, 128}, 4), Measure::ncc);
    time_iterations<float>(device, KnownPair({1000, 1000, 1}, 32), Measure::ssd);
    time_iterations<float>(device, KnownPair({1009, 1009, 1}, 32), Measure::ssd);
  }
  if (what.find("profile") != std::string::npos) {  // for ncu: few launches of each kernel
    time_iterations<float>(device, KnownPair({1024, 1024, 1}, 32), Measure::ssd, 1, 1);
    time_iterations<float>(device, KnownPair({128, 128, 128}, 4), Measure::ssd, 1, 1);
  }
  if (what.find("quality") != std::string::npos) {
    const KnownPair plane({128, 128, 1}, 4), volume({64, 64, 64}, 2), large({128, 128, 128}, 4);
    std::printf("start TRE %.4f %.4f %.4f\n", plane.start().mean, volume.start().mean, large.start().mean);
    const bool sweep = what.find("sweep") != std::string::npos;
    for (const bool accelerate : {false, true}) {
      measure_quality(device, plane, {0.1, 50, 1, 3, 60, accelerate});
      measure_quality(device, volume, {0.1, 50, 1, 3, 40, accelerate});
      measure_quality(device, large, {0.1, 50, 1, 4, 40, accelerate});
    }
    for (const double alpha : {0.03, 0.1, 0.3}) {
      for (const double scale : {1.0, 1.5, 2.0}) {
        if (!sweep && (alpha != 0.1 || scale != 1)) continue;
        measure_quality(device, plane, {alpha, 0, scale, 3, 60});
        measure_quality(device, volume, {alpha, 0, scale, 3, 40});
        measure_quality(device, large, {alpha, 0, scale, 4, 40});
      }
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace warploom::bench

int main(int argc, char** argv) { return warploom::bench::run(argc, argv); }
