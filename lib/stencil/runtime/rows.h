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

/// Whether numbers are finite: compilers turn this into vector code.
inline bool all_finite(const double* x, int count) {
  uint64_t bad = 0;
  for (int i = 0; i < count; ++i) {
    uint64_t bits;
    memcpy(&bits, x + i, 8);
    bad |= (uint64_t)((bits & 0x7ff0000000000000u) == 0x7ff0000000000000u);
  }
  return bad == 0;
}
inline bool all_finite(const float* x, int count) {
  uint32_t bad = 0;
  for (int i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, x + i, 4);
    bad |= (uint32_t)((bits & 0x7f800000u) == 0x7f800000u);
  }
  return bad == 0;
}

/// The largest of numbers that are not negative, and not NaN. Their bits are in the order of the numbers.
inline double largest(const double* x, int count) {
  int64_t most = 0;
  for (int i = 0; i < count; ++i) {
    int64_t bits;
    memcpy(&bits, x + i, 8);
    most = bits > most ? bits : most;
  }
  double made;
  memcpy(&made, &most, 8);
  return made;
}
inline double largest(const float* x, int count) {
  int32_t most = 0;
  for (int i = 0; i < count; ++i) {
    int32_t bits;
    memcpy(&bits, x + i, 4);
    most = bits > most ? bits : most;
  }
  float made;
  memcpy(&made, &most, 4);
  return made;
}

}  // namespace wl_stencil
