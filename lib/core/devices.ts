// The list of devices, and the choice of one.
import { addon, missingReason, type BackendName, type DeviceDescription } from './binding.ts';
import { refusal, UnavailableError } from './errors.ts';

/** Every device of every backend of this build, each with one line that says why it can or cannot be used. */
export function devices(): DeviceDescription[] {
  const reason = missingReason();
  if (reason === undefined) return addon().devices();
  return (['cuda', 'cpu', 'simt'] as const).map((backend) => ({
    backend, index: 0, available: false, reason, name: '', memoryBytes: 0, computeCapability: 0,
    multiprocessors: 0, l2Bytes: 0, driver: '',
  }));
}

/**
 * The backend that `auto` stands for on this machine, from the environment variable `WARPLOOM_BACKEND`; undefined if it is not set, is
 * empty or is `auto`.
 * @throws ArgumentError for other values
 */
export function backendOfEnvironment(): BackendName | undefined {
  const { WARPLOOM_BACKEND: given = '' } = process.env;
  if (given === '' || given === 'auto') return undefined;
  const found = (['cuda', 'cpu', 'simt'] as const).find((name) => name === given);
  if (found === undefined) throw refusal('WARPLOOM_BACKEND', 'cuda, cpu, simt or auto', given);
  return found;
}

/** Describes the valid values of `index`; `auto` means the GPUs if there are any. */
function expectedIndex(backend: BackendName | 'auto', wanted: BackendName, count: number): string {
  const range = count > 1 ? `0 to ${count - 1}` : '0';
  if (wanted === 'cuda') return `${range}: this machine has ${count} GPU${count === 1 ? '' : 's'}`;
  const why = backendOfEnvironment() === undefined ? 'because no GPU can be used' : 'because of WARPLOOM_BACKEND';
  const meant = backend === 'auto' ? `, which auto selects here ${why}` : '';
  return `${range}${count > 1 ? '' : ', the only device'} of ${wanted}${meant}`;
}

/** The requested device. */
export function choose(backend: BackendName | 'auto', index: number): DeviceDescription {
  addon();
  return chooseFrom(devices(), backend, index);
}

/** @internal The requested device of `list`. */
export function chooseFrom(list: readonly DeviceDescription[], backend: BackendName | 'auto', index: number): DeviceDescription {
  const gpus = list.filter((device) => device.backend === 'cuda' && device.available);
  const wanted = backend !== 'auto' ? backend : backendOfEnvironment() ?? (gpus.length > 0 ? 'cuda' : 'cpu');
  const found = list.filter((device) => device.backend === wanted);
  const device = found.find((each) => each.index === index);
  if (device === undefined) throw refusal('index', expectedIndex(backend, wanted, found.length), String(index));
  if (!device.available) {
    const code = device.reason.startsWith('not compiled') ? 'ERR_WARPLOOM_NOT_COMPILED' : 'ERR_WARPLOOM_UNAVAILABLE';
    throw new UnavailableError(`${wanted}: ${device.reason}; the cpu backend is always available`, { code });
  }
  return device;
}
