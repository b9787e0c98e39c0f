import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadCheckpoint, writeCheckpoint, type CheckpointFormat } from '../../lib/core/checkpoint.ts';
import type { FileError } from '../../lib/core/errors.ts';
import { writeFileAtomic } from '../../lib/core/files.ts';
import { text, whole } from '../../lib/core/checks.ts';
import { record } from '../../lib/core/shapes.ts';

const sample = {
  kind: 'test', parameters: { n: 3, name: 'µ' }, step: 7,
  arrays: {
    state: new Float64Array([1.5, 5e-324, -0]), flags: new Uint8Array([1, 2, 3]),
    offsets: new BigInt64Array([2n ** 62n]), empty: new Float32Array(0), rows: new Int32Array([-1]),
  },
};

const sampleFormat: CheckpointFormat<{ n: number; name: string }> = {
  kind: 'test', parameters: record({ n: whole(0), name: text() }),
  arrays: ({ n }) => ({
    state: { type: 'Float64Array', length: n }, flags: { type: 'Uint8Array', length: n }, offsets: { type: 'BigInt64Array', length: 1 },
    empty: { type: 'Float32Array', length: 0 }, rows: { type: 'Int32Array', length: 1 },
  }),
};
const killedFormat: CheckpointFormat<object> = {
  kind: 'killed', parameters: record({}), arrays: () => ({ state: { type: 'Float64Array', length: 50_000 } }),
};

describe('checkpoints', () => {
  let folder: string;
  let path: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'warploom-checkpoint-'));
    path = join(folder, 'state.checkpoint');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('give back arrays, step and parameters bit for bit', async () => {
    await writeCheckpoint(path, sample);
    assert.deepEqual(await loadCheckpoint(path, sampleFormat), sample);
  });

  it('are none when the file is absent, and refused when of another kind', async () => {
    assert.equal(await loadCheckpoint(path, sampleFormat), undefined);
    await writeCheckpoint(path, sample);
    await assert.rejects(loadCheckpoint(path, { ...sampleFormat, kind: 'other' }), { code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument: 'path' });
  });

  it('refuse truncation at every byte', async () => {
    await writeCheckpoint(path, sample);
    const file = await readFile(path);
    for (let length = 0; length < file.length; ++length) {
      await writeFile(path, file.subarray(0, length));
      await assert.rejects(loadCheckpoint(path, sampleFormat), { code: 'ERR_WARPLOOM_DAMAGED_FILE' });
    }
  });

  it('detect every single flipped bit', async () => {
    await writeCheckpoint(path, sample);
    const file = await readFile(path);
    for (let bit = 0; bit < file.length * 8; ++bit) {
      const damaged = Buffer.from(file);
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      await writeFile(path, damaged);
      await assert.rejects(loadCheckpoint(path, sampleFormat), { code: 'ERR_WARPLOOM_DAMAGED_FILE' });
    }
  }).timeout(120_000);

  it('leave the earlier one whole, and no rubbish, when writing fails', async () => {
    await writeCheckpoint(path, sample);
    await assert.rejects(writeFileAtomic(join(folder, 'absent', 'file'), 'x'), { code: 'ERR_WARPLOOM_FILE', systemCode: 'ENOENT' });
    await assert.rejects(writeFileAtomic(folder, 'x'), (e: FileError) => ['EISDIR', 'ENOTEMPTY', 'EEXIST'].includes(e.systemCode));
    assert.deepEqual(await loadCheckpoint(path, sampleFormat), sample);
    assert.deepEqual(await readdir(folder), ['state.checkpoint']);
  });

  it('are whole after the writing process is killed at any moment', async function () {
    this.timeout(60_000);
    const writer = fileURLToPath(new URL('../support/checkpoint-writer.ts', import.meta.url));
    const seen = new Set<number>();
    for (let run = 0; run < 6; ++run) {
      const child = spawn(process.execPath, ['--import', 'tsx', writer, path], { stdio: ['ignore', 'pipe', 'inherit'] });
      await new Promise((resolve) => child.stdout.once('data', resolve));
      await new Promise((resolve) => setTimeout(resolve, run * 25));
      child.kill('SIGKILL');
      await new Promise((resolve) => child.once('close', resolve));
      const found = await loadCheckpoint(path, killedFormat);
      assert.ok(found !== undefined);
      const state = found.arrays['state'] as Float64Array;
      assert.ok(state.every((value) => value === found.step));
      seen.add(found.step);
    }
    assert.ok(seen.size > 1, 'the writer was killed at different steps');
  });
});
