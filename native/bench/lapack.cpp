// LAPACK's ?gtsv, one call per system, on all cores: what a careful user of the best host library does.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "native/bench/peer.h"
#include "native/cpu/thread_pool.h"

namespace warploom::bench {
namespace {

template <class T>
using Gtsv = void (*)(const int* n, const int* nrhs, T* lower, T* diagonal, T* upper, T* b, const int* ldb, int* info);

struct Lapack {
  Gtsv<float> single = nullptr;
  Gtsv<double> real = nullptr;
  std::string name;
};

const Lapack& lapack() {
  static const Lapack found = [] {
    Lapack result;
    void* library = open_library("WARPLOOM_LAPACK", {"libopenblas.so.0", "liblapack.so.3", "libopenblas.so", "liblapack.so"},
                                 &result.name);
    if (library == nullptr) return result;
    result.single = reinterpret_cast<Gtsv<float>>(dlsym(library, "sgtsv_"));
    result.real = reinterpret_cast<Gtsv<double>>(dlsym(library, "dgtsv_"));
    // LAPACK's own threads would compete with ours; one gtsv call is sequential anyway.
    using SetThreads = void (*)(int);
    if (auto set = reinterpret_cast<SetThreads>(dlsym(library, "openblas_set_num_threads"))) set(1);
    using Config = const char* (*)();
    if (auto config = reinterpret_cast<Config>(dlsym(library, "openblas_get_config"))) {
      result.name += std::string(", ") + config();
    }
    return result;
  }();
  return found;
}

bool lapack_available(std::string* reason) {
  const Lapack& library = lapack();
  if (library.real == nullptr || library.single == nullptr) {
    *reason = "no LAPACK was found (libopenblas.so.0 or liblapack.so.3; or name it in WARPLOOM_LAPACK)";
    return false;
  }
  *reason = library.name;
  return true;
}

/// gtsv overwrites everything, so each call works on copies made before the clock starts.
template <class T>
Status solve(const SystemsParameters& p, Gtsv<T> gtsv, Control& control) {
  static cpu::ThreadPool pool(cpu::available_cores());
  const int64_t total = p.n * p.batch;
  static std::vector<T> lower, diagonal, upper;
  T* const b = static_cast<T*>(p.solution.data);
  for (std::vector<T>* band : {&lower, &diagonal, &upper}) band->resize(static_cast<size_t>(total) + 1);
  const int64_t slices = pool.threads() * int64_t{8};
  const auto range = [&](int64_t slice) { return std::make_pair(slice * p.batch / slices, (slice + 1) * p.batch / slices); };
  WARPLOOM_TRY(pool.run(slices, [&](int64_t slice, int) {
    const auto [first, last] = range(slice);
    const size_t bytes = static_cast<size_t>((last - first) * p.n) * sizeof(T);
    const int64_t at = first * p.n;
    std::memcpy(lower.data() + at, static_cast<const T*>(p.lower.data) + at, bytes);
    std::memcpy(diagonal.data() + at, static_cast<const T*>(p.diagonal.data) + at, bytes);
    std::memcpy(upper.data() + at, static_cast<const T*>(p.upper.data) + at, bytes);
    std::memcpy(b + at, static_cast<const T*>(p.rhs.data) + at, bytes);
    return Status();
  }, control));
  const auto start = std::chrono::steady_clock::now();
  WARPLOOM_TRY(pool.run(slices, [&](int64_t slice, int) {
    const auto [first, last] = range(slice);
    const int n = static_cast<int>(p.n), one = 1;
    for (int64_t system = first; system < last; ++system) {
      const int64_t at = system * p.n;
      int info = 0;
      gtsv(&n, &one, lower.data() + at + 1, diagonal.data() + at, upper.data() + at, b + at, &n, &info);
      if (info != 0) return Status(Code::internal, "gtsv met a zero pivot");
    }
    return Status();
  }, control));
  control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

Status perform(Device& device, const SystemsParameters& p, Control& control) {
  std::string reason;
  if (!device.host_memory()) return Status(Code::unsupported, "LAPACK runs on the host");
  if (!lapack_available(&reason)) return Status(Code::unavailable, reason);
  return p.type == ScalarType::float64 ? solve<double>(p, lapack().real, control)
                                       : solve<float>(p, lapack().single, control);
}

}  // namespace

const Peer& lapack_peer() {
  static const Peer peer{"bench.lapack", &PeerInvocation<SystemsParameters, &perform>::make, &lapack_available, true};
  return peer;
}

}  // namespace warploom::bench
