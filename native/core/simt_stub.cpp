// Stands in for the simt backend in builds without the shim, such as the published one.
#include "native/core/stub_backend.h"

namespace warploom {
namespace {
constexpr stub::Absence kAbsence = {
    "simt", "not compiled: this build has no SIMT shim (a debugging backend; npm run build:native adds it)"};
}  // namespace

const Backend& simt_backend() {
  static const Backend backend = stub::make_backend<kAbsence>();
  return backend;
}

}  // namespace warploom
