// A lane's rows as they were given, kept while they are solved, so that its answers can be measured by them.
#pragma once
#include "cuda/tridiagonal/inputs.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// In shared memory, every thread its own: no barrier. 65536 systems of 512 rows take 178 us (float64 385), in registers 199 (395).
template <class T, int kDepth>
struct KeptRows {
  static constexpr bool kIdentityBeyond = true;
  using Pack = device::Pack<T>;
  static constexpr int kChunks = kDepth / Pack::kCount;
  static constexpr size_t kThreadBytes = 4 * kDepth * sizeof(T);
  Pack* place;  ///< of the calling thread: neighbours next to it, so that there are no bank conflicts
  int threads;

  /// `rows` as they are taken: zero outside of the matrix, x = 1 beyond the system.
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
