// How modules are compiled: which compiler, what it is told, what is kept, what goes wrong.
import { deepStrictEqual, match, notStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import {
  chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cachedProgram, cacheLimits } from '../../lib/core/compile/cache.ts';
import { cudaToolchain } from '../../lib/core/compile/cuda.ts';
import { findCompiler } from '../../lib/core/compile/compiler.ts';
import { compileModule } from '../../lib/core/compile/module.ts';
import { nvrtcCandidates } from '../../lib/core/compile/nvrtc-places.ts';
import { ModuleError, openDevice, type DeviceModule, type ModuleOptions } from '../../lib/core/index.ts';
import { readModuleOptions } from '../../lib/core/module-options.ts';
import { hasBackend, skipCases } from '../support/backends.ts';
import { withEnvironment } from '../support/environment.ts';
import { fakeNvrtc } from '../support/fake-nvrtc.ts';
import { affine, hasHostCompiler, hungry, moduleText } from '../support/modules.ts';

const source = moduleText({ affine });
const plain: ModuleOptions = { source, kernels: ['affine'] };

describe('compiling modules', function () {
  this.timeout(120_000);
  let folder = '';
  before(() => { folder = mkdtempSync(join(tmpdir(), 'warploom-modules-')); });
  after(() => { rmSync(folder, { recursive: true, force: true }); });
  let number = 0;
  const newFolder = (): string => {
    const made = join(folder, `cache${++number}`);
    mkdirSync(made, { mode: 0o700 });
    return made;
  };

  describe('by the host', function () {
    if (!hasBackend('simt') || !hasHostCompiler) {
      skipCases('modules by the host: no simt backend or no compiler here', 11);
      return;
    }
    /** A compiler in a folder for PATH that counts its calls and notes its environment. */
    const counting = (): { readonly path: string; readonly calls: () => number; readonly log: string } => {
      const bin = newFolder();
      const log = join(bin, 'calls');
      writeFileSync(join(bin, 'g++'), `#!/bin/sh\ncase "$*" in *--version*) ;; *) env >> '${log}'; echo call >> '${log}';; esac\nexec ${findCompiler()} "$@"\n`, { mode: 0o700 });
      return { path: [bin, process.env['PATH']].join(delimiter), log,
        calls: () => (existsSync(log) ? readFileSync(log, 'utf8').split('\n').filter((line) => line === 'call').length : 0) };
    };
    const compiled = async (options: ModuleOptions): Promise<void> => {
      await using device = await openDevice({ backend: 'simt' });
      using module = await device.module(options);
      using data = await device.array(Float32Array.of(1, 2));
      await module.launch('affine', { blocks: 1, threads: 32, arguments: [data, { f32: 2 }, { f32: 1 }, { i64: 2 }] });
      deepStrictEqual(await data.read(), Float32Array.of(3, 5));
    };

    it('keeps what it makes, by text, headers and options', async () => {
      const { path, calls } = counting();
      const cacheFolder = newFolder();
      await withEnvironment({ PATH: path }, async () => {
        const given = { ...plain, cacheFolder };
        for (let k = 0; k < 3; ++k) await compiled(given);
        strictEqual(calls(), 1);
        await compiled({ ...given, fast: true });
        await compiled({ ...given, source: `${source}\n` });
        const headers = { 'some/values.h': '#define VALUE 1\n' };
        const including = { ...given, source: source.replace('p.factor +', 'p.factor * VALUE +').replace('\n', '\n#include "some/values.h"\n'), headers };
        await compiled(including);
        await compiled({ ...including, headers: { 'some/values.h': '#define VALUE 1.0f\n' } });
        await compiled({ ...given, kernels: ['affine'] });
        strictEqual(calls(), 5);
        deepStrictEqual(readdirSync(cacheFolder).filter((name) => name.startsWith('work-')), []);
      });
    });

    it('makes again what is damaged, and what is not the user\'s alone', async () => {
      const { path, calls } = counting();
      const cacheFolder = newFolder();
      await withEnvironment({ PATH: path }, async () => {
        const given = { ...plain, cacheFolder };
        await compiled(given);
        const program = join(cacheFolder, readdirSync(cacheFolder)[0]!, 'program');
        const whole = readFileSync(program);
        const changed = Buffer.from(whole);
        changed[whole.length >> 1]! ^= 1;
        const damages = [
          () => writeFileSync(program, whole.subarray(0, 1000)), () => writeFileSync(program, ''), () => writeFileSync(program, changed),
          () => chmodSync(program, 0o777), () => rmSync(program),
        ];
        for (const [at, damage] of damages.entries()) {
          damage();
          await compiled(given);
          strictEqual(calls(), at + 2);
        }
      });
    });

    it('makes again what stands under the name of another text', async () => {
      await using device = await openDevice({ backend: 'simt' });
      const cacheFolder = newFolder();
      const given = { ...plain, cacheFolder };
      await device.module(given);
      const [first] = readdirSync(cacheFolder);
      await device.module({ ...given, source: source.replace('p.factor', '7') });
      const [second] = readdirSync(cacheFolder).filter((name) => name !== first);
      rmSync(join(cacheFolder, first!), { recursive: true });
      renameSync(join(cacheFolder, second!), join(cacheFolder, first!));
      await compiled(given);
    });

    it('blames the machine, not the text, where disk or memory is used up', async () => {
      await using device = await openDevice({ backend: 'simt' });
      for (const message of ['/usr/bin/ld: final link failed: No space left on device', 'cc1plus: out of memory allocating 65536 bytes']) {
        const path = newFolder();
        writeFileSync(join(path, 'g++'), `#!/bin/sh\n[ "$1" = --version ] && echo 1 && exit\necho '${message}' >&2\nexit 1\n`, { mode: 0o755 });
        await withEnvironment({ PATH: path }, () => rejects(device.module({ ...plain, cacheFolder: newFolder() }),
          { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: new RegExp(message) }));
      }
      const named = `#error out of memory\n${source}`;
      await rejects(device.module({ ...plain, source: named, cacheFolder: newFolder() }), { code: 'ERR_WARPLOOM_INVALID_PROGRAM' });
    });

    it('shows the compiler nothing of the environment but paths', async () => {
      const { path, log } = counting();
      await withEnvironment({ PATH: path, SECRET_TOKEN: 'secret-2718' }, () => compiled({ ...plain, cacheFolder: newFolder() }));
      ok(readFileSync(log, 'utf8').includes('PATH=') && !readFileSync(log, 'utf8').includes('secret-2718'));
    });

    it('tells what does not compile, with lines of the text', async () => {
      await using device = await openDevice({ backend: 'simt' });
      const wrong = source.replace('p.factor', 'p.facter');
      await rejects(device.module({ ...plain, source: wrong, cacheFolder: newFolder() }), (error) => {
        ok(error instanceof ModuleError || (error as Error).name === 'ModuleError');
        const { code, log, compiler, message } = error as ModuleError;
        strictEqual(code, 'ERR_WARPLOOM_INVALID_PROGRAM');
        match(log, /module\.cu:8:.*facter/s);
        match(message, /facter/);
        match(compiler, /(g|clang|c)\+\+/);
        return true;
      });
      const undefinedFunction = `void elsewhere();\n${source.replace('if (i', 'elsewhere(); if (i')}`;
      await rejects(device.module({ ...plain, source: undefinedFunction, cacheFolder: newFolder() }), { name: 'ModuleError', message: /elsewhere/ });
      // A kernel that the preprocessor takes away is missed when the module is loaded.
      const hidden = `${source}\n#if 0\nWARPLOOM_KERNEL(second, affine_agent)\n#endif\n`;
      await rejects(device.module({ source: hidden, kernels: ['affine', 'second'], cacheFolder: newFolder() }), { name: 'ArgumentError', argument: 'kernels' });
      const large = `struct Large { struct Parameters { double x[513]; }; static constexpr int kMaxThreads = 32, kMinBlocks = 1;
        static WARPLOOM_DEVICE void run(const device::Block&, const Parameters&) {} };\nWARPLOOM_KERNEL(large, Large)\n`;
      await rejects(device.module({ source: `${source}${large}`, kernels: ['large'], cacheFolder: newFolder() }), { name: 'ModuleError', message: /4096 bytes/ });
    });

    it('ends with its signal and when the time is over, and leaves nothing behind', async () => {
      const bin = newFolder();
      const cacheFolder = newFolder();
      const begun = join(bin, 'begun');
      writeFileSync(join(bin, 'g++'), `#!/bin/sh\ncase "$*" in *--version*) echo slow;; *) touch ${begun}; sleep 30; touch ${join(bin, 'late')};; esac\n`, { mode: 0o700 });
      await using device = await openDevice({ backend: 'simt' });
      await withEnvironment({ PATH: [bin, process.env['PATH']].join(delimiter) }, async () => {
        const given = { ...plain, cacheFolder };
        const controller = new AbortController();
        const reason = new Error('enough');
        const aborted = device.module({ ...given, signal: controller.signal });
        while (!existsSync(begun)) await sleep(5);
        controller.abort(reason);
        await rejects(aborted, reason);
        await rejects(device.module({ ...given, signal: AbortSignal.abort(reason) }), reason);
        await rejects(device.module({ ...given, timeout: 100 }), { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /took more than 100 ms/ });
        deepStrictEqual(readdirSync(cacheFolder), []);
      });
      await sleep(50);
      ok(!existsSync(join(bin, 'late')));
    });

    it('does not wait for the event loop, nor hold it up', async () => {
      await using device = await openDevice({ backend: 'simt' });
      let turns = 0;
      const timer = setInterval(() => { turns += 1; }, 2);
      await device.module({ ...plain, cacheFolder: newFolder() });
      clearInterval(timer);
      ok(turns > 10, `${turns} turns`);
    });

    it('is refused where there is no compiler, saying what would help', async () => {
      await using device = await openDevice({ backend: 'simt' });
      await withEnvironment({ PATH: newFolder() }, () => rejects(device.module({ ...plain, cacheFolder: newFolder() }),
        { name: 'NoCompilerError', code: 'ERR_WARPLOOM_UNAVAILABLE', message: /install g\+\+ or clang\+\+/ }));
    });

    it('is of the text and the options at the call', async () => {
      await using device = await openDevice({ backend: 'simt' });
      const headers: Record<string, string> = { 'values.h': '#define VALUE 3\n' };
      const kernels = ['affine'];
      const text = `#include "values.h"\n${source.replace('p.data[i] * p.factor', 'VALUE')}`;
      const given = { source: text, kernels, headers, cacheFolder: newFolder() };
      const made = device.module(given);
      headers['values.h'] = '#error changed';
      kernels[0] = 'other';
      given.source = '#error changed';
      using module = await made;
      using data = await device.array(Float32Array.of(1, 2));
      await module.launch('affine', { blocks: 1, threads: 32, arguments: [data, { f32: 2 }, { f32: 1 }, { i64: 2 }] });
      deepStrictEqual(await data.read(), Float32Array.of(4, 4));
    });

    it('goes to a device that is closed meanwhile', async () => {
      const device = await openDevice({ backend: 'simt' });
      const begun: Promise<DeviceModule> = device.module({ ...plain, cacheFolder: newFolder() });
      await device.close();
      await rejects(begun, { code: 'ERR_WARPLOOM_DISPOSED' });
    });
  });

  it('keeps no more than the limits of its folder, those last that were used last', async () => {
    const before = { ...cacheLimits };
    const cache = newFolder();
    const key = (k: number): string => k.toString(16).padStart(40, '0');
    const keep = (k: number, bytes = 100) => cachedProgram(cache, key(k), async (_work, program) => { writeFileSync(program, Buffer.alloc(bytes, k)); });
    const ago = (name: string, hours: number): void => {
      const time = Date.now() / 1000 - 3600 * hours;
      utimesSync(join(cache, name), time, time);
    };
    const there = (): string[] => readdirSync(cache).sort();
    try {
      Object.assign(cacheLimits, { every: 1, programs: 3, bytes: 1000 });
      for (let k = 0; k < 6; ++k) await keep(k);
      strictEqual(there().length, 6);
      for (let k = 0; k < 6; ++k) ago(key(k), 10 - k);
      await keep(1);
      mkdirSync(join(cache, 'work-left'));
      ago('work-left', 30);
      mkdirSync(join(cache, 'work-going'));
      writeFileSync(join(cache, 'notes'), '');
      ago('notes', 1000);
      await keep(6);
      deepStrictEqual(there(), [key(1), key(5), key(6), 'notes', 'work-going']);
      for (const k of [1, 5]) ago(key(k), 2);
      await keep(7, 950);
      deepStrictEqual(there(), [key(6), key(7), 'notes', 'work-going']);
    } finally {
      Object.assign(cacheLimits, before);
    }
  });

  it('reads options at the call, and rejects what is wrong by name', async () => {
    await using device = await openDevice({ backend: 'cpu' });
    const cases: [string, Record<string, unknown>][] = [
      ['source', { source: 3 }], ['source', { source: undefined }], ['source', { source: `${source}${' '.repeat(2 ** 26)}` }],
      ['kernels', { kernels: undefined }], ['kernels', { kernels: [] }], ['kernels', { kernels: 3 }], ['kernels[0]', { kernels: ['a b'] }],
      ['kernels[0]', { kernels: [3] }], ['kernels[1]', { kernels: ['affine', 'affine'] }], ['kernels[0]', { kernels: ['affin'] }],
      ['kernels[1]', { kernels: ['affine', 'missing'] }], ['maxRegisters', { maxRegisters: 8 }], ['maxRegisters', { maxRegisters: 256 }],
      ['fast', { fast: 1 }], ['headers', { headers: 3 }], ['headers', { headers: { '../a.h': '' } }], ['headers', { headers: { '/a.h': '' } }],
      ['headers', { headers: { 'cuda/core/device.cuh': '' } }], ['headers', { headers: { 'module.cu': '' } }],
      ['headers', { headers: { 'a/b.h': '', a: '' } }], ['headers', { headers: { 'module.cu/a.h': '' } }], ['headers["a.h"]', { headers: { 'a.h': 3 } }],
      ['cacheFolder', { cacheFolder: '' }], ['timeout', { timeout: 0 }], ['signal', { signal: {} }], ['kernel', { kernel: 'affine' }],
    ];
    for (const [argument, options] of cases) {
      await rejects(device.module({ ...plain, ...options } as ModuleOptions), { name: 'ArgumentError', code: 'ERR_WARPLOOM_INVALID_ARGUMENT', argument });
    }
  });

  describe('by NVRTC', function () {
    if (!hasHostCompiler) {
      skipCases('modules by NVRTC: no compiler for its imitation here', 5);
      return;
    }
    let library = '';
    before(() => { library = fakeNvrtc(newFolder()); });
    const read = (options: Partial<ModuleOptions> = {}) => readModuleOptions({ ...plain, cacheFolder: newFolder(), ...options });
    const compile = (options: ReturnType<typeof read>, architecture = 90) => withEnvironment({ WARPLOOM_NVRTC: library, WARPLOOM_MODULE_COMPILER: undefined },
      async () => new TextDecoder().decode(await compileModule(await cudaToolchain(architecture, options), options)));

    it('is told the architecture, the arithmetic and where headers are', async () => {
      const lines = (await compile(read({ headers: { 'a/b.h': '' } }))).split('\n');
      for (const option of ['-std=c++17', '-arch=sm_90', '-fmad=false', '-prec-div=true', '-prec-sqrt=true', '-ftz=false', '-default-device']) ok(lines.includes(option), option);
      const includes = lines.filter((line) => line.startsWith('-I')).map((line) => line.slice(2));
      strictEqual(includes.length, 3);
      ok(existsSync(join(includes[0]!, 'type_traits')) && existsSync(join(includes[1]!, 'cuda/core/module.cuh')) && includes[2] === '.');
      strictEqual(lines.slice(lines.indexOf('-I.') + 1).join('\n'), source);
      const fast = (await compile(read({ fast: true, maxRegisters: 40 }), 75)).split('\n');
      const wanted = ['-arch=sm_75', '-fmad=true', '-prec-div=false', '-prec-sqrt=false', '-ftz=true', '-maxrregcount=40', '-DWARPLOOM_MAX_REGISTERS=1'];
      for (const option of wanted) ok(fast.includes(option), option);
    });

    it('is known by its file: another one compiles anew', async () => {
      const options = read();
      const first = await withEnvironment({ WARPLOOM_NVRTC: library, WARPLOOM_MODULE_COMPILER: 'nvrtc' }, () => cudaToolchain(90, options));
      const other = fakeNvrtc(newFolder(), 12, 'libnvrtc.so.12');
      const second = await withEnvironment({ WARPLOOM_NVRTC: other, WARPLOOM_MODULE_COMPILER: 'nvrtc' }, () => cudaToolchain(90, options));
      const third = await withEnvironment({ WARPLOOM_NVRTC: library, WARPLOOM_MODULE_COMPILER: 'nvrtc' }, () => cudaToolchain(75, options));
      strictEqual(new Set([first.identity, second.identity, third.identity]).size, 3);
      match(second.identity, /12\.3/);
    });

    it('has its messages in the error, and cannot take this process with it', async () => {
      await rejects(compile(read({ source: `${source}#error\n` })), { name: 'ModuleError', log: 'module.cu(3): error: no such thing', compiler: `NVRTC (${library})` });
      await rejects(compile(read({ source: `${source}// SILENT\n` })), { name: 'ModuleError', log: 'NVRTC_ERROR_OTHER' });
      await rejects(compile(read({ source: `${source}// CRASH\n` })), { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /died by SIGABRT/ });
    });

    it('ends with its signal and when the time is over', async () => {
      const hang = `${source}// HANG\n`;
      await rejects(compile(read({ source: hang, timeout: 400 })), { code: 'ERR_WARPLOOM_SYSTEM_FAILED', message: /took more than 400 ms/ });
      const controller = new AbortController();
      const reason = new Error('enough');
      setTimeout(() => { controller.abort(reason); }, 300);
      await rejects(compile(read({ source: hang, signal: controller.signal })), reason);
    });

    it('is looked for in the toolkit and in packages of Python, and passed over where it has no code for the device', async () => {
      const home = newFolder();
      const packages = join(home, 'env/lib/python3.11/site-packages/nvidia/cu13/lib');
      const toolkit = join(home, 'toolkit/lib64');
      for (const each of [packages, toolkit]) mkdirSync(each, { recursive: true });
      fakeNvrtc(toolkit);
      fakeNvrtc(packages);
      writeFileSync(join(packages, 'libnvrtc-builtins.so.13.0'), '');
      const variables = { WARPLOOM_NVRTC: undefined, CUDA_HOME: join(home, 'toolkit'), CUDA_PATH: undefined, VIRTUAL_ENV: join(home, 'env'), WARPLOOM_MODULE_COMPILER: 'nvrtc' };
      await withEnvironment(variables, async () => {
        const all = await nvrtcCandidates();
        ok(all.includes(join(toolkit, 'libnvrtc.so.13')) && all.includes(join(packages, 'libnvrtc.so.13')) && !all.some((each) => /builtins/.test(each)));
        deepStrictEqual(all.slice(0, 3), ['libnvrtc.so.13', 'libnvrtc.so.12', 'libnvrtc.so']);
      });
      await withEnvironment({ ...variables, WARPLOOM_NVRTC: library }, () => rejects(cudaToolchain(61, read()),
        { name: 'UnavailableError', code: 'ERR_WARPLOOM_UNAVAILABLE', message: /nvrtc: .*has no code for sm_61.*pip install .*install the CUDA toolkit/ }));
      await withEnvironment({ ...variables, WARPLOOM_NVRTC: join(home, 'none.so') }, () => rejects(cudaToolchain(90, read()),
        { code: 'ERR_WARPLOOM_UNAVAILABLE', message: /none\.so.*WARPLOOM_NVRTC/s }));
      await withEnvironment({ ...variables, WARPLOOM_MODULE_COMPILER: 'ptxas' }, () => rejects(cudaToolchain(90, read()), { message: /want nvrtc or nvcc/ }));
    });
  });

  describe('by nvcc', function () {
    const nvcc = (options: ReturnType<typeof readModuleOptions>, architecture = 90) =>
      withEnvironment({ WARPLOOM_MODULE_COMPILER: 'nvcc' }, () => cudaToolchain(architecture, options));
    let present = true;
    before(async () => { present = await nvcc(readModuleOptions(plain)).then(() => true, () => false); });
    beforeEach(function () { if (!present) this.skip(); });

    it('makes machine code of the device', async () => {
      const options = readModuleOptions({ ...plain, cacheFolder: newFolder() });
      const image = Buffer.from(await compileModule(await nvcc(options), options));
      strictEqual(image.subarray(0, 4).toString('latin1'), '\x7fELF');
      ok(image.includes('.text.affine'));
      ok((await compileModule(await nvcc(options, 80), options)).length > 0);
      notStrictEqual((await nvcc(options, 80)).identity, (await nvcc(options)).identity);
    });

    it('keeps to a limit of registers, which takes more instructions', async () => {
      const text = { ...plain, source: moduleText({ hungry }), kernels: ['hungry'], cacheFolder: newFolder() };
      const [wide, narrow] = [readModuleOptions(text), readModuleOptions({ ...text, maxRegisters: 40 })];
      const [plainImage, limitedImage] = [await compileModule(await nvcc(wide), wide), await compileModule(await nvcc(narrow), narrow)];
      ok(limitedImage.length > 1.3 * plainImage.length, `${plainImage.length} and ${limitedImage.length} bytes`);
      ok(Buffer.from(limitedImage).includes('hungry_threads') && !Buffer.from(plainImage).includes('hungry_threads'));
    });

    it('has its messages in the error, with lines of the text', async () => {
      const options = readModuleOptions({ ...plain, source: source.replace('p.factor', 'p.facter'), cacheFolder: newFolder() });
      await rejects(async () => compileModule(await nvcc(options), options), { name: 'ModuleError', code: 'ERR_WARPLOOM_INVALID_PROGRAM', log: /module\.cu\(8\): error.*facter/s });
    });

    it('is missed where nothing names it', async function () {
      if (existsSync('/usr/local/cuda/bin/nvcc')) this.skip();
      const options = readModuleOptions(plain);
      const variables = { CUDACXX: undefined, CUDA_HOME: newFolder(), CUDA_PATH: undefined, PATH: newFolder(), WARPLOOM_NVRTC: join(folder, 'none.so'),
        WARPLOOM_MODULE_COMPILER: undefined };
      await withEnvironment(variables, () => rejects(cudaToolchain(90, options), { code: 'ERR_WARPLOOM_UNAVAILABLE', message: /nvrtc: .*; nvcc: .*Install the CUDA toolkit/ }));
    });
  });
});
