// portable.h's branch of the host, and the point function of the Euler equations: mirror symmetry to the bit, rest, the Sod tube.
#include "cuda/core/portable.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda/swept/euler.h"
#include "test/device/support/harness.h"

namespace warploom::test {
namespace {

using harness::check;
using swept::Euler;
using swept::Limiter;

constexpr const char* kTypes[] = {"float32", "float64"};
template <class T>
std::string named(const char* what) {
  return std::string(what) + " " + kTypes[sizeof(T) / 8];
}
template <class T>
int word_of(T value) {
  int words[2];
  std::memcpy(words, &value, sizeof(T));
  return words[sizeof(T) / 4 - 1];
}

template <class T>
void ranges() {
  using Range = portable::Range<T>;
  check(word_of(Range::kLeast) == Range::kLeastWord && word_of(Range::kMost) == Range::kMostWord, named<T>("words of the range"));
  const T infinite = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const T beyond[] = {T(0), -T(0), infinite, -infinite, nan, std::numeric_limits<T>::denorm_min(), Range::kLeast / 2, Range::kMost};
  for (const T a : beyond) {
    check(std::isnan(portable::reciprocal(a)) && std::isnan(portable::reciprocal(-a)), named<T>("reciprocal out of range"));
    check(std::isnan(portable::positive_reciprocal(a)), named<T>("positive reciprocal out of range"));
    check(std::isnan(portable::square_root(a)) && std::isnan(portable::square_root(-a)), named<T>("root out of range"));
  }
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(std::log2(double(Range::kLeast)), std::log2(double(Range::kMost)) - 1);
  bool reciprocals = true, roots = true, doubles = true;
  for (int i = 0; i < 20000; ++i) {
    const T a = i == 0 ? Range::kLeast : static_cast<T>(std::exp2(exponent(random)));
    if (!(a >= Range::kLeast && a < Range::kMost)) continue;
    reciprocals = reciprocals && portable::reciprocal(a) == 1 / a && portable::reciprocal(-a) == -1 / a &&
                  portable::small_reciprocal(a) == 1 / a && portable::positive_reciprocal(a) == 1 / a &&
                  std::isnan(portable::positive_reciprocal(-a));
    roots = roots && portable::square_root(a) == std::sqrt(a) && std::isnan(portable::square_root(-a));
    doubles = doubles && portable::twice(a) == 2 * a && portable::twice(-a) == -2 * a;
  }
  check(reciprocals, named<T>("reciprocal"));
  check(roots, named<T>("root"));
  check(doubles, named<T>("twice"));
}

template <class T>
void likeness() {
  const T least = T(0x1p-96), small = least / 2, large = 3;
  const T values[] = {0, small, least, large, -small, -least, -large, std::numeric_limits<T>::infinity()};
  for (const T a : values) {
    for (const T b : values) {
      const bool right = std::fabs(a) >= least && std::fabs(b) >= least && (a > 0) == (b > 0);
      check(portable::alike(a, b, least) == right, named<T>("alike"), std::to_string(double(a)) + " " + std::to_string(double(b)));
    }
  }
}

template <class T, size_t kCount>
bool same(const T (&a)[kCount], const T (&b)[kCount]) {
  return std::memcmp(a, b, sizeof(a)) == 0;
}

/// Five neighbouring states and what a sub-step makes of them; smooth, with equal differences, rough.
template <class T, int kLimiter>
void mirrors() {
  using Equation = Euler<T>;
  const auto chosen = static_cast<Limiter>(kLimiter);
  const Equation equation = Equation::template make<T>(1.4, 0.01, 0.002, chosen);
  const auto fixed = Euler<T, kLimiter>::template make<T>(1.4, 0.01, 0.002, chosen);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform(-1, 1);
  bool mirrored = true, compiled_in = true, moved = false;
  for (int i = 0; i < 20000; ++i) {
    typename Equation::Value a[5], reversed[5];
    const double amplitude = i % 3 == 0 ? 0.9 : 0.01;
    for (int d = 0; d < 5; ++d) {
      const bool steady = i % 5 == 0;  // the same differences everywhere, but for rounding
      const double shift = steady ? d * 0.25 * amplitude : uniform(random) * amplitude;
      const double density = 1 + shift, velocity = steady ? 0.5 : uniform(random);
      a[d] = {{T(density), T(density * velocity), T(2.5 * (1 + (i % 2 != 0 ? shift : 0)) + 0.5 * density * velocity * velocity)}};
    }
    for (int d = 0; d < 5; ++d) reversed[d] = equation.mirrored(a[4 - d]);
    const auto next = equation.template next<1>(a, a[1]), back = equation.template next<1>(reversed, reversed[3]);
    mirrored = mirrored && same(equation.mirrored(next).item, back.item);
    compiled_in = compiled_in && same(fixed.template next<1>(a, a[1]).item, next.item);
    moved = moved || !same(next.item, a[1].item);
  }
  const std::string limiter = std::string(" ") + swept::kLimiterNames[kLimiter];
  check(mirrored && moved, named<T>("mirror symmetry") + limiter);
  check(compiled_in, named<T>("limiter fixed at compile time") + limiter);

  typename Equation::Value still[5];
  for (auto& state : still) state = {{T(0.7), T(0.3), T(1.9)}};
  check(same(equation.template next<0>(still, still[2]).item, still[2].item), named<T>("uniform flow") + limiter);
  for (const T bad : {T(0), T(-0.7), std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    still[2].item[0] = bad;
    const auto next = equation.template next<0>(still, still[2]);
    check(!std::isfinite(next.item[0]), named<T>("impossible density") + limiter, std::to_string(double(bad)));
  }
  for (int d = 0; d < 5; ++d) still[d].item[0] = T(-0.7 - 0.1 * d);
  check(!std::isfinite(equation.template next<0>(still, still[2]).item[0]), named<T>("negative densities") + limiter);
}

/// The exact solution of the Sod tube at (x - 1/2) / t: density, velocity, pressure.
struct Exact {
  double density, velocity, pressure;
};
Exact sod(double speed) {
  const double gamma = 1.4, sound = std::sqrt(gamma), middle = 0.30313017805064707, contact = 0.92745262004894991;
  const double inner = 0.42631942817849544, outer = 0.26557371170530708, shock = 1.7521557320301779;
  if (speed < -sound) return {1, 0, 1};
  if (speed < contact - std::sqrt(gamma * middle / inner)) {
    const double velocity = 2 / (gamma + 1) * (sound + speed), ratio = (sound - (gamma - 1) / 2 * velocity) / sound;
    return {std::pow(ratio, 5), velocity, std::pow(ratio, 7)};
  }
  if (speed < contact) return {inner, contact, middle};
  if (speed < shock) return {outer, contact, middle};
  return {0.125, 0, 0.1};
}

/// The L1 errors of the paper's scheme at t = 0.2 with dt/dx = 0.2 on 514 cells, and the mass of the cells inside.
void tube() {
  using Equation = Euler<double>;
  const int n = 514, steps = n - 2;
  const double dx = 1.0 / (n - 2), dt = 0.2 * dx;
  const Equation equation = Equation::make<double>(1.4, dx, dt, Limiter::paper);
  std::vector<Equation::Value> state(n), half(n), next(n);
  for (int i = 0; i < n; ++i) state[i] = i < n / 2 ? Equation::Value{{1, 0, 2.5}} : Equation::Value{{0.125, 0, 0.25}};
  const auto substep = [&](auto number, const std::vector<Equation::Value>& from, std::vector<Equation::Value>& to) {
    for (int i = 0; i < n; ++i) {
      Equation::Value around[5];
      for (int d = 0; d < 5; ++d) around[d] = from[i + d < 2 ? 0 : i + d - 2 < n ? i + d - 2 : n - 1];
      to[i] = i == 0 || i == n - 1 ? state[i] : equation.template next<decltype(number)::value>(around, state[i]);
    }
  };
  for (int s = 0; s < steps; ++s) {
    substep(std::integral_constant<int, 0>(), state, half);
    substep(std::integral_constant<int, 1>(), half, next);
    state.swap(next);
  }
  double errors[3] = {}, mass = 0;
  for (int i = 1; i < n - 1; ++i) {
    const double density = state[i].item[0], velocity = state[i].item[1] / density;
    const double pressure = 0.4 * (state[i].item[2] - 0.5 * density * velocity * velocity);
    const Exact exact = sod(((i - 0.5) * dx - 0.5) / (steps * dt));
    errors[0] += std::fabs(density - exact.density) * dx;
    errors[1] += std::fabs(velocity - exact.velocity) * dx;
    errors[2] += std::fabs(pressure - exact.pressure) * dx;
    mass += density * dx;
  }
  const double published[3] = {3.80e-3, 4.48e-3, 2.25e-3};
  for (int k = 0; k < 3; ++k) {
    check(std::fabs(errors[k] - published[k]) < 0.006e-3, "Sod tube, error of component " + std::to_string(k), std::to_string(errors[k]));
  }
  check(std::fabs(mass - 0.5625) < 1e-13, "Sod tube, mass");
}

template <class T>
void all() {
  ranges<T>();
  likeness<T>();
  mirrors<T, 0>();
  mirrors<T, 1>();
  mirrors<T, 2>();
  mirrors<T, 3>();
}

}  // namespace
}  // namespace warploom::test

int main() {
  warploom::test::all<float>();
  warploom::test::all<double>();
  warploom::test::tube();
  return harness::summary();
}
