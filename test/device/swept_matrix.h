// Tables of cases for the variants of swept.advance, their search for the first bad step, and cancelled calls.
#pragma once
#include <algorithm>

#include "test/device/swept_case.h"

namespace warploom::test {

/// What a caller may ask of a variant; zeros: its policy.
struct AskedShape {
  int32_t points = 0, depth = 0, threads = 0;
};

struct Matrix {
  Variant variant = Variant::classic;
  Equation equation = Equation::heat;
  std::vector<int64_t> sizes;
  std::vector<AskedShape> shapes = {{}};
  int cases_per_size = 1;
  int64_t most_updates = 6000;  ///< points times steps of a problem: longer marches are cut
  std::vector<int64_t> batches = {1, 1, 3};
  std::vector<Ends> ends = {};  ///< empty: all that the equation takes
};

inline std::vector<int64_t> sizes_up_to(Equation equation, int64_t last) {
  std::vector<int64_t> sizes;
  for (int64_t n = swept::least_points(equation); n <= last; ++n) sizes.push_back(n);
  return sizes;
}

/// Every size with a chance pick of ends, batch, limiter, shape, order and step counts around the variant's cycle, which the
/// first call tells.
template <class T>
void run_matrix(const Devices& devices, const Matrix& m) {
  Chance pick(static_cast<uint64_t>(m.variant) * 64 + static_cast<uint64_t>(m.equation) * 16 + sizeof(T));
  const std::vector<Ends> ends = m.ends.empty() ? all_ends(m.equation) : m.ends;
  for (const int64_t n : m.sizes) {
    for (int k = 0; k < m.cases_per_size; ++k) {
      Problem p;
      p.equation = m.equation;
      p.n = n;
      p.ends = pick.one_of(ends);
      p.batch = pick.one_of(m.batches);
      p.limiter = static_cast<swept::Limiter>(pick.below(4));
      const AskedShape shape = pick.one_of(m.shapes);
      const int order = harness::kThreadSanitizer ? 2 : pick.below(3);
      Device& device = *devices.device[order];
      Truth<T> truth(p, static_cast<uint64_t>(pick.below(1000)));
      Call call{m.variant, 1, shape.points, shape.depth, shape.threads};
      const Outcome<T> first = judge<T>(device, p, call, truth, kOrders[order]);
      if (!first.status.ok()) continue;
      const int64_t d = first.depth(), most = std::max<int64_t>(2, m.most_updates / n);
      const std::vector<int64_t> counts = {0, 2, d - 1, d, d + 1, 2 * d, 2 * d + 1, 3 * d + 2, 5 * d - 1};
      for (int i = 0; i < (kSanitized ? 1 : 2); ++i) {
        call.steps = std::min(pick.one_of(counts), most);
        call.offset = pick.below(2) * 5;
        (void)judge<T>(device, p, call, truth, kOrders[order]);
      }
    }
  }
}

/// Both precisions; under sanitizers float64 alone, of which the program `operations` takes both.
inline void run_matrices(const Devices& devices, const Matrix& m) {
  run_matrix<double>(devices, m);
  if constexpr (!kSanitized) run_matrix<float>(devices, m);
}

/// An unstable bar, a gas whose pressure goes negative and a NaN at the begin: the call stops at the last good state, says so, and
/// agrees with the plain march.
template <class T>
void find_bad_steps(Device& device, Variant variant, const AskedShape& shape, int64_t n, const std::vector<Equation>& equations) {
  for (const Equation equation : equations) {
    for (const bool planted : {false, true}) {
      Problem p;
      p.equation = equation;
      p.n = n;
      p.batch = 2;
      p.dt = equation == Equation::heat ? 4e6 : equation == Equation::euler ? 3 : 2;
      Truth<T> truth(p, 5);
      std::vector<T> state = truth.after(0);
      int64_t bad = 1;
      if (planted) state[static_cast<size_t>(p.elements() - 2)] = std::numeric_limits<T>::quiet_NaN();
      else while (bad < 400 && all_finite(truth.after(bad))) ++bad;
      Call call{variant, bad + 13, shape.points, shape.depth, shape.threads};
      call.check = true;
      Control control;
      const Outcome<T> outcome = advance<T>(device, p, call, state, control);
      const bool right = outcome.status.ok() && outcome.untouched && outcome.report.completed == bad - 1 && outcome.report.first_bad == bad &&
                         same_bits(outcome.next, planted ? state : truth.after(bad - 1));
      const std::string name = p.name() + " " + call.name() + (planted ? ": planted NaN" : ": first bad step " + std::to_string(bad));
      harness::check(right && bad < 400, name,
                     "completed " + std::to_string(outcome.report.completed) + ", first bad " + std::to_string(outcome.report.first_bad) + " " +
                         outcome.status.message());
      // One step fewer is good.
      if (planted) continue;
      call.steps = bad - 1;
      const Outcome<T> before = advance<T>(device, p, call, state, control);
      harness::check(before.status.ok() && before.report.completed == bad - 1 && before.report.first_bad == 0 && same_bits(before.next, truth.after(bad - 1)),
                     p.name() + " " + call.name() + ": good", before.status.message());
    }
  }
}

/// Says «cancelled» from the given look on.
class Cancelling final : public Control {
 public:
  explicit Cancelling(int looks) : looks_(looks) {}
  bool cancelled() const override { return looks_-- <= 0; }

 private:
  mutable int looks_;
};

/// A call of several launches that is cancelled before it is done, and one after it that is right.
inline void cancel(Device& device, Variant variant, const AskedShape& shape, int64_t n, int64_t steps,
                   const std::vector<int>& all_looks) {
  Problem p;
  p.n = n;
  p.batch = 5;  // more than stand on the shim's device at once, in tiles
  Truth<double> truth(p, 3);
  const Call call{variant, steps, shape.points, shape.depth, shape.threads};
  for (const int looks : all_looks) {
    Cancelling control(looks);
    const Outcome<double> outcome = advance<double>(device, p, call, truth.after(0), control);
    harness::check(outcome.status.code() == Code::cancelled && outcome.untouched,
                   p.name() + " " + call.name() + ": cancelled at look " + std::to_string(looks + 1), outcome.status.message());
  }
  Call again = call;
  again.steps = std::min<int64_t>(steps, 5);
  (void)judge<double>(device, p, again, truth, "after a cancelled call");
}

/// A variant that does not take a problem says so.
inline void refuse(Device& device, Variant variant, const Problem& p) {
  Truth<double> truth(p, 1);
  Control control;
  Call call;
  call.variant = variant;
  const Outcome<double> outcome = advance<double>(device, p, call, truth.after(0), control);
  harness::check(outcome.status.code() == Code::unsupported && outcome.status.argument() == "variant" && outcome.untouched,
                 p.name() + " " + call.name() + ": refused", outcome.status.message());
}

}  // namespace warploom::test
