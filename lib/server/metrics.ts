// Prometheus metrics, from the requests and from the library's diagnostics channels.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type promClient from 'prom-client';
import type { BatchTrace, QueueTrace } from '../core/diagnostics.ts';
import type { DevicePool } from '../core/pool.ts';

/** Counts requests; `text()` is what GET /metrics answers. */
export interface Metrics {
  request(model: string, outcome: 'ok' | 'error', seconds: number): void;
  text(): Promise<string>;
  /** The metrics as prom-client has them as JSON. */
  json(): Promise<readonly object[]>;
  readonly contentType: string;
  /** Ends the subscriptions. */
  close(): void;
}

const seconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];
const counts = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/** The text of metrics of several processes, added up. */
export function textOfAll(prometheus: typeof promClient, all: readonly (readonly object[])[]): Promise<string> {
  return prometheus.AggregatorRegistry.aggregate(all as object[][]).metrics();
}

/** What is looked at when metrics are asked for. */
export interface MetricSources {
  readonly pool: DevicePool;
  readonly bytesOfJobs: () => number;
  /** How many workers were replaced; undefined: the server has none. */
  readonly replaced: (() => number) | undefined;
}

function addGauges(
  prometheus: typeof promClient, registers: promClient.Registry[], { pool, bytesOfJobs, replaced }: MetricSources,
): void {
  new prometheus.Gauge({
    name: 'warploom_queue_length', help: 'Calls that wait', labelNames: ['device'], registers,
    collect() { for (const [index, { waiting }] of pool.members.entries()) this.set({ device: String(index) }, waiting); },
  });
  new prometheus.Gauge({
    name: 'warploom_device_memory_bytes', help: 'Device memory in use', labelNames: ['device'], registers,
    collect() {
      for (const [index, { device, lost }] of pool.members.entries()) {
        if (!lost && !device.closed) this.set({ device: String(index) }, device.memory().inUseBytes);
      }
    },
  });
  new prometheus.Gauge({
    name: 'warploom_job_bytes', help: 'Bytes of the files of all jobs', registers, collect() { this.set(bytesOfJobs()); },
  });
  if (replaced !== undefined) {
    new prometheus.Gauge({
      name: 'warploom_workers_replaced', help: 'Workers that were started in place of others', registers,
      collect() { this.set(replaced()); },
    });
  }
}

/** Metrics of a server. Launches and queues are those of the whole process. */
export function makeMetrics(prometheus: typeof promClient, sources: MetricSources): Metrics {
  const registers = [new prometheus.Registry()];
  const [register] = registers as [promClient.Registry];
  prometheus.collectDefaultMetrics({ register });
  const requests = new prometheus.Counter({
    name: 'warploom_requests_total', help: 'Requests by model and outcome', labelNames: ['model', 'outcome'], registers });
  const durations = new prometheus.Histogram({
    name: 'warploom_request_seconds', help: 'Time from a request to its answer', labelNames: ['model'], buckets: seconds, registers });
  const launches = new prometheus.Counter({
    name: 'warploom_launches_total', help: 'Launches of batchers', labelNames: ['operation', 'device'], registers });
  const sizes = new prometheus.Histogram({
    name: 'warploom_batch_calls', help: 'Calls that shared a launch', labelNames: ['operation'], buckets: counts, registers });
  const bytes = new prometheus.Counter({
    name: 'warploom_batch_bytes_total', help: 'Bytes of the inputs of launches', labelNames: ['operation'], registers });
  const waits = new prometheus.Histogram({
    name: 'warploom_queue_wait_seconds', help: 'Time that calls wait', labelNames: ['operation'], buckets: seconds, registers });
  const left = new prometheus.Counter({
    name: 'warploom_calls_dropped_total', help: 'Calls that left the queue without a result', labelNames: ['event'], registers });
  addGauges(prometheus, registers, sources);
  const onBatch = (message: unknown): void => {
    const { operation, device, calls, bytes: moved } = message as BatchTrace;
    launches.inc({ operation, device });
    sizes.observe({ operation }, calls);
    bytes.inc({ operation }, moved);
  };
  const onQueue = (message: unknown): void => {
    const { event, operation, waitSeconds } = message as QueueTrace;
    if (event === 'started') waits.observe({ operation }, waitSeconds);
    else if (event !== 'queued') left.inc({ event });
  };
  subscribe('tracing:warploom:batch:asyncEnd', onBatch);
  subscribe('warploom:queue', onQueue);
  return {
    contentType: register.contentType,
    request(model, outcome, elapsed) {
      requests.inc({ model, outcome });
      durations.observe({ model }, elapsed);
    },
    text: () => register.metrics(),
    json: () => register.getMetricsAsJSON(),
    close() {
      unsubscribe('tracing:warploom:batch:asyncEnd', onBatch);
      unsubscribe('warploom:queue', onQueue);
      register.clear();
    },
  };
}
