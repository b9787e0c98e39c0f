// A lane's rows as they were given, kept while they are solved, so that its answers can be measured by them.
#pragma once
#include "cuda/tridiagonal/inputs.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

enum class Keep {
  nothing,
  registers,
  shared,  ///< in shared memory, every thread its own: no barrier
};

template <class T, int kDepth, Keep kKeep>
struct KeptRows {
  static constexpr size_t kThreadBytes = 0;
};

template <class T, int kDepth>
struct KeptRows<T, kDepth, Keep::registers> {
  static constexpr size_t kThreadBytes = 0;
  T array[4][kDepth];

  /// `rows` as they are taken: zero outside of the matrix.
  template <class Rows>
  WARPLOOM_DEVICE void keep(const device::Block&, unsigned char*, const Rows& rows) {
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      array[0][j] = rows.a[j];
      array[1][j] = rows.b[j];
      array[2][j] = rows.c[j];
      array[3][j] = rows.d[j];
    }
  }
  WARPLOOM_DEVICE T at(int v, int j) const { return array[v][j]; }
  WARPLOOM_DEVICE T any(int v, int j) const {
    T value = array[v][0];
    WARPLOOM_UNROLL
    for (int k = 1; k < kDepth; ++k) value = k == j ? array[v][k] : value;
    return value;
  }
};

template <class T, int kDepth>
struct KeptRows<T, kDepth, Keep::shared> {
  using Pack = device::Pack<T>;
  static constexpr int kChunks = kDepth / Pack::kCount;
  static constexpr size_t kThreadBytes = 4 * kDepth * sizeof(T);
  Pack* place;  ///< of the calling thread: neighbours next to it, so that there are no bank conflicts
  int threads;

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
  WARPLOOM_DEVICE T at(int v, int j) const { return any(v, j); }
  WARPLOOM_DEVICE T any(int v, int j) const { return place[(v * kChunks + j / Pack::kCount) * threads].item[j % Pack::kCount]; }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
