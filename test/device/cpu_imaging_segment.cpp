// imaging.segment: all variants of the shim in all orders and the cpu backend on all instruction sets give the same bits, and these are
// the definition's to rounding.
#include "test/device/support/operations.h"
#include "test/device/imaging_segment.h"

namespace segment_test {
namespace {

std::unique_ptr<Device> open_cpu(int threads) {
  DeviceDescription description;
  description.memory_bytes = int64_t{1} << 30;
  return std::make_unique<cpu::CpuDevice>(description, 0, threads);
}

template <class R>
std::string label(const Example<R>& e, const char* what) {
  const SegmentParameters& p = e.p;
  const std::string size = std::to_string(p.grid.nx) + "x" + std::to_string(p.grid.ny) + "x" + std::to_string(p.grid.nz);
  return std::string(what) + " float" + std::to_string(8 * sizeof(R)) + " " + size + " channels " + std::to_string(p.channels) +
         " step " + std::to_string(static_cast<int>(p.step));
}

/// Against the cpu backend with one thread.
template <class R>
void compare(const Example<R>& e, const char* what, bool all_orders = false) {
  const auto one = open_cpu(1), three = open_cpu(3);
  const Outcome<R> expected = run(*one, e, SegmentVariant::cpu);
  harness::check(expected.status.ok(), label(e, what), expected.status.message());
  const auto same = [&](const Outcome<R>& found, const char* by) {
    const std::string difference = found.difference(expected);
    harness::check(difference.empty(), label(e, what) + " by " + by, difference);
  };
  same(run(*three, e, SegmentVariant::cpu, 1), "three threads");
  for (const char* order : test::kOrders) {
    if (!all_orders && order != test::kOrders[0]) continue;
    const auto simt = test::open_simt(order);
    same(run(*simt, e, SegmentVariant::direct), "direct");
    if (e.p.channels > 1 || e.p.grid.nz > 1) continue;
    same(run(*simt, e, SegmentVariant::march), "march");
    same(run(*simt, e, SegmentVariant::march, 1), "march, odd addresses");
  }
}

template <class R>
void sizes() {
  const int64_t list[][2] = {{1, 1}, {1, 9}, {13, 1}, {2, 2}, {7, 5}, {31, 8}, {120, 3}, {124, 4}, {121, 5}, {241, 7}, {64, 37}};
  for (const auto& size : list) {
    if (kSanitized && size[0] * size[1] > 900) continue;
    Example<R> e(size[0], size[1]);
    e.p.energy_every = 3;
    compare(e, "sizes");
  }
}

template <class R>
void options() {
  Example<R> e(125, 19);
  e.p.energy_every = 2;
  e.p.reinitialize_every = 3;
  e.p.reinitialize_steps = 3;
  e.p.step = StepKind::explicit_;
  e.p.mu = 0.7;
  e.p.nu = -0.02;
  e.p.lambda2 = 1.5;
  e.p.epsilon = 0.8;
  e.weights = {0.75};
  compare(e, "options", !kSanitized);
  Example<R> ball(40, 33);
  ball.p.initial = Initial::ball;
  ball.p.low[0] = 20;
  ball.p.low[1] = 15;
  ball.p.radius = 9;
  ball.p.normalize = false;
  ball.p.lambda1 = ball.p.lambda2 = 1e-4;
  compare(ball, "ball");
  Example<R> box(40, 33);
  box.p.initial = Initial::box;
  box.p.low[0] = box.p.low[1] = 4;
  box.p.high[0] = box.p.high[1] = 21.5;
  box.p.iterations = 40;
  box.p.tolerance = 0.09;
  compare(box, "box, stopped early");
}

template <class R>
void volumes_and_channels() {
  Example<R> volume(17, 9, 5);
  volume.p.energy_every = 4;
  volume.p.reinitialize_every = 5;
  volume.p.reinitialize_steps = 2;
  compare(volume, "volume");
  Example<R> colours(33, 14, 1, 3);
  colours.weights = {1, 0.5, 0.25};
  colours.p.energy_every = 2;
  compare(colours, "colours", !kSanitized);
  Example<R> coloured_volume(9, 8, 3, 2);
  coloured_volume.p.step = StepKind::explicit_;
  compare(coloured_volume, "coloured volume");
}

/// Points without data, images of one value, a contour that vanishes.
template <class R>
void odd_images() {
  Example<R> e(50, 12);
  for (size_t i = 3; i < e.image.size(); i += 17) e.image[i] = i % 2 == 0 ? R(NAN) : R(INFINITY);
  compare(e, "missing pixels");
  Example<R> nothing(9, 9);
  for (R& pixel : nothing.image) pixel = R(NAN);
  compare(nothing, "no pixels at all");
  Example<R> flat(21, 21);
  for (R& pixel : flat.image) pixel = R(3);
  flat.p.initial = Initial::ball;
  flat.p.low[0] = flat.p.low[1] = 10;
  flat.p.radius = 4;
  flat.p.nu = 1;
  flat.p.iterations = 60;
  compare(flat, "one value");
  const auto cpu = open_cpu(1);
  const Outcome<R> found = run(*cpu, flat, SegmentVariant::cpu);
  harness::check(found.report.inside == 0, label(flat, "one value"), "the contour did not vanish");
  harness::check(found.means[0].inside == 3 && found.means[0].outside == 3, label(flat, "one value"), "means of an empty region");
  Example<R> given(30, 10);
  for (size_t i = 0; i < given.image.size(); ++i) {
    given.given.push_back(i % 7 == 0 ? R(NAN) : i % 5 == 0 ? R(1e9) : static_cast<R>(i % 3) - 1);
  }
  compare(given, "given level set with odd values");
}

/// Against plain loops in float64.
template <class R>
void definition(int64_t nx, int64_t ny, int64_t nz, int64_t channels, StepKind kind) {
  Example<R> e(nx, ny, nz, channels);
  e.p.step = kind;
  e.p.nu = 0.03;
  e.p.lambda1 = 1.25;
  e.p.epsilon = 1.5;
  e.p.eta = 1e-4;
  e.p.iterations = 4;
  e.image[5] = R(NAN);
  for (int64_t c = 0; c < channels; ++c) e.weights.push_back(1.0 / static_cast<double>(1 + c));
  const int64_t points = nx * ny * nz;
  std::vector<double> image(e.image.begin(), e.image.end()), phi;
  double least = INFINITY, most = -INFINITY;
  for (int64_t i = 0; i < points; ++i) {
    e.given.push_back(static_cast<R>(3 * std::sin(0.7 * static_cast<double>(i % nx)) * std::cos(0.9 * static_cast<double>(i / nx))));
    phi.push_back(static_cast<double>(e.given.back()));
    bool data = true;
    for (int64_t c = 0; c < channels; ++c) data = data && std::isfinite(image[size_t(c * points + i)]);
    for (int64_t c = 0; c < channels && data; ++c) {
      least = std::min(least, image[size_t(c * points + i)]);
      most = std::max(most, image[size_t(c * points + i)]);
    }
  }
  for (int64_t k = 0; k < e.p.iterations; ++k) phi = defined_step(e.p, image, phi, e.weights, most - least);
  const auto cpu = open_cpu(1);
  const Outcome<R> found = run(*cpu, e, SegmentVariant::cpu);
  double worst = 0;
  for (size_t i = 0; i < phi.size(); ++i) worst = std::max(worst, std::fabs(static_cast<double>(found.level[i]) - phi[i]));
  harness::check(worst < (sizeof(R) == 4 ? 2e-5 : 2e-12), label(e, "definition"), "off by " + std::to_string(worst));
}

/// Reinitialisation gives slopes of one and keeps the sign of every point.
void distances() {
  Example<double> e(61, 47);
  e.p.lambda1 = e.p.lambda2 = e.p.mu = 0;
  e.p.iterations = 1;
  e.p.reinitialize_every = 1;
  e.p.reinitialize_steps = 80;
  const auto distance = [](size_t i) { return 14 - std::hypot(static_cast<double>(i % 61) - 29.7, static_cast<double>(i / 61) - 23.2); };
  for (size_t i = 0; i < e.image.size(); ++i) e.given.push_back(distance(i) * (2 + std::sin(0.4 * static_cast<double>(i % 61))));
  const auto cpu = open_cpu(2);
  const Outcome<double> found = run(*cpu, e, SegmentVariant::cpu);
  double worst = 0;
  bool signs = true;
  for (size_t i = 0; i < e.image.size(); ++i) {
    worst = std::max(worst, std::fabs(found.level[i] - distance(i)) - 0.03 * std::fabs(distance(i)));
    signs = signs && (found.level[i] > 0) == (e.given[i] > 0);
  }
  harness::check(worst < 0.35, "distance to a circle", "off by " + std::to_string(worst));
  harness::check(signs, "signs after reinitialisation");
}

/// Calls that are cancelled say so.
struct Stopped final : Control {
  bool cancelled() const override { return true; }
};
void control() {
  Example<float> e(64, 64);
  e.p.iterations = 100000;
  Stopped stopped;
  const auto cpu = open_cpu(1), simt = test::open_simt();
  harness::check(run(*cpu, e, SegmentVariant::cpu, 0, true, &stopped).status.code() == Code::cancelled, "cancelled on the cpu backend");
  harness::check(run(*simt, e, SegmentVariant::march, 0, true, &stopped).status.code() == Code::cancelled, "cancelled on the shim");
  e.p.channels = 2;
  e.image.resize(2 * e.image.size(), 1.0f);
  harness::check(run(*simt, e, SegmentVariant::march).status.code() == Code::unsupported, "march of two channels is refused");
  harness::check(run(*cpu, e, SegmentVariant::direct).status.code() == Code::unsupported, "the cpu backend has no direct variant");
}

template <class R>
std::string bits_of(const char* isa) {
  const harness::ChildResult child = harness::in_child([&](std::string* out) {
    setenv("WARPLOOM_CPU_ISA", isa, 1);
    Example<R> e(67, 21, 1, 1);
    e.p.energy_every = 2;
    e.p.reinitialize_every = 4;
    Example<R> volume(19, 7, 4, 2);
    const auto cpu = open_cpu(1);
    for (const Example<R>* each : {&e, &volume}) {
      const Outcome<R> found = run(*cpu, *each, SegmentVariant::cpu);
      out->append(reinterpret_cast<const char*>(found.level.data()), found.level.size() * sizeof(R));
      out->append(reinterpret_cast<const char*>(found.history.data()), found.history.size() * sizeof(SegmentEntry));
    }
    return 0;
  });
  return child.exit_code == 0 ? child.output : "failed";
}
template <class R>
void instruction_sets() {
  const std::string expected = bits_of<R>("baseline");
  harness::check(expected.size() > 1000, "baseline");
  for (const cpu::Isa isa : cpu::kIsas) {
    const char* const name = cpu::kIsaNames[static_cast<int>(isa)];
    if (cpu::has_isa(isa)) harness::check(bits_of<R>(name) == expected, std::string("bits of ") + name);
    else harness::skip(name, "not on this processor");
  }
}

void all() {
  options<float>();
  volumes_and_channels<float>();
  if (!harness::kThreadSanitizer) {  // the same threads and blocks with other numbers
    definition<double>(23, 17, 1, 1, StepKind::semi_implicit);
    definition<double>(23, 17, 1, 3, StepKind::explicit_);
    definition<double>(11, 9, 7, 2, StepKind::semi_implicit);
    definition<float>(23, 17, 1, 1, StepKind::semi_implicit);
    definition<float>(11, 9, 7, 1, StepKind::explicit_);
    distances();
    sizes<float>();
    sizes<double>();
    odd_images<float>();
  }
  if (!kSanitized) {
    options<double>();
    volumes_and_channels<double>();
    odd_images<double>();
  }
  control();
}

}  // namespace
}  // namespace segment_test

int main() {
  segment_test::instruction_sets<float>();
  segment_test::instruction_sets<double>();
  if (!harness::kThreadSanitizer) {
    segment_test::all();
    return harness::summary();
  }
  const harness::ChildResult child = harness::in_child([](std::string* out) {
    segment_test::all();
    const harness::Counts& counts = harness::counts();
    *out = std::to_string(counts.passed) + " " + std::to_string(counts.failed);
    return 0;
  });
  int passed = 0, failed = 0;
  if (child.exit_code != 0 || std::sscanf(child.output.c_str(), "%d %d", &passed, &failed) != 2) failed = 1;
  harness::counts().passed = passed;  // those of the child hold those before it
  harness::counts().failed = failed;
  return harness::summary();
}
