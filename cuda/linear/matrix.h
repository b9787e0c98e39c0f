// What a solver knows of its matrix besides the entries.
#pragma once
#include <cstdint>

namespace warploom::linear {

/// op(A) of the solve; conjugate only differs from transpose for complex types.
enum class Transpose : int32_t {
  none = 0, transpose = 1, conjugate = 2,
  conjugate_only = 3,  ///< the adjoint of `transpose`, for vjp: no caller can request it
};
inline constexpr const char* kTransposeNames[] = {"none", "transpose", "conjugate"};

/// `positive_definite`: Hermitian positive definite; `upper` is absent: upper[i] = conj(lower[i+1]).
enum class Structure : int32_t { general = 0, positive_definite = 1 };
inline constexpr const char* kStructureNames[] = {"general", "positive-definite"};

}  // namespace warploom::linear
