// CR-RegPack exactly as in its paper (Davidson, Owens 2011, section 4, figure 4). A thread keeps kDepth neighbouring
// rows in registers. In every stage it writes its row r_save (r0, r1, r3 …) to shared memory and, after a barrier,
// updates its last row, r_update, with the next thread's saved row. The last log2(threads) stages are cyclic reduction
// in shared memory. One system per block. It exists for measurements: how many words a stage moves through shared
// memory.
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::bench {

/// a x[i-1] + b x[i] + c x[i+1] = d, and how the paper eliminates x[i-1] and x[i+1] with their own rows.
template <class T>
struct PaperRow {
  T a, b, c, d;

  WARPLOOM_DEVICE void take_left(const PaperRow& left) {
    const T k1 = a / left.b;
    a = -k1 * left.a;
    b = device::fma(-k1, left.c, b);
    d = device::fma(-k1, left.d, d);
  }
  WARPLOOM_DEVICE void take_right(const PaperRow& right) {
    const T k2 = c / right.b;
    c = -k2 * right.c;
    b = device::fma(-k2, right.a, b);
    d = device::fma(-k2, right.d, d);
  }
};

template <class T, int kDepth>
struct PaperRegpackAgent {
  using Row = PaperRow<T>;
  static constexpr int kMaxThreads = kDepth == 4 && sizeof(T) == 4 ? 1024 : kDepth == 16 && sizeof(T) == 8 ? 256 : 512;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    const T *lower, *diagonal, *upper, *rhs;
    T* solution;
    int64_t n;
  };
  /// Two rows per thread, so that one stage can write while the previous one is still being read.
  static size_t shared_bytes(int threads) { return size_t{8} * sizeof(T) * threads; }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int thread = block.thread(), threads = block.threads();
    const int64_t first = block.index() * p.n + int64_t{thread} * kDepth;
    Row rows[kDepth];
    load(p, first, rows);
    if (thread == 0) rows[0].a = T(0);
    if (thread + 1 == threads) rows[kDepth - 1].c = T(0);
    Shared turn(block.shared<T>(), threads), next(block.shared<T>() + 4 * threads, threads);
    down<1>(block, rows, turn, next);
    turn.set(thread, rows[kDepth - 1]);
    block.sync();
    reduce_threads(block, turn);
    rows[kDepth - 1].d = turn.d[thread];
    up<kDepth / 2>(rows, thread > 0 ? turn.d[thread - 1] : T(0));
    store(p, first, rows);
  }

 private:
  using Pack = device::Pack<T>;

  /// One row of every thread.
  struct Shared {
    T *a, *b, *c, *d;
    WARPLOOM_DEVICE Shared(T* memory, int threads)
        : a(memory), b(a + threads), c(b + threads), d(c + threads) {}
    WARPLOOM_DEVICE Row get(int i) const { return {a[i], b[i], c[i], d[i]}; }
    WARPLOOM_DEVICE void set(int i, const Row& row) const {
      a[i] = row.a;
      b[i] = row.b;
      c[i] = row.c;
      d[i] = row.d;
    }
  };

  static WARPLOOM_DEVICE void load(const Parameters& p, int64_t first, Row (&rows)[kDepth]) {
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; j += Pack::kCount) {
      const Pack a = *reinterpret_cast<const Pack*>(p.lower + first + j);
      const Pack b = *reinterpret_cast<const Pack*>(p.diagonal + first + j);
      const Pack c = *reinterpret_cast<const Pack*>(p.upper + first + j);
      const Pack d = *reinterpret_cast<const Pack*>(p.rhs + first + j);
      WARPLOOM_UNROLL
      for (int e = 0; e < Pack::kCount; ++e) rows[j + e] = {a.item[e], b.item[e], c.item[e], d.item[e]};
    }
  }
  static WARPLOOM_DEVICE void store(const Parameters& p, int64_t first, const Row (&rows)[kDepth]) {
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; j += Pack::kCount) {
      Pack pack;
      WARPLOOM_UNROLL
      for (int e = 0; e < Pack::kCount; ++e) pack.item[e] = rows[j + e].d;
      *reinterpret_cast<Pack*>(p.solution + first + j) = pack;
    }
  }

  /// The stages in registers, with strides kStride, 2 kStride, … kDepth / 2.
  template <int kStride>
  static WARPLOOM_DEVICE void down(const device::Block& block, Row (&rows)[kDepth], Shared& turn, Shared& next) {
    if constexpr (kStride < kDepth) {
      const int thread = block.thread();
      turn.set(thread, rows[kStride - 1]);
      block.sync();
      WARPLOOM_UNROLL
      for (int r = 2 * kStride - 1; r < kDepth; r += 2 * kStride) {
        const Row left = rows[r - kStride];
        rows[r].take_left(left);
        if (r + 1 < kDepth) {
          const Row right = rows[r + kStride < kDepth ? r + kStride : 0];
          rows[r].take_right(right);
        } else if (thread + 1 < block.threads()) {
          rows[r].take_right(turn.get(thread + 1));
        }
      }
      const Shared swap = turn;
      turn = next;
      next = swap;
      down<2 * kStride>(block, rows, turn, next);
    }
  }

  /// Cyclic reduction of one row per thread; leaves the unknowns in d.
  static WARPLOOM_DEVICE void reduce_threads(const device::Block& block, const Shared& shared) {
    const int thread = block.thread(), threads = block.threads();
    int stride = 1;
    for (; 2 * stride <= threads; stride *= 2) {
      const int i = (thread + 1) * 2 * stride - 1;
      if (i < threads) {
        Row row = shared.get(i);
        row.take_left(shared.get(i - stride));
        if (i + stride < threads) row.take_right(shared.get(i + stride));
        shared.set(i, row);
      }
      block.sync();
    }
    for (; stride >= 1; stride /= 2) {
      const int i = thread * 2 * stride + stride - 1;
      if (i < threads) {
        T value = shared.d[i];
        if (i >= stride) value = device::fma(-shared.a[i], shared.d[i - stride], value);
        if (i + stride < threads) value = device::fma(-shared.c[i], shared.d[i + stride], value);
        shared.d[i] = value / shared.b[i];
      }
      block.sync();
    }
  }

  /// The substitution in registers. `before`: the last unknown of the previous thread. Every thread's own last unknown
  /// is known.
  template <int kStride>
  static WARPLOOM_DEVICE void up(Row (&rows)[kDepth], const T& before) {
    if constexpr (kStride >= 1) {
      WARPLOOM_UNROLL
      for (int r = kStride - 1; r < kDepth; r += 2 * kStride) {
        const T left = r >= kStride ? rows[r >= kStride ? r - kStride : 0].d : before;
        const T sum = device::fma(-rows[r].c, rows[r + kStride].d, device::fma(-rows[r].a, left, rows[r].d));
        rows[r].d = sum / rows[r].b;
      }
      up<kStride / 2>(rows, before);
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::bench
