// A register of points, with the names of cuda/core/portable.h. Compiled once per instruction set, in the namespace WARPLOOM_ISA,
// with WARPLOOM_VECTOR_BYTES the width of a register: include only from native/swept/isa_*.cpp, after every standard header.
//
// Every operation is that of portable.h in each lane, so that point functions have the same bits in vectors of any width.
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"

#ifndef WARPLOOM_ISA
#error "define WARPLOOM_ISA and WARPLOOM_VECTOR_BYTES first"
#endif
#define WARPLOOM_INLINE inline __attribute__((always_inline))

namespace warploom::cpu::WARPLOOM_ISA {

template <class R> struct RegisterOf;
template <> struct RegisterOf<float> {
  typedef float Lanes __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  typedef int32_t Bits __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  using Integer = int32_t;
};
template <> struct RegisterOf<double> {
  typedef double Lanes __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  typedef int64_t Bits __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  using Integer = int64_t;
};
template <class R>
inline constexpr int kWidth = WARPLOOM_VECTOR_BYTES / static_cast<int>(sizeof(R));

/// One truth value (0 or ~0) per lane.
template <class R>
struct Mask {
  typename RegisterOf<R>::Bits v;
};

template <class R>
struct Vector {
  using Lanes = typename RegisterOf<R>::Lanes;
  using Bits = typename RegisterOf<R>::Bits;
  Lanes v;
  Vector() = default;
  WARPLOOM_INLINE Vector(const Lanes& lanes) : v(lanes) {}
  WARPLOOM_INLINE explicit Vector(R value) : v(Lanes{} + value) {}
  /// From memory of any alignment.
  static WARPLOOM_INLINE Vector load(const R* from) {
    Lanes lanes;
    __builtin_memcpy(&lanes, from, sizeof(lanes));
    return lanes;
  }
  WARPLOOM_INLINE void store(R* to) const { __builtin_memcpy(to, &v, sizeof(v)); }
};

// clang-format off
#define WARPLOOM_BINARY(Result, Operand, name, expression) \
  template <class R> WARPLOOM_INLINE Result<R> name(const Operand<R>& a, const Operand<R>& b) { return {expression}; }
#define WARPLOOM_UNARY(Result, Operand, name, expression) \
  template <class R> WARPLOOM_INLINE Result<R> name(const Operand<R>& a) { return {expression}; }
WARPLOOM_BINARY(Vector, Vector, operator+, a.v + b.v)
WARPLOOM_BINARY(Vector, Vector, operator-, a.v - b.v)
WARPLOOM_BINARY(Vector, Vector, operator*, a.v * b.v)
WARPLOOM_BINARY(Vector, Vector, operator/, a.v / b.v)
WARPLOOM_BINARY(Mask, Vector, operator<, a.v < b.v)
WARPLOOM_BINARY(Mask, Vector, operator>, a.v > b.v)
WARPLOOM_BINARY(Mask, Vector, operator>=, a.v >= b.v)
WARPLOOM_BINARY(Mask, Mask, operator&, a.v & b.v)
WARPLOOM_BINARY(Mask, Mask, operator|, a.v | b.v)
WARPLOOM_UNARY(Vector, Vector, operator-, -a.v)
#undef WARPLOOM_BINARY
#undef WARPLOOM_UNARY
// clang-format on

template <class R>
WARPLOOM_INLINE Vector<R> select(const Mask<R>& mask, const Vector<R>& a, const Vector<R>& b) {
  return mask.v ? a.v : b.v;
}
template <class R>
WARPLOOM_INLINE Vector<R> absolute(const Vector<R>& a) {
  using Integer = typename RegisterOf<R>::Integer;
  constexpr Integer kClear = static_cast<Integer>(~(Integer(1) << (8 * sizeof(R) - 1)));
  return (typename Vector<R>::Lanes)((typename Vector<R>::Bits)a.v & kClear);
}

}  // namespace warploom::cpu::WARPLOOM_ISA
