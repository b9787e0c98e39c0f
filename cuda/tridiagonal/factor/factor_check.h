// The check of stored factors, for operations that write or read them.
#pragma once
#include <string>

#include "cuda/linear/shape.h"
#include "cuda/tridiagonal/factor.h"

namespace warploom::tridiagonal {

template <class Byte>
Status check_factors(const Shape& shape, bool periodic, Factorisation factorisation, const Array<Byte>& factors) {
  const int64_t bytes = factor_bytes(shape.type, shape.n, shape.batch, periodic, factorisation);
  if (factors.data != nullptr && factors.length >= bytes) return {};
  return Status(Code::invalid_argument,
                "expected " + std::to_string(bytes) + " bytes, got " + std::to_string(factors.length),
                "factors");
}

}  // namespace warploom::tridiagonal
