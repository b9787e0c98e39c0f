// What a registration reports for each iteration.
#pragma once

namespace warploom::imaging {

/// The measure at the start of an iteration: the mean squared difference (ssd), or 1 - correlation (ncc).
struct RegistrationEntry {
  double value;
};

template <class Visitor>
void visit(Visitor& v, RegistrationEntry& e) {
  v.real("value", e.value);
}

}  // namespace warploom::imaging
