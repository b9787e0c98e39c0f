// Takes away each barrier of the device code in turn; every deletion must be caught by TSan, by the shim's own reports
// or by a different result in some order. A barrier whose deletion nobody notices is either not needed or not tested.
//   mutation [substring of case names]
#include <cstring>
#include <map>
#include <tuple>

#include "cuda/core/device.cuh"
#include "simt/runtime.h"
#include "test/device/support/cases.h"
#include "test/device/support/harness.h"

using namespace warploom;
using simt::BarrierMutation;
using simt::BarrierSite;

namespace {

using Place = std::tuple<std::string, std::string, int>;  // file, kind, line

std::string run_once(const cases::Case& c, const char* order, std::string* digest) {
  std::unique_ptr<Device> device;
  if (const Status status = simt_backend().open(0, {}, &device); !status.ok()) return status.message();
  simt::Schedule schedule;
  if (!simt::parse_schedule(order, &schedule)) return "bad order";
  simt::set_schedule(*device, schedule);
  return c.run(*device, digest);
}

/// Barriers a case meets, one line each.
std::vector<Place> places_of(const cases::Case& c) {
  const auto child = harness::in_child([&](std::string* out) {
    BarrierMutation::record(true);
    std::string digest;
    const std::string failure = run_once(c, "forward", &digest);
    for (const BarrierSite& site : BarrierMutation::recorded()) {
      *out += std::string(site.file) + "\t" + site.kind + "\t" + std::to_string(site.line) + "\n";
    }
    if (failure.rfind(cases::kUnsupported, 0) == 0) *out = failure;
    return failure.empty() ? 0 : 1;
  });
  std::vector<Place> places;
  if (child.output.rfind(cases::kUnsupported, 0) == 0) {
    harness::skip(c.name, child.output.substr(cases::kUnsupported.size()));
    return places;
  }
  harness::check(child.exit_code == 0, "unchanged: " + c.name);
  for (size_t at = 0; child.exit_code == 0 && at < child.output.size();) {
    const size_t end = child.output.find('\n', at);
    const std::string row = child.output.substr(at, end - at);
    const size_t one = row.find('\t'), two = row.find('\t', one + 1);
    places.emplace_back(row.substr(0, one), row.substr(one + 1, two - one - 1), std::atoi(row.c_str() + two + 1));
    at = end + 1;
  }
  return places;
}

/// How the deletion shows in one case, empty when it does not.
std::string caught_by(const cases::Case& c, const Place& place) {
  for (const char* order : {"forward", "reverse", "random:1", "random:2"}) {
    const auto child = harness::in_child([&](std::string*) {
      BarrierSite site;
      site.file = std::get<0>(place).c_str();
      site.kind = std::get<1>(place).c_str();
      site.line = std::get<2>(place);
      BarrierMutation::disable(&site);
      std::string digest;
      return run_once(c, order, &digest).empty() ? 0 : 1;
    }, true);
    if (child.exit_code == harness::kRaceExit) return std::string("race (") + order + ")";
    if (child.exit_code != 0) return std::string("wrong result or defect (") + order + ")";
    if (harness::kThreadSanitizer) break;  // TSan judges by order of events, not by luck
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  const std::vector<cases::Case> all = cases::all_cases();
  std::map<Place, std::vector<const cases::Case*>> meets;
  for (const cases::Case& c : all) {
    if (!c.quick || c.name.find(wanted) == std::string::npos) continue;
    for (const Place& place : places_of(c)) meets[place].push_back(&c);
  }
  for (const auto& [place, met_by] : meets) {
    const std::string text = std::get<0>(place) + ":" + std::to_string(std::get<2>(place)) + " (" + std::get<1>(place) + ")";
    std::string how;
    for (const cases::Case* c : met_by) {
      how = caught_by(*c, place);
      if (how.empty()) continue;
      std::printf("%s: %s in %s\n", text.c_str(), how.c_str(), c->name.c_str());
      break;
    }
    harness::check(!how.empty(), "deleting " + text, "not noticed by " + std::to_string(met_by.size()) + " cases");
  }
  std::printf("%zu barriers\n", meets.size());
  return harness::summary();
}
