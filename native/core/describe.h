// The operations of the build for TypeScript.
#pragma once
#include <string>

namespace warploom {

/// JSON: by name, in the order of their numbers, `{ fields, report }`: FieldDescription[] and ReportField[] of
/// lib/core/binding.ts.
std::string describe_operations();

}  // namespace warploom
