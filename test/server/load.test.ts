// A server under load: honest requests beside hostile ones and clients that leave. No crash, no wrong answer, memory that does not grow.
// Three seconds; with WARPLOOM_THOROUGH=1 ten minutes, or WARPLOOM_LOAD_SECONDS; WARPLOOM_LOAD_WORKERS=2: of a server with workers.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { server } from '../../lib/index.ts';
import { casesOf, isThorough } from '../support/thorough.ts';
import { hostile, sendRaw } from './hostile.ts';
import type { LoadReport } from './load-client.ts';

const seconds = casesOf(3, Number(process.env['WARPLOOM_LOAD_SECONDS'] ?? 600));

/** Runs the clients in a process of their own, and returns what they saw. */
async function underLoad(url: string): Promise<LoadReport> {
  const client = spawn(process.execPath, ['--import=tsx', '--no-warnings', fileURLToPath(new URL('load-client.ts', import.meta.url)), url, String(seconds)],
    { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  client.stdout.on('data', (part: Buffer) => { output += part.toString(); });
  const [code] = await once(client, 'close') as [number | null];
  strictEqual(code, 0);
  return JSON.parse(output) as LoadReport;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

describe('a server under load', function () {
  this.timeout((seconds + 120) * 1000);
  let running: Awaited<ReturnType<typeof server.serve>>;
  before(async () => {
    running = await server.serve({
      port: 0, devices: [{ backend: 'cpu', threads: 1 }], bodyLimit: 2 ** 20, maxWork: 1e7, requestTimeout: 600_000,
      workers: Number(process.env['WARPLOOM_LOAD_WORKERS'] ?? 1),
    });
  });
  after(() => running.close());

  it(`answers each of ${hostile.length} kinds of hostile requests with an error`, async () => {
    ok(hostile.length >= 60);
    strictEqual(new Set(hostile.map(({ name }) => name)).size, hostile.length);
    const port = Number(new URL(running.url).port);
    const all = await Promise.all(hostile.map(async (kind) => ({ ...kind, status: await sendRaw(port, kind) })));
    for (const { name, status, until, mayPass = false } of all) {
      if (until !== undefined) continue;
      ok(mayPass ? status === 200 || status === 400 : status === undefined || (status >= 400 && status < 500), `${name}: ${String(status)}`);
    }
    strictEqual((await fetch(`${running.url}/v2/health/ready`)).status, 200);
  });

  it(`gives right answers for ${seconds} seconds beside them, in bounded memory, and closes no connection of an honest client`, async function () {
    const used: number[] = [];
    const watch = setInterval(() => { used.push(process.memoryUsage().rss); }, seconds * 10);
    const { answers, refused, left, attacks, closed, wrong } = await underLoad(running.url);
    clearInterval(watch);
    deepStrictEqual({ closed, wrong }, { closed: [], wrong: [] });
    ok(answers > 0);
    while (running.pool.members[0]!.waiting + running.pool.members[0]!.running > 0) await new Promise((resolve) => { setTimeout(resolve, 10); });
    const grown = median(used.slice(-20)) - median(used.slice(20, 40)); // after the last fifth of the time, and after the second
    if (isThorough) ok(grown < 2 ** 25, `${grown} bytes more`);
    this.test!.title += ` (${answers} answers, ${refused} refused, ${left} left, ${attacks} attacks, ${Math.round(grown / 2 ** 20)} MiB more)`;
  });
});
