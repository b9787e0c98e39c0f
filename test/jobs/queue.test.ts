// Sweeps over machines: a real Redis server, workers that are killed, jobs that are not to be trusted.
import { deepStrictEqual, equal, match, ok, rejects, throws } from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Queue } from 'bullmq';
import { main } from '../../lib/cli/main.ts';
import { files, jobs } from '../../lib/index.ts';
import { parseAddress } from '../../lib/jobs/queue/address.ts';
import { connect, prefix } from '../../lib/jobs/queue/connect.ts';
import { queuedItem } from '../../lib/jobs/queue/task.ts';
import { skipCases } from '../support/backends.ts';
import { Random } from '../support/random.ts';
import { noServer, startServer, type Server } from '../support/redis.ts';
import { resultsIn } from '../support/results.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** How many workers are killed. */
const kills = process.env['WARPLOOM_THOROUGH'] === undefined ? 3 : 200;

describe('addresses of queues', () => {
  it('are read whole and shown without name and password', () => {
    const cases: [string, string, object][] = [
      ['redis://localhost', 'redis://localhost:6379', { host: 'localhost', port: 6379 }],
      ['redis://u:p%40ss@h:1/3', 'redis://h:1/3', { host: 'h', port: 1, username: 'u', password: 'p@ss', db: 3 }],
      ['rediss://:x@h', 'rediss://h:6379', { host: 'h', port: 6379, password: 'x', tls: { servername: 'h' } }],
      ['rediss://127.0.0.1', 'rediss://127.0.0.1:6379', { host: '127.0.0.1', port: 6379, tls: {} }],
      ['redis://[::1]:7', 'redis://[::1]:7', { host: '::1', port: 7 }],
      ['unix:///run/r.sock', 'unix:///run/r.sock', { path: '/run/r.sock' }],
    ];
    for (const [text, shown, connection] of cases) {
      const address = parseAddress(text);
      equal(address.shown, shown);
      deepStrictEqual(address.connection, connection);
    }
    for (const bad of ['', 'secret', 'redis://', 'http://u:secret@h', 'redis://u:secret@h/x', 'redis://u:secret@h:99999', 'unix://']) {
      throws(() => parseAddress(bad), (error: Error) => !error.message.includes('secret') && /queue: expected redis:/.test(error.message));
    }
  });

  it('without a server, calls end with an error that shows no password', async () => {
    const refused = { code: 'ERR_WARPLOOM_UNAVAILABLE', message: /^no Redis or Valkey server at redis:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/ };
    const queue = 'redis://me:secret@127.0.0.1:1';
    const job = { kind: 'denoise', name: 'a', input: { phantom: 'discs', size: 8 } } as const;
    await rejects(jobs.submit(job, { queue }), refused);
    await rejects(jobs.work({ queue }), refused);
    await rejects(jobs.work({} as never), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'queue' });
    await rejects(jobs.work({ queue: 5 as never }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'queue' });
  });
});

describe('queues over TLS', () => {
  it('are reached with a certificate that is trusted, and refused with another one', async function () {
    const folder = await mkdtemp(join(tmpdir(), 'warploom-tls-'));
    const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
    let server: Server | undefined;
    try {
      const made = spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', certificate, '-days', '2',
        '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']);
      const free = createServer().listen(0, '127.0.0.1');
      await once(free, 'listening');
      const { port } = free.address() as AddressInfo;
      free.close();
      await once(free, 'close');
      if (made.status === 0) server = await startServer({ key, certificate, port }).catch(() => undefined); // one without TLS ends at once
      if (server === undefined) {
        skipCases('no openssl, or no Redis or Valkey server with TLS');
        this.skip();
      }
      const ca = await readFile(certificate);
      for (const host of ['localhost', '127.0.0.1']) {
        const address = parseAddress(`rediss://:${encodeURIComponent(server.password)}@${host}:${port}`);
        await rejects(connect(address), { code: 'ERR_WARPLOOM_UNAVAILABLE', message: /no Redis or Valkey server at rediss:.*self-signed certificate/ });
        const { redis } = await connect({ ...address, connection: { ...address.connection, tls: { ...address.connection['tls'] as object, ca } } });
        equal(await redis.ping(), 'PONG');
        redis.disconnect();
      }
    } finally {
      await server?.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe('sweeps over a queue', function () {
  this.timeout(kills > 3 ? 1_800_000 : 180_000);
  let server: Server | undefined;
  let url = '';
  let folder = '';
  const at = (...parts: string[]): string => join(folder, ...parts);
  const plates = (steps: number, count: number): jobs.JobDescription => ({
    kind: 'heat-adi', name: 'plates', device: { backend: 'cpu' }, initial: { file: 'plate.npy' }, dt: 0.5, steps, snapshots: 8,
    sweep: { diffusivity: Array.from({ length: count }, (_, i) => 0.5 + i / 8) },
  });

  before(async function () {
    server = await startServer();
    if (server === undefined) {
      this.test!.title = noServer;
      this.skip();
    }
    url = server!.url;
  });
  after(() => server?.stop());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'warploom-queue-'));
    await mkdir(at('there'));
    const data = Float64Array.from({ length: 20 * 17 }, (_, i) => Math.sin(i * i));
    await writeFile(at('plate.npy'), files.formatNpy({ type: 'float64', shape: [20, 17], data }));
    await cp(at('plate.npy'), at('there/plate.npy'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('results come back through the queue, the bytes of a run; submitted again, nothing runs again', async () => {
    const job = await jobs.load(plates(40, 3), { folder });
    await jobs.run(job, { results: at('serial') });
    const queue = { queue: url, queueName: 'back' };
    const stop = new AbortController();
    const started: string[] = [];
    const worker = jobs.work({ ...queue, folder: at('there'), signal: stop.signal, parallel: 2, onProgress: ({ event, item }) => {
      if (event === 'started') started.push(item);
    } });
    const events: jobs.RunEvent[] = [];
    const ended = await jobs.submit(job, { ...queue, fetch: true, results: at('fetched'), frames: 5, onProgress: (event) => events.push(event) });
    deepStrictEqual(ended.map(({ item }) => item), job.items.map(({ name }) => name));
    deepStrictEqual(await resultsIn(at('fetched')), await resultsIn(at('serial')));
    deepStrictEqual(await resultsIn(at('there/warploom-results')), await resultsIn(at('serial')));
    deepStrictEqual(events.flatMap((event) => ('sweep' in event ? [event.sweep] : [])).at(-1), { finished: 3, failed: 0, running: 0, total: 3 });
    const frames = new Map(events.flatMap((event) => (event.event === 'frame' ? [[event.item, event.frame] as const] : [])));
    ok(frames.size > 0 && [...frames.keys()].every((name) => job.items.some((item) => item.name === name)));
    for (const { axes, fields } of frames.values()) deepStrictEqual([axes.map(({ values }) => values.length), Object.values(fields)[0]!.length], [[5, 5], 25]);
    await rm(at('fetched'), { recursive: true });
    const again = await jobs.submit(job, { ...queue, fetch: true, results: at('fetched') });
    deepStrictEqual(again.map(({ hash }) => hash), ended.map(({ hash }) => hash));
    deepStrictEqual(await resultsIn(at('fetched')), await resultsIn(at('serial')), 'the workers still had them');
    const inside = await jobs.submit(job, { ...queue });
    equal(inside.length, 3);
    const sizes = await Promise.all(job.items.map(({ name }) => stat(at('there/warploom-results/plates', name, 'result.json'))));
    const marks = sizes.map(({ ino, mtimeMs }) => [ino, mtimeMs]);
    await jobs.submit(job, { ...queue, again: true });
    const after = await Promise.all(job.items.map(({ name }) => stat(at('there/warploom-results/plates', name, 'result.json'))));
    ok(after.every(({ ino, mtimeMs }, i) => ino !== marks[i]![0] || mtimeMs !== marks[i]![1]), 'again: ran anew');
    stop.abort();
    equal((await worker).failed, 0);
  });

  it('a worker runs nothing that it cannot trust, and says why', async () => {
    await writeFile(at('secret.npy'), await readFile(at('plate.npy')));
    await symlink(at('secret.npy'), at('there/link.npy'));
    await writeFile(at('there/e.mjs'), `export default { dimensions: 1, fields: ['u'], rate: ({ u }) => ({ u: -u() }) };`);
    const job = await jobs.load(plates(2, 1), { folder: at('there') });
    const good = await queuedItem(job, job.items[0]!, { root: at('there'), fetch: false, again: false });
    const parameters = good.parameters as Record<string, unknown>;
    const equation = { kind: 'stencil', name: 'plates', equation: { file: 'e.mjs' }, shape: [8], dt: 0.1, until: { steps: 1 }, initial: { u: 1 } };
    const cases: [string, unknown, RegExp][] = [
      ['no object', 5, /item: expected an item that warploom submit wrote/],
      ['a field too many', { ...good, shell: 'rm' }, /shell/],
      ['an item outside', { ...good, item: '..' }, /item/],
      ['an item of a folder', { ...good, item: 'a/b' }, /item/],
      ['a job outside', { ...good, job: '../x' }, /job/],
      ['another job', { ...good, job: 'other' }, /a job named 'other'/],
      ['no parameters', { ...good, parameters: { kind: 'heat-adi' } }, /name/],
      ['a folder outside', { ...good, folder: '..' }, /folder in that of the worker/],
      ['a folder outside by a detour', { ...good, folder: 'x/../../..' }, /folder in that of the worker/],
      ['an absolute folder', { ...good, folder: '/etc' }, /folder in that of the worker|file in the folder|exists/],
      ['an input outside', { ...good, parameters: { ...parameters, initial: { file: '../secret.npy' } } }, /file in the folder of the worker/],
      ['an absolute input', { ...good, parameters: { ...parameters, initial: { file: at('there/plate.npy') } } }, /relative to the job file/],
      ['an input by a link', { ...good, parameters: { ...parameters, initial: { file: 'link.npy' } } }, /file in the folder of the worker/],
      ['other bytes', { ...good, hash: '0'.repeat(64) }, /the same inputs/],
      ['other parameters', { ...good, parameters: { ...parameters, steps: 3 } }, /the same inputs/],
      ['code', { ...good, parameters: equation }, /this worker runs none/],
    ];
    const opened = await connect(parseAddress(url));
    const queue = new Queue('hostile', { connection: opened.redis, prefix });
    for (const [id, data] of cases) await queue.add('plates', data, { jobId: id, attempts: 3 });
    const before = await resultsIn(folder);
    deepStrictEqual(await jobs.work({ queue: url, queueName: 'hostile', folder: at('there'), untilEmpty: true }), { finished: 0, failed: cases.length });
    for (const [id, , why] of cases) {
      const entry = await queue.getJob(id);
      equal(await entry!.getState(), 'failed', id);
      match(entry!.failedReason, why, id);
      equal(entry!.attemptsMade, 1, id);
    }
    deepStrictEqual(await resultsIn(folder), before, 'nothing was written');
    await queue.close();
    opened.redis.disconnect();
    await rejects(jobs.submit({ ...plates(2, 1), initial: { file: at('plate.npy') } } as never, { queue: url, folder }), { argument: 'initial.file' });
    await rejects(jobs.submit(job, { queue: url, root: at('there/..', 'there/e.mjs', '..', '..', 'none') }), { code: 'ERR_WARPLOOM_FILE' });
  });

  it('commands: failures are told with the item, passwords never', async () => {
    await writeFile(at('there/rods.json'), JSON.stringify({
      kind: 'simulate', name: 'rods', equation: 'heat', n: 33, initial: 'ramp', until: { steps: 2 }, snapshots: 1, device: { backend: 'cpu' },
      sweep: { fourier: [40, 50] },
    }));
    const run = async (...argv: string[]) => {
      const [out, err] = [new PassThrough(), new PassThrough()];
      const code = await main(argv, { out, err, signal: new AbortController().signal });
      return { code, text: `${String(out.read() ?? '')}${String(err.read() ?? '')}` };
    };
    const queue = ['--queue', url, '--name', 'told'];
    const detached = await run('submit', at('there/rods.json'), ...queue, '--detach');
    equal(detached.code, 0, detached.text);
    match(detached.text, /rods: 2 items submitted, 0 have ended/);
    const [worker, waiting] = await Promise.all([run('worker', ...queue, '--folder', at('there'), '--drain'), run('submit', at('there/rods.json'), ...queue)]);
    equal(worker.code, 1, worker.text);
    equal(waiting.code, 2, waiting.text);
    match(waiting.text, /fourier=40: fourier: /);
    match(waiting.text, /fourier=50: fourier: /);
    const wrong = await run('submit', at('there/rods.json'), '--queue', url.replace('42', '43'));
    equal(wrong.code, 3, wrong.text);
    match(wrong.text, /no Redis or Valkey server at unix:.*WRONGPASS/);
    for (const { text } of [detached, worker, waiting, wrong]) ok(!text.includes('opensesame'), text);
    equal((await run('worker')).code, 2);
    equal((await run('submit', at('there/rods.json'), '--fetch')).code, 2);
  });

  it(`${kills} workers killed at random: nothing is lost, nothing finished runs again`, async function () {
    const random = new Random(20261128);
    const results = at('there/warploom-results');
    const lost: string[] = [];
    const seen = new Map<string, string>();
    /** Results that are there must stay as they are. */
    const look = async (name: string): Promise<void> => {
      for (const item of await readdir(join(results, name)).catch(() => [])) {
        const text = await readFile(join(results, name, item, 'result.json'), 'utf8').catch(() => undefined);
        const key = `${name}/${item}`;
        if (text !== undefined && seen.has(key) && seen.get(key) !== text) lost.push(`${key} ran again`);
        if (text === undefined && seen.has(key)) lost.push(`${key} is gone`);
        if (text !== undefined) seen.set(key, text);
      }
    };
    const argv = ['worker', '--queue', url, '--name', 'kills', '--folder', at('there'), '--lease', '1', '--json'];
    const bin = join(root, 'lib/cli/bin.ts');
    let killed = 0;
    for (let round = 0; killed < kills; round += 1) {
      const name = `plates${round}`;
      const job = await jobs.load({ ...plates(800, Math.min(60, kills)), name } as never, { folder: at('there') });
      const all = jobs.submit(job, { queue: url, queueName: 'kills' });
      let isDone = false;
      const end = all.finally(() => { isDone = true; });
      const lane = async (): Promise<void> => {
        while (!isDone && killed < kills) {
          const child = spawn(process.execPath, ['--import', 'tsx', bin, ...argv], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
          const gone = once(child, 'exit');
          child.stdout.resume();
          await Promise.race([once(child.stdout, 'data'), end.catch(() => undefined)]);
          await sleep(random.next() * 1000);
          if (!isDone) killed += 1;
          child.kill('SIGKILL');
          await gone;
          await look(name);
        }
      };
      await Promise.all([lane(), lane()]);
      const stop = new AbortController();
      const last = jobs.work({ queue: url, queueName: 'kills', folder: at('there'), leaseSeconds: 1, signal: stop.signal });
      deepStrictEqual((await end).map(({ item }) => item), job.items.map((item) => item.name), 'nothing is lost');
      stop.abort();
      await last;
      await look(name);
      await jobs.run(job, { results: at('serial') });
      deepStrictEqual(await resultsIn(join(results, name)), await resultsIn(at('serial', name)), 'the same bytes');
    }
    deepStrictEqual(lost, []);
    this.test!.title += `: ${killed} killed, ${seen.size} items`;
  });
});
