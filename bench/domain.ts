// What a domain's benchmark is: a function that emits rows.
import type { Device } from '../lib/core/device.ts';
import type { Row } from './report.ts';

export interface BenchContext {
  readonly device: Device;
  /** False when a filter leaves this row out: it need not be measured. */
  wanted(id: string): boolean;
  emit(row: Row): void;
  /** For people, on stderr: why a row is missing. */
  say(text: string): void;
  /** Small sizes, for the test of the bench itself. */
  readonly quick: boolean;
}

export type DomainBenchmark = (context: BenchContext) => Promise<void>;

/** What a benchmark is given that uses the host's cores only and no addon. */
export type HostContext = Omit<BenchContext, 'device'>;

export type HostBenchmark = (context: HostContext) => Promise<void>;

/** True for errors that mean «this algorithm does not take this problem», not a defect. */
export function isUnsupported(error: unknown): error is Error {
  return error instanceof Error && (error as { code?: string }).code === 'ERR_WARPLOOM_UNSUPPORTED';
}
