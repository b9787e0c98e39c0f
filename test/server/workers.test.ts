// A server of several processes: answers, jobs in one place, metrics added up, a worker that ends, and the end of all.
import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { scan, server } from '../../lib/index.ts';
import { inferOver } from './client.ts';

const cpu = [{ backend: 'cpu', threads: 1 }] as const;
const soon = (): Promise<void> => new Promise((resolve) => { setTimeout(resolve, 20); });

describe('a server with workers', function () {
  this.timeout(240_000);
  let running: Awaited<ReturnType<typeof server.serve>>;
  let url = '';
  const agent = new Agent({ keepAlive: false }); // a connection for each request: the workers take turns
  before(async () => {
    running = await server.serve({ port: 0, devices: cpu, workers: 2, token: 'a-token-of-some-length' });
    ({ url } = running);
  });
  after(async () => {
    await running.close();
    deepStrictEqual(Object.keys(cluster.workers ?? {}), []);
    await rejects(fetch(`${url}/v2`));
  });
  const headers = { authorization: 'Bearer a-token-of-some-length', connection: 'close' };
  const asked = (path: string, more: RequestInit = {}): Promise<Response> => fetch(url + path, { ...more, headers });
  const metric = async (name: string): Promise<number> => {
    const text = await (await asked('/metrics')).text();
    return Number(text.split('\n').find((line) => line.startsWith(name))?.slice(name.length));
  };
  const scanned = async (value: number): Promise<void> => {
    const data = Float64Array.of(value, 2, 3, 4);
    const answer = await inferOver(agent, url, 'scan', [{ name: 'values', datatype: 'FP64', shape: [4], data }], { headers });
    deepStrictEqual(Float64Array.from(answer.outputs['result']!.data as number[]), (await scan(data)).result);
  };

  it('answers inferences in both, and adds up what they report', async () => {
    for (let i = 0; i < 6; i += 1) await scanned(i);
    strictEqual(await metric('warploom_requests_total{model="scan",outcome="ok"}'), 6);
    strictEqual(await metric('warploom_workers_replaced'), 0);
    const { models } = await (await asked('/v2')).json() as { models: string[] };
    ok(models.includes('tridiagonal_solve'));
    deepStrictEqual([(await fetch(`${url}/v2/health/ready`)).status, (await fetch(`${url}/v2`)).status, (await fetch(`${url}/v1/jobs`)).status], [200, 401, 401]);
    const { devices } = await (await asked('/v1/devices')).json() as { devices: { backend: string; lost: boolean }[] };
    deepStrictEqual(devices.map(({ backend, lost }) => [backend, lost]), [['cpu', false]]);
    ok('/v1/jobs' in (await (await asked('/openapi.json')).json() as { paths: object }).paths);
  });

  it('has its jobs in one place', async () => {
    const job = { kind: 'simulate', name: 'rod', equation: 'heat', n: 21, fourier: 0.4, initial: 'ramp', until: { time: 0.01 } };
    const submitted = await asked('/v1/jobs', { method: 'POST', body: JSON.stringify({ job }) });
    const { id } = await submitted.json() as { id: string };
    strictEqual(submitted.status, 201);
    const events = await (await asked(`/v1/jobs/${id}/events`)).text(); // until it is over
    match(events, /event: state\ndata: \{[^\n]*"finished"/);
    for (let i = 0; i < 2; i += 1) {
      const { items } = await (await asked(`/v1/jobs/${id}/results`)).json() as { items: { files: { name: string }[] }[] };
      ok(items[0]!.files.some(({ name }) => name === 'result.json'));
    }
    strictEqual((await asked('/v1/jobs/none')).status, 404);
    strictEqual((await asked(`/v1/jobs/${id}`, { method: 'DELETE' })).status, 204);
    strictEqual((await asked('/v1/jobs', { method: 'POST', body: 'x'.repeat(100) })).status, 400);
  });

  it('replaces a worker that ends, and goes on answering meanwhile', async () => {
    const [first] = Object.values(cluster.workers ?? {});
    const outcomes = new Set<string>();
    let isOver = false;
    const clients = Array.from({ length: 4 }, async (_, i) => {
      while (!isOver) outcomes.add(await scanned(i).then(() => 'right', ({ code, message }: NodeJS.ErrnoException) => code ?? message));
    });
    while (!outcomes.has('right')) await soon();
    first!.process.kill('SIGKILL');
    await once(first!, 'exit');
    outcomes.delete('right');
    while (!outcomes.has('right')) await soon();
    isOver = true;
    await Promise.all(clients);
    outcomes.delete('right'); // the others were those of the worker that was killed, whose connections closed
    ok([...outcomes].every((code) => code === 'ECONNRESET'), [...outcomes].join());
    while (await metric('warploom_workers_replaced') !== 1) await soon();
    while (Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected()).length < 2) await soon();
    for (let i = 0; i < 4; i += 1) await scanned(i);
  });

  it('does not start where an address cannot be used', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await rejects(server.serve({ port, devices: cpu, workers: 2, jobs: false }), { code: 'EADDRINUSE' });
    other.close();
    await rejects(server.serve({ workers: 0 }), { argument: 'workers' });
  });
});
