#include "cuda/scan/prefix.h"

#include <cstdint>
#include <string>

namespace warploom::scan {
namespace {

Status invalid(const char* argument, std::string message) {
  return Status(Code::invalid_argument, std::move(message), argument);
}

Status check_view(const View& view, int64_t count, const char* name) {
  if (view.imaginary != nullptr) return invalid(name, "expected real data");
  if (view.offset < 0) return invalid(name, "expected an offset of zero or more");
  if (count == 0) return {};
  if (view.data == nullptr) return invalid(name, "expected an array");
  if (view.offset > view.length || count > view.length - view.offset) {
    return invalid(name, "needs " + std::to_string(count) + " elements from element " + std::to_string(view.offset) +
                             ", has " + std::to_string(view.length));
  }
  return {};
}

}  // namespace

Status check(const PrefixParameters& p) {
  if (p.type != ScalarType::float32 && p.type != ScalarType::float64) {
    return invalid("type", "expected float32 or float64");
  }
  if (p.n < 0) return invalid("n", "expected zero or more, got " + std::to_string(p.n));
  if (p.batch < 0) return invalid("batch", "expected zero or more, got " + std::to_string(p.batch));
  if (p.n > 0 && p.batch > (INT64_MAX / 64) / p.n) return invalid("batch", "batch * n is too large");
  if (static_cast<uint32_t>(p.op) > 2) return invalid("operator", "unknown operator");
  if (static_cast<uint32_t>(p.algorithm) > 2) return invalid("algorithm", "unknown algorithm");
  const int32_t d = p.depth;
  if (d != 0 && d != 2 && d != 4 && d != 8 && d != 16 && d != 32) {
    return invalid("depth", "expected 0, 2, 4, 8, 16 or 32, got " + std::to_string(d));
  }
  if (d != 0 && p.algorithm == Algorithm::shared) return invalid("depth", "algorithm shared has one element per thread");
  if (p.radix != 2 && p.radix != 4) return invalid("radix", "expected 2 or 4, got " + std::to_string(p.radix));
  if (p.radix != 2 && p.algorithm == Algorithm::shared) return invalid("radix", "algorithm shared has radix 2");
  const int64_t count = p.n * p.batch;
  WARPLOOM_TRY(check_view(p.values, count, "values"));
  WARPLOOM_TRY(check_view(p.result, count, "result"));
  if (p.flags.data != nullptr && p.flags.length != count) {
    return invalid("flags", "expected batch * n = " + std::to_string(count) + " entries, got " +
                                std::to_string(p.flags.length));
  }
  if (count == 0) return {};
  const uintptr_t bytes = static_cast<uintptr_t>(scalar_bytes(p.type));
  const uintptr_t from = reinterpret_cast<uintptr_t>(p.values.data) + static_cast<uintptr_t>(p.values.offset) * bytes;
  const uintptr_t to = reinterpret_cast<uintptr_t>(p.result.data) + static_cast<uintptr_t>(p.result.offset) * bytes;
  const uintptr_t span = static_cast<uintptr_t>(count) * bytes;
  if (from != to && from < to + span && to < from + span) {
    return invalid("result", "overlaps values; expected the same window or another");
  }
  return {};
}

}  // namespace warploom::scan
