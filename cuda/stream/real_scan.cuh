// Scans of recurrences of floats, where another order of sums is allowed. See scans.cuh.
#pragma once
#include "cuda/stream/fused.cuh"

namespace warploom::WARPLOOM_TARGET::stream {

/// What brings a number into a range whose length is a power of two: x ← low + ((x - low) & mask). With all bits in the mask, nothing.
struct Wrap {
  int low;
  unsigned int mask;
};

/// x ← x + b, or x ← A x + b, in floats (words: b, then A row by row). Sums are made in another order than one firing after the other
/// would, so blocks must put their records together in one order, whatever their number: see begin_scans.
template <int kSize, bool kIsPlain>
struct RealScan {
  static constexpr int kWords = kIsPlain ? kSize : kSize + kSize * kSize, kSlots = kSize, kStride = kWords;
  static constexpr bool kIsOrdered = true;
  struct Record { int word[kWords]; };
  static WARPLOOM_DEVICE float real(int word) {
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
  }
  static WARPLOOM_DEVICE int word(float x) {
    int made;
    memcpy(&made, &x, sizeof made);
    return made;
  }
  static WARPLOOM_DEVICE Record identity() {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kWords; ++i) made.word[i] = word(i >= kSize && (i - kSize) / kSize == (i - kSize) % kSize ? 1.0f : 0.0f);
    return made;
  }
  static WARPLOOM_DEVICE Record compose(const Record& first, const Record& then) {
    Record made;
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) {
      if constexpr (kIsPlain) {
        made.word[i] = word(real(first.word[i]) + real(then.word[i]));
      } else {
        const int* row = then.word + kSize + i * kSize;
        float b = real(then.word[i]);
        WARPLOOM_UNROLL
        for (int k = 0; k < kSize; ++k) b = b + real(row[k]) * real(first.word[k]);
        made.word[i] = word(b);
        WARPLOOM_UNROLL
        for (int j = 0; j < kSize; ++j) {
          float a = real(row[0]) * real(first.word[kSize + j]);
          WARPLOOM_UNROLL
          for (int k = 1; k < kSize; ++k) a = a + real(row[k]) * real(first.word[kSize + k * kSize + j]);
          made.word[kSize + i * kSize + j] = word(a);
        }
      }
    }
    return made;
  }
  static WARPLOOM_DEVICE void apply(const Record& r, const Wrap&, int* x) {
    int made[kSize];
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) {
      float b = real(r.word[i]);
      if (kIsPlain) b = b + real(x[i]);
      WARPLOOM_UNROLL
      for (int k = 0; !kIsPlain && k < kSize; ++k) b = b + real(r.word[kSize + i * kSize + k]) * real(x[k]);
      made[i] = word(b);
    }
    WARPLOOM_UNROLL
    for (int i = 0; i < kSize; ++i) x[i] = made[i];
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stream
