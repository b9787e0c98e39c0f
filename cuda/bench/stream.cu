// Reads up to four arrays and writes one: a lower bound on the time of any kernel that must touch them.
#include "cuda/bench/stream.h"
#include "cuda/core/launch.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace bench {

struct alignas(16) Pair {
  uint64_t low, high;
  WARPLOOM_DEVICE Pair operator^(const Pair& other) const { return {low ^ other.low, high ^ other.high}; }
};

/// Each thread has kPieces pieces of each array in flight. Few threads start sooner; many pieces hide latency.
template <class Piece, int kSources, int kPieces>
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
    int64_t i = block.index() * block.threads() + block.thread();
    for (; i + (kPieces - 1) * p.threads < p.pieces; i += kPieces * p.threads) {
      Piece read[kSources][kPieces];
#pragma unroll
      for (int k = 0; k < kSources; ++k) {
#pragma unroll
        for (int j = 0; j < kPieces; ++j) read[k][j] = p.from[k][i + j * p.threads];
      }
#pragma unroll
      for (int j = 0; j < kPieces; ++j) {
        Piece sum = read[0][j];
#pragma unroll
        for (int k = 1; k < kSources; ++k) sum = sum ^ read[k][j];
        p.to[i + j * p.threads] = sum;
      }
    }
    for (; i < p.pieces; i += p.threads) {
      Piece sum = p.from[0][i];
#pragma unroll
      for (int k = 1; k < kSources; ++k) sum = sum ^ p.from[k][i];
      p.to[i] = sum;
    }
  }
};

template <class Piece, int kSources, int kPieces>
Status stream(GpuDevice& device, const ::warploom::bench::StreamParameters& p) {
  using Agent = StreamAgent<Piece, kSources, kPieces>;
  const View* const views[] = {&p.first, &p.second, &p.third, &p.fourth};
  typename Agent::Parameters parameters{};
  for (int k = 0; k < kSources; ++k) parameters.from[k] = static_cast<const Piece*>(views[k]->data);
  parameters.to = static_cast<Piece*>(p.to.data);
  parameters.pieces = p.to.length * scalar_bytes(p.type) / static_cast<int64_t>(sizeof(Piece));
  LaunchShape shape;
  shape.threads = p.threads;
  shape.blocks = (parameters.pieces + p.threads * kPieces - 1) / (p.threads * kPieces);
  const int64_t most = int64_t{p.blocks_per_multiprocessor} * device.limits().multiprocessors;
  if (most > 0 && shape.blocks > most) shape.blocks = most;
  parameters.threads = shape.blocks * shape.threads;
  return shape.blocks == 0 ? Status() : launch<Agent>(device, shape, parameters);
}

template <class Piece, int kPieces>
Status stream(GpuDevice& gpu, const ::warploom::bench::StreamParameters& p) {
  if (p.second.data == nullptr) return stream<Piece, 1, kPieces>(gpu, p);
  if (p.third.data == nullptr) return stream<Piece, 2, kPieces>(gpu, p);
  return p.fourth.data == nullptr ? stream<Piece, 3, kPieces>(gpu, p) : stream<Piece, 4, kPieces>(gpu, p);
}

template <class Piece>
Status stream(GpuDevice& gpu, const ::warploom::bench::StreamParameters& p) {
  if (p.pieces_per_thread == 1) return stream<Piece, 1>(gpu, p);
  return p.pieces_per_thread == 2 ? stream<Piece, 2>(gpu, p) : stream<Piece, 4>(gpu, p);
}

}  // namespace bench

Status bench_stream(Device& device, const ::warploom::bench::StreamParameters& p) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.access_bytes == 8 ? bench::stream<uint64_t>(gpu, p) : bench::stream<bench::Pair>(gpu, p);
}

}  // namespace warploom::WARPLOOM_TARGET
