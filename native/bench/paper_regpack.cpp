// The paper's CR-RegPack as a peer (cuda/bench/paper_regpack.cu), on a GPU and on the shim.
#include "cuda/bench/paper_regpack.h"

#include "native/bench/peer.h"

namespace warploom::bench {

static Status check(const PaperRegpackParameters& p) { return check(static_cast<const SystemsParameters&>(p)); }

namespace {

Status perform(Device& device, const PaperRegpackParameters& p, Control&) {
#ifdef WARPLOOM_HAS_CUDA
  if (device.native_stream() != nullptr) return cuda::bench_paper_regpack(device, p);
#endif
#ifdef WARPLOOM_HAS_SIMT
  if (device.native_stream() == nullptr) return simt::bench_paper_regpack(device, p);
#endif
  (void)device, (void)p;
  return Status(Code::unsupported, "the paper's CR-RegPack runs on the cuda and simt backends");
}

bool available(std::string* reason) {
#if defined(WARPLOOM_HAS_CUDA) || defined(WARPLOOM_HAS_SIMT)
  *reason = "kernel of this build";
  return true;
#else
  *reason = "the build has neither CUDA nor the shim";
  return false;
#endif
}

}  // namespace

const Peer& paper_regpack_peer() {
  static const Peer peer{"bench.paper_regpack", &PeerInvocation<PaperRegpackParameters, &perform>::make, &available, false};
  return peer;
}

}  // namespace warploom::bench
