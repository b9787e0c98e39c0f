// What the link between the host and a device allows, from page-locked memory: each way alone, and both at once.
import type { Device } from '../lib/core/device.ts';

/** Bytes a second. */
export interface Link {
  /** To the device alone, and back alone. */
  readonly to: number;
  readonly from: number;
  /** Each way, with both under way: transfers of a few MiB each, as runs make them. */
  readonly both: number;
}

/** Measures the link: the best of several. */
export async function measureLink(device: Device, quick: boolean): Promise<Link> {
  const pieces = 16, length = quick ? 2 ** 10 : 2 ** 21;
  const [source, target] = [await device.pinned('float32', pieces * length), await device.pinned('float32', pieces * length)];
  using sink = await device.array('float32', length);
  using spring = await device.array('float32', length);
  const part = (array: typeof source, at: number): Float32Array => array.subarray(at * length, (at + 1) * length) as Float32Array;
  const rateOf = async (transfers: (at: number) => Promise<unknown>[]): Promise<number> => {
    let least = Infinity;
    for (let i = 0; i < 8; ++i) {
      const begin = performance.now();
      await Promise.all(Array.from({ length: pieces }, (_, at) => transfers(at)).flat());
      least = Math.min(least, (performance.now() - begin) / 1e3);
    }
    return source.byteLength / least;
  };
  return {
    to: await rateOf((at) => [sink.write(part(source, at))]),
    from: await rateOf((at) => [spring.read(part(target, at))]),
    both: await rateOf((at) => [sink.write(part(source, at)), spring.read(part(target, at))]),
  };
}

/** Seconds that so many bytes take at least, both ways at once as far as there are bytes for both. */
export function linkSeconds({ to, from, both }: Link, toBytes: number, fromBytes: number): number {
  const shared = Math.min(toBytes, fromBytes);
  return shared / both + (toBytes - shared) / to + (fromBytes - shared) / from;
}
