// Devices of the SIMT shim for the device programs.
#pragma once
#include <cstdlib>
#include <memory>

#include "simt/runtime.h"

namespace warploom::test {

inline constexpr const char* kOrders[] = {"forward", "reverse", "random:7"};

/// A device of the shim in a given order of threads; by default that of the environment.
inline std::unique_ptr<Device> open_simt(const char* order = nullptr) {
  std::unique_ptr<Device> device;
  if (!simt::open_device({}, &device).ok()) std::abort();
  if (order != nullptr) {
    simt::Schedule schedule;
    if (!simt::parse_schedule(order, &schedule)) std::abort();
    simt::set_schedule(*device, schedule);
  }
  return device;
}

}  // namespace warploom::test
