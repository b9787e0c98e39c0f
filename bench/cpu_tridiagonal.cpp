// Times the cpu backend's tridiagonal.solve beside the machine's copy rate and LAPACK gtsv (from
// OpenBLAS or the reference library, where installed), one call per system on as many threads.
//
//   g++ -std=c++17 -O3 -ffp-contract=off -I. bench/cpu_tridiagonal.cpp native/cpu/*.cpp
//       native/tridiagonal/*.cpp native/scan/*.cpp cuda/core/*.cpp cuda/tridiagonal/*.cpp cuda/linear/*.cpp cuda/scan/*.cpp -lpthread -ldl
//   ./a.out [systems rows [threads [rounds]]]
//
// Every row is measured once per round, so that a busy moment of the machine meets all of them alike.
// One line per row: name, milliseconds (median; least), GB/s of the arrays it moves, and its share of the
// copy rate (medians; least times). LAPACK's figure beside them is time over the time of `auto`.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <random>
#include <vector>

#include "cuda/core/view.h"
#include "cuda/tridiagonal/solve.h"
#include "native/cpu/device.h"

namespace {

using namespace warploom;
namespace tri = warploom::tridiagonal;

/// What is timed, and what puts its arrays in order before each time.
struct Row {
  const char* name;
  double arrays_moved;
  std::function<void()> body, prepare = [] {};
  std::vector<double> seconds = {};

  double least() const { return *std::min_element(seconds.begin(), seconds.end()); }
  double median() const {
    std::vector<double> sorted = seconds;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

void measure(std::vector<Row>& rows, int rounds) {
  for (int round = -1; round < rounds; ++round) {  // the first warms up
    for (Row& row : rows) {
      row.prepare();
      const auto start = std::chrono::steady_clock::now();
      row.body();
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      if (round >= 0) row.seconds.push_back(elapsed.count());
    }
  }
}

[[noreturn]] void fail(const Status& status) {
  std::fprintf(stderr, "%s %s\n", status.argument().c_str(), status.message().c_str());
  std::exit(1);
}
void require(const Status& status) {
  if (!status.ok()) fail(status);
}

using Gtsv32 = void(const int*, const int*, float*, float*, float*, float*, const int*, int*);
using Gtsv64 = void(const int*, const int*, double*, double*, double*, double*, const int*, int*);

void* lapack_symbol(const char* name) {
  for (const char* library : {"libopenblas.so.0", "liblapack.so.3"}) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    if (void* set = dlsym(handle, "openblas_set_num_threads")) {
      reinterpret_cast<void (*)(int)>(set)(1);
    }
    if (void* symbol = dlsym(handle, name)) return symbol;
  }
  return nullptr;
}

template <class T>
struct Arrays {
  cpu::CpuDevice& device;
  int64_t systems, n;
  T* band[5];  // lower, diagonal, upper, rhs, solution

  Arrays(cpu::CpuDevice& cpu, int64_t systems_, int64_t n_) : device(cpu), systems(systems_), n(n_) {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<T> uniform(-1, 1);
    for (T*& array : band) {
      void* memory = nullptr;
      require(device.allocate(bytes(), &memory));
      array = static_cast<T*>(memory);
      for (int64_t i = 0; i < systems * n; ++i) array[i] = uniform(random);
    }
    for (int64_t i = 0; i < systems * n; ++i) band[1][i] += band[1][i] < 0 ? T(-3) : T(3);
  }
  int64_t bytes() const { return systems * n * int64_t(sizeof(T)); }

  tri::SolveParameters parameters(bool interleaved) const {
    tri::SolveParameters p;
    p.type = sizeof(T) == 4 ? ScalarType::float32 : ScalarType::float64;
    p.n = n;
    p.batch = systems;
    View* const views[] = {&p.lower, &p.diagonal, &p.upper, &p.rhs, &p.solution};
    for (int k = 0; k < 5; ++k) {
      *views[k] = dense_view(band[k], systems * n, {systems, n});
      if (interleaved) views[k]->strides[0] = 1, views[k]->strides[1] = systems;
    }
    return p;
  }
};

template <class T>
struct Bench {
  cpu::CpuDevice& device;
  Arrays<T> arrays;
  std::vector<Row> rows = {};

  void solve(const char* name, const std::function<void(tri::SolveParameters*)>& change,
             bool interleaved = false, double arrays_moved = 5) {
    tri::SolveParameters p = arrays.parameters(interleaved);
    change(&p);
    require(tri::check(p));
    rows.push_back({name, arrays_moved, [this, p] {
      Control control;
      require(cpu_backend().operations.tridiagonal_solve(device, p, control));
    }});
  }
  void lapack(Arrays<T>& work) {
    constexpr bool single = sizeof(T) == 4;
    using Gtsv = std::conditional_t<single, Gtsv32, Gtsv64>;
    auto* gtsv = reinterpret_cast<Gtsv*>(lapack_symbol(single ? "sgtsv_" : "dgtsv_"));
    if (gtsv == nullptr) {
      std::printf("lapack gtsv: no library\n");
      return;
    }
    const auto solve_part = [this, &work, gtsv](int64_t first, int64_t end) {
      const int n = int(arrays.n), one = 1;
      for (int64_t s = first; s < end; ++s) {
        const int64_t at = s * arrays.n;
        int info = 0;
        gtsv(&n, &one, work.band[0] + at + 1, work.band[1] + at, work.band[2] + at, work.band[3] + at, &n,
             &info);
      }
    };
    const auto body = [this, solve_part] {
      const int64_t part = 64, tasks = (arrays.systems + part - 1) / part;
      Control control;
      require(device.threads().run(tasks, [&](int64_t task, int) {
        solve_part(task * part, std::min(arrays.systems, (task + 1) * part));
        return Status();
      }, control));
    };
    rows.push_back({"lapack gtsv", 5, body, [this, &work] {
      for (int k = 0; k < 4; ++k) std::memcpy(work.band[k], arrays.band[k], size_t(arrays.bytes()));
    }});
  }
  void print() const {
    const auto rate = [this](const Row& row, double seconds) {
      return row.arrays_moved * double(arrays.bytes()) / seconds;
    };
    const Row &copy = rows[0], &best = rows[1];
    for (const Row& row : rows) {
      const double median = row.median(), least = row.least();
      std::printf("%-28s %9.3f ms (least %9.3f) %7.2f GB/s  %5.1f; %5.1f %% of copy", row.name, median * 1e3,
                  least * 1e3, rate(row, median) * 1e-9, 100 * rate(row, median) / rate(copy, copy.median()),
                  100 * rate(row, least) / rate(copy, copy.least()));
      if (&row == &rows.back()) {
        std::printf(", %.2f; %.2f times auto", median / best.median(), least / best.least());
      }
      std::printf("\n");
    }
  }
  void all(int rounds) {
    using P = tri::SolveParameters;
    rows.push_back({"copy", 2, [this] {
      require(device.copy(arrays.band[4], arrays.band[3], arrays.bytes()));
    }});
    solve("auto", [](P*) {});
    solve("auto, interleaved", [](P*) {}, true);
    solve("auto, in place", [](P* p) { p->solution = p->rhs; });
    solve("auto, check", [](P* p) { p->check = true; });
    solve("auto, shared matrix", [](P* p) {
      p->lower.strides[0] = p->diagonal.strides[0] = p->upper.strides[0] = 0;
    }, false, 2);
    solve("stable", [](P* p) { p->stable = true; });
    solve("cr", [](P* p) { p->algorithm = tri::Algorithm::cr; });
    solve("partition", [](P* p) { p->algorithm = tri::Algorithm::partition; });
    solve("periodic", [](P* p) { p->periodic = true; });
    Arrays<T> work(device, arrays.systems, arrays.n);
    lapack(work);
    measure(rows, rounds);
    print();
  }
};

}  // namespace

int main(int count, char** arguments) {
  const auto argument = [&](int index, int64_t otherwise) {
    return count > index ? std::atoll(arguments[index]) : otherwise;
  };
  OpenOptions options;
  options.threads = int32_t(argument(3, 0));
  std::unique_ptr<Device> device;
  require(cpu_backend().open(0, options, &device));
  auto& cpu = static_cast<cpu::CpuDevice&>(*device);
  const int64_t systems = argument(1, 20000), n = argument(2, 512);
  const int rounds = int(argument(4, 9));
  std::printf("%s, %d threads\n%lld x %lld float64\n", device->description().name.c_str(),
              cpu.thread_count(), static_cast<long long>(systems), static_cast<long long>(n));
  Bench<double>{cpu, {cpu, systems, n}}.all(rounds);
  std::printf("%lld x %lld float32\n", static_cast<long long>(systems), static_cast<long long>(n));
  Bench<float>{cpu, {cpu, systems, n}}.all(rounds);
  return 0;
}
