// The variant `hybrid`: `shared`, with the node that the ends split computed on the host while the GPU does the others.
#pragma once
#include <vector>

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
        host_(static_cast<size_t>(march.batch * Node::kRows * node_.width())) {}

  Status run(Control& control) {
    WARPLOOM_TRY(Workspace::make(device_, bytes(), &edges_));
    return sweep(device_, march_, shared_.height(), false, control, [&](const Phase& phase) {
      return phase.shifted ? shifted(phase) : shared_.phase(phase, 0);
    });
  }

 private:
  int64_t bytes() const { return static_cast<int64_t>(host_.size() * sizeof(Real)); }

  Status shifted(const Phase& phase) {
    WARPLOOM_TRY(move_edges(true));
    WARPLOOM_TRY(device_.download(host_.data(), edges_.template as<Real>(), bytes()));
    WARPLOOM_TRY(shared_.phase(phase, 1));
    for (int64_t problem = 0; problem < march_.batch; ++problem) {
      node_.advance(host_.data() + problem * Node::kRows * node_.width(), phase);
    }
    WARPLOOM_TRY(device_.upload(edges_.template as<Real>(), host_.data(), bytes()));
    return move_edges(false);
  }

  Status move_edges(bool collect) const {
    using Agent = EdgesAgent<Real>;
    const int64_t values = static_cast<int64_t>(host_.size());
    return launch<Agent>(device_, {(values + Agent::kMaxThreads - 1) / Agent::kMaxThreads, Agent::kMaxThreads, 0, false},
                         {{march_.to, march_.spare}, edges_.template as<Real>(), march_.domain.n, march_.batch, Equation::kComponents,
                          shared_.nodes().first(0, true), node_.width(), collect});
  }

  GpuDevice& device_;
  const March<Equation>& march_;
  const SharedMarch<Equation>& shared_;
  Node node_;
  std::vector<Real> host_;
  Workspace edges_;
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
