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

/** First line of an error's message. */
const firstLine = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n')[0]!;

/** What fails does not keep other rows from being measured: it is said at once, and named by the error that ends the run. */
export class Failures {
  readonly #say: BenchContext['say'];
  readonly #failed: { readonly id: string; readonly error: unknown }[] = [];

  constructor({ say }: Pick<BenchContext, 'say'>) {
    this.#say = say;
  }

  /** What `work` makes; undefined where it fails. A problem that a device does not take is no failure. */
  async of<T>(id: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#say(`${id}: ${error instanceof Error ? error.message : String(error)}`);
      if (!isUnsupported(error)) this.#failed.push({ id, error });
      return undefined;
    }
  }

  /** Throws an error that names what failed, if anything did. */
  end(): void {
    if (this.#failed.length === 0) return;
    throw new AggregateError(this.#failed.map(({ error }) => error),
      `failed: ${this.#failed.map(({ id, error }) => `${id} (${firstLine(error)})`).join('; ')}`);
  }
}
