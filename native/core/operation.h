// The operations of operations.inc as the addon sees them: found by name, independent of their parameter structs.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "cuda/core/backend.h"
#include "cuda/core/cuts.h"
#include "native/core/arguments.h"

namespace warploom {

/// One call's parameter struct with its type erased.
class Invocation {
 public:
  virtual ~Invocation() = default;
  virtual void bind(Binder& binder) = 0;
  /// After bind(), before validate().
  virtual void footprint(Footprint& footprint) const = 0;
  virtual Status validate() const = 0;
  /// After validate(). It keeps pointers to the parameters.
  virtual void cuts(Cuts& cuts) = 0;
  virtual Status perform(const Operations& table, Device& device, Control& control) const = 0;
  virtual int64_t workspace_bytes(const Operations& table, const Device& device) const = 0;
};

struct OperationEntry {
  const char* name;  ///< domain.operation, as in operations.inc
  std::unique_ptr<Invocation> (*make)();
};

/// Finds an operation by its number, which is its position in operations.inc; null when there is none.
const OperationEntry* find_operation(uint32_t number);

}  // namespace warploom
