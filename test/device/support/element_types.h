// The element types of the device programs.
#pragma once
#include "cuda/core/complex.cuh"

namespace warploom::test {

/// Calls body with a value of each element type; under ThreadSanitizer of the smallest and the largest: who waits for whom is the
/// same code for all.
template <class Body>
void each_type(const Body& body) {
  body(float());
  body(simt::Complex<double>());
#ifndef __SANITIZE_THREAD__
  body(double());
  body(simt::Complex<float>());
#endif
}

}  // namespace warploom::test
