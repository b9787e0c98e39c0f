// The backends of this build, by name.
#pragma once
#include <array>
#include <string>

#include "cuda/core/backend.h"

namespace warploom {

/// In the order that devices() lists them.
inline std::array<const Backend*, 3> all_backends() {
  return {&cuda_backend(), &cpu_backend(), &simt_backend()};
}
/// Null when there is no such backend.
inline const Backend* find_backend(const std::string& name) {
  for (const Backend* const backend : all_backends()) {
    if (name == backend->name) return backend;
  }
  return nullptr;
}

}  // namespace warploom
