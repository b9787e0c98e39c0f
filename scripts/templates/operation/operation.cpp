#include "cuda/@domain@/@operation@.h"

#include <string>

#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::@domain@ {
namespace {

Status check_view(const View& view, int64_t count, const char* name) {
  if (view.imaginary != nullptr) return Status(Code::invalid_argument, "expected real data", name);
  if (view.offset < 0) return Status(Code::invalid_argument, "expected an offset of zero or more", name);
  if (count == 0) return {};
  if (view.data == nullptr) return Status(Code::invalid_argument, "expected an array", name);
  if (view.offset > view.length || count > view.length - view.offset) {
    return Status(Code::invalid_argument, "needs " + std::to_string(count) + " elements from its offset on", name);
  }
  return {};
}

}  // namespace

Status check(const @Operation@Parameters& p) {
  if (is_complex(p.type)) return Status(Code::invalid_argument, "expected float32 or float64", "type");
  if (p.n < 0 || p.n > INT64_MAX / 64) return Status(Code::invalid_argument, "expected 0 … 2^57", "n");
  WARPLOOM_TRY(check_view(p.values, p.n, "values"));
  return check_view(p.result, p.n, "result");
}

void footprint(Footprint& f, const @Operation@Parameters& p) {
  f.writes(p.result, {p.n});
  f.works({p.n});
}

/// Where the batch can be cut, name its parts: see cuda/core/cuts.h.
void cuts(Cuts&, @Operation@Parameters&) {}

}  // namespace warploom::@domain@
