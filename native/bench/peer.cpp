#include "native/bench/peer.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace warploom::bench {

std::vector<const Peer*> all_peers() {
  return {&copy_peer(), &stream_peer(), &cub_scan_peer(), &lapack_peer(), &cusparse_strided_peer(),
          &paper_regpack_peer()};
}

const Peer* find_peer(const std::string& name) {
  for (const Peer* peer : all_peers()) {
    if (name == peer->name) return peer;
  }
  return nullptr;
}

Status check(const SystemsParameters& p) {
  if (p.type != ScalarType::float32 && p.type != ScalarType::float64) {
    return Status(Code::invalid_argument, "peers take float32 and float64", "type");
  }
  if (p.n < 1 || p.n > INT32_MAX) return Status(Code::invalid_argument, "n must be 1 … 2^31-1", "n");
  if (p.batch < 1 || p.batch > INT32_MAX) return Status(Code::invalid_argument, "batch must be 1 … 2^31-1", "batch");
  const View* const views[] = {&p.lower, &p.diagonal, &p.upper, &p.rhs, &p.solution};
  const char* const names[] = {"lower", "diagonal", "upper", "rhs", "solution"};
  for (int i = 0; i < 5; ++i) {
    const View& view = *views[i];
    if (view.data == nullptr) return Status(Code::invalid_argument, "a device array is needed", names[i]);
    if (view.offset != 0 || view.length / p.n < p.batch) {
      return Status(Code::invalid_argument, "batch*n elements from offset 0 are needed", names[i]);
    }
  }
  return {};
}

void* open_library(const char* variable, const std::vector<const char*>& names, std::string* found) {
  if (const char* path = std::getenv(variable); path != nullptr && *path != '\0') {
    const char* const slash = std::strrchr(path, '/');
    *found = slash != nullptr ? slash + 1 : path;  // reports must not name folders of a machine
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL); library != nullptr) {
      *found = name;
      return library;
    }
  }
  return nullptr;
}

}  // namespace warploom::bench
