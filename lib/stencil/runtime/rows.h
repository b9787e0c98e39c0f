// Indices, and what is asked of a row of numbers.
#pragma once
#include <cstdint>
#include <cstring>

namespace wl_stencil {

inline int wrapped(int i, int n) {
  if (i >= 0 && i < n) return i;
  const int rest = i % n;
  return rest < 0 ? rest + n : rest;
}

constexpr int larger(int a, int b) { return a > b ? a : b; }
constexpr int smaller(int a, int b) { return a < b ? a : b; }

/// How numbers are made of bits: those of the exponent are all set where one is not finite.
template <class T>
struct Bits;
template <>
struct Bits<double> {
  using Word = uint64_t;
  using Ordered = int64_t;
  static constexpr Word exponent = 0x7ff0000000000000u;
};
template <>
struct Bits<float> {
  using Word = uint32_t;
  using Ordered = int32_t;
  static constexpr Word exponent = 0x7f800000u;
};

/// Whether numbers are finite: compilers turn this into vector code.
template <class T>
bool all_finite(const T* x, int count) {
  using Word = typename Bits<T>::Word;
  Word bad = 0;
  for (int i = 0; i < count; ++i) {
    Word bits;
    memcpy(&bits, x + i, sizeof(T));
    bad |= (Word)((bits & Bits<T>::exponent) == Bits<T>::exponent);
  }
  return bad == 0;
}

/// The largest of numbers that are not negative, and not NaN. Their bits are in the order of the numbers.
template <class T>
double largest(const T* x, int count) {
  using Ordered = typename Bits<T>::Ordered;
  Ordered most = 0;
  for (int i = 0; i < count; ++i) {
    Ordered bits;
    memcpy(&bits, x + i, sizeof(T));
    most = bits > most ? bits : most;
  }
  T made;
  memcpy(&made, &most, sizeof(T));
  return made;
}

}  // namespace wl_stencil
