// What copies between the host and a device cost, measured once for each device.
import { resultArray, type Device } from '../../core/device.ts';
import { unseenPart } from '../../core/arrays.ts';
import type { LinkCosts } from './hybrid-costs.ts';

/**
 * Elements of the copies that are timed: one that takes as long as any, and one that moves at the link's rate, unless it takes more than a
 * share of the device's memory.
 */
const fewElements = 1024, mostElements = 2 ** 19;
const mostShare = 1 / 8;
const repeats = 4;

/** Bytes that one multiprocessor shuffles in a microsecond, counted: half of its share of 4 TB/s, since items are read and written. */
const shuffleRate = 15_000;

const measured = new WeakMap<Device, Promise<LinkCosts>>();

async function measure(device: Device): Promise<LinkCosts> {
  const { limitBytes } = device.memory();
  const fitting = limitBytes === 0 ? mostElements : Math.floor(mostShare * limitBytes / 4);
  const manyElements = Math.max(2 * fewElements, Math.min(mostElements, fitting));
  const [own, ring] = [new Int32Array(manyElements), new Int32Array(new SharedArrayBuffer(4 * manyElements))];
  using array = resultArray(device, 'int32', manyElements, true);
  const best = async (copy: () => Promise<unknown>): Promise<number> => {
    let least = Infinity;
    for (let i = 0; i < repeats; ++i) {
      const begin = performance.now();
      await copy();
      least = Math.min(least, 1000 * (performance.now() - begin));
    }
    return least;
  };
  const few = own.subarray(0, fewElements);
  const rateOf = (short: number, long: number): number =>
    4 * (manyElements - fewElements) / Math.max(long - short, long / 100, 1e-3);
  const [inFew, outFew] = [await best(() => array.write(few)), await best(() => array.read(few))];
  const [toGpu, toCpu] = [await best(() => array.write(own)), await best(() => array.read(unseenPart(own.subarray())))];
  const [ringToGpu, ringToCpu] = [await best(() => array.write(ring)), await best(() => array.read(ring))];
  return {
    latency: Math.min(inFew, outFew), toGpu: rateOf(inFew, toGpu), toCpu: rateOf(outFew, toCpu),
    rings: { toGpu: rateOf(inFew, ringToGpu), toCpu: rateOf(outFew, ringToCpu) }, shuffle: shuffleRate, deshuffle: shuffleRate,
  };
}

/** The costs of moving items to a device, from it and on it. */
export async function movingCosts(device: Device): Promise<LinkCosts> {
  let found = measured.get(device);
  if (found === undefined) {
    measured.set(device, found = measure(device));
    found.catch(() => { measured.delete(device); });
  }
  return found;
}
