// What the processes of a server tell each other.
import type { AllStatistics } from '../protocol/statistics.ts';
import type { DeviceState } from '../devices.ts';
import type { TakenServerOptions } from '../options.ts';

/** To a worker. */
export type Order =
  /** Once, at first. `socket`: where the first process answers what is not for workers. */
  | { readonly kind: 'start'; readonly options: TakenServerOptions; readonly socket: string }
  /** For a report with this number. */
  | { readonly kind: 'report'; readonly id: number }
  | { readonly kind: 'stop' };

/** What a worker reports: its metrics, as prom-client has them as JSON, its devices, and statistics of its models. */
export interface WorkerReport {
  readonly metrics: readonly object[];
  readonly devices: readonly DeviceState[];
  readonly statistics: AllStatistics;
}

/** From a worker: it takes orders (those that come before its code is loaded are lost), and what came of them. */
export type News =
  | { readonly kind: 'ready' }
  | { readonly kind: 'listening'; readonly url: string }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string | undefined }
  | { readonly kind: 'report'; readonly id: number; readonly report: WorkerReport };
