// The element types of the device programs.
#pragma once
#include "cuda/core/complex.cuh"

namespace warploom::test {

/// Calls body with a value of each element type.
template <class Body>
void each_type(const Body& body) {
  body(float());
  body(double());
  body(simt::Complex<float>());
  body(simt::Complex<double>());
}

}  // namespace warploom::test
