// Requests over HTTP, on loopback, from a client in another process (autocannon).
//
//   serve/<case>/<connections>/batched      requests per second
//   serve/<case>/<connections>/unbatched    of a server whose launches take one call each (maxBatch 1)
//   serve/<case>/<connections>/in-process   the same calls in the bench's own process, so many at a time, without HTTP
//
// Peers of `batched`: `unbatched`, and `alone`, calls in this process one after the other without a batcher. Its limit is `in-process`.
// Figures: `p50` and `p99` of the latency that the client sees; `delay99`, of the server's event loop; `server` and `client`, processor
// time of each process per request (the server's includes the solver's threads); `calls`, in a launch on average.
import { fork, type ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { BatchTrace } from '../../lib/core/diagnostics.ts';
import { server } from '../../lib/index.ts';
import type { RunningServer } from '../../lib/server/index.ts';
import { Failures, type BenchContext } from '../domain.ts';
import { summarise } from '../statistics.ts';
import { serveCases, type ServeCase } from './cases.ts';

/** What the client measured in one round. */
interface Fired {
  readonly count: number;
  readonly seconds: number;
  readonly failed: number;
  readonly p50: number;
  readonly p99: number;
  readonly processor: number;
}

/** One round with what was measured in this process. */
interface Round {
  readonly rate: number;
  readonly figures: Readonly<Record<string, number>>;
}

const seconds = 2;
const rounds = 3;

async function startClient(): Promise<ChildProcess> {
  const client = fork(fileURLToPath(new URL('client.mjs', import.meta.url)), { execArgv: [] });
  await once(client, 'spawn');
  return client;
}

/** Sends requests for a while. Throws if one was not answered with success. */
async function fire(client: ChildProcess, work: object): Promise<Fired> {
  const over = new AbortController(), { signal } = over;
  client.send(work);
  const [result] = await Promise.race([
    once(client, 'message', { signal }), once(client, 'exit', { signal }).then(() => { throw new Error('the client has ended'); }),
  ]).finally(() => { over.abort(); }) as [Fired | { readonly error: string }];
  if ('error' in result) throw new Error(result.error);
  if (result.failed > 0 || result.count === 0) throw new Error(`${result.failed} of ${result.count} requests failed`);
  return result;
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

async function roundOf(
  client: ChildProcess, url: string, { path, headers, body }: ServeCase, connections: number, time: number,
): Promise<Round> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const cpu = process.cpuUsage();
  delay.enable();
  const { result, perLaunch } = await countingLaunches(() =>
    fire(client, { url, path, headers, connections, seconds: time, ...(body === undefined ? {} : { body: body.toString('base64') }) }));
  delay.disable();
  const used = process.cpuUsage(cpu);
  const { count, p50, p99, processor } = result;
  return {
    rate: count / result.seconds,
    figures: {
      p50, p99, delay99: delay.percentile(99) / 1e9, server: (used.user + used.system) / 1e6 / count, client: processor / count,
      ...(perLaunch === 0 ? {} : { calls: perLaunch }),
    },
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

/** Throws unless the server's answer has the bits of the call in this process. */
async function requireRightAnswer(url: string, { path, headers, body, call, name }: ServeCase): Promise<void> {
  if (body === undefined || call === undefined) return;
  const response = await fetch(url + path, { method: 'POST', headers, body: new Uint8Array(body) });
  const bytes = Buffer.from(await response.arrayBuffer());
  const length = Number(response.headers.get('inference-header-content-length'));
  const expected = await call(false);
  const received = length === 0 ? Float64Array.from((JSON.parse(bytes.toString()) as { outputs: [{ data: number[] }] }).outputs[0].data)
    : new Float64Array(new Uint8Array(bytes.subarray(length, length + expected.byteLength)).buffer);
  if (response.status !== 200 || Buffer.compare(Buffer.from(received.buffer), Buffer.from(expected.buffer)) !== 0) {
    throw new Error(`${name}: the answer is not that of the call in this process`);
  }
}

interface Servers {
  readonly batched: RunningServer;
  readonly unbatched: RunningServer;
}

const medianOf = (values: readonly number[]): number => summarise(values).median;

function mediansOf(measured: readonly Round[]): Record<string, number> {
  const names = Object.keys(measured[0]?.figures ?? {});
  return Object.fromEntries(names.map((name) => [name, medianOf(measured.map(({ figures }) => figures[name] ?? NaN))]));
}

async function benchmarkCase(
  context: BenchContext, client: ChildProcess, servers: Servers, each: ServeCase, connections: number,
): Promise<void> {
  const { quick, wanted, emit } = context;
  const id = `serve/${each.name}/${connections}`;
  const kinds = (['unbatched', 'batched'] as const).filter((kind) => kind === 'batched' || each.unbatched);
  if (![...kinds, 'in-process'].some((kind) => wanted(`${id}/${kind}`))) return;
  const [time, count] = quick ? [0.3, 1] : [seconds, rounds];
  const measured = { batched: [] as Round[], unbatched: [] as Round[] };
  const inside: number[] = [], alone: number[] = [];
  for (const kind of kinds) {
    await requireRightAnswer(servers[kind].url, each);
    if (!quick) await roundOf(client, servers[kind].url, each, connections, 1);
  }
  const { call } = each;
  for (let round = 0; round < count; round += 1) { // in turns, so that other work on the machine falls on all
    for (const kind of kinds) measured[kind].push(await roundOf(client, servers[kind].url, each, connections, time));
    if (call === undefined) continue;
    inside.push(await rateOf(() => call(true), connections, time / 2));
    alone.push(await rateOf(() => call(false), 1, time / 2));
  }
  const limit = call === undefined ? undefined : medianOf(inside);
  const rates = (kind: keyof Servers) => summarise(measured[kind].map(({ rate }) => rate));
  const { median: value, spread } = rates('batched');
  const peers = {
    ...(each.unbatched ? { unbatched: rates('unbatched').median } : {}), ...(call === undefined ? {} : { alone: medianOf(alone) }),
  };
  emit({
    id: `${id}/batched`, value, unit: '1/s', spread, figures: mediansOf(measured.batched),
    ...(limit === undefined ? {} : { limit, fraction: value / limit }), ...(Object.keys(peers).length === 0 ? {} : { peers }),
  });
  if (each.unbatched) {
    const { median, spread: own } = rates('unbatched');
    emit({ id: `${id}/unbatched`, value: median, unit: '1/s', spread: own, figures: mediansOf(measured.unbatched) });
  }
  if (limit !== undefined) emit({ id: `${id}/in-process`, value: limit, unit: '1/s', spread: summarise(inside).spread });
}

/** The rows of every case and number of connections. */
export async function benchmarkServe(context: BenchContext): Promise<void> {
  const { backend, index } = context.device.description;
  const common = { port: 0, jobs: false, devices: [{ backend, ...(backend === 'cuda' ? { index } : {}) }] };
  const failures = new Failures(context);
  const client = await startClient();
  await using batched = await server.serve(common);
  await using unbatched = await server.serve({ ...common, maxBatch: 1 });
  try {
    for (const each of serveCases(context.device, context.quick)) {
      for (const connections of each.connections) {
        const id = `serve/${each.name}/${connections}`;
        await failures.of(id, () => benchmarkCase(context, client, { batched, unbatched }, each, connections));
      }
    }
  } finally {
    client.kill();
  }
  failures.end();
}
