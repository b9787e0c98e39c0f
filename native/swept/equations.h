// The equations with vectors for numbers: the coefficients of a call in every lane.
#pragma once
#include "cuda/swept/domain.h"
#include "cuda/swept/euler.h"
#include "cuda/swept/heat.h"
#include "cuda/swept/kuramoto_sivashinsky.h"
#include "native/cpu/vector.h"

namespace warploom::cpu::WARPLOOM_ISA {

using ::warploom::swept::Euler;
using ::warploom::swept::Heat;
using ::warploom::swept::KuramotoSivashinsky;
using ::warploom::swept::Source;

/// Does in each lane what cuda/swept/positive.h does.
template <class R>
WARPLOOM_INLINE Mask<R> both_positive(const Vector<R>& a, const Vector<R>& b) {
  const Vector<R> least(portable::Range<R>::kLeast);
  return (a >= least) & (b >= least);
}

/// Makes a kernel's equation from the call's coefficients; those of Euler may carry any limiter.
template <class E>
WARPLOOM_INLINE E equation_at(const void* passed) {
  E equation;
  if constexpr (E::kEquation == ::warploom::swept::Equation::euler) {
    static_assert(sizeof(E) == sizeof(Euler<typename E::Real>), "the limiter is no part of the coefficients");
  }
  __builtin_memcpy(&equation, passed, sizeof(E));
  return equation;
}

/// The equation E with the number type V, and the conversion of its coefficients to V.
template <class E, class V> struct With;
template <class R, class V> struct With<Heat<R>, V> {
  using Type = Heat<V>;
  static WARPLOOM_INLINE Type make(const Heat<R>& e) { return {V(e.fourier), V(e.centre)}; }
};
template <class R, class V> struct With<KuramotoSivashinsky<R>, V> {
  using Type = KuramotoSivashinsky<V>;
  using From = typename KuramotoSivashinsky<R>::Coefficients;
  static WARPLOOM_INLINE typename Type::Coefficients make(const From& c) {
    return {V(c.centre), V(c.near), V(c.far), V(c.product)};
  }
  static WARPLOOM_INLINE Type make(const KuramotoSivashinsky<R>& e) { return {make(e.predictor), make(e.corrector)}; }
};
template <class R, int kLimiter, class V> struct With<Euler<R, kLimiter>, V> {
  using Type = Euler<V, kLimiter>;
  static WARPLOOM_INLINE Type make(const Euler<R, kLimiter>& e) { return e.template with<V>(); }
};

}  // namespace warploom::cpu::WARPLOOM_ISA
