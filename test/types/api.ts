// The public types: this file is compiled (npm run types), never run. Each @ts-expect-error is a misuse that must
// stay one.
import { openDevice, scan, tridiagonal, type Device, type DeviceArray, type WarploomError } from '../../lib/index.ts';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function expectType<Expected, Actual>(..._same: Equal<Expected, Actual> extends true ? [] : ['types differ']): void {}

export async function devicesAndArrays(): Promise<void> {
  using device = await openDevice({ backend: 'auto', memoryLimit: 2 ** 30 });
  expectType<Device, typeof device>();
  using array = await device.array(new Float64Array(4));
  expectType<DeviceArray, typeof array>();
  await device.array('float32', 16);
  // @ts-expect-error a length is needed beside an element type
  await device.array('float32');
  // @ts-expect-error no such backend
  await openDevice({ backend: 'gpu' });
  // @ts-expect-error no such option
  await openDevice({ backends: 'cpu' });
  // @ts-expect-error read-only
  array.length = 3;
  // @ts-expect-error no such element type
  await device.array('float16', 3);
}

export async function solves(device: Device, onDevice: DeviceArray): Promise<void> {
  const bands = { lower: -1, diagonal: 4, upper: -1, n: 4, batch: 1, device };
  const host = await tridiagonal.solve({ ...bands, rhs: new Float64Array(4) });
  expectType<Float64Array<ArrayBuffer>, typeof host.solution>();
  void host;
  const there = await tridiagonal.solve({ ...bands, rhs: onDevice });
  expectType<DeviceArray, typeof there.solution>();
  void there;
  expectType<Float64Array | undefined, typeof host.backwardError>();
  // @ts-expect-error rhs is needed
  await tridiagonal.solve({ ...bands });
  // @ts-expect-error no such algorithm
  await tridiagonal.solve({ ...bands, rhs: onDevice, algorithm: 'gauss' });
  // @ts-expect-error bands are numbers or arrays
  await tridiagonal.solve({ ...bands, lower: '1', rhs: onDevice });
  const controller = new AbortController();
  await tridiagonal.solve({ ...bands, rhs: onDevice, signal: controller.signal, onProgress: (done, total) => void (done / total) });
}

export async function scans(): Promise<void> {
  const { result } = await scan(new Float32Array(4), { operator: 'max', exclusive: true });
  expectType<Float32Array<ArrayBuffer>, typeof result>();
  void result;
  // @ts-expect-error integers are not scanned
  await scan(new Int32Array(4));
  // @ts-expect-error no such operator
  await scan(new Float32Array(4), { operator: 'min' });
}

export function errors(error: WarploomError): boolean {
  // @ts-expect-error no such code
  return error.code === 'ERR_WARPLOOM_NOTHING';
}
