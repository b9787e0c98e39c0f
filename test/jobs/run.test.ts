// jobs.run: the same jobs from a program as from files.
import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { files, jobs } from '../../lib/index.ts';

describe('jobs.run', () => {
  let folder = '';
  const at = (...parts: string[]): string => join(folder, ...parts);
  const solve = { kind: 'solve', name: 'thing', lower: -1, diagonal: 2, upper: -1, rhs: 'rhs.npy' } as const;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'warploom-jobs-'));
    await mkdir(at('in'));
    await writeFile(at('in/rhs.npy'), files.formatNpy({ type: 'float64', shape: [3], data: Float64Array.of(1, 0, 1) }));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('runs a job that is an object; its paths are relative to `folder`', async () => {
    const events: string[] = [];
    const [item, ...more] = await jobs.run(solve, {
      folder: at('in'), results: at('out'), backend: 'cpu', onProgress: ({ event }) => events.push(event),
    });
    deepStrictEqual(more, []);
    strictEqual(item!.device.backend, 'cpu');
    ok(item!.accuracy.value < 1e-15);
    const { data } = files.parseNpy(await readFile(at('out/thing/all/solution.npy')));
    deepStrictEqual([...data as Float64Array].map((x) => Math.round(x * 1e9) / 1e9), [1, 1, 1]);
    strictEqual(events[0], 'started');
    strictEqual(events.at(-1), 'finished');
    deepStrictEqual(JSON.parse(await readFile(at('out/thing/all/result.json'), 'utf8')), JSON.parse(JSON.stringify(item)));
  });

  it('takes a job file, whose paths are relative to it, and gives what stands there already', async () => {
    await writeFile(at('in/job.json'), JSON.stringify({ ...solve, sweep: { diagonal: [2, 3] } }));
    const first = await jobs.run(at('in/job.json'), { results: at('out'), backend: 'cpu' });
    deepStrictEqual(first.map(({ item }) => item), ['diagonal=2', 'diagonal=3']);
    const events: string[] = [];
    const second = await jobs.run(at('in/job.json'), { results: at('out'), backend: 'cpu', onProgress: ({ event }) => events.push(event) });
    deepStrictEqual(events, ['skipped', 'skipped']);
    deepStrictEqual(second, JSON.parse(JSON.stringify(first)));
    const again = await jobs.run(at('in/job.json'), { results: at('out'), backend: 'cpu', again: true });
    deepStrictEqual(again.map(({ hash }) => hash), first.map(({ hash }) => hash));
  });

  it('refuses what is no job, naming the field, and leaves nothing behind', async () => {
    const refused = (job: unknown, given: object, what: RegExp) =>
      rejects(jobs.run(job as never, { results: at('out'), ...given }), (error: { code: string; message: string }) => {
        strictEqual(error.code, 'ERR_WARPLOOM_INVALID_ARGUMENT');
        match(error.message, what);
        return true;
      });
    await refused(5, {}, /job/);
    await refused({ ...solve, kind: 'guess' }, {}, /kind/);
    await refused({ ...solve, diagnal: 2 }, {}, /diagnal/);
    await refused(solve, { folder: at('elsewhere') }, /rhs/);
    await refused(solve, { folder: at('in'), sweeps: 1 }, /sweeps/);
    await refused(solve, { folder: at('in'), backend: 'gpu' }, /backend/);
    deepStrictEqual((await readdir(folder)).sort(), ['in']);
  });

  it('ends with the reason of its signal', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await rejects(jobs.run(solve, { folder: at('in'), results: at('out'), signal }), /enough/);
  });

  it('publishes the JSON Schema that stands in examples/jobs', async () => {
    const published = await readFile(fileURLToPath(new URL('../../examples/jobs/job.schema.json', import.meta.url)), 'utf8');
    strictEqual(`${JSON.stringify(await jobs.jsonSchema(), null, 2)}\n`, published);
  });
});
