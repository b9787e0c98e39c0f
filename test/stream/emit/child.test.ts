// Child processes: limits of time and memory, and that what they started ends with them.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runChild } from '../../../lib/core/compile/child.ts';

describe('child processes', function () {
  this.timeout(120_000);
  let cwd = '';
  before(() => { cwd = mkdtempSync(join(tmpdir(), 'warploom-child-')); });
  after(() => { rmSync(cwd, { recursive: true, force: true }); });

  it('get their arguments unread, and give status and messages', async () => {
    const nasty = '$(touch made); `touch made`; "x';
    const code = `process.stderr.write(JSON.stringify(process.argv.slice(1))); process.exit(3)`;
    const done = await runChild(process.execPath, ['-e', code, nasty, ''], { cwd, timeout: 100_000 });
    assert.deepEqual([done.code, done.reason, JSON.parse(done.stderr)], [3, 'ended with 3', [nasty, '']]);
    assert.ok(!existsSync(join(cwd, 'made')));
  });

  it('end with all they started when the time is over or they are stopped', async () => {
    // A child of the child would write the file after the parent's end.
    const parent = (name: string) => ['-c', `(sleep 3; touch ${name}) & sleep 100`];
    const late = await runChild('/bin/sh', parent('late'), { cwd, timeout: 300 });
    assert.deepEqual([late.code, late.reason], [undefined, 'took more than 300 ms']);
    const stop = new AbortController();
    const work = runChild('/bin/sh', parent('stopped'), { cwd, timeout: 100_000, signal: stop.signal });
    setTimeout(() => { stop.abort(new Error('enough')); }, 200);
    await assert.rejects(work, /enough/);
    await sleep(3500);
    assert.ok(!existsSync(join(cwd, 'late')) && !existsSync(join(cwd, 'stopped')));
  });

  it('cannot take more memory than they may', async () => {
    const take = ['-c', 'x=$(head -c 300000000 /dev/zero | tr "\\0" a); echo ${#x} >&2'];
    assert.equal((await runChild('/bin/sh', take, { cwd, timeout: 100_000 })).stderr.trim(), '300000000');
    const small = await runChild('/bin/sh', take, { cwd, timeout: 100_000, memory: 128 * 2 ** 20 });
    assert.notEqual(small.stderr.trim(), '300000000');
  });

  it('that do not exist are named', async () => {
    const done = await runChild('/no/such/program', [], { cwd, timeout: 50_000 });
    assert.ok(done.code !== 0 && done.stderr.includes('/no/such/program'));
  });
});
