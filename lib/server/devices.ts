// What GET /v1/devices says of the devices.
import type { MemoryUse } from '../core/device.ts';
import type { DevicePool } from '../core/pool.ts';

/** One device and how much work it has. */
export interface DeviceState {
  readonly index: number;
  readonly backend: string;
  readonly name: string;
  readonly lost: boolean;
  readonly waiting: number;
  readonly waitingBytes: number;
  readonly running: number;
  readonly memory: MemoryUse | null;
}

/** The devices of this process. */
export function stateOfDevices(pool: DevicePool): DeviceState[] {
  return pool.members.map(({ device, lost, waiting, waitingBytes, running }, index) => ({
    index, backend: device.backend, name: device.name, lost, waiting, waitingBytes, running,
    memory: lost || device.closed ? null : device.memory(),
  }));
}

function added(a: DeviceState, b: DeviceState): DeviceState {
  const memory = a.memory === null || b.memory === null ? a.memory ?? b.memory : {
    inUseBytes: a.memory.inUseBytes + b.memory.inUseBytes, pooledBytes: a.memory.pooledBytes + b.memory.pooledBytes,
    peakBytes: a.memory.peakBytes + b.memory.peakBytes, limitBytes: Math.max(a.memory.limitBytes, b.memory.limitBytes),
  };
  return {
    ...a, lost: a.lost || b.lost, waiting: a.waiting + b.waiting, waitingBytes: a.waitingBytes + b.waitingBytes,
    running: a.running + b.running, memory,
  };
}

/** The same devices in several processes. */
export function addedStates(all: readonly (readonly DeviceState[])[]): DeviceState[] {
  const [first = [], ...others] = all;
  return first.map((state, index) => others.reduce((sum, { [index]: next }) => (next === undefined ? sum : added(sum, next)), state));
}
