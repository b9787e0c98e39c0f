// The backends a test runs on. A case that cannot run here is counted and printed, never dropped.
import { openDevice, type Device } from '../../lib/core/device.ts';
import { devices } from '../../lib/core/devices.ts';

export type BackendName = 'cpu' | 'simt' | 'cuda';

const asked = process.env.WARPLOOM_TEST_BACKENDS?.split(',');
const skips = new Map<string, number>();
const opened = new Map<BackendName, Promise<Device>>();

/** Records `count` cases that are not run, and why. */
export function skipCases(reason: string, count = 1): void {
  skips.set(reason, (skips.get(reason) ?? 0) + count);
}

function availability(backend: BackendName): { available: boolean; reason: string } {
  if (asked !== undefined && !asked.includes(backend)) return { available: false, reason: 'not in WARPLOOM_TEST_BACKENDS' };
  const found = devices().find((device) => device.backend === backend);
  return found ?? { available: false, reason: 'no such backend in this build' };
}

/** Whether `backend` can run here. */
export function hasBackend(backend: BackendName): boolean {
  return availability(backend).available;
}

/**
 * Backends for tests that open devices of their own: crashes, buffers, memory. Backends that cannot run here are counted as skipped, with
 * `cases` cases each.
 */
export function drillBackends(cases: number, backends: readonly BackendName[] = ['cpu', 'simt', 'cuda']): readonly BackendName[] {
  return backends.filter((backend) => {
    const { available, reason } = availability(backend);
    if (!available) skipCases(`${backend}: ${reason}`, cases);
    return available;
  });
}

/** The test run's one device of `backend`, opened on first use and closed after the last test. */
export function deviceOf(backend: BackendName): Promise<Device> {
  let device = opened.get(backend);
  if (device === undefined) {
    device = openDevice({ backend });
    opened.set(backend, device);
  }
  return device;
}

/**
 * Declares `body` once per available backend. `cases` is how many cases a missing backend skips.
 */
export function eachBackend(
  body: (backend: BackendName, device: () => Promise<Device>) => void,
  { backends = ['cpu', 'simt', 'cuda'] as readonly BackendName[], cases = 1 } = {},
): void {
  for (const backend of backends) {
    const { available, reason } = availability(backend);
    if (available) describe(`on ${backend}`, () => body(backend, () => deviceOf(backend)));
    else skipCases(`${backend}: ${reason}`, cases);
  }
}

async function closeAndReport(): Promise<void> {
  for (const device of opened.values()) await (await device).close();
  opened.clear();
  for (const [reason, count] of skips) console.log(`    skipped ${count} case(s): ${reason}`);
  skips.clear();
}

// hooks.cjs calls this after all tests or, if files share a process, after those of each file.
const kAfterTests = Symbol.for('warploom.test.after');
const atEnd = globalThis as { [kAfterTests]?: (() => Promise<void>)[] };
(atEnd[kAfterTests] ??= []).push(closeAndReport);
