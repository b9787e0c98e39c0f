// Cases of scan.prefix. Inputs are such that every order of the operator gives the same bits, so the
// reference is exact: small integers for sum, signs and halves for product, anything for max.
#pragma once
#include "cuda/core/view.h"
#include "cuda/scan/prefix.h"
#include "test/device/support/cases.h"

namespace cases {

struct ScanCase {
  scan::PrefixParameters p;
  bool segmented = false, in_place = false;
};

template <class T>
T scan_input(scan::Operator op, Numbers& numbers) {
  switch (op) {
    case scan::Operator::sum: return static_cast<T>(numbers.below(17) - 8);
    case scan::Operator::product: return static_cast<T>(numbers.below(2) == 0 ? -1 : 1);
    default: return static_cast<T>(numbers());
  }
}

template <class T>
std::vector<T> scan_reference(const scan::PrefixParameters& p, const std::vector<T>& values,
                              const std::vector<uint8_t>& flags) {
  std::vector<T> result(values.size());
  const T start = p.op == scan::Operator::sum ? T(0) : p.op == scan::Operator::product ? T(1) : -T(INFINITY);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool head = i % static_cast<size_t>(p.n) == 0 || (!flags.empty() && flags[i] != 0);
    const T before = head ? start : p.exclusive ? result[i] : result[i - 1];
    const T after = p.op == scan::Operator::sum ? before + values[i]
                    : p.op == scan::Operator::product ? before * values[i] : std::max(before, values[i]);
    if (!p.exclusive) result[i] = after;
    if (p.exclusive) {
      result[i] = before;
      if (i + 1 < values.size()) result[i + 1] = after;
    }
  }
  return result;
}

template <class T>
std::string run_scan_case(const ScanCase& c, Device& device, std::string* digest) {
  scan::PrefixParameters p = c.p;
  const size_t count = static_cast<size_t>(p.n * p.batch);
  Numbers numbers(count + 7);
  std::vector<T> values(count);
  for (T& value : values) value = scan_input<T>(p.op, numbers);
  std::vector<uint8_t> flags(c.segmented ? count : 0);
  for (uint8_t& flag : flags) flag = numbers.below(9) == 0 ? static_cast<uint8_t>(1 + numbers.below(255)) : 0;
  OnDevice<T> in(device, values), out(device, count);
  OnDevice<uint8_t> marks(device, flags);
  p.values = dense_view(in.data(), in.length(), {p.batch, p.n});
  p.result = p.values;
  if (!c.in_place) p.result.data = out.data();
  if (c.segmented) p.flags = {marks.data(), marks.length()};
  const std::string failure = run_operation(device, simt_backend().operations.scan_prefix, p);
  if (!failure.empty()) return failure;
  const std::vector<T> result = c.in_place ? in.host() : out.host();
  digest_of(result, digest);
  const std::vector<T> expected = scan_reference(p, values, flags);
  for (size_t i = 0; i < count; ++i) {
    if (!(result[i] == expected[i])) {
      return "element " + std::to_string(i) + " is " + std::to_string(result[i]) + ", expected " + std::to_string(expected[i]);
    }
  }
  return {};
}

inline void add_scan_case(std::vector<Case>* all, ScanCase c, bool quick) {
  const scan::PrefixParameters& p = c.p;
  const std::string name = std::string("scan ") + kScalarTypeNames[static_cast<int>(p.type)] + " " +
      scan::kOperatorNames[static_cast<int>(p.op)] + " n=" + std::to_string(p.n) + " batch=" + std::to_string(p.batch) +
      " " + scan::kAlgorithmNames[static_cast<int>(p.algorithm)] + " depth=" + std::to_string(p.depth) + " radix=" +
      std::to_string(p.radix) + (p.exclusive ? " exclusive" : "") + (c.segmented ? " segmented" : "") +
      (c.in_place ? " in place" : "");
  all->push_back({name, quick, [c](Device& device, std::string* digest) {
                    return c.p.type == ScalarType::float32 ? run_scan_case<float>(c, device, digest)
                                                           : run_scan_case<double>(c, device, digest);
                  }});
}

inline void add_scan_cases(std::vector<Case>* all) {
  const int64_t sizes[] = {1, 2, 3, 7, 31, 32, 33, 63, 100, 255, 257, 512, 513, 1025, 2048, 4099, 9001};
  int turn = 0;
  for (const int64_t n : sizes) {
    for (const int depth : {0, 2, 4, 8, 16, 32, -1}) {  // -1: the shared-memory peer
      ScanCase c;
      c.p.n = n;
      c.p.batch = n < 64 ? 130 : n < 1000 ? 5 : 2;
      c.p.algorithm = depth < 0 ? scan::Algorithm::shared : scan::Algorithm::regpack;
      if (depth == 0) c.p.algorithm = scan::Algorithm::automatic;
      c.p.depth = std::max(depth, 0);
      c.p.radix = depth >= 0 && turn % 2 == 1 ? 4 : 2;
      c.p.type = turn % 3 == 0 ? ScalarType::float32 : ScalarType::float64;
      c.p.op = static_cast<scan::Operator>(turn / 2 % 3);
      c.p.exclusive = turn % 5 < 2;
      c.segmented = turn % 4 < 2;
      c.in_place = turn % 7 == 0;
      ++turn;
      const bool quick = (n == 100 || n == 33 || n == 1025) && c.p.batch * n < 5000 && turn % 2 == 0;
      if (!kAddressSelection || quick || turn % 3 == 0) add_scan_case(all, c, quick);
    }
  }
  ScanCase deep;  // three levels of tiles
  deep.p.n = 263000;
  deep.p.depth = 2;
  deep.p.algorithm = scan::Algorithm::regpack;
  deep.segmented = true;
  add_scan_case(all, deep, false);
}

}  // namespace cases
