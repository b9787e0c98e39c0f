// Devices that were lost: further programs run on the CPU.
import type { Device } from '../../core/device.ts';

const lost = new WeakSet<Device>();

/** Whether a device was lost in an earlier call. */
export const isLost = (device: Device): boolean => lost.has(device);

/** Remembers a device that was lost, by the error of a call. */
export function noteLost(device: Device, error: unknown): void {
  if ((error as { code?: unknown }).code === 'ERR_WARPLOOM_DEVICE_LOST') lost.add(device);
}
