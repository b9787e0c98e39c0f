// swept.advance of the cpu backend: its bits (cpu_swept.h), and the equations against what is known of them.
#include "test/device/cpu_swept.h"

namespace cpu_test {
namespace {

/// A cosine is an exact mode of the discrete heat equation between reflecting ends.
void heat_mode(Device& device) {
  start_case("heat: cosine mode");
  AdvanceParameters p = parameters_of<double>(Equation::heat, Limiter::minmod, {Boundary::reflective, Boundary::reflective});
  p.n = 65;
  p.steps = 300;
  for (const int mode : {1, 3, 17}) {
    std::vector<double> state;
    const double angle = M_PI * mode / double(p.n - 1), growth = 1 - 4 * 0.3 * std::pow(std::sin(angle / 2), 2);
    for (int64_t i = 0; i < p.n; ++i) state.push_back(std::cos(angle * double(i)));
    const std::vector<double> next = advance(device, p, state);
    double worst = 0;
    for (size_t i = 0; i < state.size(); ++i) worst = std::max(worst, std::abs(next[i] - state[i] * std::pow(growth, 300)));
    EXPECT(worst < 2e-14, "mode %d: off by %g", mode, worst);
  }
}

/// Small waves grow as the scheme's formula says.
void growth_of_small_waves(Device& device) {
  start_case("KS: growth of small waves");
  AdvanceParameters p = parameters_of<double>(Equation::kuramoto_sivashinsky, Limiter::minmod, {Boundary::periodic, Boundary::periodic});
  p.n = 1024;
  p.steps = 60;
  const int waves[] = {20, 58, 81};
  const double rates[] = {0.0565440, 0.2499983, 0.0310675};
  for (int w = 0; w < 3; ++w) {
    const double angle = 2 * M_PI * waves[w] / double(p.n), s = std::pow(std::sin(angle / 2), 2);
    std::vector<double> state;
    for (int64_t i = 0; i < p.n; ++i) state.push_back(1e-6 * std::cos(angle * double(i)));
    const std::vector<double> next = advance(device, p, state);
    double product = 0, square = 0;
    for (size_t i = 0; i < state.size(); ++i) {
      product += next[i] * state[i];
      square += state[i] * state[i];
    }
    const double rate = std::log(product / square) / (p.dt * double(p.steps));
    const double z = p.dt * (4 * s / (p.dx * p.dx) - 16 * s * s / std::pow(p.dx, 4));
    EXPECT(std::abs(rate / (std::log1p(z + z * z / 2) / p.dt) - 1) < 1e-6, "%d waves grow by %.9f", waves[w], rate);
    EXPECT(std::abs(rate - rates[w]) < 1e-6, "%d waves grow by %.9f", waves[w], rate);
  }
}

struct Gas {
  double density, velocity, pressure;
};
/// Sod's problem at x/t.
Gas sod(double speed) {
  const double sound = std::sqrt(1.4);
  if (speed < -1.1832160) return {1, 0, 1};
  if (speed < -0.0702728) {
    const double velocity = 2 / 2.4 * (sound + speed), ratio = 1 - 0.2 * velocity / sound;
    return {std::pow(ratio, 5), velocity, std::pow(ratio, 7)};
  }
  if (speed < 0.9274526) return {0.4263194, 0.9274526, 0.3031302};
  if (speed < 1.7521557) return {0.2655737, 0.9274526, 0.3031302};
  return {0.125, 0, 0.1};
}

/// Errors of Sod's problem are those of the schemes.
void sod_errors(Device& device) {
  AdvanceParameters p = parameters_of<double>(Equation::euler, Limiter::paper, {Boundary::dirichlet, Boundary::dirichlet});
  p.n = 514;
  p.steps = 512;
  p.dx = 1.0 / 512;
  p.dt = 0.2 * p.dx;
  std::vector<double> state(size_t(3 * p.n));
  for (int64_t i = 0; i < p.n; ++i) {
    const bool left = i < p.n / 2;
    state[size_t(i)] = left ? 1 : 0.125;
    state[size_t(2 * p.n + i)] = (left ? 1 : 0.1) / 0.4;
  }
  const double most[4][3] = {{3.81e-3, 4.49e-3, 2.26e-3}, {2.65e-3, 4.02e-3, 1.69e-3},
                             {2.2e-3, 2.97e-3, 1.21e-3}, {2.2e-3, 2.84e-3, 1.2e-3}};
  for (int limiter = 0; limiter < (kQuick ? 1 : 4); ++limiter) {
    start_case("Sod, %s", kLimiterNames[limiter]);
    p.limiter = static_cast<Limiter>(limiter);
    const std::vector<double> next = advance(device, p, state);
    double error[3] = {};
    for (int64_t i = 1; i < p.n - 1; ++i) {
      const Gas exact = sod(((double(i) - 0.5) * p.dx - 0.5) / 0.2);
      const double density = next[size_t(i)], velocity = next[size_t(p.n + i)] / density;
      const double pressure = 0.4 * (next[size_t(2 * p.n + i)] - 0.5 * density * velocity * velocity);
      error[0] += p.dx * std::abs(density - exact.density);
      error[1] += p.dx * std::abs(velocity - exact.velocity);
      error[2] += p.dx * std::abs(pressure - exact.pressure);
    }
    for (int k = 0; k < 3; ++k) EXPECT(error[k] < most[limiter][k], "L1 error %d is %g", k, error[k]);
  }
}

/// Mirrored problems have mirrored solutions, bit for bit.
template <class R>
void mirror_symmetry(Device& device) {
  const Ends ends[] = {{Boundary::periodic, Boundary::periodic}, {Boundary::reflective, Boundary::outflow},
                       {Boundary::dirichlet, Boundary::reflective}};
  for (int limiter = 0; limiter < 4; ++limiter) {
    for (const Ends& e : ends) {
      start_case("mirror symmetry, float%d, %s, %s", int(8 * sizeof(R)), kLimiterNames[limiter], kBoundaryNames[int(e.left)]);
      AdvanceParameters p = parameters_of<R>(Equation::euler, static_cast<Limiter>(limiter), e);
      p.n = 97;
      p.steps = kQuick ? 10 : 60;
      const std::vector<R> state = initial<R>(p, 3);
      const auto mirrored = [&](const std::vector<R>& from) {
        std::vector<R> to(from.size());
        for (size_t k = 0, n = size_t(p.n); k < 3; ++k) {
          for (size_t i = 0; i < n; ++i) to[k * n + i] = k == 1 ? -from[k * n + n - 1 - i] : from[k * n + n - 1 - i];
        }
        return to;
      };
      const std::vector<R> next = advance(device, p, state);
      std::swap(p.left, p.right);
      EXPECT(same(advance(device, p, mirrored(state)), mirrored(next)), "differs");
    }
  }
}

/// An unstable march stops before the first value that is not finite.
void first_bad_step(Device& device) {
  AdvanceParameters p = parameters_of<double>(Equation::heat, Limiter::minmod, {Boundary::reflective, Boundary::dirichlet});
  p.n = 50;
  p.dt = 5 * p.dx * p.dx;
  p.steps = 300;
  const std::vector<double> state = initial<double>(p, 4);
  const auto states = define(p, state, p.steps);
  const auto finite = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  };
  int32_t good = 0;
  while (finite(states[size_t(good) + 1])) ++good;
  for (const Variant variant : {Variant::cpu_classic, Variant::cpu_tiled}) {
    start_case("first bad step, %s", kVariantNames[int(variant)]);
    p.variant = variant;
    AdvanceReport report;
    EXPECT(same(advance(device, p, state, &report), states[size_t(good)]), "not the last good state");
    EXPECT(report.completed == good && report.first_bad == good + 1, "%d steps, first bad %d; expected %d", report.completed,
           report.first_bad, good);
  }
}

struct Stopping final : Control {
  mutable int polls = 0;
  int reports = 0;
  bool cancelled() const override { return ++polls > 5; }
  void progress(double done, double total) override { reports += done > 0 && done <= total; }
};
void cancellation(Device& device) {
  AdvanceParameters p = parameters_of<double>(Equation::heat, Limiter::minmod, {Boundary::periodic, Boundary::periodic});
  p.n = 100;
  p.steps = 1 << 20;
  std::vector<double> state = initial<double>(p, 5), next(state.size());
  p.state = dense_view(state.data(), p.n, {p.n});
  p.next = dense_view(next.data(), p.n, {p.n});
  for (const Variant variant : {Variant::cpu_classic, Variant::cpu_tiled}) {
    start_case("cancellation, %s", kVariantNames[int(variant)]);
    p.variant = variant;
    Stopping control;
    const Status status = cpu_backend().operations.swept_advance(device, p, control);
    EXPECT(status.code() == Code::cancelled && control.polls == 6 && control.reports == 3, "%d polls, %d reports", control.polls,
           control.reports);
  }
}

/// Chunks of swept.measure have the same bits on every instruction set.
template <class R>
void measured_alike() {
  start_case("chunks of measure, float%d", int(8 * sizeof(R)));
  std::mt19937_64 random(6);
  std::vector<R> values;
  for (int i = 0; i < 8192; ++i) values.push_back(random_value<R>(random));
  const cpu::SweptKernelSet* sets[3];
  const int count = cpu::swept_kernel_sets(sets);
  for (const int64_t length : {1, 9, 255, 256, 300, 8191, 8192}) {
    const Part expected = cpu::kernels_of<R>(*sets[count - 1]).measure_chunk(values.data(), length);
    for (int s = 0; s < count - 1; ++s) {
      const Part part = cpu::kernels_of<R>(*sets[s]).measure_chunk(values.data(), length);
      EXPECT(std::memcmp(&part, &expected, sizeof(part)) == 0, "%s, %d values", sets[s]->name, int(length));
    }
  }
}

}  // namespace
}  // namespace cpu_test

int main() {
  using namespace cpu_test;
  const auto one = open(1), three = open(3);
  all_same_bits<double>(*one, *three);
  all_same_bits<float>(*one, *three);
  heat_mode(*one);
  growth_of_small_waves(*three);
  sod_errors(*one);
  mirror_symmetry<double>(*one);
  mirror_symmetry<float>(*three);
  first_bad_step(*one);
  cancellation(*one);
  measured_alike<double>();
  measured_alike<float>();
  return finish();
}
