// Takes away each barrier of the device code in turn; every deletion must be caught by TSan, by the shim's own reports
// or by a different result in some order. A barrier whose deletion nobody notices is either not needed or not tested.
//   mutation [substring of case names]
#include <chrono>
#include <map>
#include <sstream>
#include <tuple>

#include "test/device/support/operations.h"
#include "cuda/core/device.cuh"
#include "simt/runtime.h"
#include "test/device/support/cases.h"
#include "test/device/support/harness.h"

using namespace warploom;
using simt::BarrierMutation;
using simt::BarrierSite;

namespace {

using Place = std::tuple<std::string, std::string, int>;  // file, kind, line

constexpr size_t kCasesPerPlace = 24;  ///< spread from the quickest to the slowest that reach it

std::unique_ptr<Device> open_device() {
  std::unique_ptr<Device> device;
  if (!simt_backend().open(0, {}, &device).ok()) std::abort();
  return device;
}

struct Reached {
  double seconds = 0;
  size_t index = 0;  ///< of the case
};

/// Runs every quick case unchanged, in one child, and reads back which barriers each one reaches.
std::map<Place, std::vector<Reached>> places_of(const std::vector<cases::Case>& all) {
  const auto child = harness::in_child([&](std::string* out) {
    const std::unique_ptr<Device> device = open_device();
    std::ostringstream text;
    for (size_t i = 0; i < all.size(); ++i) {
      BarrierMutation::record(true);
      std::string digest;
      const auto begin = std::chrono::steady_clock::now();
      const std::string failure = all[i].run(*device, &digest);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      text << "case\t" << i << '\t' << seconds.count() << '\t' << failure << '\n';
      for (const BarrierSite& site : BarrierMutation::recorded()) {
        text << "site\t" << site.file << '\t' << site.kind << '\t' << site.line << '\n';
      }
    }
    *out = text.str();
    return 0;
  });
  harness::check(child.exit_code == 0, "the unchanged code", "exit " + std::to_string(child.exit_code));
  std::map<Place, std::vector<Reached>> reached;
  Reached current;
  std::istringstream rows(child.output);
  for (std::string row; std::getline(rows, row);) {
    std::istringstream fields(row);
    std::string what, file, kind, line;
    std::getline(fields, what, '\t');
    std::getline(fields, file, '\t');
    std::getline(fields, kind, '\t');
    std::getline(fields, line, '\t');
    if (what == "site") {
      reached[{file, kind, std::atoi(line.c_str())}].push_back(current);
      continue;
    }
    current = {std::atof(kind.c_str()), static_cast<size_t>(std::atoll(file.c_str()))};
    const std::string& name = all[current.index].name;
    if (line.rfind(cases::kUnsupported, 0) == 0) harness::skip(name, line.substr(cases::kUnsupported.size()));
    else harness::check(line.empty(), "unchanged: " + name, line);
  }
  return reached;
}

/// How the deletion shows, empty when it does not.
std::string caught_by(const std::vector<cases::Case>& all, const std::vector<Reached>& reached, const Place& place) {
  const auto child = harness::in_child([&](std::string*) {
    BarrierSite site;
    site.file = std::get<0>(place).c_str();
    site.kind = std::get<1>(place).c_str();
    site.line = std::get<2>(place);
    BarrierMutation::disable(&site);
    for (const char* order : {"forward", "reverse", "random:1", "random:2"}) {
      for (const Reached& r : reached) {
        const std::unique_ptr<Device> device = open_device();  // a defect may leave one device unusable
        simt::Schedule schedule;
        if (!simt::parse_schedule(order, &schedule)) std::abort();
        simt::set_schedule(*device, schedule);
        std::string digest;
        if (!all[r.index].run(*device, &digest).empty()) return 1;
      }
      if (harness::kThreadSanitizer) break;  // TSan judges by the order of events, not by luck
    }
    return 0;
  }, true);
  if (child.exit_code == harness::kRaceExit) return "race";
  if (child.exit_code == 0) return {};
  return child.exit_code == 1 ? "wrong result or reported defect" : "crash or endless loop";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  std::vector<cases::Case> all;
  for (const cases::Case& c : cases::all_cases()) {
    if (c.quick && c.name.find(wanted) != std::string::npos) all.push_back(c);
  }
  auto reached = places_of(all);
  for (auto& [place, by] : reached) {
    std::sort(by.begin(), by.end(), [](const Reached& a, const Reached& b) { return a.seconds < b.seconds; });
    if (by.size() > kCasesPerPlace) {
      std::vector<Reached> chosen;
      for (size_t i = 0; i < kCasesPerPlace; ++i) chosen.push_back(by[i * (by.size() - 1) / (kCasesPerPlace - 1)]);
      by = chosen;
    }
    const std::string text = std::get<0>(place) + ":" + std::to_string(std::get<2>(place)) + " (" + std::get<1>(place) + ")";
    const std::string how = caught_by(all, by, place);
    if (!how.empty()) std::printf("%s: %s\n", text.c_str(), how.c_str());
    std::fflush(stdout);
    harness::check(!how.empty(), "deleting " + text, "not noticed by " + std::to_string(by.size()) + " cases");
  }
  std::printf("%zu barriers\n", reached.size());
  return harness::summary();
}
