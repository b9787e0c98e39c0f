// Loading the addon: an honest reason for every way in which it is not there.
import { match, ok, strictEqual } from 'node:assert/strict';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { packageRoot } from '../../lib/core/binding.ts';
import { libraryModule, runChild, type ChildEnd } from '../support/child.ts';

/** Prints what a program sees that uses the library where the addon does not load. */
const script = (): string => `
import { devices, openDevice, defaultDevice } from '${libraryModule()}';
const list = devices();
console.log(JSON.stringify({ usable: list.filter((each) => each.available).length, reason: list[0].reason }));
for (const call of [() => openDevice({ backend: 'cpu' }), () => openDevice(), defaultDevice]) {
  await call().catch((error) => console.log(error.name, error.code, error.message));
}`;

function requireReason(end: ChildEnd, reason: RegExp): void {
  strictEqual(end.code, 0, end.err);
  const { usable, reason: said } = JSON.parse(end.out.split('\n')[0]!) as { usable: number; reason: string };
  strictEqual(usable, 0);
  match(said, reason);
  ok(!said.includes('\n'));
  const lines = end.out.trim().split('\n').slice(1);
  strictEqual(lines.length, 3);
  for (const line of lines) {
    match(line, /^UnavailableError ERR_WARPLOOM_UNAVAILABLE no backend: /);
    match(line, reason);
  }
}

/** No WebAssembly in its place. */
const native = { WARPLOOM_ADDON: 'native' };
const folders: string[] = [];

/** A folder that node-gyp-build takes for the package's, with the given bytes as its addon. */
function prebuild(binary: string | undefined): string {
  const folder = mkdtempSync(join(tmpdir(), 'warploom-prebuild-'));
  folders.push(folder);
  const place = join(folder, 'prebuilds', `${process.platform}-${process.arch}`);
  mkdirSync(place, { recursive: true });
  if (binary !== undefined) writeFileSync(join(place, 'node.napi.glibc.node'), binary);
  return folder;
}

describe('loading the addon', function () {
  this.timeout(120_000);
  this.slow(5000);

  after(() => {
    for (const folder of folders) rmSync(folder, { recursive: true });
  });

  it('finds the package', () => {
    ok(packageRoot().length > 0);
  });

  it('says how to build it where it is not built', async () => {
    requireReason(await runChild(script(), { env: { ...native, WARPLOOM_PREBUILD: prebuild(undefined) } }), /not built .* npm run build:native/);
  });

  it('passes on what the loader says of a damaged file', async () => {
    requireReason(await runChild(script(), { env: { ...native, WARPLOOM_PREBUILD: prebuild('not an ELF file') } }), /does not load: .*node\.napi/);
  });

  it('says what to do where a bundler has taken it away from its files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'warploom-bundle-'));
    folders.push(folder);
    const copy = join(folder, 'bundle.mjs');
    copyFileSync(fileURLToPath(libraryModule()), copy);
    const moved = script().replaceAll(libraryModule(), pathToFileURL(copy).href);
    requireReason(await runChild(moved), /a bundler has taken the code of warploom away .* --external:warploom/);
  });

  it('says that addons are disabled', async () => {
    requireReason(await runChild(script(), { args: ['--no-addons'], env: native }), /disabled .* --allow-addons/);
  });

  it('says that the permission model disables addons', async () => {
    const flag = process.versions.node.startsWith('20.') ? '--experimental-permission' : '--permission';
    requireReason(await runChild(script(), { args: [flag, '--allow-fs-read=*'], env: native }), /disabled .* --allow-addons/);
  });
});
