// Jobs over HTTP: submitted, followed, paused, resumed and fetched; nothing but their own files can be read.
import { deepStrictEqual, doesNotMatch, match, ok, strictEqual } from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { server } from '../../lib/index.ts';

type Json = Record<string, unknown>;
const rod = { kind: 'simulate', name: 'rod', equation: 'heat', n: 101, fourier: 0.4, initial: 'ramp', until: { steps: 400 }, snapshots: 4 };

describe('jobs over HTTP', function () {
  this.timeout(120_000);
  const shared = mkdtempSync(join(tmpdir(), 'warploom-shared-'));
  let running: Awaited<ReturnType<typeof server.serve>>;
  let url = '';
  before(async () => {
    writeFileSync(join(shared, 'secret-not.txt'), 'x');
    symlinkSync('/etc/hostname', join(shared, 'link.png'));
    running = await server.serve({ port: 0, devices: [{ backend: 'cpu', threads: 1 }], shared, jobLimit: 3, keptJobs: 3 });
    ({ url } = running);
  });
  after(async () => {
    await running.close();
    rmSync(shared, { recursive: true, force: true });
  });

  const ask = async (path: string, method = 'GET', body?: unknown): Promise<{ status: number; json: Json }> => {
    const response = await fetch(url + path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    const text = await response.text();
    return { status: response.status, json: text === '' ? {} : JSON.parse(text) as Json };
  };
  /** The events of a job until it is over. */
  const events = async (id: unknown): Promise<[string, Json][]> => {
    const response = await fetch(`${url}/v1/jobs/${String(id)}/events`);
    strictEqual(response.headers.get('content-type'), 'text/event-stream');
    return [...(await response.text()).matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, event, data]) => [event!, JSON.parse(data!) as Json]);
  };
  const until = async (id: unknown, ...states: string[]): Promise<Json> => {
    for (;;) {
      const { json } = await ask(`/v1/jobs/${String(id)}`);
      if (states.includes(String(json['state']))) return json;
      await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
  };

  it('are described by their schema, run, followed with frames, and fetched file by file', async () => {
    ok('$schema' in (await ask('/v1/schema')).json);
    const { status, json } = await ask('/v1/jobs', 'POST', { job: { ...rod, sweep: { fourier: [0.2, 0.4] } } });
    strictEqual(status, 201);
    const seen = await events(json['id']);
    const frames = seen.filter(([event]) => event === 'frame');
    ok(frames.length >= 1 && Array.isArray((frames[0]![1]['fields'] as { u: number[] }).u));
    deepStrictEqual([seen[0]![0], seen.at(-1)![1]['state'], seen.at(-1)![1]['finishedItems']], ['state', 'finished', 2]);
    const { json: results } = await ask(`/v1/jobs/${String(json['id'])}/results`);
    const items = results['items'] as { item: string; result: Json; files: { name: string; bytes: number }[] }[];
    deepStrictEqual(items.map(({ item }) => item), ['fourier=0.2', 'fourier=0.4']);
    for (const { item, files } of items) {
      ok(files.some(({ name }) => name === 'result.json'));
      for (const { name, bytes } of files) {
        const response = await fetch(`${url}/v1/jobs/${String(json['id'])}/results/${encodeURIComponent(item)}/${name}`);
        deepStrictEqual([response.status, (await response.arrayBuffer()).byteLength], [200, bytes], name);
      }
    }
    for (const path of ['../../../etc/passwd', 'fourier=0.2/../../../x', 'fourier=0.2/', '%2e%2e/%2e%2e/etc/passwd', 'fourier=0.2/..%2f..%2fx']) {
      strictEqual((await fetch(`${url}/v1/jobs/${String(json['id'])}/results/${path}`)).status, 404, path);
    }
    strictEqual((await ask(`/v1/jobs/${String(json['id'])}`, 'DELETE')).status, 204);
    strictEqual((await ask(`/v1/jobs/${String(json['id'])}`)).status, 404);
  });

  it('read the files that come along, and nothing else', async () => {
    const job = { kind: 'spline', name: 'curve', file: 'points.csv', x: 't', y: ['v'] };
    const csv = Buffer.from('t,v\n0,1\n1,2\n2,1\n3,5\n').toString('base64');
    const sent = await ask('/v1/jobs', 'POST', { job, files: { 'points.csv': csv } });
    strictEqual((await until(sent.json['id'], 'finished', 'failed'))['state'], 'finished', JSON.stringify(sent.json));
    const image = { kind: 'denoise', name: 'a', weight: 0.1, iterations: 2 };
    for (const input of ['/etc/passwd', '../x.png', 'shared/link.png', 'shared/../x.png', 'package:zod/package.json', 'other/x.png', 'a\0b', 'shared', '..', './x.png', 'x.mjs']) {
      const { status, json } = await ask('/v1/jobs', 'POST', { job: { ...image, input } });
      strictEqual(status, 400, input);
      doesNotMatch(String(json['error']), /\/tmp|warploom-/, input);
    }
    const absent = await ask('/v1/jobs', 'POST', { job: { ...image, input: 'absent.png' } });
    match(String(absent.json['error']), /a file that exists.*absent\.png/);
    const equation = await ask('/v1/jobs', 'POST', { job: { kind: 'stencil', name: 'b', equation: { file: 'code.mjs' }, shape: [8], until: { steps: 1 } } });
    deepStrictEqual([equation.status, /cannot run code/.test(String(equation.json['error']))], [400, true]);
    for (const files of [{ '../x': 'AAAA' }, { '.hidden': 'AAAA' }, { 'a.mjs': 'AAAA' }, { 'a.png': 3 }, { 'a.png': '?' }, [1], { 'a.png': 'AAAA', 'A.png': 'AAAA' }]) {
      strictEqual((await ask('/v1/jobs', 'POST', { job: image, files })).status, 400, JSON.stringify(files));
    }
  });

  it('are paused, resumed and aborted, each in its state', async () => {
    const long = { ...rod, name: 'long', n: 2001, until: { steps: 100_000_000 }, snapshots: 50 };
    const { json: { id } } = await ask('/v1/jobs', 'POST', { job: long });
    const { json: { id: second } } = await ask('/v1/jobs', 'POST', { job: { ...rod, name: 'second' } });
    await until(id, 'running');
    strictEqual((await ask(`/v1/jobs/${String(id)}/resume`, 'POST')).status, 409);
    strictEqual((await ask(`/v1/jobs/${String(id)}`, 'DELETE')).status, 409);
    const third = await ask('/v1/jobs', 'POST', { job: { ...rod, name: 'third' } });
    const full = await ask('/v1/jobs', 'POST', { job: { ...rod, name: 'fourth' } });
    deepStrictEqual([third.status, full.status], [201, 503]);
    strictEqual((await ask(`/v1/jobs/${String(id)}/pause`, 'POST')).status, 200);
    await until(id, 'paused');
    await until(second, 'finished'); // the others go on
    strictEqual((await ask(`/v1/jobs/${String(id)}/resume`, 'POST')).status, 200);
    await until(id, 'running');
    await ask(`/v1/jobs/${String(id)}/abort`, 'POST');
    const over = await until(id, 'aborted');
    deepStrictEqual([over['name'], (await ask('/v1/jobs')).json['jobs'] !== undefined], ['long', true]);
    strictEqual((await ask(`/v1/jobs/${String(id)}/abort`, 'POST')).status, 409);
  });

  it('are refused when they are wrong, with the reason', async () => {
    const program = Buffer.from('void->void pipeline M { add S(); add K(); } void->int filter S { work push 1 { push(1); } } '
      + 'int->void filter K { work pop 1 { println(pop()); } }').toString('base64');
    for (const [body, reason] of [
      [{ job: { kind: 'nothing' } }, /kind/], [{ job: 3 }, /"job"/], [3, /"job"/], [{ job: { ...rod, n: -1 } }, /n/],
      [{ job: { ...rod, sweep: { fourier: Array.from({ length: 20_000 }, (_, i) => i / 1e5) } } }, /at most 10000 items/],
      [{ job: { kind: 'stream', name: 's', program: 'p.str', backend: 'cpp' }, files: { 'p.str': program } }, /cpp/],
    ] as const) {
      const { status, json } = await ask('/v1/jobs', 'POST', body);
      strictEqual(status, 400, JSON.stringify(body).slice(0, 60));
      match(String(json['error']), reason);
    }
    strictEqual((await fetch(`${url}/v1/jobs`, { method: 'POST', body: '{' })).status, 400);
    strictEqual((await ask('/v1/jobs/none/events')).status, 404);
  });

  it('take no more of the disk than allowed: the oldest go first, and what does not fit ends with an error', async () => {
    const submit = async (at: string, body: object): Promise<{ status: number; json: Json }> => {
      const response = await fetch(`${at}/v1/jobs`, { method: 'POST', body: JSON.stringify(body) });
      return { status: response.status, json: await response.json() as Json };
    };
    const over = async (at: string, id: unknown): Promise<Json> => {
      for (;;) {
        const json = await (await fetch(`${at}/v1/jobs/${String(id)}`)).json() as Json;
        if (json['state'] === 'finished' || json['state'] === 'failed') return json;
        await new Promise((resolve) => { setTimeout(resolve, 10); });
      }
    };
    const { bytes } = await over(url, (await submit(url, { job: rod })).json['id']) as { bytes: number };
    ok(bytes > 101 * 8 * 4, String(bytes));
    await using small = await server.serve({ port: 0, devices: [{ backend: 'cpu', threads: 1 }], jobBytes: Math.round(1.5 * bytes) });
    const [first, second] = [await submit(small.url, { job: rod }), await submit(small.url, { job: { ...rod, name: 'second' } })];
    deepStrictEqual([(await over(small.url, second.json['id']))['state'], (await fetch(`${small.url}/v1/jobs/${String(first.json['id'])}`)).status],
      ['finished', 404]);
    const refused = await submit(small.url, { job: rod, files: { 'x.png': Buffer.alloc(2 * bytes).toString('base64') } });
    deepStrictEqual([refused.status, refused.json['code']], [503, 'ERR_WARPLOOM_QUEUE_FULL']);
    const large = await submit(small.url, { job: { ...rod, name: 'large', n: 5001, snapshots: 40 } });
    match(String((await over(small.url, large.json['id']))['error']), /\(jobBytes\)/);
    for (;;) { // its results are removed
      const [, kept] = /^warploom_job_bytes (\d+)$/m.exec(await (await fetch(`${small.url}/metrics`)).text())!;
      if (Number(kept) <= 1.5 * bytes) break;
      await new Promise((resolve) => { setTimeout(resolve, 10); });
    }
  });

  it('leave no files behind', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('warploom-'));
    const other = await server.serve({ port: 0, devices: [{ backend: 'cpu', threads: 1 }] });
    const { id } = await (await fetch(`${other.url}/v1/jobs`, { method: 'POST', body: JSON.stringify({ job: { ...rod, until: { steps: 100_000_000 } } }) })).json() as Json;
    ok(typeof id === 'string');
    const own = readdirSync(tmpdir()).find((name) => name.startsWith('warploom-') && existsSync(join(tmpdir(), name, id)));
    ok(own !== undefined && !before.includes(own));
    await other.close();
    strictEqual(existsSync(join(tmpdir(), own)), false);
  });
});
