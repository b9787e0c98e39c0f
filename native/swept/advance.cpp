// swept.advance on the cpu backend: `cpu-classic` sweeps memory once per sub-step, `cpu-tiled` takes many steps per
// visit.
#include "cuda/swept/advance.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>

#include "cuda/core/operations.h"
#include "cuda/swept/advance_report.h"
#include "cuda/swept/euler.h"
#include "cuda/swept/heat.h"
#include "cuda/swept/kuramoto_sivashinsky.h"
#include "native/cpu/device.h"
#include "native/swept/advance_policy.h"
#include "native/swept/kernels.h"

namespace warploom::cpu {
namespace {

using namespace ::warploom::swept;

/// One call, with the equation's coefficients.
template <class R>
class Call {
 public:
  Call(CpuDevice& device, const AdvanceParameters& p, const void* equation, const EquationKernels<R>& kernels, Control& control)
      : device_(device), p_(p), control_(control), equation_(equation), kernels_(kernels), all_(kernels_of<R>(swept_kernels())),
        tiled_(p.variant != Variant::cpu_classic), domain_(Domain::make(p.equation, p.n, p.left, p.right)),
        row_(components_of(p.equation) * p.n), from_(static_cast<const R*>(p.state.data) + p.state.offset),
        to_(static_cast<R*>(p.next.data) + p.next.offset),
        tiles_(swept_policy::tiles(p.equation, p.n, p.batch, p.steps, p.depth, all_.lanes, device.thread_count())) {}

  Status run() {
    const auto begin = std::chrono::steady_clock::now();
    Workspace workspace(device_);
    WARPLOOM_TRY(workspace.reserve(elements_of(p_) * static_cast<int64_t>(sizeof(R))));
    spare_ = workspace.as<R>();
    if (tiled_) WARPLOOM_TRY(device_.reserve_scratch(kernels_.tile_bytes(tiles_.length, tiles_.steps)));
    WARPLOOM_TRY(march(p_.steps));
    Advanced advanced;
    advanced.completed = p_.steps;
    if (p_.check) {
      WARPLOOM_TRY(stop_before_bad(p_.steps, [this](int64_t steps) { return march(steps); },
                                   [this](bool* finite) { return all_finite(finite); }, &advanced));
    }
    advanced.variant = tiled_ ? Variant::cpu_tiled : Variant::cpu_classic;
    advanced.points = all_.lanes;
    advanced.depth = tiled_ ? tiles_.steps : 1;
    advanced.threads = device_.thread_count();
    write_report(advanced, p_);
    control_.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return {};
  }

 private:
  /// The state after `steps` steps, in to_.
  Status march(int64_t steps) {
    if (steps == 0) return device_.copy(to_, from_, elements_of(p_) * static_cast<int64_t>(sizeof(R)));
    return tiled_ ? march_tiled(steps) : march_classic(steps);
  }

  Status march_classic(int64_t steps) {
    const R* from = from_;
    for (int64_t step = 0; step < steps; ++step) {
      if (kernels_.substep[1] != nullptr) {
        WARPLOOM_TRY(substep(0, from, from, spare_, step, steps));
        WARPLOOM_TRY(substep(1, spare_, from, to_, step, steps));
        from = to_;
      } else {
        R* const result = (steps - step) % 2 == 1 ? to_ : spare_;
        WARPLOOM_TRY(substep(0, from, from, result, step, steps));
        from = result;
      }
    }
    return {};
  }

  /// One piece of the points for each thread, with barriers between sub-steps.
  Status substep(int sub, const R* around, const R* base, R* result, int64_t step, int64_t steps) {
    const int64_t points = p_.batch * p_.n;
    const int64_t pieces = swept_policy::pieces(p_.equation, points, device_.thread_count());
    return device_.threads().run(pieces, [&](int64_t piece, int) {
      const int64_t last = points * (piece + 1) / pieces;
      for (int64_t i = points * piece / pieces; i < last;) {
        const int64_t problem = i / p_.n, begin = i - problem * p_.n, end = std::min(p_.n, begin + last - i), at = problem * row_;
        kernels_.substep[sub](equation_, {&domain_, around + at, base + at, result + at, begin, end});
        i += end - begin;
      }
      return Status();
    }, control_, static_cast<double>(step * pieces), static_cast<double>(steps * pieces));
  }

  Status march_tiled(int64_t steps) {
    const int64_t visits = (steps + tiles_.steps - 1) / tiles_.steps;
    TileTask<R> task;
    task.domain = &domain_;
    task.problems = p_.batch;
    task.tiles = tiles_.tiles;
    task.length = tiles_.length;
    task.from = from_;
    const int64_t groups = (p_.batch * tiles_.tiles + all_.lanes - 1) / all_.lanes;
    for (int64_t visit = 0; visit < visits; ++visit) {
      task.steps = std::min(tiles_.steps, steps - visit * tiles_.steps);
      task.to = (visits - visit) % 2 == 1 ? to_ : spare_;
      const int64_t work = task.length * all_.lanes * task.steps;
      const int64_t at_once = std::max<int64_t>(1, swept_policy::entry(p_.equation).least_work / work);
      const int64_t pieces = (groups + at_once - 1) / at_once;
      WARPLOOM_TRY(device_.threads().run(pieces, [&](int64_t piece, int worker) {
        for (int64_t group = piece * at_once; group < std::min(groups, (piece + 1) * at_once); ++group) {
          kernels_.tiles(equation_, task, group, device_.scratch(worker));
        }
        return Status();
      }, control_, static_cast<double>(visit * pieces), static_cast<double>(visits * pieces)));
      task.from = task.to;
    }
    return {};
  }

  Status all_finite(bool* finite) {
    constexpr int64_t kPiece = 65536;
    const int64_t count = elements_of(p_);
    std::atomic<bool> bad{false};
    WARPLOOM_TRY(device_.threads().run((count + kPiece - 1) / kPiece, [&](int64_t piece, int) {
      const int64_t begin = piece * kPiece;
      if (!all_.all_finite(to_ + begin, std::min(kPiece, count - begin))) bad.store(true, std::memory_order_relaxed);
      return Status();
    }, control_));
    *finite = !bad.load(std::memory_order_relaxed);
    return {};
  }

  CpuDevice& device_;
  const AdvanceParameters& p_;
  Control& control_;
  const void* equation_;
  const EquationKernels<R>& kernels_;
  const SweptKernels<R>& all_;
  bool tiled_;
  Domain domain_;
  int64_t row_;  ///< elements of a problem
  const R* from_;
  R* to_;
  R* spare_ = nullptr;
  swept_policy::Tiles tiles_;
};

template <class R>
Status run(CpuDevice& device, const AdvanceParameters& p, Control& control) {
  const SweptKernels<R>& kernels = kernels_of<R>(swept_kernels());
  switch (p.equation) {
    case Equation::heat: {
      const auto heat = Heat<R>::template make<R>(p.diffusivity, p.dx, p.dt);
      return Call<R>(device, p, &heat, kernels.heat, control).run();
    }
    case Equation::kuramoto_sivashinsky: {
      const auto ks = KuramotoSivashinsky<R>::template make<R>(p.dx, p.dt);
      return Call<R>(device, p, &ks, kernels.kuramoto_sivashinsky, control).run();
    }
    default: {
      const auto euler = Euler<R>::template make<R>(p.gamma, p.dx, p.dt, p.limiter);
      return Call<R>(device, p, &euler, kernels.euler[static_cast<int>(p.limiter)], control).run();
    }
  }
}

}  // namespace

Status swept_advance(Device& device, const AdvanceParameters& p, Control& control) {
  if (p.batch == 0) return {};
  if (p.variant != Variant::automatic && p.variant != Variant::cpu_classic && p.variant != Variant::cpu_tiled) {
    return {Code::unsupported, std::string("variant ") + kVariantNames[static_cast<int>(p.variant)] +
                                   " needs a GPU; the cpu backend has cpu-classic and cpu-tiled", "variant"};
  }
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  return p.type == ScalarType::float32 ? run<float>(cpu, p, control) : run<double>(cpu, p, control);
}

int64_t swept_advance_workspace(const Device&, const AdvanceParameters& p) {
  return elements_of(p) * scalar_bytes(p.type);
}

}  // namespace warploom::cpu
