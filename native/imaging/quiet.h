// A control for the passes of an operation that reports its progress itself.
#pragma once
#include "cuda/core/backend.h"

namespace warploom::cpu {

/// Passes on cancellation, but not the progress of single passes.
class Quiet final : public Control {
 public:
  explicit Quiet(const Control& behind) : behind_(behind) {}
  bool cancelled() const override { return behind_.cancelled(); }

 private:
  const Control& behind_;
};

}  // namespace warploom::cpu
