// The floor of memory-bound operations on a GPU (cuda/bench/stream.cu).
#include "cuda/bench/stream.h"

#include "native/bench/peer.h"

namespace warploom::bench {
static Status check(const StreamParameters& p) {
  const View* before = &p.to;
  for (const View* view : {&p.first, &p.second, &p.third, &p.fourth}) {
    if (view->data != nullptr && (before->data == nullptr || view->length != p.to.length)) {
      return Status(Code::invalid_argument, "device arrays of equal length, without gaps, are needed", "to");
    }
    before = view;
  }
  if (p.first.data == nullptr || p.to.length * scalar_bytes(p.type) % 16 != 0) {
    return Status(Code::invalid_argument, "whole 16-byte pieces are needed", "to");
  }
  if (p.access_bytes != 8 && p.access_bytes != 16) return Status(Code::invalid_argument, "8 or 16 is needed", "accessBytes");
  if (p.pieces_per_thread != 1 && p.pieces_per_thread != 2 && p.pieces_per_thread != 4) {
    return Status(Code::invalid_argument, "1, 2 or 4 is needed", "piecesPerThread");
  }
  return {};
}

namespace {

Status stream(Device& device, const StreamParameters& p, Control&) {
#ifdef WARPLOOM_HAS_CUDA
  if (device.native_stream() != nullptr) return cuda::bench_stream(device, p);
#endif
  (void)device, (void)p;
  return Status(Code::unsupported, "bench.stream measures GPUs only");
}

bool stream_available(std::string* reason) {
#ifdef WARPLOOM_HAS_CUDA
  *reason = "streaming kernel of this build";
  return true;
#else
  *reason = "the build has no CUDA";
  return false;
#endif
}

}  // namespace

const Peer& stream_peer() {
  static const Peer peer{"bench.stream", &PeerInvocation<StreamParameters, &stream>::make, &stream_available, false};
  return peer;
}

}  // namespace warploom::bench
