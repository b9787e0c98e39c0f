// Elaborations in the cache: the next one finds the same graph and warnings, another program or option does not, and a damaged entry is made
// again.
import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { elaborate, run } from '../../../lib/stream/index.ts';
import { contentOf } from '../../../lib/stream/content.ts';
import { keptElaboration } from '../../../lib/stream/elaborate/kept.ts';

const text = `// ${'a comment that makes this text long enough to be looked up; '.repeat(20)}
float->float filter Fir(int n) { float[n] h; init { for (int i = 0; i < n; i++) h[i] = i == 1 ? -0.0 : 1.0 / (i + 1); }
  work push 1 pop 1 peek 9 { float s = 0; for (int i = 0; i < n; i++) s += h[i] * peek(i); push(s); pop(); pop(); } }
float->float pipeline Main(int n) { add Fir(n); add Fir(n + 1); }`;

describe('kept elaborations', function () {
  this.timeout(120_000);
  const outer = process.env['XDG_CACHE_HOME'];
  let home = '';
  before(() => { process.env['XDG_CACHE_HOME'] = home = mkdtempSync(join(tmpdir(), 'warploom-kept-')); });
  after(() => {
    if (outer === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = outer;
    rmSync(home, { recursive: true, force: true });
  });
  const entries = (): string[] => {
    const folder = join(home, 'warploom', 'stream');
    return readdirSync(folder).filter((name) => /^[0-9a-f]{40}$/.test(name)).map((name) => join(folder, name, 'program'));
  };
  /** As `elaborate` asks, for an elaboration that takes its time. */
  const slow = async (n: number, made: { count: number }) => keptElaboration([{ name: 'a.str', text }], { n }, async () => {
    made.count += 1;
    await sleep(25);
    const { graph, diagnostics } = await elaborate(text.slice(text.indexOf('\n')), { main: 'Main', parameters: { n } });
    return { graph, diagnostics };
  });

  it('are found by text and options, with the same graph and warnings', async () => {
    const made = { count: 0 };
    const first = await slow(4, made), again = await slow(4, made), other = await slow(5, made);
    assert.equal(made.count, 2);
    assert.equal(entries().length, 2);
    assert.equal(contentOf(again), contentOf(first));
    assert.notEqual(contentOf(again.graph), contentOf(other.graph));
    assert.ok(first.diagnostics.length > 0 && Object.isFrozen(again.graph));
    const input = Float32Array.from({ length: 50 }, (_, i) => Math.sin(i));
    const outputs = await Promise.all([first, again].map(async ({ graph }) => (await run(graph!, { input, backend: 'wasm' })).output));
    assert.deepEqual(outputs[0], outputs[1]);
  });

  it('are made again where an entry is damaged', async () => {
    const made = { count: 0 };
    for (const path of entries()) appendFileSync(path, 'x');
    const found = await slow(4, made);
    assert.equal(made.count, 1);
    assert.equal(contentOf(found), contentOf(await slow(4, made)));
    assert.equal(made.count, 1);
  });

  it('of short texts are none, nor those of programs with errors', async () => {
    const before = entries().length;
    await elaborate('int->int filter F { work pop 1 push 1 { push(pop()); } } int->int pipeline Main { add F; }');
    await assert.rejects(elaborate(`${text}\nint->int filter G { work pop 1 push 1 { push(x); } }`, { main: 'G' }),
      { code: 'ERR_WARPLOOM_INVALID_PROGRAM' });
    assert.equal(entries().length, before);
  });
});
