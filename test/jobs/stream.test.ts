// The job kind stream: values for the parameters of a program.
import { deepStrictEqual, equal, match } from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { main } from '../../lib/cli/main.ts';

describe('stream jobs', function () {
  this.timeout(60_000);
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-stream-jobs-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const start = async (content: object) => {
    await writeFile(join(folder, 'p.str'), 'float->float filter P(int n, float[n] w, boolean up) { work pop 1 push 1 { push(up ? pop() * w[n - 1] : -pop()); } }');
    await writeFile(join(folder, 'in.txt'), '1 2 3');
    await writeFile(join(folder, 'job.json'), JSON.stringify({ name: 'job', kind: 'stream', program: 'p.str', input: 'in.txt', output: 'out.txt', ...content }));
    const [out, err] = [new PassThrough(), new PassThrough()];
    const code = await main(['run', join(folder, 'job.json'), '--results', join(folder, 'results')], { out, err, signal: new AbortController().signal });
    return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
  };

  it('take numbers, truth values and arrays', async () => {
    const { code, err } = await start({ parameters: { n: 2, w: [1, 2.5], up: true } });
    equal(code, 0, err);
    const found = await readFile(join(folder, 'results', 'job', 'all', 'out.txt'), 'utf8');
    deepStrictEqual(found.trim().split(/\s+/).map(Number), [2.5, 5, 7.5]);
  });

  it('say by name what is missing or does not fit', async () => {
    const missing = await start({ parameters: { n: 2, up: true } });
    equal(missing.code, 1);
    match(missing.out + missing.err, /parameter 'w' has no value/);
    match((await start({ parameters: { n: 2, w: [1], up: true } })).err, /parameters\.w: expected an array of 2/);
    equal((await start({ parameters: { n: null } })).code, 2);
  });
});
