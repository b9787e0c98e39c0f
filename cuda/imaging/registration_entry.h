// What a registration reports of an iteration.
#pragma once

namespace warploom::imaging {

/// The measure where an iteration starts: the mean squared difference (ssd), or 1 - correlation (ncc).
struct RegistrationEntry {
  double value;
};

template <class Visitor>
void visit(Visitor& v, RegistrationEntry& e) {
  v.real("value", e.value);
}

}  // namespace warploom::imaging
