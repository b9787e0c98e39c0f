// Every function of the stream namespace with one thing wrong in its arguments: it ends, and what it says is a typed error.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./calls.ts', import.meta.url));
const root = fileURLToPath(new URL('../../..', import.meta.url));
/** Every so many of the calls, so that each run of the tests makes some 970; `calls.ts` takes others. */
const stride = 43;
/** A call that takes longer never ends. */
const longest = 90_000;

describe('wrong arguments', function () {
  this.timeout(300_000);

  it('are refused by typed errors, and end', async () => {
    const child = spawn(process.execPath, ['--import', 'tsx', script, '0', String(stride), '4'], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    let call = 'the start';
    let calls = 0;
    let isDone = false;
    const untyped: string[] = [];
    let watch = setTimeout(() => child.kill('SIGKILL'), 2 * longest);
    const closed = new Promise((resolve) => { child.once('close', resolve); });
    for await (const line of createInterface({ input: child.stdout })) {
      clearTimeout(watch);
      watch = setTimeout(() => child.kill('SIGKILL'), longest);
      if (line.startsWith('begin ')) call = line.slice(6);
      else if (line.startsWith('end untyped')) untyped.push(`${call}: ${line}`);
      if (line.startsWith('end ')) ++calls;
      if (line.startsWith('uncovered ')) assert.equal(line, 'uncovered -', 'functions without a call in calls.ts');
      isDone ||= line.startsWith('done ');
    }
    clearTimeout(watch);
    await closed;
    assert.ok(isDone, `ended in, or never came back from, ${call}`);
    assert.deepEqual(untyped, []);
    assert.ok(calls > 900, `${calls} calls`);
  });
});
