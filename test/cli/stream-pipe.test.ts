// warploom stream run --stream: between standard input and output.
import { deepStrictEqual, equal, match, ok } from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { main } from '../../lib/cli/main.ts';
import { elaborate, run } from '../../lib/stream/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const radio = 'examples/stream/fm-radio.str';
const input = Float32Array.from({ length: 100_003 }, (_, i) => Math.fround(Math.sin(i)));

/** The bytes that the command writes; `most`: it is stopped after so many. */
async function piped(source: Readable, argv: readonly string[], signal = new AbortController().signal) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const parts: Buffer[] = [];
  out.on('data', (part: Buffer) => parts.push(part));
  const code = await main(['stream', 'run', ...argv, '--stream'], { in: source, out, err, signal });
  return { code, bytes: Buffer.concat(parts), err: String(err.read() ?? '') };
}

/** The command as a process. */
function command(...argv: string[]) {
  return spawn(process.execPath, ['--import', 'tsx', 'lib/cli/bin.ts', 'stream', 'run', ...argv], { cwd: root, stdio: ['pipe', 'pipe', 'pipe'] });
}

describe('warploom stream run --stream', function () {
  this.timeout(60_000);

  it('writes what a run writes', async () => {
    const { graph } = await elaborate(readFileSync(new URL(`../../${radio}`, import.meta.url), 'utf8'));
    const expected = (await run(graph, { input })).output as Float32Array;
    for (const more of [[], ['--chunk', '1000'], ['--backend', 'interpret']]) {
      const used = more[1] === 'interpret' ? input.subarray(0, 3000) : input;
      const bytes = Buffer.from(used.buffer, 0, used.byteLength);
      const found = await piped(Readable.from([bytes.subarray(0, 5), bytes.subarray(5)]), [radio, ...more]);
      equal(found.code, 0, found.err);
      const items = new Float32Array(found.bytes.buffer.slice(found.bytes.byteOffset, found.bytes.byteOffset + found.bytes.length));
      deepStrictEqual(items, more[1] === 'interpret' ? expected.slice(0, items.length) : expected);
      ok(items.length > 400);
    }
  });

  it('refuses what belongs to files, and unknown back ends', async () => {
    for (const more of [['--input', 'x.wav'], ['--items', '5'], ['--backend', 'js'], ['--chunk', '0']]) {
      const { code, err } = await piped(Readable.from([]), [radio, ...more]);
      equal(code, 2, err);
    }
    const [out, err] = [new PassThrough(), new PassThrough()];
    equal(await main(['stream', 'run', radio, '--chunk', '5'], { out, err, signal: new AbortController().signal }), 2);
  });

  it('ends by its time and by the signal, though the input goes on', async () => {
    const endless = new PassThrough();
    const late = await piped(endless, [radio, '--timeout', '0.3']);
    equal(late.code, 1);
    match(late.err, /took more than 300 ms|took more than/);
    ok(endless.destroyed);
    const child = command(radio, '--stream');
    child.stdin.write(Buffer.from(input.buffer));
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    const [code] = await once(child, 'close') as [number];
    equal(code, 130);
  });

  it('ends without an error where nobody reads on', async () => {
    const child = command(radio, '--stream');
    child.stdin.on('error', () => undefined);
    const bytes = Buffer.from(input.buffer);
    let written = 0;
    const write = (): void => {
      while (written < 50 && child.stdin.write(bytes)) ++written;
      if (written < 50) child.stdin.once('drain', write);
    };
    write();
    await once(child.stdout, 'data');
    child.stdout.destroy();
    const [code] = await once(child, 'close') as [number];
    equal(code, 0);
  });
});
