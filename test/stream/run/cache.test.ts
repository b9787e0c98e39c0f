// The cache of compiled programs: what is started from it is what was stored there, for this user, compiler and processor.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { run } from '../../../lib/stream/index.ts';
import { compileCpp } from '../../../lib/stream/run/cpp.ts';
import { findCompiler } from '../../../lib/core/compile/compiler.ts';
import { graphOf, hasCompiler } from '../support.ts';

const text = 'int->int filter Twice { work push 1 pop 1 { push(2 * pop()); } }';
const graph = graphOf(text);
const input = [1, 2, 3];
const root = new URL('../../..', import.meta.url).pathname;

/** The folder of a compiler that keeps the object of the runtime, which is the same in all programs and takes most of the time. */
let compilers = '';
function keepingCompiler(folder: string): string {
  const path = join(folder, 'g++');
  const real = findCompiler();
  mkdirSync(folder);
  writeFileSync(path, `#!/bin/sh
case "$*" in *" -O2 "*" -c -o "*) ;; *) exec ${real} "$@";; esac
for each do to=$from; from=$each; done
kept='${folder}'/$(cat "$from" "\${from%/*}"/*.h | sha256sum | cut -c 1-40).o
if [ -f "$kept" ]; then exec cp "$kept" "$to"; fi
${real} "$@" && cp "$to" "$kept.$$" && mv "$kept.$$" "$kept"
`, { mode: 0o700 });
  return path;
}

/** What another process prints that runs the program, its environment being `env` alone. */
async function elsewhere(env: Record<string, string>, flags: readonly string[] = []): Promise<string> {
  const code = `import('${root}/test/stream/support.ts').then(async ({ graphOf }) => {
    const { run } = await import('${root}/lib/stream/index.ts');
    try {
      console.log(JSON.stringify(Array.from((await run(graphOf(${JSON.stringify(text)}), { backend: 'cpp', input: [1, 2, 3] })).output)));
    } catch (error) {
      console.log(JSON.stringify([error.name, error.code, error.message]));
    }
  });`;
  const PATH = [compilers, process.env['PATH']].join(delimiter);
  const { stdout } = await promisify(execFile)(process.execPath, ['--import=tsx', ...flags, '-e', code], { cwd: root, env: { PATH, ...env } });
  return stdout.trim();
}

describe('the cache of compiled programs', function () {
  this.timeout(120_000);
  let folder = '';
  let compiler = '';
  let calls = '';
  before(function () {
    if (!hasCompiler()) this.skip();
    folder = mkdtempSync(join(tmpdir(), 'warploom-test-'));
    compiler = join(folder, 'counting');
    calls = join(folder, 'calls');
    compilers = join(folder, 'compilers');
    // A compiler that counts the programs that it links and shows its environment.
    const counted = `*--version*) ;; *" -c "*) env >> '${calls}';; *) env >> '${calls}'; echo call >> '${calls}';;`;
    writeFileSync(compiler, `#!/bin/sh\ncase "$*" in ${counted} esac\nexec ${keepingCompiler(compilers)} "$@"\n`, { mode: 0o700 });
  });
  after(() => { if (folder !== '') rmSync(folder, { recursive: true, force: true }); });

  const count = (): number => (existsSync(calls) ? readFileSync(calls, 'utf8').split('\n').filter((line) => line === 'call').length : 0);
  let number = 0;
  const options = () => ({ cacheFolder: join(folder, `cache${++number}`), compiler, effort: 1 as const });
  const twice = async (each: Awaited<ReturnType<typeof compileCpp>>) => { assert.deepEqual(Array.from((await each.run(input)).output), [2, 4, 6]); };

  it('is used, and is the user\'s alone', async () => {
    const given = options();
    const before = count();
    await twice(await compileCpp(graph, given));
    await twice(await compileCpp(graph, given));
    assert.equal(count(), before + 1);
    assert.equal(lstatSync(given.cacheFolder).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(given.cacheFolder).filter((name) => name.startsWith('work-')), []);
  });

  it('does not start what somebody has put there', async () => {
    const given = options();
    const made = await compileCpp(graph, given);
    const planted = join(folder, 'planted');
    writeFileSync(made.path, `#!/bin/sh\ntouch '${planted}'\n`, { mode: 0o700 });
    await twice(await compileCpp(graph, given));
    writeFileSync(made.path, `#!/bin/sh\ntouch '${planted}'\n`, { mode: 0o700 });
    await twice(made);
    assert.ok(!existsSync(planted));
  });

  it('makes again what is cut short, empty, a link or gone', async () => {
    const given = options();
    const { path } = await compileCpp(graph, given);
    const damages = [
      () => { truncateSync(path, 1000); }, () => { truncateSync(path, 0); }, () => { rmSync(path); }, () => { rmSync(dirname(path), { recursive: true }); },
      () => { rmSync(join(dirname(path), 'sha256')); }, () => { chmodSync(path, 0o777); },
      () => {
        rmSync(path);
        symlinkSync('/bin/true', path);
      },
      () => {
        rmSync(dirname(path), { recursive: true });
        writeFileSync(dirname(path), 'a file of the name');
      },
    ];
    for (const [at, damage] of damages.entries()) {
      damage();
      const before = count();
      await twice(await compileCpp(graph, given));
      assert.equal(count(), before + 1, `damage ${at}`);
    }
  });

  it('is not used where others may write to it, or through a link', async () => {
    const shared = join(folder, 'shared');
    mkdirSync(shared);
    chmodSync(shared, 0o777);
    const link = join(folder, 'link');
    symlinkSync(folder, link);
    for (const cacheFolder of [shared, link]) {
      await assert.rejects(compileCpp(graph, { ...options(), cacheFolder }), { name: 'WarploomError', code: 'ERR_WARPLOOM_SYSTEM_FAILED' });
    }
    assert.deepEqual(readdirSync(shared), []);
    // The folder that nobody gave: a private one takes its place.
    const home = join(folder, 'home');
    mkdirSync(join(home, '.cache/warploom/stream'), { recursive: true });
    chmodSync(join(home, '.cache/warploom'), 0o777);
    assert.equal(await elsewhere({ HOME: home }), '[2,4,6]');
    assert.deepEqual(readdirSync(join(home, '.cache/warploom/stream')), []);
  });

  it('has no shared temporary folder in its place, and leaves nothing behind', async () => {
    const temporary = join(folder, 'temporary');
    for (const HOME of ['', join(compiler, 'no folder')]) {
      mkdirSync(temporary);
      mkdirSync(join(temporary, 'warploom/stream'), { recursive: true });
      assert.equal(await elsewhere({ HOME, TMPDIR: temporary }), '[2,4,6]');
      assert.deepEqual([readdirSync(temporary), readdirSync(join(temporary, 'warploom/stream'))].flat().filter((name) => /^warploom-/.test(name)), []);
      assert.deepEqual(readdirSync(join(temporary, 'warploom/stream')), []);
      rmSync(temporary, { recursive: true });
    }
  });

  it('names what the system refuses', async () => {
    const { TMPDIR } = process.env;
    const made = await compileCpp(graph, options());
    process.env['TMPDIR'] = join(folder, 'not there');
    try {
      await assert.rejects(made.run(input), { name: 'WarploomError', code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /ENOENT.*not there/ });
    } finally {
      if (TMPDIR === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = TMPDIR;
    }
    const file = join(folder, 'a file');
    writeFileSync(file, '');
    await assert.rejects(compileCpp(graph, { ...options(), cacheFolder: join(file, 'cache') }), { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /ENOTDIR/ });
  });

  it('keeps programs of compilers, arguments and sources apart', async () => {
    const given = options();
    await compileCpp(graph, given);
    const before = count();
    await compileCpp(graph, { ...given, fast: true });
    await compileCpp(graphOf(text.replace('2 *', '3 *')), given);
    writeFileSync(compiler, `${readFileSync(compiler, 'utf8')}\n`);
    await compileCpp(graph, given);
    assert.equal(count(), before + 3);
  });

  it('shows neither the compiler nor the program what the environment holds', async () => {
    process.env['SECRET_TOKEN'] = 'secret-3141';
    try {
      await compileCpp(graph, options());
    } finally {
      delete process.env['SECRET_TOKEN'];
    }
    assert.ok(count() > 0 && !readFileSync(calls, 'utf8').includes('secret-3141'));
    const { childEnvironment } = await import('../../../lib/core/compile/child.ts');
    assert.deepEqual(Object.keys(childEnvironment()).filter((name) => !/^(LANG|LC_ALL|(DY)?LD_LIBRARY_PATH|SystemRoot)$/.test(name)), []);
  });

  it('serves processes that compile the same at once', async () => {
    const home = join(folder, 'many');
    mkdirSync(home);
    const all = await Promise.all(Array.from({ length: 4 }, () => elsewhere({ HOME: home })));
    assert.deepEqual(all, Array<string>(4).fill('[2,4,6]'));
    // The program, and the runtime of all programs.
    assert.equal(readdirSync(join(home, '.cache/warploom/stream')).length, 2);
  });

  it('says which permissions of Node are missing', async function () {
    const flag = ['--permission', '--experimental-permission'].find((each) => process.allowedNodeEnvironmentFlags.has(each));
    if (flag === undefined) this.skip();
    const found = execFileSync(process.execPath, [flag, '--no-warnings', '--allow-fs-read=*', '-e', `
      const { spawn } = require('node:child_process');
      try { spawn('/bin/true'); } catch (error) { console.log(JSON.stringify({ code: error.code, permission: error.permission })); }`], { encoding: 'utf8' });
    const { systemError } = await import('../../../lib/core/compile/cache.ts');
    const made = systemError('start a program', Object.assign(new Error('Access to this API has been restricted'), JSON.parse(found)));
    assert.equal(made.code, 'ERR_WARPLOOM_UNAVAILABLE');
    assert.match(made.message, /--allow-child-process/);
  });

  it('takes what PATH names', async () => {
    const { PATH = '' } = process.env;
    process.env['PATH'] = [dirname(compiler), PATH].join(delimiter);
    try {
      const found = await run(graph, { backend: 'cpp', compiler: 'counting', input });
      assert.deepEqual(Array.from(found.output), [2, 4, 6]);
    } finally {
      process.env['PATH'] = PATH;
    }
  });
});
