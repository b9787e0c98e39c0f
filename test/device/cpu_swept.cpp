// swept.advance of the cpu backend: the definition, written here as a plain loop over Equation::next, against cpu-classic and
// cpu-swept on every instruction set this processor runs, bit for bit; and the equations against what is known of them.
#include <algorithm>

#include "cuda/swept/advance.h"
#include "cuda/swept/euler.h"
#include "cuda/swept/heat.h"
#include "cuda/swept/kuramoto_sivashinsky.h"
#include "cuda/swept/measure_part.h"
#include "native/swept/kernels.h"
#include "test/device/cpu_support.h"

namespace cpu_test {
namespace {

using namespace ::warploom::swept;

/// Under sanitizers: fewer sizes, the same cases.
#if defined(WARPLOOM_SANITIZE_ADDRESS) || defined(WARPLOOM_SANITIZE_THREAD)
constexpr bool kQuick = true;
#else
constexpr bool kQuick = false;
#endif

/// A problem's set-up beside its equation.
struct Ends {
  Boundary left, right;
};
std::vector<Ends> all_ends(Equation equation) {
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

std::unique_ptr<Device> open(int threads) {
  OpenOptions options;
  options.threads = threads;
  std::unique_ptr<Device> device;
  (void)cpu_backend().open(0, options, &device);
  return device;
}

/// The state after a call of the operation; `used` as the call reports it.
template <class R>
std::vector<R> advance(Device& device, AdvanceParameters p, std::vector<R> state, int32_t (&used)[kUsedWords]) {
  const std::vector<R> before = state;
  std::vector<R> next(state.size(), R(-7));
  const auto view = [](std::vector<R>& data) {
    View view;
    view.data = data.data();
    view.length = static_cast<int64_t>(data.size());
    return view;
  };
  p.state = view(state);
  p.next = view(next);
  p.used = {used, kUsedWords};
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
  int32_t used[kUsedWords];
  return advance(device, p, state, used);
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
    const int64_t stride = (equation == Equation::euler ? 7 : 2) * (kQuick ? 8 : 1);
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
      for (const Variant variant : {Variant::cpu_classic, Variant::cpu_swept}) {
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
  int32_t used[kUsedWords];
  for (const int64_t n : {1023, 1024, 1025, 4095, 4097, 16383, 16385, 140001}) {
    p.n = n;
    for (const int64_t steps : {1, 3, 17, 33}) {
      if (n * steps > (kQuick ? 20000 : 200000) && (steps > 1 || equation == Equation::euler)) continue;
      start_case("%s, float%d, n %d, %d steps", kEquationNames[int(equation)], int(8 * sizeof(R)), int(n), int(steps));
      p.steps = steps;
      const std::vector<R> state = initial<R>(p, uint64_t(n));
      p.variant = Variant::cpu_classic;
      const std::vector<R> expected = advance(one, p, state);
      EXPECT(same(advance(three, p, state), expected), "three threads");
      p.variant = Variant::automatic;
      EXPECT(same(advance(one, p, state), expected), "cpu-swept");
      EXPECT(same(advance(three, p, state, used), expected), "cpu-swept, three threads");
      EXPECT(used[0] == int(Variant::cpu_swept) && used[1] == cpu::kernels_of<R>(cpu::swept_kernels()).lanes && used[3] == 3 &&
                 used[4] == steps && used[5] == 0, "report");
    }
  }
}

template <class R>
void all_same_bits(Device& one, Device& three) {
  same_bits<R>(Equation::heat, Limiter::minmod, one, three);
  same_bits<R>(Equation::kuramoto_sivashinsky, Limiter::minmod, one, three);
  for (int limiter = 0; limiter < 4; ++limiter) same_bits<R>(Equation::euler, static_cast<Limiter>(limiter), one, three);
  for (int equation = 0; equation < 3; ++equation) same_bits_large<R>(static_cast<Equation>(equation), one, three);
}

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
  for (const Variant variant : {Variant::cpu_classic, Variant::cpu_swept}) {
    start_case("first bad step, %s", kVariantNames[int(variant)]);
    p.variant = variant;
    int32_t used[kUsedWords];
    EXPECT(same(advance(device, p, state, used), states[size_t(good)]), "not the last good state");
    EXPECT(used[4] == good && used[5] == good + 1, "%d steps, first bad %d; expected %d", used[4], used[5], good);
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
  p.state.data = state.data();
  p.next.data = next.data();
  p.state.length = p.next.length = p.n;
  for (const Variant variant : {Variant::cpu_classic, Variant::cpu_swept}) {
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
