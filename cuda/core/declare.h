// Names of host classes that device code and descriptions of operations may use in declarations without including their
// headers. Those headers need the standard library, which code compiled at run time does not have
// (scripts/check-device.mjs).
#pragma once

namespace warploom {

class Status;
class Control;
class Device;

}  // namespace warploom
