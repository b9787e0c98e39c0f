// The floor of memory-bound operations: a plain copy on the host, by all cores.
#include <algorithm>
#include <cstring>

#include "native/bench/peer.h"
#include "native/cpu/thread_pool.h"

namespace warploom::bench {
namespace {

struct CopyParameters {
  ScalarType type = ScalarType::float64;
  View from, to;
};

template <class Visitor>
void visit(Visitor& v, CopyParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.view("from", p.from, Role::input);
  v.view("to", p.to, Role::output);
}

Status check(const CopyParameters& p) {
  if (p.from.data == nullptr || p.to.data == nullptr || p.from.length != p.to.length) {
    return Status(Code::invalid_argument, "two device arrays of equal length are needed", "to");
  }
  return {};
}

/// One slice per core: long enough for the C library's streaming stores.
Status copy_on_host(const CopyParameters& p, int64_t bytes, Control& control) {
  static cpu::ThreadPool pool(cpu::available_cores());
  const int64_t slices = pool.threads();
  const int64_t slice = (bytes / slices + 63) / 64 * 64;
  return pool.run(slices, [&](int64_t index, int) {
    const int64_t begin = std::min(index * slice, bytes), end = std::min(begin + slice, bytes);
    std::memcpy(static_cast<char*>(p.to.data) + begin, static_cast<const char*>(p.from.data) + begin,
                static_cast<size_t>(end - begin));
    return Status();
  }, control);
}

Status copy(Device& device, const CopyParameters& p, Control& control) {
  const int64_t bytes = p.from.length * scalar_bytes(p.type);
  return device.host_memory() ? copy_on_host(p, bytes, control) : device.copy(p.to.data, p.from.data, bytes);
}

bool copy_available(std::string* reason) {
  *reason = "device copy; on the host memcpy by all cores";
  return true;
}

}  // namespace

const Peer& copy_peer() {
  static const Peer peer{"bench.copy", &PeerInvocation<CopyParameters, &copy>::make, &copy_available, false};
  return peer;
}

}  // namespace warploom::bench
