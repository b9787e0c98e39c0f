// Arithmetic of the cosine transform, as templates over the number type: the same bits on every backend.
//
// Two real lines a and b of length n are processed as one complex line: a is the real part, b the imaginary part. Its
// points are reordered by place_of() (Makhoul 1980). The complex transform is a Stockham sequence of the radices below.
// separate() and join() convert between the spectrum of the reordered lines and the cosine coefficients of both:
//   C(k) = 2 sum_x f(x) cos(pi (2x + 1) k / (2n)),   f(x) = C(0)/(2n) + (1/n) sum_{k>0} C(k) cos(pi (2x + 1) k / (2n)).
#pragma once
#include "cuda/core/portable.h"

namespace warploom::imaging {

/// Aligned so that scalar pairs are loaded and stored as one.
template <class V>
struct alignas(sizeof(V) <= 8 ? 2 * sizeof(V) : alignof(V)) Pair {
  V re, im;
};

/// Where point x of a line goes in the reordered one: even points ascending, then odd points descending.
WARPLOOM_PORTABLE int place_of(int x, int n) { return (x & 1) != 0 ? n - 1 - (x >> 1) : x >> 1; }

template <class V>
WARPLOOM_PORTABLE Pair<V> sum(const Pair<V>& a, const Pair<V>& b) { return {a.re + b.re, a.im + b.im}; }
template <class V>
WARPLOOM_PORTABLE Pair<V> difference(const Pair<V>& a, const Pair<V>& b) { return {a.re - b.re, a.im - b.im}; }
/// a + factor * b.
template <class V>
WARPLOOM_PORTABLE Pair<V> plus_scaled(const Pair<V>& a, const V& factor, const Pair<V>& b) {
  using portable::fma;
  return {fma(factor, b.re, a.re), fma(factor, b.im, a.im)};
}
template <class V>
WARPLOOM_PORTABLE Pair<V> times(const Pair<V>& a, const V& re, const V& im) {
  using portable::fma;
  return {fma(a.re, re, -(a.im * im)), fma(a.re, im, a.im * re)};
}
/// a + i b and a - i b.
template <class V>
WARPLOOM_PORTABLE Pair<V> plus_turned(const Pair<V>& a, const Pair<V>& b) { return {a.re - b.im, a.im + b.re}; }
template <class V>
WARPLOOM_PORTABLE Pair<V> minus_turned(const Pair<V>& a, const Pair<V>& b) { return {a.re + b.im, a.im - b.re}; }

/// v[k] = sum_q v[q] exp(-2 pi i q k / kRadix), in place.
template <int kRadix>
struct Butterfly;

template <>
struct Butterfly<2> {
  template <class V>
  static WARPLOOM_PORTABLE void run(Pair<V>* v) {
    const Pair<V> a = v[0];
    v[0] = sum(a, v[1]);
    v[1] = difference(a, v[1]);
  }
};

template <>
struct Butterfly<3> {
  template <class V>
  static WARPLOOM_PORTABLE void run(Pair<V>* v) {
    const V root(0.86602540378443864676);
    const Pair<V> s = sum(v[1], v[2]), d = difference(v[1], v[2]);
    const Pair<V> middle = plus_scaled(v[0], V(-0.5), s), turned = {root * d.re, root * d.im};
    v[0] = sum(v[0], s);
    v[1] = minus_turned(middle, turned);
    v[2] = plus_turned(middle, turned);
  }
};

template <>
struct Butterfly<4> {
  template <class V>
  static WARPLOOM_PORTABLE void run(Pair<V>* v) {
    const Pair<V> a = sum(v[0], v[2]), b = difference(v[0], v[2]), c = sum(v[1], v[3]), d = difference(v[1], v[3]);
    v[0] = sum(a, c);
    v[1] = minus_turned(b, d);
    v[2] = difference(a, c);
    v[3] = plus_turned(b, d);
  }
};

template <>
struct Butterfly<5> {
  template <class V>
  static WARPLOOM_PORTABLE void run(Pair<V>* v) {
    const V c1(0.30901699437494742410), c2(-0.80901699437494742410), s1(0.95105651629515357212), s2(0.58778525229247312917);
    const Pair<V> a = sum(v[1], v[4]), b = sum(v[2], v[3]), c = difference(v[1], v[4]), d = difference(v[2], v[3]);
    const Pair<V> p = plus_scaled(plus_scaled(v[0], c1, a), c2, b), q = plus_scaled(plus_scaled(v[0], c2, a), c1, b);
    const Pair<V> zero = {V(0.0), V(0.0)};
    const Pair<V> r = plus_scaled(plus_scaled(zero, s1, c), s2, d), t = plus_scaled(plus_scaled(zero, s2, c), -s1, d);
    v[0] = sum(v[0], sum(a, b));
    v[1] = minus_turned(p, r);
    v[4] = plus_turned(p, r);
    v[2] = minus_turned(q, t);
    v[3] = plus_turned(q, t);
  }
};

template <>
struct Butterfly<8> {
  template <class V>
  static WARPLOOM_PORTABLE void run(Pair<V>* v) {
    const V root(0.70710678118654752440);
    Pair<V> even[4] = {v[0], v[2], v[4], v[6]}, odd[4] = {v[1], v[3], v[5], v[7]};
    Butterfly<4>::run(even);
    Butterfly<4>::run(odd);
    const Pair<V> one = odd[1], three = odd[3];
    odd[1] = {root * (one.re + one.im), root * (one.im - one.re)};
    odd[2] = {odd[2].im, -odd[2].re};
    odd[3] = {root * (three.im - three.re), -(root * (three.re + three.im))};
    v[0] = sum(even[0], odd[0]);
    v[1] = sum(even[1], odd[1]);
    v[2] = sum(even[2], odd[2]);
    v[3] = sum(even[3], odd[3]);
    v[4] = difference(even[0], odd[0]);
    v[5] = difference(even[1], odd[1]);
    v[6] = difference(even[2], odd[2]);
    v[7] = difference(even[3], odd[3]);
  }
};

/// Computes the cosine coefficients of both lines at k (`low`) and n - k (`high`) from the spectrum at the same places;
/// c + i s = exp(i pi k / 2n). At k = 0 pass the same value twice; then `high` is meaningless.
template <class V>
WARPLOOM_PORTABLE void separate(Pair<V>& low, Pair<V>& high, const V& c, const V& s) {
  using portable::fma;
  const V a_re = low.re + high.re, a_im = low.im - high.im, b_re = low.im + high.im, b_im = high.re - low.re;
  low = {fma(a_re, c, a_im * s), fma(b_re, c, b_im * s)};
  high = {fma(a_re, s, -(a_im * c)), fma(b_re, s, -(b_im * c))};
}

/// The reverse: returns the conjugate of the spectrum, times 2. `high` is zero for k = 0.
template <class V>
WARPLOOM_PORTABLE void join(Pair<V>& low, Pair<V>& high, const V& c, const V& s) {
  using portable::fma;
  const V a_re = fma(c, low.re, s * high.re), a_im = fma(s, low.re, -(c * high.re));
  const V b_re = fma(c, low.im, s * high.im), b_im = fma(s, low.im, -(c * high.im));
  low = {a_re - b_im, -(a_im + b_re)};
  high = {a_re + b_im, a_im - b_re};
}

}  // namespace warploom::imaging
