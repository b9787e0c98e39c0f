// Requests over HTTP, on loopback, from clients in other processes (autocannon).
//
//   serve/<case>/<connections>/batched      requests per second
//   serve/<case>/<connections>/unbatched    of a server whose launches take one call each (maxBatch 1)
//   serve/<case>/<connections>/workers      of a server with workers, three for eight cores
//   serve/<case>/<connections>/http         of an HTTP server of Node alone that reads such bodies and answers as many bytes
//   serve/<case>/<connections>/in-process   the same calls in the bench's own process, so many at a time, without HTTP
//
// There are as many clients as workers. Peers of `batched` and `workers`: `unbatched`, `http`, and `alone`, calls in this process one after
// the other without a batcher. Their limit is `in-process`. Figures: `p50` and `p99` of the latency that the client sees; `delay99`, of
// the server's event loop; `server` and `client`, processor time of each side per request (the server's includes the solver's threads,
// but not workers); `clientLoad`, the part of the time in which a client computes (near 1, it is the client that is measured); `calls`,
// in a launch on average.
import { fork, type ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { BatchTrace } from '../../lib/core/diagnostics.ts';
import { server } from '../../lib/index.ts';
import { letHeapGrow } from '../../lib/server/heap.ts';
import type { RunningServer } from '../../lib/server/index.ts';
import { Failures, type BenchContext } from '../domain.ts';
import { summarise } from '../statistics.ts';
import { serveCases, type ServeCase } from './cases.ts';
import { startHttp, type HttpServer } from './floor.ts';

/** What a client measured in one round. */
interface Fired {
  /** Of all its requests, in seconds. */
  readonly latencies: Float64Array;
  readonly seconds: number;
  readonly failed: number;
  readonly processor: number;
}

/** One round with what was measured in this process. */
interface Round {
  readonly rate: number;
  readonly figures: Readonly<Record<string, number>>;
}

const seconds = 1.2;
const rounds = 3;

async function startClient(): Promise<ChildProcess> {
  const client = fork(fileURLToPath(new URL('client.mjs', import.meta.url)), { execArgv: [], serialization: 'advanced' });
  await once(client, 'spawn');
  return client;
}

/** Has a client send requests for a while. */
async function fireOne(client: ChildProcess, work: Work): Promise<Fired> {
  const over = new AbortController(), { signal } = over;
  client.send(work);
  const [result] = await Promise.race([
    once(client, 'message', { signal }), once(client, 'exit', { signal }).then(() => { throw new Error('the client has ended'); }),
  ]).finally(() => { over.abort(); }) as [Fired | { readonly error: string }];
  if ('error' in result) throw new Error(result.error);
  return result;
}

/** What clients are to send. */
interface Work extends Pick<ServeCase, 'path' | 'headers'> {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  /** Base64. */
  readonly body?: string;
}

/** Has clients share `connections`. Throws if a request was not answered with success. */
async function fire(clients: readonly ChildProcess[], { connections, ...work }: Work): Promise<Fired> {
  const all = await Promise.all(clients.map((client, index) =>
    fireOne(client, { ...work, connections: Math.ceil((connections - index) / clients.length) })));
  const latencies = Float64Array.from(all.flatMap((each) => [...each.latencies])).sort();
  const failed = all.reduce((sum, each) => sum + each.failed, 0);
  if (failed > 0 || latencies.length === 0) throw new Error(`${failed} of ${latencies.length} requests failed`);
  return {
    latencies, failed, seconds: Math.max(...all.map((each) => each.seconds)), processor: all.reduce((sum, each) => sum + each.processor, 0),
  };
}

/** Means of what launches have in common while `work` runs. */
async function countingLaunches<Result>(work: () => Promise<Result>): Promise<{ result: Result; perLaunch: number }> {
  let launches = 0, calls = 0;
  const count = (message: unknown): void => {
    launches += 1;
    calls += (message as BatchTrace).calls;
  };
  subscribe('tracing:warploom:batch:asyncEnd', count);
  try {
    const result = await work();
    return { result, perLaunch: launches === 0 ? 0 : calls / launches };
  } finally {
    unsubscribe('tracing:warploom:batch:asyncEnd', count);
  }
}

const quantile = (sorted: Float64Array, q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;

async function roundOf(
  clients: readonly ChildProcess[], url: string, { path, headers, body }: ServeCase, connections: number, time: number, isOwn: boolean,
): Promise<Round> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const cpu = process.cpuUsage();
  delay.enable();
  const { result, perLaunch } = await countingLaunches(() =>
    fire(clients, { url, path, headers, connections, seconds: time, ...(body === undefined ? {} : { body: body.toString('base64') }) }));
  delay.disable();
  const used = process.cpuUsage(cpu);
  const { latencies, processor } = result, count = latencies.length;
  const client = { client: processor / count, clientLoad: processor / result.seconds / clients.length };
  const latency = { p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) };
  const own = { delay99: delay.percentile(99) / 1e9, server: (used.user + used.system) / 1e6 / count };
  return {
    rate: count / result.seconds,
    figures: { ...latency, ...client, ...(isOwn ? own : {}), ...(perLaunch === 0 ? {} : { calls: perLaunch }) },
  };
}

/** Calls per second in this process, so many at a time. */
async function rateOf(call: () => Promise<unknown>, atOnce: number, time: number): Promise<number> {
  const began = performance.now(), end = began + 1000 * time;
  let count = 0;
  const worker = async (): Promise<void> => {
    do {
      await call();
      count += 1;
    } while (performance.now() < end);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return (1000 * count) / (performance.now() - began);
}

/** The bytes of the server's answer. Throws unless it has the bits of the call in this process. */
async function rightAnswer(url: string, { path, headers, body, call, name }: ServeCase): Promise<number> {
  const response = await fetch(url + path, body === undefined ? { headers } : { method: 'POST', headers, body: new Uint8Array(body) });
  const bytes = Buffer.from(await response.arrayBuffer());
  if (call === undefined) return bytes.byteLength;
  const length = Number(response.headers.get('inference-header-content-length'));
  const expected = await call(false);
  const received = length === 0 ? Float64Array.from((JSON.parse(bytes.toString()) as { outputs: [{ data: number[] }] }).outputs[0].data)
    : new Float64Array(new Uint8Array(bytes.subarray(length, length + expected.byteLength)).buffer);
  if (response.status !== 200 || Buffer.compare(Buffer.from(received.buffer), Buffer.from(expected.buffer)) !== 0) {
    throw new Error(`${name}: the answer is not that of the call in this process`);
  }
  return bytes.byteLength;
}

type Kind = 'batched' | 'unbatched' | 'workers' | 'http';

interface Bench {
  readonly context: BenchContext;
  readonly servers: Readonly<Partial<Record<Exclude<Kind, 'http'>, RunningServer>>> & { readonly http: HttpServer };
  readonly clients: readonly ChildProcess[];
}

/** Whether others are compared with it. */
const isPeer = (kind: Kind): boolean => kind === 'unbatched' || kind === 'http';

const medianOf = (values: readonly number[]): number => summarise(values).median;

function mediansOf(measured: readonly Round[]): Record<string, number> {
  const names = Object.keys(measured[0]?.figures ?? {});
  return Object.fromEntries(names.map((name) => [name, medianOf(measured.map(({ figures }) => figures[name] ?? NaN))]));
}

/** The kinds of servers on which a case is measured. */
function kindsOf({ servers }: Bench, each: ServeCase): Kind[] {
  return (['batched', 'unbatched', 'workers', 'http'] as const)
    .filter((kind) => servers[kind] !== undefined && (kind !== 'unbatched' || each.unbatched));
}

async function benchmarkCase(bench: Bench, each: ServeCase, connections: number): Promise<void> {
  const { context: { quick, wanted, emit }, servers, clients } = bench;
  const id = `serve/${each.name}/${connections}`;
  const all = kindsOf(bench, each);
  // Without workers, rows are wanted together: they are limits and peers of each other.
  const kinds = all.filter((kind) => wanted(`${id}/${kind}`) || (kind !== 'workers' && wanted(`${id}/batched`)));
  if (kinds.length === 0 && !wanted(`${id}/in-process`)) return;
  const [time, count] = quick ? [0.3, 1] : [seconds, rounds];
  const measured: Record<Kind, Round[]> = { batched: [], unbatched: [], workers: [], http: [] };
  const inside: number[] = [], alone: number[] = [];
  const urlOf = (kind: Kind): string => (servers[kind] as RunningServer | HttpServer).url;
  const round = (kind: Kind, span: number): Promise<Round> => roundOf(clients, urlOf(kind), each, connections, span, kind !== 'workers');
  servers.http.answerBytes = await rightAnswer(urlOf('batched'), each);
  for (const kind of kinds) {
    if (kind !== 'http') await rightAnswer(urlOf(kind), each);
    if (!quick) await round(kind, time / 2);
  }
  const { call } = each;
  for (let turn = 0; turn < count; turn += 1) { // in turns, so that other work on the machine falls on all
    for (const kind of kinds) measured[kind].push(await round(kind, time));
    if (call === undefined) continue;
    inside.push(await rateOf(() => call(true), connections, time / 2));
    alone.push(await rateOf(() => call(false), 1, time / 2));
  }
  const limit = call === undefined ? undefined : medianOf(inside);
  const rates = (kind: Kind) => summarise(measured[kind].map(({ rate }) => rate));
  const peers = {
    ...(kinds.includes('unbatched') ? { unbatched: rates('unbatched').median } : {}),
    ...(kinds.includes('http') ? { http: rates('http').median } : {}),
    ...(call === undefined ? {} : { alone: medianOf(alone) }),
  };
  for (const kind of kinds) {
    const { median: value, spread } = rates(kind);
    emit({
      id: `${id}/${kind}`, value, unit: '1/s', spread, figures: mediansOf(measured[kind]),
      ...(limit === undefined || isPeer(kind) ? {} : { limit, fraction: value / limit }),
      ...(Object.keys(peers).length === 0 || isPeer(kind) ? {} : { peers }),
    });
  }
  if (limit !== undefined) emit({ id: `${id}/in-process`, value: limit, unit: '1/s', spread: summarise(inside).spread });
}

/** The rows of every case and number of connections. */
export async function benchmarkServe(context: BenchContext): Promise<void> {
  const { backend, index } = context.device.description;
  const common = { port: 0, jobs: false, devices: [{ backend, ...(backend === 'cuda' ? { index } : {}) }] };
  const failures = new Failures(context);
  const workers = context.quick ? 0 : Math.floor(0.375 * availableParallelism());
  const clients = await Promise.all(Array.from({ length: Math.max(1, workers) }, startClient));
  await using batched = await server.serve(common);
  await using unbatched = await server.serve({ ...common, maxBatch: 1 });
  await using several = workers > 1 ? await server.serve({ ...common, workers }) : undefined;
  letHeapGrow(); // as `warploom serve` does
  const http = await startHttp();
  const servers = { batched, unbatched, http, ...(several === undefined ? {} : { workers: several }) };
  try {
    for (const each of serveCases(context.device, context.quick)) {
      for (const connections of each.connections) {
        const id = `serve/${each.name}/${connections}`;
        await failures.of(id, () => benchmarkCase({ context, servers, clients }, each, connections));
      }
    }
  } finally {
    for (const client of clients) client.kill();
    await http.close();
  }
  failures.end();
}
