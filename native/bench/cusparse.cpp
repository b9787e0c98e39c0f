// cuSPARSE gtsv2StridedBatch (CR and PCR without pivoting), where the library can be opened. The declarations are our
// own, so the build does not need the toolkit's headers.
#include <dlfcn.h>

#include <cstdint>

#include "native/bench/peer.h"

namespace warploom::bench {
namespace {

using Handle = void*;
using Create = int (*)(Handle*);
using SetStream = int (*)(Handle, void*);
template <class T>
using BufferSize = int (*)(Handle, int m, const T* dl, const T* d, const T* du, const T* x, int batch, int stride,
                           size_t* bytes);
template <class T>
using Solve = int (*)(Handle, int m, const T* dl, const T* d, const T* du, T* x, int batch, int stride, void* buffer);

template <class T>
struct Functions {
  BufferSize<T> buffer_size = nullptr;
  Solve<T> solve = nullptr;
};

struct Cusparse {
  Handle handle = nullptr;
  SetStream set_stream = nullptr;
  Functions<float> single;
  Functions<double> real;
  std::string name;
  bool usable() const { return set_stream != nullptr && single.solve != nullptr && real.solve != nullptr; }
};

template <class F>
void load(void* library, const char* name, F* out) {
  *out = reinterpret_cast<F>(dlsym(library, name));
}

Create create = nullptr;

Cusparse& cusparse() {
  static Cusparse found = [] {
    Cusparse result;
    void* library = open_library("WARPLOOM_CUSPARSE",
                                 {"libcusparse.so.12", "libcusparse.so.13", "libcusparse.so.11", "libcusparse.so",
                                  "/usr/local/cuda/lib64/libcusparse.so"},
                                 &result.name);
    if (library == nullptr) return result;
    load(library, "cusparseCreate", &create);
    load(library, "cusparseSetStream", &result.set_stream);
    load(library, "cusparseSgtsv2StridedBatch_bufferSizeExt", &result.single.buffer_size);
    load(library, "cusparseDgtsv2StridedBatch_bufferSizeExt", &result.real.buffer_size);
    load(library, "cusparseSgtsv2StridedBatch", &result.single.solve);
    load(library, "cusparseDgtsv2StridedBatch", &result.real.solve);
    return result;
  }();
  return found;
}

bool cusparse_available(std::string* reason) {
  const Cusparse& library = cusparse();
  if (create == nullptr || !library.usable()) {
    *reason = "libcusparse was not found (or name it in WARPLOOM_CUSPARSE)";
    return false;
  }
  *reason = library.name;
  return true;
}

Status report(int status, const char* what) {
  if (status == 0) return {};
  return Status(Code::internal, std::string(what) + " failed with status " + std::to_string(status));
}

/// The workspace comes from the device's pool, and goes back to it in stream order.
template <class T>
Status solve(Device& device, const SystemsParameters& p, const Functions<T>& functions) {
  Cusparse& library = cusparse();
  if (library.handle == nullptr) WARPLOOM_TRY(report(create(&library.handle), "cusparseCreate"));
  WARPLOOM_TRY(report(library.set_stream(library.handle, device.native_stream()), "cusparseSetStream"));
  const int n = static_cast<int>(p.n), batch = static_cast<int>(p.batch);
  const T* const lower = static_cast<const T*>(p.lower.data);
  const T* const diagonal = static_cast<const T*>(p.diagonal.data);
  const T* const upper = static_cast<const T*>(p.upper.data);
  T* const x = static_cast<T*>(p.solution.data);
  size_t bytes = 0;
  WARPLOOM_TRY(report(functions.buffer_size(library.handle, n, lower, diagonal, upper, x, batch, n, &bytes),
                      "gtsv2StridedBatch_bufferSizeExt"));
  void* buffer = nullptr;
  WARPLOOM_TRY(device.allocate(static_cast<int64_t>(bytes), &buffer));
  const int status = functions.solve(library.handle, n, lower, diagonal, upper, x, batch, n, buffer);
  device.release(buffer);
  return report(status, "gtsv2StridedBatch");
}

/// Solves in place in `solution`. `rhs` is not copied, so repeated calls solve for whatever the previous one left.
Status perform(Device& device, const SystemsParameters& p, Control&) {
  std::string reason;
  if (device.native_stream() == nullptr) return Status(Code::unsupported, "cuSPARSE runs on the cuda backend");
  if (!cusparse_available(&reason)) return Status(Code::unavailable, reason);
  return p.type == ScalarType::float64 ? solve(device, p, cusparse().real) : solve(device, p, cusparse().single);
}

}  // namespace

const Peer& cusparse_strided_peer() {
  static const Peer peer{"bench.cusparse_strided", &PeerInvocation<SystemsParameters, &perform>::make,
                         &cusparse_available, false};
  return peer;
}

}  // namespace warploom::bench
