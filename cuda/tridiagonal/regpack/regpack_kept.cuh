// A lane's original rows, kept while they are solved, so that its answers can be measured with them.
#pragma once
#include "cuda/tridiagonal/inputs.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// In shared memory, separate for every thread: no barrier. 65536 systems of 512 rows take 178 us (float64 385), with
/// rows in registers 199 (395).
template <class T, int kDepth>
struct KeptRows {
  static constexpr bool kIdentityBeyond = true;
  using Pack = device::Pack<T>;
  static constexpr int kChunks = kDepth / Pack::kCount;
  static constexpr size_t kThreadBytes = 4 * kDepth * sizeof(T);
  /// The calling thread's place; neighbouring threads are adjacent, so that there are no bank conflicts.
  Pack* place;
  int threads;

  /// `rows` as loaded: zero outside the matrix, x = 1 beyond the system.
  template <class Rows>
  WARPLOOM_DEVICE void keep(const device::Block& block, unsigned char* memory, const Rows& rows) {
    place = reinterpret_cast<Pack*>(memory) + block.thread();
    threads = block.threads();
    write(0, rows.a);
    write(1, rows.b);
    write(2, rows.c);
    write(3, rows.d);
  }
  WARPLOOM_DEVICE void write(int v, const T (&values)[kDepth]) {
    WARPLOOM_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      Pack pack;
      WARPLOOM_UNROLL
      for (int k = 0; k < Pack::kCount; ++k) pack.item[k] = values[c * Pack::kCount + k];
      place[(v * kChunks + c) * threads] = pack;
    }
  }
  WARPLOOM_DEVICE T at(int v, int j) const { return place[(v * kChunks + j / Pack::kCount) * threads].item[j % Pack::kCount]; }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
