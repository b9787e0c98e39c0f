// Reads up to four arrays and writes one: the time no kernel that must touch them can beat.
#include "cuda/bench/stream.h"
#include "cuda/core/launch.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace bench {

struct alignas(16) Piece {
  uint64_t low, high;
};

template <int kSources>
struct StreamAgent {
  static constexpr int kMaxThreads = 1024;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    const Piece* from[kSources];
    Piece* to;
    int64_t pieces;
    int64_t threads;  ///< of the grid
  };
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.pieces; i += p.threads) {
      Piece sum = p.from[0][i];
      for (int k = 1; k < kSources; ++k) {
        const Piece next = p.from[k][i];
        sum = {sum.low ^ next.low, sum.high ^ next.high};
      }
      p.to[i] = sum;
    }
  }
};

template <int kSources>
Status stream(GpuDevice& device, const ::warploom::bench::StreamParameters& p) {
  const View* const views[] = {&p.first, &p.second, &p.third, &p.fourth};
  typename StreamAgent<kSources>::Parameters parameters{};
  for (int k = 0; k < kSources; ++k) parameters.from[k] = static_cast<const Piece*>(views[k]->data);
  parameters.to = static_cast<Piece*>(p.to.data);
  parameters.pieces = p.to.length * scalar_bytes(p.type) / 16;
  LaunchShape shape;
  shape.threads = p.threads;
  shape.blocks = (parameters.pieces + p.threads - 1) / p.threads;
  const int64_t most = int64_t{p.blocks_per_multiprocessor} * device.limits().multiprocessors;
  if (most > 0 && shape.blocks > most) shape.blocks = most;
  parameters.threads = shape.blocks * shape.threads;
  return shape.blocks == 0 ? Status() : launch<StreamAgent<kSources>>(device, shape, parameters);
}

}  // namespace bench

Status bench_stream(Device& device, const ::warploom::bench::StreamParameters& p) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  if (p.second.data == nullptr) return bench::stream<1>(gpu, p);
  if (p.third.data == nullptr) return bench::stream<2>(gpu, p);
  return p.fourth.data == nullptr ? bench::stream<3>(gpu, p) : bench::stream<4>(gpu, p);
}

}  // namespace warploom::WARPLOOM_TARGET
