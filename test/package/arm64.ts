// The addon for Linux on ARM, compiled here and run by an emulator under a Node for ARM: the bits of the addon of this machine, and the floor.
import { deepStrictEqual, match, ok, strictEqual } from 'node:assert/strict';
import { execFileSync, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runChild } from '../support/child.ts';
import { instructionCases } from '../support/instruction-cases.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'build/addon-linux-arm64'); // as scripts/build-arm64.mjs has it
const addon = join(folder, 'prebuilds/linux-arm64/node.napi.glibc.node');
const { addonFaults } = await import(pathToFileURL(join(root, 'scripts/check-addon.mjs')).href) as {
  addonFaults(file: string, floor?: string): string[];
};
const { findArm64Compiler } = await import(pathToFileURL(join(root, 'scripts/build-arm64.mjs')).href) as {
  findArm64Compiler(): string | undefined;
};

/** The emulator with a Node for ARM: what test/reach installs, and Debian's libraries for cross compilers. */
const node = join(root, 'test/reach/node_modules/node20-arm64/bin/node');
const emulated = (...args: string[]): SpawnSyncReturns<string> =>
  spawnSync('qemu-aarch64', ['-L', process.env.QEMU_LD_PREFIX ?? '/usr/aarch64-linux-gnu', node, ...args], {
    cwd: root, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '', WARPLOOM_PREBUILD: folder, WARPLOOM_ADDON: 'native' } });

describe('the addon for linux-arm64', function () {
  this.timeout(900_000);

  before(function () {
    if (findArm64Compiler() === undefined) return this.skip();
    execFileSync(process.execPath, ['scripts/build-arm64.mjs'], { cwd: root, stdio: 'pipe' });
  });

  it('asks for glibc 2.28 and no C++ library', () => {
    deepStrictEqual(addonFaults(addon), []);
    ok(addonFaults(addon, '2.2').some((fault) => /GLIBC_2\.17/.test(fault)));
    match(execFileSync('readelf', ['-h', addon], { encoding: 'utf8' }), /Machine: *AArch64/);
  });

  it('has the bits of this machine’s', async function () {
    if (!existsSync(node) || emulated('--version').status !== 0) return this.skip();
    const script = join(root, 'build/instruction-cases.mjs');
    mkdirSync(join(root, 'build'), { recursive: true });
    writeFileSync(script, `${instructionCases(true)}\nconsole.log(process.arch);`);
    const here = await runChild(instructionCases(true), { timeout: 300_000 });
    strictEqual(here.code, 0, here.err);
    const there = emulated(script);
    strictEqual(there.status, 0, there.stderr);
    const lines = there.stdout.trim().split('\n');
    strictEqual(lines.pop(), 'arm64');
    ok(lines.length > 200);
    deepStrictEqual(lines, here.out.trim().split('\n'));
  });
});
