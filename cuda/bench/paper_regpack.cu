// Launch of the paper's CR-RegPack.
#include "cuda/bench/paper_regpack.h"
#include "cuda/bench/paper_regpack_agent.cuh"
#include "cuda/core/launch.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace bench {

template <class T, int kDepth>
Status paper_regpack(GpuDevice& device, const ::warploom::bench::PaperRegpackParameters& p) {
  using Agent = PaperRegpackAgent<T, kDepth>;
  const int64_t threads = p.n / kDepth;
  if (threads * kDepth != p.n || threads < 32 || threads > Agent::kMaxThreads || (threads & (threads - 1)) != 0) {
    return {Code::unsupported, "one block's threads at this depth do not hold the system", "depth"};
  }
  LaunchShape shape;
  shape.blocks = p.batch;
  shape.threads = static_cast<int>(threads);
  shape.shared_bytes = Agent::shared_bytes(shape.threads);
  return launch<Agent>(device, shape,
                       {static_cast<const T*>(p.lower.data), static_cast<const T*>(p.diagonal.data),
                        static_cast<const T*>(p.upper.data), static_cast<const T*>(p.rhs.data),
                        static_cast<T*>(p.solution.data), p.n});
}

template <class T>
Status paper_regpack(GpuDevice& device, const ::warploom::bench::PaperRegpackParameters& p) {
  switch (p.depth) {
    case 4: return paper_regpack<T, 4>(device, p);
    case 8: return paper_regpack<T, 8>(device, p);
    case 16: return paper_regpack<T, 16>(device, p);
    default: return {Code::invalid_argument, "4, 8 or 16 is needed", "depth"};
  }
}

}  // namespace bench

Status bench_paper_regpack(Device& device, const ::warploom::bench::PaperRegpackParameters& p) {
  GpuDevice* const gpu = dynamic_cast<GpuDevice*>(&device);
  if (gpu == nullptr) return {Code::unsupported, "the paper's CR-RegPack runs on the cuda and simt backends"};
  return p.type == ScalarType::float32 ? bench::paper_regpack<float>(*gpu, p) : bench::paper_regpack<double>(*gpu, p);
}

}  // namespace warploom::WARPLOOM_TARGET
