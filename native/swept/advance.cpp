// swept.advance on the cpu backend.
#include "cuda/swept/advance.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "cuda/core/operations.h"
#include "cuda/swept/euler.h"
#include "cuda/swept/heat.h"
#include "cuda/swept/kuramoto_sivashinsky.h"
#include "native/cpu/device.h"

namespace warploom::cpu {
namespace {

using namespace ::warploom::swept;

template <class E>
class Classic {
 public:
  using Real = typename E::Real;
  using Value = typename E::Value;
  Classic(const E& equation, const AdvanceParameters& p)
      : equation_(equation), domain_(Domain::make(p.equation, p.n, p.left, p.right)), batch_(p.batch),
        from_(static_cast<const Real*>(p.state.data) + p.state.offset), to_(static_cast<Real*>(p.next.data) + p.next.offset) {}

  Status march(CpuDevice& device, int64_t steps, Real* spare, Control& control) const {
    const Real* from = from_;
    if (steps == 0) std::copy(from, from + batch_ * E::kComponents * domain_.n, to_);
    for (int64_t step = 0; step < steps; ++step) {
      if constexpr (E::kSubsteps == 2) {
        WARPLOOM_TRY((substep<0>(device, from, from, spare, control)));
        WARPLOOM_TRY((substep<1>(device, spare, from, to_, control)));
        from = to_;
      } else {
        Real* result = (steps - step) % 2 == 1 ? to_ : spare;
        WARPLOOM_TRY((substep<0>(device, from, from, result, control)));
        from = result;
      }
    }
    return {};
  }

 private:
  static constexpr int64_t kPiece = 8192;

  template <int kSubstep>
  Status substep(CpuDevice& device, const Real* around, const Real* base, Real* result, Control& control) const {
    const int64_t pieces = (domain_.n + kPiece - 1) / kPiece;
    return device.threads().run(batch_ * pieces, [&](int64_t task, int) {
      const int64_t offset = task / pieces * E::kComponents * domain_.n, begin = task % pieces * kPiece;
      const int64_t end = std::min(domain_.n, begin + kPiece);
      for (int64_t i = begin; i < end; ++i) point<kSubstep>(around + offset, base + offset, result + offset, i);
      return Status();
    }, control);
  }

  Value value_at(const Real* problem, int64_t place) const {
    Source source;
    if (domain_.holds(place)) source.point = place;
    else source = domain_.source(place);
    Value value;
    for (int k = 0; k < E::kComponents; ++k) value.item[k] = problem[k * domain_.n + source.point];
    return source.mirrored ? equation_.mirrored(value) : value;
  }

  template <int kSubstep>
  void point(const Real* around, const Real* base, Real* result, int64_t i) const {
    Value near[2 * E::kReach + 1];
    for (int d = -E::kReach; d <= E::kReach; ++d) near[d + E::kReach] = value_at(around, i + d);
    const Value old = value_at(base, i);
    const Value next = domain_.frozen_point(i) ? old : equation_.template next<kSubstep>(near, old);
    for (int k = 0; k < E::kComponents; ++k) result[k * domain_.n + i] = next.item[k];
  }

  E equation_;
  Domain domain_;
  int64_t batch_;
  const Real* from_;
  Real* to_;
};

template <class Real>
bool all_finite(const Real* values, int64_t count) {
  return std::all_of(values, values + count, [](Real value) { return std::isfinite(value); });
}

template <class E>
Status advance(CpuDevice& device, const AdvanceParameters& p, const E& equation, Control& control) {
  using Real = typename E::Real;
  const auto begin = std::chrono::steady_clock::now();
  const int64_t count = elements_of(p);
  Workspace workspace(device);
  WARPLOOM_TRY(workspace.reserve(count * static_cast<int64_t>(sizeof(Real))));
  Real* const spare = workspace.template as<Real>();
  const Real* const next = static_cast<Real*>(p.next.data) + p.next.offset;
  const Classic<E> classic(equation, p);
  WARPLOOM_TRY(classic.march(device, p.steps, spare, control));
  int64_t good = p.steps, bad = 0;
  if (p.check && !all_finite(next, count)) {
    for (good = 0, bad = p.steps; bad - good > 1;) {
      const int64_t middle = good + (bad - good) / 2;
      WARPLOOM_TRY(classic.march(device, middle, spare, control));
      (all_finite(next, count) ? good : bad) = middle;
    }
    WARPLOOM_TRY(classic.march(device, good, spare, control));
  }
  if (p.used.data != nullptr) {
    const int64_t words[kUsedWords] = {static_cast<int64_t>(Variant::cpu_classic), 1, 1, device.thread_count(), good, bad};
    for (int i = 0; i < kUsedWords; ++i) p.used.data[i] = static_cast<int32_t>(words[i]);
  }
  control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

template <class T>
Status run(CpuDevice& device, const AdvanceParameters& p, Control& control) {
  switch (p.equation) {
    case Equation::heat: return advance(device, p, Heat<T>::template make<T>(p.diffusivity, p.dx, p.dt), control);
    case Equation::kuramoto_sivashinsky:
      return advance(device, p, KuramotoSivashinsky<T>::template make<T>(p.dx, p.dt), control);
    default: return advance(device, p, Euler<T>::template make<T>(p.gamma, p.dx, p.dt, p.limiter), control);
  }
}

}  // namespace

Status swept_advance(Device& device, const AdvanceParameters& p, Control& control) {
  if (p.batch == 0) return {};
  if (p.variant != Variant::automatic && p.variant != Variant::cpu_classic) {
    return {Code::unsupported, std::string("variant ") + kVariantNames[static_cast<int>(p.variant)] +
                                   " needs a GPU; the cpu backend has cpu-classic and cpu-swept", "variant"};
  }
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  return p.type == ScalarType::float32 ? run<float>(cpu, p, control) : run<double>(cpu, p, control);
}

int64_t swept_advance_workspace(const Device&, const AdvanceParameters& p) {
  return elements_of(p) * scalar_bytes(p.type);
}

}  // namespace warploom::cpu
