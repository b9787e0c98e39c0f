// Several right-hand sides of one matrix, eliminated together.
#pragma once
#include "cuda/core/complex.cuh"

namespace warploom::WARPLOOM_TARGET {

/// One row of kCount right-hand sides, or of their unknowns.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Sides {
  T item[kCount];
};

template <class T, int kCount>
WARPLOOM_DEVICE Sides<T, kCount> operator-(const Sides<T, kCount>& a) {
  Sides<T, kCount> result;
  WARPLOOM_UNROLL
  for (int k = 0; k < kCount; ++k) result.item[k] = -a.item[k];
  return result;
}
template <class T, int kCount>
WARPLOOM_DEVICE Sides<T, kCount> operator*(const Sides<T, kCount>& a, const T& b) {
  Sides<T, kCount> result;
  WARPLOOM_UNROLL
  for (int k = 0; k < kCount; ++k) result.item[k] = a.item[k] * b;
  return result;
}

/// Takes the place of right-hand sides when only a matrix is eliminated.
struct NoSide {};
WARPLOOM_DEVICE NoSide operator-(NoSide) { return {}; }
template <class T>
WARPLOOM_DEVICE NoSide operator*(NoSide, const T&) { return {}; }

namespace device {

template <class T>
WARPLOOM_DEVICE NoSide fma(const T&, NoSide, NoSide) { return {}; }

template <class T, int kCount>
WARPLOOM_DEVICE Sides<T, kCount> fma(const T& a, const Sides<T, kCount>& b, const Sides<T, kCount>& c) {
  Sides<T, kCount> result;
  WARPLOOM_UNROLL
  for (int k = 0; k < kCount; ++k) result.item[k] = fma(a, b.item[k], c.item[k]);
  return result;
}
template <class T, int kCount>
WARPLOOM_DEVICE bool is_finite(const Sides<T, kCount>& a) {
  bool result = true;
  WARPLOOM_UNROLL
  for (int k = 0; k < kCount; ++k) result = result & is_finite(a.item[k]);
  return result;
}

}  // namespace device
}  // namespace warploom::WARPLOOM_TARGET
