// Strided windows: bounds, elements, what they cover and where two of them meet, against lists of every address; extents of zero and
// one, odd strides, every rank, and sizes that overflow.
#include "cuda/core/view.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cuda/core/footprint.h"
#include "test/device/support/harness.h"

namespace warploom::test {
namespace {

using harness::check;
constexpr int64_t kHuge = INT64_MAX;

std::string text_of(const View& view) {
  std::string text = "offset " + std::to_string(view.offset) + " of " + std::to_string(view.length);
  for (int d = 0; d < std::min<int>(view.rank, View::kMaxRank); ++d) text += ", " + std::to_string(view.extents[d]) + " by " + std::to_string(view.strides[d]);
  return text;
}

/// Every address of a small window, by counting its indices.
std::vector<int64_t> addresses(const View& view) {
  std::vector<int64_t> all{view.offset};
  for (int d = 0; d < view.rank; ++d) {
    std::vector<int64_t> next;
    for (const int64_t at : all) {
      for (int64_t i = 0; i < view.extents[d]; ++i) next.push_back(at + i * view.strides[d]);
    }
    all = next;
  }
  return all;
}

double buffer[4096];

View random_view(std::mt19937_64& random) {
  const auto below = [&](uint64_t end) { return static_cast<int64_t>(random() % end); };
  View view;
  view.data = buffer;
  view.rank = static_cast<int32_t>(below(5));
  int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.extents[d] = below(8) == 0 ? 0 : 1 + below(4);
    const int64_t kind = below(8);
    view.strides[d] = kind == 0 ? 0 : kind == 1 ? below(9) : stride + (kind == 2 ? below(4) : 0);
    stride = std::max<int64_t>(view.strides[d] * std::max<int64_t>(view.extents[d], 1), 1);
  }
  for (int d = view.rank - 1; d > 0; --d) {  // in any order
    const auto other = static_cast<int>(below(static_cast<uint64_t>(d) + 1));
    std::swap(view.extents[d], view.extents[other]);
    std::swap(view.strides[d], view.strides[other]);
  }
  view.offset = below(3) == 0 ? below(5) : 0;
  view.length = below(2) == 0 ? end_of(view) : below(40);
  return view;
}

void windows_by_enumeration() {
  std::mt19937_64 random(7);
  int inside = 0, distinct = 0, whole = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    const View view = random_view(random);
    const std::vector<int64_t> all = addresses(view);
    const std::set<int64_t> different(all.begin(), all.end());
    const int64_t end = all.empty() ? view.offset : *different.rbegin() + 1;
    const std::string what = text_of(view);
    check(elements_of(view) == static_cast<int64_t>(all.size()), "elements of " + what);
    check(end_of(view) == end, "end of " + what);
    const bool fits = end <= view.length;
    check(check_window("x", view, ScalarType::float64).ok() == fits, "bounds of " + what);
    inside += fits;
    if (check_distinct("x", view).ok()) {
      ++distinct;
      check(different.size() == all.size(), "no element twice in " + what);
    }
    if (!fits) continue;
    const bool covered = different.size() == all.size() && static_cast<int64_t>(all.size()) == view.length && view.offset == 0;
    check(covers(view) == covered, "whether it covers: " + what);
    whole += covered;
  }
  check(inside > 5000 && distinct > 5000 && whole > 500, "windows of every kind are among them");
}

void meetings_by_enumeration() {
  std::mt19937_64 random(11);
  int apart = 0, same = 0;
  for (int turn = 0; turn < 20000; ++turn) {
    View a = random_view(random), b = turn % 4 == 0 ? a : random_view(random);
    for (View* const view : {&a, &b}) view->length = end_of(*view) + static_cast<int64_t>(random() % 3);
    b.data = buffer + random() % 30;
    if (turn % 8 == 0) b.data = a.data, b.length = a.length;
    const std::string what = text_of(a) + " and " + text_of(b);
    const Status status = check_apart("a", a, "b", b, ScalarType::float64);
    std::set<double*> shared;
    for (const int64_t at : addresses(a)) shared.insert(static_cast<double*>(a.data) + at);
    bool meet = false;
    for (const int64_t at : addresses(b)) meet = meet || shared.count(static_cast<double*>(b.data) + at) > 0;
    check(!(status.ok() && meet), "apart: " + what);
    check(status.ok() || status.argument() == "b", "the output is named: " + what);
    apart += status.ok();
    const bool identical = a.data == b.data && turn % 8 == 0 && turn % 4 == 0;
    if (identical && elements_of(a) > 0) {
      ++same;
      check(check_overlap("a", a, "b", b, ScalarType::float64).ok() && !status.ok(), "the same window: " + what);
    }
  }
  check(apart > 1000 && same > 1000, "pairs of every kind are among them");
}

void refusals() {
  const auto refused = [](const View& view, const std::string& argument, ScalarType type = ScalarType::float64) {
    const Status status = check_window("x", view, type);
    check(status.code() == Code::invalid_argument && status.argument() == argument, argument + " of " + text_of(view),
          status.argument() + ": " + status.message());
  };
  View view = dense_view(buffer, 24, {2, 3, 4});
  check(check_window("x", view, ScalarType::float64).ok() && covers(view), "a whole buffer");
  for (int d = 0; d < 3; ++d) {
    View wrong = view;
    wrong.strides[d] = -1;
    refused(wrong, "x.strides[" + std::to_string(d) + "]");
    wrong = view;
    wrong.extents[d] = -1;
    refused(wrong, "x.extents[" + std::to_string(d) + "]");
    wrong = view;
    wrong.extents[d] += 1;
    refused(wrong, "x");
    for (const int64_t huge : {int64_t{1} << 53, kHuge}) {
      wrong = view;
      wrong.extents[d] = huge;
      refused(wrong, "x");
      check(!covers(wrong), "huge extents cover nothing");
      wrong = view;
      wrong.strides[d] = huge;
      refused(wrong, "x");
      check(check_distinct("x", wrong).ok(), "far apart is distinct");
      for (int e = 0; e < 3; ++e) wrong.extents[e] = wrong.strides[e] = huge;
      refused(wrong, "x");
      check(elements_of(wrong) > (int64_t{1} << 61) && end_of(wrong) > (int64_t{1} << 61), "no overflow");
    }
  }
  View wrong = view;
  wrong.offset = -1;
  refused(wrong, "x.offset");
  wrong.offset = kHuge;
  refused(wrong, "x");
  wrong = view;
  for (const int32_t rank : {-1, 5}) {
    wrong.rank = rank;
    refused(wrong, "x");
    check(!covers(wrong), "no rank, no cover");
  }
  wrong = view;
  wrong.imaginary = buffer;
  refused(wrong, "x");
  check(check_window("x", wrong, ScalarType::complex128).ok(), "complex types are split");
  wrong = dense_view(buffer, 4, {1, 4});
  wrong.strides[0] = -1;
  refused(wrong, "x.strides[0]");  // although it strides over nothing
  check(check_window("x", View(), ScalarType::float64).ok(), "an absent view");
}

void shapes() {
  View view = dense_view(buffer, 6, {2, 3});
  const int64_t right[] = {2, 3}, other[] = {3, 2};
  check(check_extents("x", view, right, 2).ok(), "its extents");
  check(!check_extents("x", view, other, 2).ok() && !check_extents("x", view, right, 1).ok(), "others");
  check(check_adjacent("x", view, 6).ok() && !check_adjacent("x", view, 5).ok(), "one behind the other");
  std::swap(view.strides[0], view.strides[1]);
  check(!check_adjacent("x", view, 6).ok(), "a transposed window is not");
  const View scalar = dense_view(buffer, 1, {});
  check(elements_of(scalar) == 1 && covers(scalar) && check_adjacent("x", scalar, 1).ok(), "rank 0 is one element");
  const View nothing = dense_view(nullptr, 0, {0, 5});
  check(elements_of(nothing) == 0 && covers(nothing), "an extent of 0");
  View shared = dense_view(buffer, 3, {1, 3});
  shared.strides[0] = 0;
  check(check_distinct("x", shared).ok(), "a stride of zero over one element");
  shared.extents[0] = 2;
  check(!check_distinct("x", shared).ok(), "and over two");
}

void footprints() {
  const View whole = dense_view(buffer, 6, {6});
  Footprint f;
  check(!f.needs(&whole, Role::output) && f.needs(&whole, Role::in_out), "results are not read, what is read and written is");
  f.overwrites(whole);
  check(!f.needs(&whole, Role::in_out), "unless the call says otherwise");
  f.keeps(&whole);
  check(f.needs(&whole, Role::output), "what keeps elements travels");
  Footprint all;
  int fields[20] = {};
  for (int& field : fields) all.keeps(&field);
  check(all.needs(&fields[19], Role::output), "however many they are");
}

}  // namespace
}  // namespace warploom::test

int main() {
  warploom::test::windows_by_enumeration();
  warploom::test::meetings_by_enumeration();
  warploom::test::refusals();
  warploom::test::shapes();
  warploom::test::footprints();
  return harness::summary();
}
