// Devices of the simt backend: GpuDevice on host memory, launches on fibers.
#pragma once
#include <memory>

#include "cuda/core/backend.h"
#include "simt/fibers.h"

namespace warploom::simt {

/// Opens a device. Its schedule is WARPLOOM_SIMT_ORDER (forward, reverse, random or random:SEED; forward when unset).
Status open_device(const OpenOptions& options, std::unique_ptr<Device>* out);
DeviceDescription describe_device();
/// Sets the schedule of later launches of a device of this backend.
void set_schedule(Device& device, const Schedule& schedule);

}  // namespace warploom::simt
