// A server under load: honest requests beside hostile ones and clients that leave. No crash, no wrong answer, memory that does not grow.
// Three seconds; with WARPLOOM_THOROUGH=1 ten minutes.
import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict';
import { scan, server, tridiagonal } from '../../lib/index.ts';
import { Random } from '../support/random.ts';
import { casesOf, isThorough } from '../support/thorough.ts';
import { infer } from './client.ts';
import { hostile, sendRaw } from './hostile.ts';

const seconds = casesOf(3, Number(process.env['WARPLOOM_LOAD_SECONDS'] ?? 600));

describe('a server under load', function () {
  this.timeout((seconds + 120) * 1000);
  let running: Awaited<ReturnType<typeof server.serve>>;
  before(async () => { running = await server.serve({ port: 0, devices: [{ backend: 'cpu', threads: 1 }], bodyLimit: 2 ** 20, maxWork: 1e7 }); });
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

  it(`gives right answers for ${seconds} seconds beside them, in bounded memory`, async function () {
    const { url } = running;
    const port = Number(new URL(url).port), end = Date.now() + seconds * 1000;
    const random = new Random(7);
    let answers = 0, refused = 0, left = 0, reset = 0;
    const honest = async (index: number): Promise<void> => {
      for (let turn = 0; turn < 3 || Date.now() < end; turn += 1) {
        const n = 1 + ((index * 37 + turn * 11) % 300), binary = turn % 2 === 0;
        const values = Float64Array.from({ length: n }, (_, i) => Math.sin(i * (index + 1) + turn));
        const data = binary ? values : [...values];
        const parameters = { binary_data_output: binary };
        const one = turn % 3 === 0;
        const inputs = one ? [{ name: 'values', datatype: 'FP64', shape: [n], data }] : ['lower', 'diagonal', 'upper', 'rhs'].map((name) => ({
          name, datatype: 'FP64', shape: name === 'rhs' ? [n] : [1], data: name === 'rhs' ? data : [name === 'diagonal' ? 4 : -1] }));
        const answer = await infer(url, one ? 'scan' : 'tridiagonal_solve', inputs, { parameters }).catch(() => undefined);
        if (answer === undefined) { reset += 1; continue; } // a connection that was closed as the request went out
        if (answer.status === 503) { refused += 1; continue; }
        strictEqual(answer.status, 200, JSON.stringify(answer.json));
        const expected = one ? (await scan(values)).result : (await tridiagonal.solve({ lower: -1, diagonal: 4, upper: -1, rhs: values })).solution;
        deepStrictEqual(Float64Array.from(answer.outputs[one ? 'result' : 'solution']!.data as number[]), expected);
        answers += 1;
      }
    };
    const leaving = async (): Promise<void> => {
      while (Date.now() < end) {
        const signal = AbortSignal.timeout(random.integer(1, 8));
        await infer(url, 'scan', [{ name: 'values', datatype: 'FP64', shape: [20_000], data: new Float64Array(20_000) }], { signal }).catch(() => { left += 1; });
      }
    };
    const attacking = async (): Promise<void> => {
      while (Date.now() < end) await sendRaw(port, hostile[random.integer(0, hostile.length - 1)]!);
    };
    let early = 0;
    const watching = async (): Promise<void> => {
      await new Promise((resolve) => { setTimeout(resolve, seconds * 300); });
      early = process.memoryUsage().rss;
    };
    await Promise.all([0, 1, 2, 3].map(honest).concat([leaving(), leaving(), attacking(), attacking(), watching()]));
    ok(answers > 0 && reset <= answers, `${answers} answers, ${reset} connections reset`);
    const grown = process.memoryUsage().rss - early;
    if (isThorough) ok(grown < 2 ** 28, `${grown} bytes more than after a third of the time`);
    while (running.pool.members[0]!.waiting + running.pool.members[0]!.running > 0) await new Promise((resolve) => { setTimeout(resolve, 10); });
    this.test!.title += ` (${answers} answers, ${refused} refused, ${reset} reset, ${left} left, ${Math.round(grown / 2 ** 20)} MiB)`;
  });
});
