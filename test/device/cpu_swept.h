// swept.advance of the cpu backend: the definition, written here as a plain loop over Equation::next, against cpu-classic and
// cpu-tiled on every instruction set this processor runs, bit for bit.
#pragma once
#include <algorithm>

#include "cuda/swept/advance.h"
#include "cuda/swept/euler.h"
#include "cuda/swept/heat.h"
#include "cuda/swept/kuramoto_sivashinsky.h"
#include "cuda/swept/measure_part.h"
#include "native/swept/kernels.h"
#include "cuda/core/view.h"
#include "test/device/cpu_support.h"

namespace cpu_test {

using namespace ::warploom::swept;

/// Under sanitizers: fewer sizes, the same cases.
#if defined(WARPLOOM_SANITIZE_ADDRESS) || defined(WARPLOOM_SANITIZE_THREAD)
inline constexpr bool kQuick = true;
#else
inline constexpr bool kQuick = false;
#endif

/// A problem's set-up beside its equation.
struct Ends {
  Boundary left, right;
};
inline std::vector<Ends> all_ends(Equation equation) {
  std::vector<Ends> list;
  for (int l = 0; l < 4; ++l) {
    for (int r = 0; r < 4; ++r) {
      const auto left = static_cast<Boundary>(l), right = static_cast<Boundary>(r);
      if (!admits(equation, left) || !admits(equation, right)) continue;
      if ((left == Boundary::periodic) == (right == Boundary::periodic)) list.push_back({left, right});
    }
  }
  return list;
}

template <class R>
AdvanceParameters parameters_of(Equation equation, Limiter limiter, Ends ends) {
  AdvanceParameters p;
  p.type = sizeof(R) == 4 ? ScalarType::float32 : ScalarType::float64;
  p.equation = equation;
  p.limiter = limiter;
  p.left = ends.left;
  p.right = ends.right;
  p.dx = equation == Equation::kuramoto_sivashinsky ? 0.5 : 1.0 / 64;
  p.dt = equation == Equation::kuramoto_sivashinsky ? 0.005 : equation == Equation::heat ? 0.3 * p.dx * p.dx : 0.1 * p.dx;
  return p;
}

template <class R, class Visitor>
void with_equation(const AdvanceParameters& p, Visitor visit) {
  switch (p.equation) {
    case Equation::heat: return visit(Heat<R>::template make<R>(p.diffusivity, p.dx, p.dt));
    case Equation::kuramoto_sivashinsky: return visit(KuramotoSivashinsky<R>::template make<R>(p.dx, p.dt));
    default: return visit(Euler<R>::template make<R>(p.gamma, p.dx, p.dt, p.limiter));
  }
}
template <class R>
const cpu::EquationKernels<R>& kernels_for(const cpu::SweptKernelSet& set, const AdvanceParameters& p) {
  const cpu::SweptKernels<R>& kernels = cpu::kernels_of<R>(set);
  switch (p.equation) {
    case Equation::heat: return kernels.heat;
    case Equation::kuramoto_sivashinsky: return kernels.kuramoto_sivashinsky;
    default: return kernels.euler[static_cast<int>(p.limiter)];
  }
}

/// A state with waves and jumps; KS holds zero at dirichlet ends, where it is odd.
template <class R>
std::vector<R> initial(const AdvanceParameters& p, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<R> state(static_cast<size_t>(elements_of(p)));
  for (int64_t b = 0; b < p.batch; ++b) {
    R* const problem = state.data() + b * components_of(p.equation) * p.n;
    for (int64_t i = 0; i < p.n; ++i) {
      if (p.equation == Equation::euler) {
        const double density = 1 + 0.5 * uniform(random), velocity = 0.7 * uniform(random), pressure = 1 + 0.8 * uniform(random);
        problem[i] = R(density);
        problem[p.n + i] = R(density * velocity);
        problem[2 * p.n + i] = R(pressure / 0.4 + 0.5 * density * velocity * velocity);
      } else {
        problem[i] = R(2 * uniform(random));
      }
    }
    if (p.equation == Equation::kuramoto_sivashinsky && p.left == Boundary::dirichlet) problem[0] = problem[p.n - 1] = R(0);
  }
  return state;
}

/// One sub-step of one problem by definition.
template <int kSubstep, class E, class R = typename E::Real>
void define_substep(const E& equation, const Domain& domain, const R* around, const R* base, R* result) {
  const int64_t n = domain.n;
  const auto at = [&](const R* problem, int64_t place) {
    const Source source = domain.source(place);
    typename E::Value value;
    for (int k = 0; k < E::kComponents; ++k) value.item[k] = problem[k * n + source.point];
    return source.mirrored ? equation.mirrored(value) : value;
  };
  for (int64_t i = 0; i < n; ++i) {
    typename E::Value near[2 * E::kReach + 1];
    for (int d = -E::kReach; d <= E::kReach; ++d) near[d + E::kReach] = at(around, i + d);
    const typename E::Value old = at(base, i);
    const typename E::Value next = domain.frozen_point(i) ? old : equation.template next<kSubstep>(near, old);
    for (int k = 0; k < E::kComponents; ++k) result[k * n + i] = next.item[k];
  }
}
/// The states after 0 … steps steps by definition.
template <class R>
std::vector<std::vector<R>> define(const AdvanceParameters& p, const std::vector<R>& state, int64_t steps) {
  std::vector<std::vector<R>> states = {state};
  const Domain domain = Domain::make(p.equation, p.n, p.left, p.right);
  with_equation<R>(p, [&](const auto& equation) {
    using E = std::decay_t<decltype(equation)>;
    for (int64_t step = 0; step < steps; ++step) {
      const std::vector<R>& from = states.back();
      std::vector<R> half = from, next = from;
      for (int64_t b = 0; b < p.batch; ++b) {
        const int64_t at = b * E::kComponents * p.n;
        if constexpr (E::kSubsteps == 2) {
          define_substep<0>(equation, domain, from.data() + at, from.data() + at, half.data() + at);
          define_substep<1>(equation, domain, half.data() + at, from.data() + at, next.data() + at);
        } else {
          define_substep<0>(equation, domain, from.data() + at, from.data() + at, next.data() + at);
        }
      }
      states.push_back(std::move(next));
    }
  });
  return states;
}

inline std::unique_ptr<Device> open(int threads) {
  OpenOptions options;
  options.threads = threads;
  std::unique_ptr<Device> device;
  (void)cpu_backend().open(0, options, &device);
  return device;
}

/// The state after a call of the operation, and what the call reports.
template <class R>
std::vector<R> advance(Device& device, AdvanceParameters p, std::vector<R> state, AdvanceReport* report) {
  const std::vector<R> before = state;
  std::vector<R> next(state.size(), R(-7));
  const auto view = [](std::vector<R>& data) {
    View view;
    view.data = data.data();
    view.length = static_cast<int64_t>(data.size());
    lay_out(&view, {view.length});
    return view;
  };
  p.state = view(state);
  p.next = view(next);
  p.report = report;
  Control control;
  const Status checked = check(p);
  EXPECT(checked.ok(), "%s", checked.message().c_str());
  const Status status = cpu_backend().operations.swept_advance(device, p, control);
  EXPECT(status.ok(), "%s", status.message().c_str());
  EXPECT(std::memcmp(state.data(), before.data(), sizeof(R) * state.size()) == 0, "the state was written");
  return next;
}
template <class R>
std::vector<R> advance(Device& device, const AdvanceParameters& p, const std::vector<R>& state) {
  AdvanceReport report;
  return advance(device, p, state, &report);
}

template <class R>
bool same(const std::vector<R>& a, const std::vector<R>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), sizeof(R) * a.size()) == 0;
}

/// Tiles of one instruction set, of any length.
template <class R>
std::vector<R> by_tiles(const cpu::SweptKernelSet& set, const AdvanceParameters& p, const std::vector<R>& state, int64_t length) {
  const cpu::EquationKernels<R>& kernels = kernels_for<R>(set, p);
  std::vector<R> next(state.size(), R(-7));
  cpu::TileTask<R> task;
  const Domain domain = Domain::make(p.equation, p.n, p.left, p.right);
  task.domain = &domain;
  task.problems = p.batch;
  task.tiles = (p.n + length - 1) / length;
  task.length = length;
  task.steps = p.steps;
  task.from = state.data();
  task.to = next.data();
  const size_t bytes = static_cast<size_t>(kernels.tile_bytes(length, p.steps));
  void* const scratch = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  const int lanes = cpu::kernels_of<R>(set).lanes;
  with_equation<R>(p, [&](const auto& equation) {
    for (int64_t group = 0; group * lanes < p.batch * task.tiles; ++group) kernels.tiles(&equation, task, group, scratch);
  });
  std::free(scratch);
  return next;
}

/// One step of one instruction set, sweeping memory, in two pieces per problem.
template <class R>
std::vector<R> by_pieces(const cpu::SweptKernelSet& set, const AdvanceParameters& p, const std::vector<R>& state, int64_t cut) {
  const cpu::EquationKernels<R>& kernels = kernels_for<R>(set, p);
  std::vector<R> half(state.size(), R(-7)), next(state.size(), R(-7));
  const Domain domain = Domain::make(p.equation, p.n, p.left, p.right);
  const int64_t row = components_of(p.equation) * p.n;
  const auto sweep = [&](int substep, const R* around, R* result, const void* equation) {
    for (int64_t at = 0; at < p.batch * row; at += row) {
      kernels.substep[substep](equation, {&domain, around + at, state.data() + at, result + at, 0, cut});
      kernels.substep[substep](equation, {&domain, around + at, state.data() + at, result + at, cut, p.n});
    }
  };
  with_equation<R>(p, [&](const auto& equation) {
    sweep(0, state.data(), kernels.substep[1] != nullptr ? half.data() : next.data(), &equation);
    if (kernels.substep[1] != nullptr) sweep(1, half.data(), next.data(), &equation);
  });
  return next;
}

/// Every end, sizes from the least on, on every instruction set.
template <class R>
void same_bits(Equation equation, Limiter limiter, Device& one, Device& three) {
  const cpu::SweptKernelSet* sets[3];
  const int set_count = cpu::swept_kernel_sets(sets);
  std::mt19937_64 random(17);
  for (const Ends ends : all_ends(equation)) {
    start_case("%s, %s, %s to %s, float%d", kEquationNames[int(equation)], kLimiterNames[int(limiter)],
               kBoundaryNames[int(ends.left)], kBoundaryNames[int(ends.right)], int(8 * sizeof(R)));
    AdvanceParameters p = parameters_of<R>(equation, limiter, ends);
    const int64_t stride = (equation == Equation::euler ? 7 : 2) * (kQuick ? 12 : 1);
    for (p.n = least_points(equation); p.n <= 70; p.n += p.n < 10 && !kQuick ? 1 : 1 + int64_t(random() % uint64_t(stride))) {
      p.batch = 1 + p.n % 3;
      const std::vector<R> state = initial<R>(p, uint64_t(p.n));
      const auto expected = define(p, state, 20);
      for (int s = 0; s < set_count; ++s) {
        p.steps = 1 + int64_t(random() % 20);
        const int64_t length = 1 + int64_t(random() % uint64_t(p.n + 2));
        EXPECT(same(by_tiles(*sets[s], p, state, length), expected[size_t(p.steps)]), "%s: tiles of %d, n %d, %d steps",
               sets[s]->name, int(length), int(p.n), int(p.steps));
        EXPECT(same(by_pieces(*sets[s], p, state, int64_t(random() % uint64_t(p.n))), expected[1]), "%s: one sweep, n %d",
               sets[s]->name, int(p.n));
      }
      for (const Variant variant : {Variant::cpu_classic, Variant::cpu_tiled}) {
        p.variant = variant;
        p.steps = int64_t(random() % 21);
        p.depth = int32_t(random() % 7);
        EXPECT(same(advance(random() % 2 ? one : three, p, state), expected[size_t(p.steps)]), "%s, n %d, %d steps, depth %d",
               kVariantNames[int(variant)], int(p.n), int(p.steps), int(p.depth));
      }
    }
  }
}

/// Sizes around those of tiles and of the threads' pieces: both variants agree.
template <class R>
void same_bits_large(Equation equation, Device& one, Device& three) {
  AdvanceParameters p = parameters_of<R>(equation, Limiter::minmod, {Boundary::reflective, Boundary::dirichlet});
  if (equation == Equation::kuramoto_sivashinsky) p.left = p.right = Boundary::periodic;
  for (const int64_t n : {1023, 1024, 1025, 4095, 4097, 16383, 16385, 140001}) {
    if (kQuick && n != 1025 && n != 4097 && n != 16385) continue;
    p.n = n;
    for (const int64_t steps : {1, 3, 17, 33}) {
      if (n * steps > (kQuick ? 6000 : 200000) && (steps > 1 || equation == Equation::euler)) continue;
      start_case("%s, float%d, n %d, %d steps", kEquationNames[int(equation)], int(8 * sizeof(R)), int(n), int(steps));
      p.steps = steps;
      const std::vector<R> state = initial<R>(p, uint64_t(n));
      p.variant = Variant::cpu_classic;
      const std::vector<R> expected = advance(one, p, state);
      EXPECT(same(advance(three, p, state), expected), "three threads");
      p.variant = Variant::automatic;
      EXPECT(same(advance(one, p, state), expected), "cpu-tiled");
      AdvanceReport report;
      EXPECT(same(advance(three, p, state, &report), expected), "cpu-tiled, three threads");
      EXPECT(report.variant == Variant::cpu_tiled && report.points == cpu::kernels_of<R>(cpu::swept_kernels()).lanes &&
                 report.threads == 3 && report.completed == steps && report.first_bad == 0, "report");
    }
  }
}

template <class R>
void all_same_bits(Device& one, Device& three) {
  same_bits<R>(Equation::heat, Limiter::minmod, one, three);
  same_bits<R>(Equation::kuramoto_sivashinsky, Limiter::minmod, one, three);
  for (int limiter = kQuick && sizeof(R) == 4 ? 3 : 0; limiter < 4; ++limiter) same_bits<R>(Equation::euler, static_cast<Limiter>(limiter), one, three);
  for (int equation = 0; equation < 3; ++equation) same_bits_large<R>(static_cast<Equation>(equation), one, three);
}

}  // namespace cpu_test
