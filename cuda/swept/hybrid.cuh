// The variant `hybrid`: like `shared`, but the host computes the node that the ends split, while the GPU computes the
// others. As in the paper, the others are launched first. Meanwhile a second stream transfers the node's rows through
// page-locked memory: the kernels that collect them and put them back access that memory directly.
#pragma once
#include "cuda/swept/edges_agent.cuh"
#include "cuda/swept/shared.cuh"
#include "cuda/swept/split_node.h"

namespace warploom::WARPLOOM_TARGET::swept {

template <class Equation>
class Hybrid {
 public:
  using Real = typename Equation::Real;
  using Node = operation::SplitNode<Equation>;
  Hybrid(GpuDevice& device, const March<Equation>& march, const SharedMarch<Equation>& shared)
      : device_(device), march_(march), shared_(shared), node_(march.equation, march.domain, shared.nodes()),
        values_(march.batch * Node::kRows * node_.width()) {}
  Hybrid(const Hybrid&) = delete;
  Hybrid& operator=(const Hybrid&) = delete;
  ~Hybrid() {
    if (edges_ == nullptr) return;
    // Waits after a failure too, so that nothing reads or writes them any more.
    (void)device_.wait_aside();
    device_.release_pinned(edges_);
  }

  Status run(Control& control) {
    void* memory = nullptr;
    WARPLOOM_TRY(device_.allocate_pinned(values_ * static_cast<int64_t>(sizeof(Real)), &memory));
    edges_ = static_cast<Real*>(memory);
    return sweep(device_, march_, shared_.height(), false, control, [&](const Phase& phase) {
      return phase.shifted ? shifted(phase) : shared_.phase(phase, 0);
    });
  }

 private:
  /// The split node and the others never touch the same places.
  Status shifted(const Phase& phase) {
    WARPLOOM_TRY(device_.fork());
    WARPLOOM_TRY(shared_.phase(phase, 1));
    WARPLOOM_TRY(device_.aside([&] { return move_edges(true); }));
    WARPLOOM_TRY(device_.wait_aside());
    for (int64_t problem = 0; problem < march_.batch; ++problem) node_.advance(edges_ + problem * Node::kRows * node_.width(), phase);
    WARPLOOM_TRY(device_.aside([&] { return move_edges(false); }));
    return device_.join();
  }

  Status move_edges(bool collect) const {
    using Agent = EdgesAgent<Real>;
    return launch<Agent>(device_, {(values_ + Agent::kMaxThreads - 1) / Agent::kMaxThreads, Agent::kMaxThreads, 0, false},
                         {{march_.to, march_.spare}, edges_, march_.domain.n, march_.batch, Equation::kComponents,
                          shared_.nodes().first(0, true), node_.width(), collect});
  }

  GpuDevice& device_;
  const March<Equation>& march_;
  const SharedMarch<Equation>& shared_;
  Node node_;
  int64_t values_;
  Real* edges_ = nullptr;  ///< page-locked
};

template <class Equation>
Status march_hybrid(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
  if constexpr (Equation::kEquation == operation::Equation::kuramoto_sivashinsky) {
    return {Code::unsupported, "variant hybrid takes heat and euler: use tiled or shared", "variant"};
  } else {
    const int threads = march.threads != 0 ? march.threads : policy::hybrid_threads(Equation::kEquation, march.domain.n * march.batch);
    const SharedMarch<Equation> shared(device, march, threads, shape);
    if (shared.fits()) return shared.whole(control);
    return Hybrid<Equation>(device, march, shared).run(control);
  }
}

}  // namespace warploom::WARPLOOM_TARGET::swept
