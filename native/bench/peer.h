// What the benchmarks compare with: plain copies and other people's libraries, opened at run time.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/bench/systems.h"
#include "cuda/core/backend.h"
#include "native/core/operation.h"

namespace warploom::bench {

/// One peer. Peers read their parameters as operations do, through visit().
struct Peer {
  const char* name;
  std::unique_ptr<Invocation> (*make)();
  /// True when the peer can run here; `reason` says which library it uses, or why it cannot run.
  bool (*available)(std::string* reason);
  /// perform() writes Control::device_seconds itself, because it must prepare its data between calls.
  bool self_timed;
};

const Peer& copy_peer();
const Peer& stream_peer();
const Peer& cub_scan_peer();
const Peer& lapack_peer();
const Peer& cusparse_strided_peer();
const Peer& paper_regpack_peer();
/// Null when there is no such peer.
const Peer* find_peer(const std::string& name);
std::vector<const Peer*> all_peers();

/// Checks the sizes and lengths of a solver peer's call.
Status check(const SystemsParameters& p);

/// Makes the invocation of a peer from its parameters and its function.
template <class Parameters, Status (*kPerform)(Device&, const Parameters&, Control&)>
class PeerInvocation final : public Invocation {
 public:
  void bind(Binder& binder) override { visit(binder, parameters_); }
  void footprint(Footprint&) const override {}
  Status validate() const override { return check(parameters_); }
  void cuts(Cuts&) override {}
  Status perform(const Operations&, Device& device, Control& control) const override {
    return kPerform(device, parameters_, control);
  }
  int64_t workspace_bytes(const Operations&, const Device&) const override { return 0; }
  static std::unique_ptr<Invocation> make() { return std::make_unique<PeerInvocation>(); }

 private:
  Parameters parameters_;
};

/// Opens the path in environment variable `variable`, or else the first of `names` that the loader finds; null when
/// there is none. The library is never closed.
void* open_library(const char* variable, const std::vector<const char*>& names, std::string* found);

}  // namespace warploom::bench
