// CUB's scan as a peer (cuda/bench/cub_scan.cu).
#include "cuda/bench/cub_scan.h"

#include "native/bench/peer.h"

namespace warploom::bench {

static Status check(const CubScanParameters& p) {
  if (p.type != ScalarType::float32 && p.type != ScalarType::float64) {
    return Status(Code::invalid_argument, "peers take float32 and float64", "type");
  }
  if (p.n < 1) return Status(Code::invalid_argument, "n must be 1 or more", "n");
  for (const View* view : {&p.values, &p.result}) {
    if (view->data == nullptr || view->offset != 0 || p.batch < 1 || view->length / p.n < p.batch) {
      return Status(Code::invalid_argument, "batch*n elements from offset 0 are needed", "values");
    }
  }
  return {};
}

namespace {

Status perform(Device& device, const CubScanParameters& p, Control&) {
#ifdef WARPLOOM_HAS_CUDA
  if (device.native_stream() != nullptr) return cuda::bench_cub_scan(device, p);
#endif
  (void)device, (void)p;
  return Status(Code::unsupported, "CUB runs on the cuda backend");
}

bool available(std::string* reason) {
#ifdef WARPLOOM_HAS_CUDA
  return cuda::bench_cub_available(reason);
#else
  *reason = "the build has no CUDA";
  return false;
#endif
}

}  // namespace

const Peer& cub_scan_peer() {
  static const Peer peer{"bench.cub_scan", &PeerInvocation<CubScanParameters, &perform>::make, &available, false};
  return peer;
}

}  // namespace warploom::bench
