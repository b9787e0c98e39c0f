// swept.advance on the GPU: the choice of the variant, and the search for the first bad step.
#include <algorithm>

#include "cuda/core/measuring_device.h"
#include "cuda/core/operations.h"
#include "cuda/swept/advance.h"
#include "cuda/swept/advance_policy.h"
#include "cuda/swept/advance_report.h"
#include "cuda/swept/finite.cuh"
#include "cuda/swept/nodes.h"
#include "cuda/swept/variants.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace swept {
namespace {

using operation::AdvanceParameters;

Status not_here(Variant variant, const char* why) {
  return {Code::unsupported, std::string("variant ") + operation::kVariantNames[static_cast<int>(variant)] + " " + why, "variant"};
}

template <class Equation>
Status march_by(Variant variant, GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
  switch (variant) {
    case Variant::classic: return march_classic(device, march, shape, control);
    case Variant::classic_graph: return march_classic_graph(device, march, shape, control);
    case Variant::shared: return march_shared(device, march, shape, control);
    case Variant::hybrid: return march_hybrid(device, march, shape, control);
    case Variant::register_: return march_register(device, march, shape, control);
    case Variant::tiled: return march_tiled(device, march, shape, control);
    default: return not_here(variant, "belongs to another backend");
  }
}

/// Executes a call, with the equation's coefficients.
template <class Equation>
class Call {
 public:
  using Real = typename Equation::Real;
  Call(GpuDevice& device, const AdvanceParameters& p, const Equation& equation, Control& control)
      : device_(device), p_(p), control_(control), variant_(policy::variant(p)) {
    march_.equation = equation;
    march_.domain = Domain::make(p.equation, p.n, p.left, p.right);
    march_.batch = p.batch;
    march_.from = static_cast<const Real*>(p.state.data) + p.state.offset;
    march_.to = static_cast<Real*>(p.next.data) + p.next.offset;
    march_.points = p.points;
    march_.depth = p.depth;
    march_.threads = p.threads;
  }

  Status run() {
    Workspace spare;
    WARPLOOM_TRY(Workspace::make(device_, march_.elements() * static_cast<int64_t>(sizeof(Real)), &spare));
    march_.spare = spare.template as<Real>();
    WARPLOOM_TRY(device_.begin_operation(control_));
    WARPLOOM_TRY(march_to(p_.steps));
    operation::Advanced advanced;
    advanced.completed = p_.steps;
    if (p_.check) {
      WARPLOOM_TRY(stop_before_bad(
          p_.steps, [this](int64_t steps) { return march_to(steps); },
          [this](bool* finite) { return all_finite(device_, march_.to, march_.elements(), finite); }, &advanced));
    }
    WARPLOOM_TRY(device_.end_operation(control_));
    advanced.variant = variant_;
    advanced.points = shape_.points;
    advanced.depth = shape_.depth;
    advanced.threads = shape_.threads;
    write_report(advanced, p_);
    return {};
  }

 private:
  /// Computes the state after `steps` steps, in `next`.
  Status march_to(int64_t steps) {
    march_.steps = steps;
    if (steps == 0) return device_.copy(march_.to, march_.from, march_.elements() * static_cast<int64_t>(sizeof(Real)));
    return march_by(variant_, device_, march_, &shape_, control_);
  }

  GpuDevice& device_;
  const AdvanceParameters& p_;
  Control& control_;
  Variant variant_;
  March<Equation> march_;
  Shape shape_;
};

template <class T>
Status run(GpuDevice& device, const AdvanceParameters& p, Control& control) {
  switch (p.equation) {
    case operation::Equation::heat: {
      using Equation = operation::Heat<T>;
      return Call<Equation>(device, p, Equation::template make<T>(p.diffusivity, p.dx, p.dt), control).run();
    }
    case operation::Equation::kuramoto_sivashinsky: {
      using Equation = operation::KuramotoSivashinsky<T>;
      return Call<Equation>(device, p, Equation::template make<T>(p.dx, p.dt), control).run();
    }
    default: {
      using Equation = operation::Euler<T>;
      return Call<Equation>(device, p, Equation::template make<T>(p.gamma, p.dx, p.dt, p.limiter), control).run();
    }
  }
}

}  // namespace
}  // namespace swept

Status swept_advance(Device& device, const ::warploom::swept::AdvanceParameters& p, Control& control) {
  if (p.batch == 0) return {};
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? swept::run<float>(gpu, p, control) : swept::run<double>(gpu, p, control);
}

int64_t swept_advance_workspace(const Device& device, const ::warploom::swept::AdvanceParameters& p) {
  using namespace ::warploom::swept;
  if (policy::variant(p) == Variant::tiled) {  // with messages or without them: the plan for the first step decides
    AdvanceParameters once = p;
    once.steps = std::min<int64_t>(p.steps, 1);
    once.report = nullptr;
    MeasuringDevice measuring(static_cast<GpuDevice&>(const_cast<Device&>(device)));
    Control control;
    (void)swept_advance(measuring, once, control);
    return measuring.peak_bytes();
  }
  const int64_t row = p.batch * components_of(p.equation) * scalar_bytes(p.type);  // of one point
  if (p.variant == Variant::register_) {
    const Nodes nodes = Nodes::make(p.n, policy::kRegisterPoints);
    return row * (p.n + (nodes.count == 1 ? 0 : 2 * nodes.count * 2 * reach_of(p.equation)));  // tips of two phases
  }
  return row * p.n;
}

}  // namespace warploom::WARPLOOM_TARGET
