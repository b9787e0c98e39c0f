// Folders of results: bounded sweeps, a folder for each item, one run at a time, no rubbish, no way out through symbolic links.
import { deepStrictEqual, equal, match, notEqual, ok, rejects, throws } from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { main } from '../../lib/cli/main.ts';
import type { WarploomError } from '../../lib/core/errors.ts';
import { temporaryBeside } from '../../lib/core/files.ts';
import { formatNpy } from '../../lib/files/npy.ts';
import { loadJob, mostItems } from '../../lib/jobs/load.ts';
import { FolderLock, lockName } from '../../lib/jobs/lock.ts';
import { itemNamer, requireOwnFolders } from '../../lib/jobs/names.ts';
import { Random } from '../support/random.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

async function run(argv: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await main(argv, { out, err, signal: new AbortController().signal });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

/** The names of all combinations of a sweep. */
function namesOf(sweep: Record<string, unknown[]>): string[] {
  const nameOf = itemNamer(sweep);
  const all = Object.entries(sweep).reduce<Record<string, unknown>[]>((some, [field, values]) => some.flatMap((one) => values.map((value) => ({ ...one, [field]: value }))), [{}]);
  return all.map(nameOf);
}

describe('folders of results', function () {
  this.timeout(60_000);
  let folder: string;
  let results: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'warploom-folders-'));
    results = join(folder, 'results');
    await writeFile(join(folder, 'grid.npy'), formatNpy({ type: 'float64', shape: [4, 5], data: Float64Array.from({ length: 20 }, (_, i) => i) }));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const job = async (content: object, name = 'job'): Promise<string> => {
    const path = join(folder, `${name}.json`);
    const heat = { kind: 'heat-adi', initial: { file: 'grid.npy' }, dt: 0.5, steps: 4, snapshots: 2, device: { backend: 'cpu' } };
    await writeFile(path, JSON.stringify({ name, ...heat, ...content }));
    return path;
  };

  it('sweeps are counted before they are built', async () => {
    const values = Array.from({ length: 199 }, (_, i) => i + 1);
    const sweep = { diffusivity: values, dx: values, dy: values, dt: values, steps: values, snapshots: values };
    const { code, err } = await run(['run', await job({ sweep }), '--results', results]);
    equal(code, 2);
    match(err, /sweep: expected at most 100000 items, received 62103840598801 combinations/);
    const most = { dx: values, dy: values, dt: [1, 2, 3] };
    await rejects(loadJob(await job({ sweep: most })), { argument: 'sweep', received: `${199 * 199 * 3} combinations` });
    ok(199 * 199 * 2 <= mostItems);
    equal((await loadJob(await job({ sweep: { dx: values, steps: [1, 2, 3] } }))).items.length, 597);
  });

  it('names of items are short, readable and never the same', async () => {
    deepStrictEqual(namesOf({}), ['all']);
    deepStrictEqual(namesOf({ initial: [{ kind: 'cosine', mode: 3 }, 'ramp'], n: [64] }), ['initial=cosine-3,n=64', 'initial=ramp,n=64']);
    deepStrictEqual(namesOf({ initial: [{ file: 'data/plate.npy' }], dt: [1e-7, -0.5] }), ['initial=plate.npy,dt=1e-7', 'initial=plate.npy,dt=-0.5']);
    const alike = [
      { file: 'a b.npy' }, { file: 'a_b.npy' }, { file: 'a-b.npy' }, { file: 'A-b.npy' }, { file: 'x/a-b.npy' }, { file: '\u00e9.npy' }, { file: 'e\u0301.npy' },
      '1', 1, '', ' ', '..', '.', null, [], {}, [1, 2], '1-2', 'x'.repeat(500), 'x'.repeat(501), '../../etc', 'nul\u0000', 'a\nb',
    ];
    for (const [index, name] of namesOf({ initial: alike, other: [1] }).entries()) {
      match(name, /^initial=[A-Za-z0-9_.+~-]+,other=1$/, String(alike[index]));
      ok(name.length <= 120);
    }
    const long = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`parameter${i}`, ['one'.repeat(10), 'two'.repeat(10)]]));
    for (const sweep of [{ initial: alike, other: [1] }, long]) {
      const names = namesOf(sweep);
      equal(new Set(names.map((name) => name.toLowerCase().normalize('NFC'))).size, names.length);
      ok(names.every((name) => name.length <= 120));
    }
    throws(() => namesOf({ dt: [1, 2, 1] }), { argument: 'sweep.dt', message: /1 twice/ });
    throws(() => namesOf({ initial: [{ a: 1, b: 2 }, { b: 2, a: 1 }] }), { argument: 'sweep.initial' });
    throws(() => requireOwnFolders(['dt=1', 'DT=1']), { argument: 'sweep' });
  });

  it('random sweeps: as many names as items', () => {
    const random = new Random(7);
    const letters = ['a', 'A', 'b', ' ', '_', '-', '/', '.', '\u00e4', 'a\u0308', '~', '='];
    const word = (): string => Array.from({ length: random.integer(0, 6) }, () => letters[random.integer(0, letters.length - 1)]!).join('');
    for (let round = 0; round < 300; round += 1) {
      const sweep = Object.fromEntries(['initial', 'input', 'dt'].map((field) => [field, [...new Set(Array.from({ length: 6 }, word))]]));
      const names = namesOf(sweep);
      equal(new Set(names.map((name) => name.toLowerCase())).size, names.length, JSON.stringify(sweep));
    }
  });

  it('files that used to share a folder have one each, and both are skipped the next time', async () => {
    const data = formatNpy({ type: 'float64', shape: [2, 2], data: Float64Array.of(4, 3, 2, 1) });
    for (const name of ['a b.npy', 'a_b.npy']) await writeFile(join(folder, name), data);
    const path = await job({ sweep: { initial: [{ file: 'a b.npy' }, { file: 'a_b.npy' }] } });
    equal((await run(['run', path, '--results', results])).code, 0);
    equal((await readdir(join(results, 'job'))).filter((name) => !name.startsWith('summary.')).length, 2);
    const again = await run(['run', path, '--results', results, '--json']);
    deepStrictEqual(again.out.trim().split('\n').map((line) => (JSON.parse(line) as { event: string }).event), ['skipped', 'skipped']);
  });

  it('fields that all items share cannot be swept, and names may not differ by capitals only', async () => {
    for (const sweep of [{ name: ['a', 'b'] }, { device: [{ backend: 'cpu' }] }, { sweep: [{}] }, { kind: ['heat-adi'] }]) {
      await rejects(loadJob(await job({ sweep })), { argument: `sweep.${Object.keys(sweep)[0]}` });
    }
    const paths = [await job({}, 'cooling'), join(folder, 'other.json')];
    await writeFile(paths[1]!, (await readFile(paths[0]!, 'utf8')).replace('"cooling"', '"Cooling"'));
    const { code, err } = await run(['run', ...paths, '--results', results]);
    equal(code, 2);
    match(err, /results would get mixed up/);
  });

  it('outputs cannot take the place of what the job itself writes', async () => {
    await writeFile(join(folder, 'p.str'), 'float->float filter P() { work pop 1 push 1 { push(pop()); } }');
    await writeFile(join(folder, 'in.txt'), '1 2 3');
    const stream = { name: 's', kind: 'stream', program: 'p.str', input: 'in.txt' };
    for (const output of ['result.json', 'Result.JSON', 'graph.svg', 'state.checkpoint', 'state.checkpoint.previous', 'result.json.', 'GRAPH.svg', 'result.zarr', lockName]) {
      await writeFile(join(folder, 's.json'), JSON.stringify({ ...stream, output }));
      const { code, err } = await run(['run', join(folder, 's.json'), '--results', results]);
      equal(code, 2, output);
      match(err, /output/);
    }
    deepStrictEqual((await readdir(folder)).includes('results'), false);
  });

  it('unfinished files of killed writers are removed, others stay', async () => {
    const path = await job({});
    const item = join(results, 'job', 'all');
    await mkdir(join(item, 'deep'), { recursive: true });
    const ours = [join(item, 'final.npy'), join(item, 'deep', 'chunk'), join(results, 'job', 'x'.repeat(300))].map((name) => temporaryBeside(name));
    const theirs = [join(item, '.notes.tmp'), join(item, 'a.warploom-tmp'), join(item, '.final.npy.0123456789ab.tmp')];
    for (const name of [...ours, ...theirs]) await writeFile(name, 'x');
    equal((await run(['run', path, '--results', results])).code, 0);
    const left = (await readdir(results, { recursive: true })).filter((name) => name.endsWith('tmp'));
    deepStrictEqual(left.sort(), theirs.map((name) => name.slice(results.length + 1)).sort());
    ok(!(await readdir(join(results, 'job'))).includes(lockName), 'the lock is gone');
  });

  it('symbolic links are refused at every level unless asked for', async () => {
    const path = await job({});
    const elsewhere = join(folder, 'elsewhere');
    const places: [string, string][] = [['job', 'job'], ['job/all', 'all'], ['job/all/deep', 'deep']];
    for (const [link] of places) {
      await rm(results, { recursive: true, force: true });
      await rm(elsewhere, { recursive: true, force: true });
      await mkdir(join(results, link, '..'), { recursive: true });
      await mkdir(elsewhere);
      await symlink(elsewhere, join(results, link));
      const { code, err } = await run(['run', path, '--results', results]);
      equal(code, 2, link);
      match(err, new RegExp(`symbolic links.*${link}`));
      deepStrictEqual(await readdir(elsewhere), [], 'nothing was written through the link');
      equal((await run(['run', path, '--results', results, '--follow-links'])).code, 0, link);
    }
    await rm(results, { recursive: true });
    await rm(elsewhere, { recursive: true });
    await mkdir(elsewhere);
    await symlink(elsewhere, results); // the user's own choice
    equal((await run(['run', path, '--results', results])).code, 0);
  });

  const start = (path: string): ChildProcess =>
    spawn(process.execPath, ['--import', 'tsx', join(root, 'lib/cli/bin.ts'), 'run', path, '--results', results, '--json'], { stdio: ['ignore', 'pipe', 'pipe'], cwd: root });
  const ended = async (child: ChildProcess): Promise<{ code: number | null; err: string }> => {
    let err = '';
    child.stderr!.on('data', (piece) => { err += String(piece); });
    return new Promise((resolve) => child.once('close', (code) => resolve({ code, err })));
  };

  it('two command lines in one folder: one runs, the other is refused with process and time; a killed one leaves no lock', async () => {
    const path = await job({ steps: 1_000_000, snapshots: 1000 });
    const first = start(path);
    const firstEnd = ended(first);
    await new Promise((resolve) => first.stdout!.once('data', resolve));
    const second = await run(['run', path, '--results', results]);
    equal(second.code, 1);
    match(second.err, new RegExp(`another run is writing here: .*held by process ${first.pid} on ${hostname()} since 20`));
    const third = await ended(start(path));
    equal(third.code, 1);
    match(third.err, /another run is writing here/);
    first.kill('SIGKILL');
    await firstEnd;
    ok((await readdir(join(results, 'job'))).includes(lockName), 'left by the killed process');
    await job({ steps: 4 });
    equal((await run(['run', path, '--results', results])).code, 0);
  });

  it('locks: of twenty that come at once one has it, stale ones are taken over, foreign ones are not', async () => {
    const place = join(folder, 'place');
    await mkdir(place);
    const lock = await FolderLock.take(place);
    const mine = JSON.parse(await readFile(join(place, lockName), 'utf8')) as Record<string, unknown>;
    equal(mine['pid'], process.pid);
    await rejects(FolderLock.take(place), { code: 'ERR_WARPLOOM_LOCKED' });
    await lock.release();
    deepStrictEqual(await readdir(place), []);
    const dead = { ...mine, pid: 2 ** 22 + 1 };
    const stale = { dead, reused: { ...mine, began: '1' }, rebooted: { ...mine, boot: 'before' }, empty: undefined, cut: '{"pid": 1' };
    for (const [what, owner] of Object.entries(stale)) {
      await writeFile(join(place, lockName), typeof owner === 'object' ? JSON.stringify(owner) : owner ?? '');
      const all = await Promise.allSettled(Array.from({ length: 20 }, () => FolderLock.take(place)));
      const held = all.filter((result) => result.status === 'fulfilled');
      equal(held.length, 1, what);
      await held[0]!.value.release();
      deepStrictEqual(await readdir(place), [], what);
    }
    for (const owner of [{ ...mine, host: 'elsewhere' }, { ...mine, namespace: 'another' }]) {
      await writeFile(join(place, lockName), JSON.stringify(owner));
      await rejects(FolderLock.take(place), { code: 'ERR_WARPLOOM_LOCKED', message: /delete that file/ });
    }
    notEqual(await readFile(join(place, lockName), 'utf8'), '');
  });

  it('locks: one that another run has just made, and not yet written, is not taken for one that was left', async () => {
    const place = join(folder, 'slow');
    await mkdir(place);
    const lock = await FolderLock.take(place);
    const owner = await readFile(join(place, lockName), 'utf8');
    await lock.release();
    await writeFile(join(place, lockName), '');
    const taking = FolderLock.take(place).then(() => 'taken', (error: WarploomError) => error.code);
    await sleep(1900);
    await writeFile(join(place, lockName), ''); // the one that was left went, another run's came
    await sleep(700);
    equal(await readFile(join(place, lockName), 'utf8'), '');
    await writeFile(join(place, lockName), owner);
    equal(await taking, 'ERR_WARPLOOM_LOCKED');
  });
});
