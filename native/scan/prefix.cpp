// scan.prefix on the cpu backend: fixed-size chunks on all cores, so that results depend on n alone.
#include "cuda/scan/prefix.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "cuda/core/operations.h"
#include "native/cpu/device.h"

namespace warploom::cpu {
namespace {

using ::warploom::scan::Operator;
using ::warploom::scan::PrefixParameters;

constexpr int64_t kChunk = int64_t{1} << 16;  ///< elements; longer rows are scanned in chunks

template <class T, Operator kOp>
struct Monoid {
  static T neutral() {
    if (kOp == Operator::sum) return T(-0.0);  // bit-exact: +0 would turn -0 into +0
    if (kOp == Operator::product) return T(1);
    return -std::numeric_limits<T>::infinity();
  }
  static T combine(T a, T b) {
    if (kOp == Operator::sum) return a + b;
    if (kOp == Operator::product) return a * b;
    return a > b || a != a ? a : b;
  }
  static T exclusive(T value) { return kOp == Operator::sum ? value + T(0) : value; }
};

template <class T, Operator kOp>
class PrefixScan {
 public:
  explicit PrefixScan(const PrefixParameters& p)
      : values_(static_cast<const T*>(p.values.data) + p.values.offset),
        result_(static_cast<T*>(p.result.data) + p.result.offset),
        flags_(p.flags.data), n_(p.n), batch_(p.batch), exclusive_(p.exclusive),
        chunks_((p.n + kChunk - 1) / kChunk) {}

  /// Bytes for the totals of chunks.
  static int64_t workspace(const PrefixParameters& p) {
    const int64_t chunks = (p.n + kChunk - 1) / kChunk;
    return chunks > 1 ? p.batch * chunks * static_cast<int64_t>(sizeof(T) + 1) : 0;
  }

  Status run(CpuDevice& device, void* memory, Control& control) {
    if (chunks_ <= 1) return run_rows(device, control);
    totals_ = static_cast<T*>(memory);
    marks_ = reinterpret_cast<uint8_t*>(totals_ + batch_ * chunks_);
    const int64_t tasks = batch_ * chunks_;
    const double all = static_cast<double>(2 * tasks);
    WARPLOOM_TRY(device.threads().run(tasks, [this](int64_t task, int) { return reduce(task); }, control, 0, all));
    for (int64_t row = 0; row < batch_; ++row) chain(row);
    return device.threads().run(tasks, [this](int64_t task, int) { return chunk(task); }, control,
                                static_cast<double>(tasks), all);
  }

 private:
  using M = Monoid<T, kOp>;

  Status run_rows(CpuDevice& device, Control& control) {
    const int64_t per_task = std::max<int64_t>(1, kChunk / n_);
    const int64_t tasks = (batch_ + per_task - 1) / per_task;
    return device.threads().run(tasks, [&](int64_t task, int) {
      const int64_t end = std::min(batch_, (task + 1) * per_task);
      for (int64_t row = task * per_task; row < end; ++row) sweep(row * n_, n_, M::neutral());
      return Status();
    }, control);
  }

  /// Scans elements begin … begin+count-1, starting from `running`, the result of all elements before them.
  void sweep(int64_t begin, int64_t count, T running) const {
    const T* values = values_ + begin;
    T* result = result_ + begin;
    const uint8_t* flags = flags_ != nullptr ? flags_ + begin : nullptr;
    for (int64_t i = 0; i < count; ++i) {
      const T value = values[i];
      if (flags != nullptr && flags[i] != 0) running = M::neutral();
      if (exclusive_) result[i] = M::exclusive(running);
      running = M::combine(running, value);
      if (!exclusive_) result[i] = running;
    }
  }

  int64_t begin_of(int64_t task) const { return task / chunks_ * n_ + task % chunks_ * kChunk; }
  int64_t count_of(int64_t task) const { return std::min(kChunk, n_ - task % chunks_ * kChunk); }

  Status reduce(int64_t task) const {
    const int64_t begin = begin_of(task), count = count_of(task);
    int64_t start = 0;
    bool marked = false;
    for (int64_t i = count - 1; flags_ != nullptr && i >= 0 && !marked; --i) {
      marked = flags_[begin + i] != 0;
      if (marked) start = i;
    }
    T lane[8];
    std::fill(lane, lane + 8, M::neutral());
    int64_t i = start;
    for (; i + 8 <= count; i += 8) {
      for (int64_t l = 0; l < 8; ++l) lane[l] = M::combine(lane[l], values_[begin + i + l]);
    }
    T total = M::neutral();
    for (const T part : lane) total = M::combine(total, part);
    for (; i < count; ++i) total = M::combine(total, values_[begin + i]);
    totals_[task] = total;
    marks_[task] = marked ? 1 : 0;
    return {};
  }

  /// Replaces a row's chunk totals by the result of all elements before each chunk.
  void chain(int64_t row) const {
    T running = M::neutral();
    for (int64_t task = row * chunks_; task < (row + 1) * chunks_; ++task) {
      const T total = totals_[task];
      totals_[task] = running;
      running = marks_[task] != 0 ? total : M::combine(running, total);
    }
  }

  Status chunk(int64_t task) const {
    sweep(begin_of(task), count_of(task), totals_[task]);
    return {};
  }

  const T* values_;
  T* result_;
  const uint8_t* flags_;
  int64_t n_, batch_;
  bool exclusive_;
  int64_t chunks_;
  T* totals_ = nullptr;
  uint8_t* marks_ = nullptr;
};

template <class T, Operator kOp>
Status run_scan(CpuDevice& device, const PrefixParameters& p, Control& control) {
  const auto begin = std::chrono::steady_clock::now();
  Workspace workspace(device);
  const int64_t bytes = PrefixScan<T, kOp>::workspace(p);
  if (bytes > 0) WARPLOOM_TRY(workspace.reserve(bytes));
  WARPLOOM_TRY((PrefixScan<T, kOp>(p).run(device, workspace.as<void>(), control)));
  control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

template <class T>
Status run_type(CpuDevice& device, const PrefixParameters& p, Control& control) {
  switch (p.op) {
    case Operator::sum: return run_scan<T, Operator::sum>(device, p, control);
    case Operator::product: return run_scan<T, Operator::product>(device, p, control);
    default: return run_scan<T, Operator::max>(device, p, control);
  }
}

}  // namespace

Status scan_prefix(Device& device, const PrefixParameters& p, Control& control) {
  if (p.n == 0 || p.batch == 0) return {};
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  return p.type == ScalarType::float32 ? run_type<float>(cpu, p, control) : run_type<double>(cpu, p, control);
}

int64_t scan_prefix_workspace(const Device&, const PrefixParameters& p) {
  if (p.n == 0 || p.batch == 0) return 0;
  return p.type == ScalarType::float32 ? PrefixScan<float, Operator::sum>::workspace(p)
                                       : PrefixScan<double, Operator::sum>::workspace(p);
}

}  // namespace warploom::cpu
