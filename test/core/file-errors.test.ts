// What the system refuses: a FileError with action, path, the system's code and what to do, by every way to a file that the library has.
import { deepStrictEqual, equal, match, ok, strictEqual } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { main } from '../../lib/cli/main.ts';
import type { Device } from '../../lib/core/device.ts';
import { FileError, type WarploomError } from '../../lib/core/errors.ts';
import { fileError, permissionRemedy } from '../../lib/core/file-error.ts';
import { hashFile, listFolder, makeFolder, readBytes, readText, writeFileAtomic } from '../../lib/core/files.ts';
import { readImage, writeImage } from '../../lib/imaging/index.ts';
import { heat, restore } from '../../lib/swept/index.ts';
import { readPolicy, writePolicy, type TunedPolicy } from '../../lib/tridiagonal/index.ts';
import { deviceOf, skipCases } from '../support/backends.ts';

const require = createRequire(createRequire(import.meta.url).resolve('tsx'));
const esbuild = require('esbuild') as { transformSync(text: string, options: object): { code: string } };
const root = fileURLToPath(new URL('../..', import.meta.url));
let device: Device;
before(async () => {
  device = await deviceOf('cpu');
});

const image = { width: 2, height: 2, data: new Float32Array(4) };
const policy: TunedPolicy = { schema: 1, backend: 'cpu', device: 'x', computeCapability: 0, date: '', rows: [] };

/** Every way that writes a file. */
const writers: Record<string, (path: string) => Promise<unknown>> = {
  writeFileAtomic: (path) => writeFileAtomic(path, 'x'),
  writeImage: (path) => writeImage(`${path}.png`, image),
  save: async (path) => {
    await using simulation = await heat({ n: 5, dx: 1, dt: 0.1, initial: 'ramp', device });
    await simulation.save(path);
  },
};
/** Every way that reads one. */
const readers: Record<string, (path: string) => Promise<unknown>> = {
  readBytes, readText, hashFile, readImage: (path) => readImage(path), restore: (path) => restore(path, { device }), readPolicy,
};

async function errorOf(work: Promise<unknown>): Promise<FileError> {
  const error = await work.then(() => undefined, (thrown: unknown) => thrown);
  ok(error instanceof FileError, String(error));
  equal(error.code, 'ERR_WARPLOOM_FILE');
  for (const part of [error.action, error.path, error.systemCode, error.remedy]) {
    ok(part !== '');
    ok(error.message.includes(part), error.message);
  }
  return error;
}

async function run(argv: string[]) {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const code = await main(argv, { out, err, signal: new AbortController().signal });
  return { code, err: String(err.read() ?? '') };
}

describe('file errors', function () {
  this.timeout(120_000);
  let folder: string;
  beforeEach(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-files-')); });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('ENOENT, ENOTDIR, ENAMETOOLONG and ELOOP, by every writer, and nothing is left', async () => {
    await writeFile(join(folder, 'file'), 'x');
    await symlink('b', join(folder, 'a'));
    await symlink('a', join(folder, 'b'));
    for (const [name, write] of Object.entries(writers)) {
      for (const [path, code] of [['absent/x', 'ENOENT'], ['file/x', 'ENOTDIR'], ['y'.repeat(256), 'ENAMETOOLONG'], ['a/x', 'ELOOP']] as const) {
        const error = await errorOf(write(join(folder, path)));
        equal(error.systemCode, code, `${name} ${path}`);
        ok(error.path.startsWith(join(folder, path)), error.path);
      }
    }
    deepStrictEqual((await readdir(folder)).sort(), ['a', 'b', 'file']);
    equal((await errorOf(writePolicy(join(folder, 'file', 'x'), policy))).systemCode, 'EEXIST');
    equal((await errorOf(makeFolder(join(folder, 'file')))).systemCode, 'EEXIST');
    if (existsSync('/proc/self')) equal((await errorOf(makeFolder('/proc/no/such'))).systemCode, 'ENOENT'); // Node's `recursive` never ends
    equal((await errorOf(listFolder(join(folder, 'file')))).systemCode, 'ENOTDIR');
  });

  it('ENOENT, ENOTDIR and EISDIR, by every reader', async () => {
    await writeFile(join(folder, 'file'), 'x');
    for (const [name, read] of Object.entries(readers)) {
      if (name !== 'restore') equal((await errorOf(read(join(folder, 'absent')))).systemCode, 'ENOENT', name);
      equal((await errorOf(read(join(folder, 'file', 'x')))).systemCode, 'ENOTDIR', name);
      if (name !== 'readImage') equal((await errorOf(read(folder))).systemCode, 'EISDIR', name);
    }
  });

  it('ENOSPC of a full disk, and devices stay what they are', async function () {
    if (!existsSync('/dev/full')) {
      skipCases('ENOSPC: there is no /dev/full here');
      return this.skip();
    }
    const link = join(folder, 'full.png');
    await symlink('/dev/full', link);
    for (const [name, write] of Object.entries({ writeFileAtomic: writers['writeFileAtomic']!, save: writers['save']! })) {
      const error = await errorOf(write('/dev/full'));
      equal(error.systemCode, 'ENOSPC', name);
      match(error.remedy, /free some space/);
    }
    equal((await errorOf(writeImage(link, image))).systemCode, 'ENOSPC');
    await writeFileAtomic('/dev/null', 'x');
    strictEqual(readFileSync('/dev/null', 'utf8'), '');
    deepStrictEqual(await readdir(folder), ['full.png']);
  });

  it('EROFS of a file system that is read-only', async function () {
    const mounts = existsSync('/proc/mounts') ? await readFile('/proc/mounts', 'utf8') : '';
    const place = mounts.split('\n').map((line) => line.split(' ')).find((parts) => /^ro(,|$)/.test(parts[3] ?? '') && existsSync(parts[1]!))?.[1];
    if (place === undefined) {
      skipCases('EROFS: no read-only file system here');
      return this.skip();
    }
    const { systemCode } = await errorOf(writeFileAtomic(join(place, 'x'), 'x'));
    ok(['EROFS', 'EACCES', 'ENOTDIR'].includes(systemCode), systemCode);
  });

  /** Node on a program that has the compiled files of lib/core beside it, with what it printed. */
  const child = async (body: string, flags: readonly string[] = [], shell = ''): Promise<string> => {
    const place = join(folder, 'program');
    await mkdir(place, { recursive: true });
    await writeFile(join(place, 'package.json'), '{"type": "module"}');
    for (const name of ['errors', 'file-error', 'files']) {
      const text = await readFile(join(root, 'lib/core', `${name}.ts`), 'utf8');
      const { code } = esbuild.transformSync(text, { loader: 'ts', target: 'node20' });
      await writeFile(join(place, `${name}.js`), code.replaceAll(/(from\s*"\.\/[\w-]+)\.ts"/g, '$1.js"'));
    }
    await writeFile(join(place, 'main.js'), `import { readBytes, isThere, writeFileAtomic, makeFolder } from './files.js';
      import { open } from 'node:fs/promises';
      const say = async (work) => { try { await work(); console.log('done'); } catch (error) {
        console.log([error.name, error.code, error.systemCode, error.remedy].join(' | ')); } };
      ${body}`);
    const node = [process.execPath, '--no-warnings', ...flags, join(place, 'main.js')];
    const { stdout, stderr } = shell === '' ? spawnSync(node[0]!, node.slice(1), { encoding: 'utf8' })
      : spawnSync('sh', ['-c', `${shell}; exec "$@"`, 'sh', ...node], { encoding: 'utf8' });
    equal(stderr, '');
    return stdout;
  };

  it('EACCES of a process without the right', async function () {
    const other = join(folder, 'other');
    await mkdir(other);
    await writeFile(join(other, 'file'), 'x');
    await chmod(join(other, 'file'), 0);
    await chmod(other, 0o555);
    await chmod(folder, 0o755);
    const body = `if (process.getuid?.() === 0) { process.setgid(65534); process.setuid(65534); }
      await say(() => readBytes(${JSON.stringify(join(other, 'file'))}));
      await say(() => writeFileAtomic(${JSON.stringify(join(other, 'new'))}, 'x'));
      await say(() => makeFolder(${JSON.stringify(join(other, 'sub'))}));`;
    if (process.platform === 'win32') return this.skip();
    const lines = (await child(body)).trim().split('\n');
    deepStrictEqual(lines, Array(3).fill('FileError | ERR_WARPLOOM_FILE | EACCES | change its permissions, or choose another place'));
  });

  it('EMFILE of a process with too many files open', async function () {
    if (process.platform === 'win32') return this.skip();
    const body = `await readBytes(${JSON.stringify(join(root, 'package.json'))});
      const held = [];
      try { for (;;) held.push(await open('/dev/null')); } catch {}
      await say(() => readBytes(${JSON.stringify(join(root, 'package.json'))}));
      for (const file of held) await file.close();`;
    match(await child(body, [], 'ulimit -n 60'), /FileError \| ERR_WARPLOOM_FILE \| EMFILE \| raise the limit \(ulimit -n\)/);
  });

  it("Node's permission model: the flag that is missing", async () => {
    const flag = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission';
    const out = join(folder, 'out');
    await mkdir(out);
    const body = `await say(() => readBytes('/etc/passwd'));
      await say(() => isThere('/etc/passwd'));
      await say(() => writeFileAtomic(${JSON.stringify(join(out, 'x'))}, 'x'));
      await say(() => makeFolder(${JSON.stringify(join(out, 'sub'))}));`;
    const flags = [flag, `--allow-fs-read=${join(folder, 'program')}/*`];
    const denied = 'FileError | ERR_WARPLOOM_FILE | ERR_ACCESS_DENIED | run Node with';
    deepStrictEqual((await child(body, flags)).trim().split('\n'), [
      `${denied} --allow-fs-read=/etc/passwd`, `${denied} --allow-fs-read=/etc/passwd`, `${denied} --allow-fs-write=${out}`,
      `${denied} --allow-fs-write=${join(out, 'sub')}`,
    ]);
    // What the remedies say, done.
    const given = [...flags, '--allow-fs-read=/etc/passwd', `--allow-fs-read=${out}/*`, `--allow-fs-write=${out}/*`];
    deepStrictEqual((await child(body, given)).trim().split('\n'), Array(4).fill('done'));
    strictEqual(await readFile(join(out, 'x'), 'utf8'), 'x');
  });

  it("Deno's permissions: the flag that is missing", () => {
    const denied = (name: string, what: string): Error => Object.assign(
      new Error(`Requires ${what} access to "/a/b", run again with the --allow-${what} flag`), { name });
    for (const name of ['NotCapable', 'PermissionDenied']) { // Deno 2, Deno 1
      equal((fileError(denied(name, 'read'), 'read', '/a/b') as FileError).remedy, 'run Deno with --allow-read=/a/b');
      equal((fileError(denied(name, 'write'), 'write', '/a/b') as FileError).remedy, 'run Deno with --allow-write=/a');
      equal(permissionRemedy(denied(name, 'ffi')), 'run Deno with --allow-ffi');
    }
    equal(permissionRemedy(new Error('another')), undefined);
  });

  it('the command line says the same and exits 2 for what it was given, 1 for the rest', async () => {
    await writeFile(join(folder, 'file'), 'x');
    const cases: [string[], number, RegExp][] = [
      [['run', join(folder, 'absent.json')], 2, /ENOENT.*check the name/],
      [['denoise', join(folder, 'absent.png'), '-o', join(folder, 'x.png')], 2, /ENOENT/],
      [['denoise', 'phantom:discs,size=16', '-o', join(folder, 'file', 'x.png')], 2, /EEXIST/],
      [['scratchpad', folder], 2, /EISDIR/], [['stream', 'check', join(folder, 'absent.str')], 2, /ENOENT/],
    ];
    if (existsSync('/dev/full')) {
      await symlink('/dev/full', join(folder, 'full.png'));
      cases.push([['denoise', 'phantom:discs,size=16', '--weight', '0.1', '--backend', 'cpu', '-o', join(folder, 'full.png')], 1, /ENOSPC/]);
    }
    for (const [argv, code, what] of cases) {
      const done = await run(argv);
      equal(done.code, code, `${argv.join(' ')}: ${done.err}`);
      match(done.err, what);
    }
  });

  it('paths that are none are refused by name', async () => {
    for (const path of ['', 'a\0b', 3, null, undefined, {}, ['a']]) {
      for (const [name, use] of Object.entries({
        restore: (p: string) => restore(p), readPolicy, writePolicy: (p: string) => writePolicy(p, policy), readImage: (p: string) => readImage(p),
      })) {
        const error = await use(path as string).then(() => undefined, (thrown: unknown) => thrown as WarploomError & { systemCode?: string });
        ok(error?.code === 'ERR_WARPLOOM_INVALID_ARGUMENT' || (name === 'readImage' && error?.systemCode === 'ENOENT'), `${name} ${String(path)}: ${String(error)}`);
      }
    }
  });

  it('only lib/core/files.ts touches the file system (and lib/core/compile and lib/stream/run, which have compilers and folders of their own)', async () => {
    const own = ['core/files.ts'];
    const found: string[] = [];
    for (const name of await readdir(join(root, 'lib'), { recursive: true })) {
      if (name.endsWith('.ts') && /from 'node:fs(\/promises)?'/.test(await readFile(join(root, 'lib', name), 'utf8'))) found.push(name);
    }
    deepStrictEqual(found.filter((name) => !/^(core\/compile|stream\/run)\//.test(name)), own);
  });
});
