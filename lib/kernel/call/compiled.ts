// Functions that have been compiled, by the kinds of their arguments: kept as long as the function is.
import type { Device } from '../../core/device.ts';
import { reasonOf } from '../../core/progress.ts';
import type { FunctionSource } from '../front/index.ts';
import type { ScalarType } from '../ir.ts';
import { compileForDevice, type DeviceKernels } from './device.ts';
import type { DeviceRequest } from './device-text.ts';
import { HostKernel } from './host.ts';
import { mapProgram, reduceProgram } from './host-program.ts';
import { pointOf, type Kind, type Point, type Preparation } from './point.ts';
import type { Combination } from './order.ts';
import { hasWasm } from './wasm-engine.ts';

/** How a reduction is made. */
export interface ReductionPlan {
  readonly combination: Combination;
  readonly preparation: Preparation;
}

/** Kernels, and whether they have been compiled. */
interface Kept {
  readonly made: Promise<DeviceKernels>;
  ready: DeviceKernels | undefined;
}

/** What kernels are for: see DeviceRequest. */
type Request = Omit<DeviceRequest, 'point'>;

/** Programs of a function that are kept, by kinds of arguments and results. */
const mostKept = 64;

function keep<T>(map: Map<string, T>, key: string, make: () => T): T {
  const found = map.get(key);
  if (found !== undefined) return found;
  const [oldest] = map.keys();
  if (map.size >= mostKept && oldest !== undefined) map.delete(oldest);
  const made = make();
  map.set(key, made);
  return made;
}

function keyOf({ results, rank, reduction }: Request): string {
  return `${results.join()} ${rank} ${reduction?.combination ?? ''} ${reduction?.preparation ?? ''}`;
}

/** A function for given kinds of arguments, with the programs that were made of it. */
export class Compiled {
  readonly point: Point;
  readonly #host = new Map<string, HostKernel>();
  readonly #device = new WeakMap<Device, Map<string, Kept>>();

  constructor(point: Point) {
    this.point = point;
  }

  /** The program for the CPU that stores results of these types. */
  hostMap(results: readonly ScalarType[], backend: 'wasm' | 'interpreter', preparation: Preparation = 'none'): HostKernel {
    return keep(this.#host, `map ${results.join()} ${backend} ${preparation}`,
      () => new HostKernel(mapProgram(this.point, results, preparation), backend));
  }

  hostReduce({ combination, preparation }: ReductionPlan, backend: 'wasm' | 'interpreter'): HostKernel {
    return keep(this.#host, `reduce ${combination} ${preparation} ${backend}`,
      () => new HostKernel(reduceProgram(this.point, preparation, combination), backend));
  }

  /** Its kernels on a device. Compiling goes on if the call that waits for it is aborted: later ones use what it makes. */
  async onDevice(device: Device, request: Request, signal: AbortSignal | undefined): Promise<DeviceKernels> {
    const own = this.#device.get(device) ?? new Map<string, Kept>();
    this.#device.set(device, own);
    const key = keyOf(request);
    const { made } = keep(own, key, () => {
      const work: Kept = { made: compileForDevice(device, { point: this.point, ...request }), ready: undefined };
      work.made.then((kernels) => { work.ready = kernels; }, () => { if (own.get(key) === work) own.delete(key); });
      return work;
    });
    return signal === undefined ? made : raced(made, signal);
  }

  /** Its kernels on a device, if they have been compiled. */
  readyOn(device: Device, request: Request): DeviceKernels | undefined {
    return this.#device.get(device)?.get(keyOf(request))?.ready;
  }
}

async function raced<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let stop: (() => void) | undefined;
  try {
    return await Promise.race([work, new Promise<never>((_resolve, reject) => {
      stop = () => { reject(reasonOf(signal)); };
      signal.addEventListener('abort', stop, { once: true });
    })]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}

const compiled = new WeakMap<FunctionSource, Map<string, Compiled>>();

/** A function for given kinds of arguments. Throws FunctionError and ArgumentError. */
export function compiledFor(source: FunctionSource, kinds: readonly Kind[]): Compiled {
  const own = compiled.get(source) ?? new Map<string, Compiled>();
  compiled.set(source, own);
  return keep(own, kinds.join(), () => new Compiled(pointOf(source, kinds)));
}

/** The back end of calls on the CPU that name none. */
export const hostBackend: 'wasm' | 'interpreter' = hasWasm ? 'wasm' : 'interpreter';
