// Problems of swept.advance with a plain march beside them, for the device programs: every point of every sub-step by
// Equation::next() from values that the test itself puts beyond the ends.
#pragma once
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cuda/core/view.h"
#include "cuda/core/device.cuh"
#include "cuda/core/operations.h"
#include "cuda/swept/advance.h"
#include "cuda/swept/euler.h"
#include "cuda/swept/heat.h"
#include "cuda/swept/kuramoto_sivashinsky.h"
#include "simt/runtime.h"
#include "test/device/support/harness.h"
#include "test/device/support/simt_device.h"

namespace warploom::test {

using swept::AdvanceParameters;
using swept::Boundary;
using swept::Equation;
using swept::Variant;
using Ends = std::pair<Boundary, Boundary>;

inline constexpr bool kSanitized = harness::kThreadSanitizer || harness::kAddressSanitizer;
inline constexpr Equation kEquations[] = {Equation::heat, Equation::kuramoto_sivashinsky, Equation::euler};

/// Numbers that repeat from run to run.
class Chance {
 public:
  explicit Chance(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  /// Uniform in [-1, 1).
  double number() { return static_cast<double>(next() >> 11) * 0x1p-52 - 1.0; }
  int below(int bound) { return static_cast<int>((next() >> 20) % static_cast<uint64_t>(bound)); }
  template <class T>
  const T& one_of(const std::vector<T>& list) { return list[static_cast<size_t>(below(static_cast<int>(list.size())))]; }

 private:
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  uint64_t state_;
};

/// Every pair of ends that an equation takes.
inline std::vector<Ends> all_ends(Equation equation) {
  std::vector<Ends> ends = {{Boundary::periodic, Boundary::periodic}};
  for (const Boundary left : {Boundary::reflective, Boundary::dirichlet, Boundary::outflow}) {
    for (const Boundary right : {Boundary::reflective, Boundary::dirichlet, Boundary::outflow}) {
      if (swept::admits(equation, left) && swept::admits(equation, right)) ends.push_back({left, right});
    }
  }
  return ends;
}

struct Problem {
  Equation equation = Equation::heat;
  int64_t n = 3, batch = 1;
  Ends ends = {Boundary::periodic, Boundary::periodic};
  swept::Limiter limiter = swept::Limiter::paper;
  double dt = 0;  ///< 0: a stable one

  int64_t elements() const { return batch * swept::components_of(equation) * n; }
  double dx() const { return equation == Equation::kuramoto_sivashinsky ? 0.5 : 1; }
  double step() const {
    if (dt != 0) return dt;
    return equation == Equation::heat ? 0.23 : equation == Equation::euler ? 0.05 : 0.004;
  }
  std::string name() const {
    const auto end = [](Boundary b) { return std::string(swept::kBoundaryNames[static_cast<int>(b)]); };
    return std::string(swept::kEquationNames[static_cast<int>(equation)]) + " n=" + std::to_string(n) + " batch=" +
           std::to_string(batch) + " " + end(ends.first) + "/" + end(ends.second) +
           (equation == Equation::euler ? std::string(" ") + swept::kLimiterNames[static_cast<int>(limiter)] : "");
  }
};

/// Rough states, so that every point differs from its neighbours; gases with densities and pressures near 1.
template <class T>
std::vector<T> initial_state(const Problem& p, uint64_t seed) {
  Chance chance(seed + 31 * static_cast<uint64_t>(p.n));
  std::vector<T> state(static_cast<size_t>(p.elements()));
  for (T& value : state) value = static_cast<T>(chance.number());
  if (p.equation != Equation::euler) {
    const bool zero_ends = p.equation == Equation::kuramoto_sivashinsky && p.ends.first == Boundary::dirichlet;  // odd about them
    for (int64_t b = 0; zero_ends && b < p.batch; ++b) state[b * p.n] = state[(b + 1) * p.n - 1] = 0;
    return state;
  }
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t i = 0; i < p.n; ++i) {
      T* const density = state.data() + b * 3 * p.n + i;
      density[0] = 1 + density[0] / 5;
      density[p.n] /= 5;
      density[2 * p.n] = T(2.5) + density[2 * p.n] / 3;
    }
  }
  return state;
}

/// The plain march of one equation.
template <class E>
class Oracle {
 public:
  using Real = typename E::Real;
  using Value = typename E::Value;
  Oracle(const E& equation, const Problem& problem, std::vector<Real> state)
      : equation_(equation), p_(problem), state_(std::move(state)) {}

  /// The state after one step more.
  void step() {
    std::vector<Real> next = state_;
    for (int64_t b = 0; b < p_.batch; ++b) {
      const int64_t offset = b * E::kComponents * p_.n;
      const std::vector<Value> begin = read(state_, offset);
      std::vector<Value> points = substep<0>(begin, begin);
      if constexpr (E::kSubsteps == 2) points = substep<1>(points, begin);
      for (int64_t i = 0; i < p_.n; ++i) {
        for (int k = 0; k < E::kComponents; ++k) next[offset + k * p_.n + i] = points[i].item[k];
      }
    }
    state_ = next;
  }
  const std::vector<Real>& state() const { return state_; }

 private:
  std::vector<Value> read(const std::vector<Real>& state, int64_t offset) const {
    std::vector<Value> points(static_cast<size_t>(p_.n));
    for (int64_t i = 0; i < p_.n; ++i) {
      for (int k = 0; k < E::kComponents; ++k) points[i].item[k] = state[offset + k * p_.n + i];
    }
    return points;
  }

  /// What stands `distance` places beyond an end. `inward(d)`: the point d places from the end point.
  template <class Inward>
  Value beyond(Boundary end, int64_t distance, const Inward& inward) const {
    if (p_.equation == Equation::heat) return inward(distance);                                     // mirror about the end point
    if (p_.equation == Equation::kuramoto_sivashinsky) return {negative(inward(distance))};         // odd mirror about it
    if (end == Boundary::reflective) return {wall(inward(distance - 1))};                           // mirror about the end's face
    return inward(0);                                                                               // held, or outflow
  }
  static Value negative(Value v) {
    for (Real& item : v.item) item = -item;
    return v;
  }
  static Value wall(Value v) {
    v.item[E::kComponents > 1 ? 1 : 0] *= -1;
    return v;
  }

  template <int kSubstep>
  std::vector<Value> substep(const std::vector<Value>& points, const std::vector<Value>& base) const {
    const int64_t n = p_.n, reach = E::kReach;
    std::vector<Value> padded(static_cast<size_t>(n + 2 * reach));
    for (int64_t i = 0; i < n; ++i) padded[i + reach] = points[i];
    for (int64_t d = 1; d <= reach; ++d) {
      const bool periodic = p_.ends.first == Boundary::periodic;
      padded[reach - d] = periodic ? points[n - d] : beyond(p_.ends.first, d, [&](int64_t i) { return points[i]; });
      padded[reach + n - 1 + d] =
          periodic ? points[d - 1] : beyond(p_.ends.second, d, [&](int64_t i) { return points[n - 1 - i]; });
    }
    std::vector<Value> next(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) {
      Value around[2 * E::kReach + 1];
      for (int64_t d = 0; d <= 2 * reach; ++d) around[d] = padded[i + d];
      next[i] = equation_.template next<kSubstep>(around, base[i]);
    }
    if (p_.equation != Equation::kuramoto_sivashinsky) {  // dirichlet ends hold the end point
      if (p_.ends.first == Boundary::dirichlet) next[0] = points[0];
      if (p_.ends.second == Boundary::dirichlet) next[n - 1] = points[n - 1];
    }
    return next;
  }

  E equation_;
  Problem p_;
  std::vector<Real> state_;
};

template <class T>
bool all_finite(const std::vector<T>& values) {
  for (const T value : values) {
    if (!std::isfinite(value)) return false;
  }
  return true;
}

/// States of the plain march, as far as they were asked for.
template <class T>
class Truth {
 public:
  Truth(const Problem& p, uint64_t seed) : states_{initial_state<T>(p, seed)} {
    if (p.equation == Equation::heat) begin(p, swept::Heat<T>::template make<T>(1, p.dx(), p.step()));
    else if (p.equation == Equation::euler) begin(p, swept::Euler<T>::template make<T>(1.4, p.dx(), p.step(), p.limiter));
    else begin(p, swept::KuramotoSivashinsky<T>::template make<T>(p.dx(), p.step()));
  }
  const std::vector<T>& after(int64_t steps) {
    while (static_cast<int64_t>(states_.size()) <= steps) states_.push_back(advance_());
    return states_[static_cast<size_t>(steps)];
  }

 private:
  template <class E>
  void begin(const Problem& p, const E& equation) {
    auto oracle = std::make_shared<Oracle<E>>(equation, p, states_[0]);
    advance_ = [oracle] {
      oracle->step();
      return oracle->state();
    };
  }
  std::vector<std::vector<T>> states_;
  std::function<std::vector<T>()> advance_;
};

/// How a call is made.
struct Call {
  Variant variant = Variant::classic;
  int64_t steps = 1;
  int32_t points = 0, depth = 0, threads = 0;
  bool check = false;
  int64_t offset = 0;  ///< elements before both arrays, which nothing may touch
  std::string name() const {
    return std::string(swept::kVariantNames[static_cast<int>(variant)]) + " steps=" + std::to_string(steps) + " points=" +
           std::to_string(points) + " depth=" + std::to_string(depth) + " threads=" + std::to_string(threads);
  }
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
struct Outcome {
  Status status;
  std::vector<T> next;
  swept::AdvanceReport report;
  bool untouched = true;  ///< the state, and what stands before and behind both arrays
  int64_t depth() const { return report.depth < 1 ? 1 : report.depth; }
};

template <class T>
Outcome<T> advance(Device& device, const Problem& p, const Call& call, const std::vector<T>& state, Control& control) {
  constexpr T kCanary = T(-12345.678);
  const size_t count = state.size(), pad = static_cast<size_t>(call.offset);
  std::vector<T> from(count + 2 * pad, kCanary), to(count + 2 * pad, kCanary);
  std::copy(state.begin(), state.end(), from.begin() + call.offset);
  Outcome<T> outcome;
  AdvanceParameters a;
  a.type = sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64;
  a.equation = p.equation;
  a.variant = call.variant;
  a.n = p.n;
  a.batch = p.batch;
  a.steps = call.steps;
  a.left = p.ends.first;
  a.right = p.ends.second;
  a.dx = p.dx();
  a.dt = p.step();
  a.limiter = p.limiter;
  a.check = call.check;
  a.points = call.points;
  a.depth = call.depth;
  a.threads = call.threads;
  a.state = a.next = dense_view(from.data(), static_cast<int64_t>(from.size()), {static_cast<int64_t>(count)});
  a.state.offset = a.next.offset = call.offset;
  a.next.data = to.data();
  a.report = &outcome.report;
  outcome.status = check(a);
  if (outcome.status.ok()) outcome.status = simt_backend().operations.swept_advance(device, a, control);
  if (outcome.status.ok()) outcome.status = device.synchronize();
  outcome.next.assign(to.begin() + call.offset, to.begin() + call.offset + static_cast<int64_t>(count));
  for (size_t i = 0; i < pad; ++i) {
    outcome.untouched = outcome.untouched && to[i] == kCanary && to[pad + count + i] == kCanary;
  }
  outcome.untouched = outcome.untouched && std::memcmp(from.data() + pad, state.data(), count * sizeof(T)) == 0 &&
                      device.memory_use().in_use_bytes == 0;
  return outcome;
}

/// Runs the call and compares with the plain march to the bit.
template <class T>
Outcome<T> judge(Device& device, const Problem& p, const Call& call, Truth<T>& truth, const std::string& order) {
  Control control;
  const Outcome<T> outcome = advance<T>(device, p, call, truth.after(0), control);
  const std::vector<T>& expected = truth.after(call.steps);
  std::string wrong = outcome.status.message();
  if (outcome.status.ok() && !outcome.untouched) wrong = "wrote where it must not";
  if (outcome.status.ok() && !same_bits(outcome.next, expected)) {
    size_t at = 0, count = 0;
    for (size_t i = expected.size(); i-- > 0;) {
      if (std::memcmp(&expected[i], &outcome.next[i], sizeof(T)) != 0) at = i, ++count;
    }
    wrong = std::to_string(count) + " elements differ, the first is " + std::to_string(at);
  }
  if (wrong.empty() && !all_finite(expected)) wrong = "the plain march is not finite";
  const std::string type = sizeof(T) == 4 ? "float32 " : "float64 ";
  harness::check(wrong.empty(), type + p.name() + " " + call.name() + " (" + order + ")", wrong);
  return outcome;
}

/// The three orders' devices.
struct Devices {
  std::unique_ptr<Device> device[3] = {open_simt(kOrders[0]), open_simt(kOrders[1]), open_simt(kOrders[2])};
};

}  // namespace warploom::test
