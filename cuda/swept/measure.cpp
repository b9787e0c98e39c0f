#include "cuda/swept/measure.h"

#include <string>

namespace warploom::swept {
namespace {

Status invalid(const char* argument, std::string message) {
  return Status(Code::invalid_argument, std::move(message), argument);
}

}  // namespace

Status check(const MeasureParameters& p) {
  if (p.type != ScalarType::float32 && p.type != ScalarType::float64) return invalid("type", "expected float32 or float64");
  if (p.n < 1) return invalid("n", "expected at least 1, got " + std::to_string(p.n));
  if (p.rows < 0) return invalid("rows", "expected zero or more, got " + std::to_string(p.rows));
  if (p.rows > (INT64_MAX / 64) / p.n) return invalid("rows", "rows * n is too large");
  if (p.state.imaginary != nullptr) return invalid("state", "expected real data");
  if (p.state.offset < 0) return invalid("state", "expected an offset of zero or more");
  if (p.figures.length != p.rows * kFigures) {
    return invalid("figures", "expected rows * " + std::to_string(kFigures) + " = " + std::to_string(p.rows * kFigures) +
                                  " numbers, got " + std::to_string(p.figures.length));
  }
  if (p.rows == 0) return {};
  if (p.figures.data == nullptr) return invalid("figures", "expected an array");
  if (p.state.data == nullptr) return invalid("state", "expected an array");
  const int64_t count = p.rows * p.n;
  if (p.state.offset > p.state.length || count > p.state.length - p.state.offset) {
    return invalid("state", "needs " + std::to_string(count) + " elements from element " + std::to_string(p.state.offset) +
                                ", has " + std::to_string(p.state.length));
  }
  return {};
}

}  // namespace warploom::swept
