// The shim's functions that device code calls, as a table for modules.
#pragma once
#include "simt/device.h"

namespace warploom::simt {

struct ModuleTable {
  decltype(&device::detail::block_barrier) block_barrier;
  decltype(&device::detail::warp_barrier) warp_barrier;
  decltype(&device::detail::grid_barrier) grid_barrier;
  decltype(&device::detail::exchange) exchange;
  decltype(&device::detail::ballot) ballot;
  decltype(&device::detail::fence) fence;
  decltype(&device::detail::post) post;
  decltype(&device::detail::receive) receive;
  decltype(&device::detail::async_copy) async_copy;
  decltype(&device::detail::async_commit) async_commit;
  decltype(&device::detail::async_wait) async_wait;
};

}  // namespace warploom::simt
