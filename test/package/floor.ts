// The addon runs on old systems: what it asks for, and whether the check of that finds what it is for.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { addonFaults, beyondFloor } = await import(pathToFileURL(join(root, 'scripts/check-addon.mjs')).href) as {
  addonFaults(file: string, floor?: string): string[];
  beyondFloor(symbols: string, dynamic: string, floor?: string): string[];
};

/** Exceptions, timed waits, threads, files and thread-specific data: what old_glibc.cpp provides. */
const program = `
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <dlfcn.h>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
__attribute__((noinline)) void fail() { throw std::runtime_error("thrown"); }
int main(int, char** arguments) {
  try { fail(); } catch (const std::exception& error) { std::printf("%s ", error.what()); }
  std::mutex mutex;
  std::condition_variable ready;
  std::unique_lock<std::mutex> lock(mutex);
  const auto begin = std::chrono::steady_clock::now();
  const bool woken = ready.wait_for(lock, std::chrono::milliseconds(30), [] { return false; });
  const bool waited = std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(30);
  bool done = false;
  std::thread other([&] { std::lock_guard<std::mutex> hold(mutex); done = true; ready.notify_all(); });
  const bool noticed = ready.wait_for(lock, std::chrono::seconds(600), [&] { return done; });
  lock.unlock();
  other.join();
  std::ifstream file(arguments[0], std::ios::ate);
  std::printf("%d %d %d %d %d\\n", woken, waited, noticed, file.tellg() > 1000, dlsym(RTLD_DEFAULT, "malloc") != nullptr);
}`;

/** The linker's options for it, as CMakeLists.txt makes them. */
function wrapping(): string[] {
  const text = readFileSync(join(root, 'native/core/old_glibc.cpp'), 'utf8');
  const names = [...text.matchAll(/^WARPLOOM_(?:OLD|OLD_AS|WRITTEN)\((?:[a-z]+, )?([a-z0-9_]+)[,)]/gm)].map((found) => found[1]!);
  ok(names.length > 40);
  return names.map((name) => `-Wl,--wrap=${name}`);
}

describe('the floor of the addon', function () {
  this.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), 'warploom-floor-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const compiler = process.env.CXX ?? 'c++';
  const works = spawnSync(compiler, ['--version']).status === 0 && spawnSync('readelf', ['--version']).status === 0;

  it('is glibc 2.28 and no C++ library', function () {
    const addon = join(root, 'prebuilds/linux-x64/node.napi.glibc.node');
    const configured = existsSync(join(root, 'build/cmake/CMakeCache.txt')); // built by CMake, which keeps the floor; node-gyp does not
    if (!existsSync(addon) || !configured || !works) this.skip();
    deepStrictEqual(addonFaults(addon), []);
    // The check reads real files: these symbols are older than 2.28, and newer than 2.2.
    ok(addonFaults(addon, '2.2').some((fault) => /GLIBC_2\.17/.test(fault)));
  });

  it('names newer symbols and other libraries', () => {
    const symbols = `
    12: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND hypot@GLIBC_2.35 (9)
    13: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND memcpy@GLIBC_2.14 (3)
    14: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND napi_throw
    15: 0000000000000000     0 FUNC    GLOBAL DEFAULT  UND _ZSt9terminatev@GLIBCXX_3.4 (4)
    16: 0000000000001000     5 FUNC    GLOBAL DEFAULT   12 own@@GLIBC_2.99
`;
    const dynamic = ' 0x01 (NEEDED)  Shared library: [libstdc++.so.6]\n 0x01 (NEEDED)  Shared library: [libc.so.6]\n';
    deepStrictEqual(beyondFloor(symbols, dynamic),
      ['library libstdc++.so.6', 'symbol _ZSt9terminatev of GLIBCXX_3.4', 'symbol hypot of GLIBC_2.35']);
    deepStrictEqual(beyondFloor(symbols.replace(/.*(GLIBCXX|hypot).*\n/g, ''), ''), []);
  });

  it('is kept by native/core/old_glibc.cpp, which works', function () {
    const glibc = (process.report.getReport() as { header: { glibcVersionCompiler?: string } }).header.glibcVersionCompiler;
    if (!works || glibc === undefined || !['x64', 'arm64'].includes(process.arch)) this.skip();
    const source = join(folder, 'program.cpp'), plain = join(folder, 'plain'), old = join(folder, 'old');
    writeFileSync(source, program);
    const object = join(folder, 'program.o');
    execFileSync(compiler, ['-std=c++17', '-c', source, '-o', object]);
    execFileSync(compiler, [object, '-o', plain, '-pthread', '-ldl']);
    const faults = addonFaults(plain);
    ok(faults.some((fault) => fault.startsWith('library libstdc++')), faults.join());
    execFileSync(compiler, ['-std=c++17', '-DWARPLOOM_OLD_GLIBC=1', '-static-libstdc++', '-static-libgcc', '-Wl,--gc-sections', ...wrapping(), object,
      join(root, 'native/core/old_glibc.cpp'), '-o', old, '-pthread', '-ldl']);
    // A program's own start file asks for more; only functions that it calls count here.
    deepStrictEqual(addonFaults(old).filter((fault) => !/__libc_start_main|libgcc/.test(fault)), []);
    const done = spawnSync(old, { encoding: 'utf8' });
    strictEqual(done.status, 0, done.stderr);
    match(done.stdout, /^thrown 0 1 1 1 1$/m);
  });
});
