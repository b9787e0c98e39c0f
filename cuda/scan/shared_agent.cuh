// Scan with one element per thread, all through shared memory (Davidson & Owens 2011, Fig. 2a), for comparison with
// register packing. Each stage halves the number of working threads.
#pragma once
#include "cuda/scan/prefix_task.cuh"

namespace warploom::WARPLOOM_TARGET::scan {

template <class T>
struct SharedAgent {
  static constexpr int kMaxThreads = 1024;
  static constexpr int kMinBlocks = 1;
  using Parameters = Task<T>;

  static size_t shared_bytes(int threads) { return static_cast<size_t>(threads) * (sizeof(T) + sizeof(uint8_t)); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Span span = span_of(p, block.count() - 1 - block.index(), block.threads());
    const int thread = block.thread(), width = 1 << p.row_shift;
    const int j = thread & (width - 1);
    const int64_t n = p.tiles == 1 ? p.n : span.count;
    const int64_t at = (thread >> p.row_shift) * n + j;  // position in the span
    const bool inside = j < n && at < span.count;
    T* const value = block.shared<T>() + (thread - j);
    uint8_t* const flag = block.shared<uint8_t>(sizeof(T) * static_cast<size_t>(block.threads())) + (thread - j);
    const bool head = inside && p.flags != nullptr && p.flags[span.begin + at] != 0;
    value[j] = inside ? p.values[span.begin + at] : neutral<T>(p.op);
    flag[j] = head ? 1 : 0;
    block.sync();
    for (int stride = 1; stride < width; stride *= 2) {  // downsweep
      if ((j & (2 * stride - 1)) == 2 * stride - 1) join(p.op, value, flag, j, j - stride);
      block.sync();
    }
    for (int stride = width / 4; stride >= 1; stride /= 2) {  // and back: the results in between
      if ((j & (2 * stride - 1)) == stride - 1 && j >= 2 * stride) join(p.op, value, flag, j, j - stride);
      block.sync();
    }
    if (!inside) return;
    const T carry = p.carry != nullptr && !span.first ? p.carry[span.block - 1] : neutral<T>(p.op);
    const int source = p.exclusive ? j - 1 : j;
    T result = source < 0 ? carry : flag[source] != 0 ? value[source] : combine(p.op, carry, value[source]);
    if (p.exclusive) result = exclusive_value(p.op, head ? neutral<T>(p.op) : result);
    p.result[span.begin + at] = result;
  }

 private:
  static WARPLOOM_DEVICE void join(Operator op, T* value, uint8_t* flag, int i, int left) {
    if (flag[i] == 0) value[i] = combine(op, value[left], value[i]);
    flag[i] |= flag[left];
  }
};

}  // namespace warploom::WARPLOOM_TARGET::scan
