// The only file that touches the addon: loads it once per thread, or says why it cannot.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FileError, UnavailableError } from './errors.ts';
import { permissionRemedy } from './file-error.ts';
import { isAbsent, isThere, readBytesSync } from './files.ts';
import type { Addon } from './addon.ts';
import { copyLargeArraysBy } from './arrays.ts';
import { WasmAddon } from './wasm/addon.ts';

export type * from './addon.ts';

let root: string | undefined;
const bundled = 'a bundler has taken the code of warploom away from its files: name warploom as external (esbuild --external:warploom, '
  + 'externals of webpack, ssr.external of Vite) and install it beside the bundle';

function isOurs(file: string): boolean {
  try {
    return (JSON.parse(readBytesSync(file).toString('utf8')) as { readonly name?: string }).name === 'warploom';
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** The package's folder, found by walking up: lib/, dist/ and bundled copies differ in depth. */
export function packageRoot(): string {
  if (root !== undefined) return root;
  // A bundler may have put this code elsewhere: in ES modules far from the package, in CommonJS without import.meta.
  const url = import.meta.url as string | undefined;
  if (url === undefined) throw new UnavailableError(bundled);
  const start = dirname(fileURLToPath(url));
  for (let folder = start; ; folder = dirname(folder)) {
    if (isOurs(join(folder, 'package.json'))) return (root = folder);
    if (dirname(folder) === folder) throw new UnavailableError(`${bundled} (no package.json of warploom above ${start})`);
  }
}

/** Whether this is a clone, where the addon is built, and not an installed package. */
export function isClone(): boolean {
  return isThere(join(packageRoot(), 'scripts/build-native.mjs'));
}

/** One line for each way in which loading fails, with what to do. */
function explain(error: NodeJS.ErrnoException): string {
  if (error instanceof UnavailableError) return error.message;
  const text = error.message.split('\n')[0] ?? '';
  if (error.code === 'ERR_DLOPEN_DISABLED') {
    return 'native addons are disabled in this process (--no-addons or the permission model): run with --allow-addons';
  }
  const denied = error instanceof FileError ? error.cause : error;
  if (permissionRemedy(denied) !== undefined) {
    return (denied as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED'
      ? "the permission model denies reading the package's folder: run with --allow-fs-read and --allow-addons"
      : "the permission model denies the package's folder or native code: run Deno with --allow-read and --allow-ffi";
  }
  if (text.startsWith('No native build was found')) {
    if (isClone()) return `the addon is not built for ${platform}: run npm run build:native (needs a C++17 compiler)`;
    const chosen = process.env.WARPLOOM_PREBUILD;
    if (chosen !== undefined && chosen !== '') return `there is no addon for ${platform} in ${chosen} (WARPLOOM_PREBUILD)`;
    return platform in addonPackages && !isMusl()
      ? `the package @warploom/${platform}, which has the addon, is not installed (npm install --include=optional)`
      : `there is no addon for ${platform}${isMusl() ? ' with musl' : ''} (only for linux-x64 and linux-arm64 with glibc 2.28 or newer)`;
  }
  const glibc = /version .GLIBC_[\d.]+. not found/.test(text);
  if (glibc) return 'the addon needs glibc 2.28 or newer, and this system has an older one';
  return text === 'WARPLOOM_ADDON=wasm' ? 'WARPLOOM_ADDON=wasm asks for WebAssembly' : `the addon does not load: ${text}`;
}

const platform = `${process.platform}-${process.arch}`;
const addonPackages = { 'linux-x64': true, 'linux-arm64': true };
const isMusl = (): boolean => process.platform === 'linux' && isThere('/etc/alpine-release');

/** What has the addon: what the environment names; this package, as in a clone; or that of this platform, which npm installs with it. */
function addonFolder(): string {
  const chosen = process.env.WARPLOOM_PREBUILD;
  if (chosen !== undefined && chosen !== '') return chosen;
  if (isThere(join(packageRoot(), 'prebuilds', platform))) return packageRoot();
  try {
    return dirname(createRequire(import.meta.url).resolve(`@warploom/${platform}/package.json`));
  } catch {
    return packageRoot();
  }
}

/** How another process loads the addon: `require(finder)(folder)`. */
export function loaderOfAddon(): readonly [finder: string, folder: string] {
  return [createRequire(import.meta.url).resolve('node-gyp-build'), addonFolder()];
}

type Loaded = { addon: Addon } | { reason: string; cause: unknown };
let loaded: Loaded | undefined;

/** The cpu backend as WebAssembly, where the addon cannot be loaded; undefined if the package does not have it. */
function loadWasm(reason: string): Loaded | undefined {
  if (process.env.WARPLOOM_ADDON === 'native') return undefined;
  try {
    return { addon: new WasmAddon(new Uint8Array(readBytesSync(join(packageRoot(), 'prebuilds/wasm32/warploom.wasm'))), reason) };
  } catch (error) {
    if (error instanceof UnavailableError || isAbsent(error)) return undefined;
    if (permissionRemedy(error instanceof FileError ? error.cause : error) !== undefined) return undefined;
    throw error;
  }
}

/** WARPLOOM_ADDON=wasm in the environment has WebAssembly used where the addon would load too; native: never. */
function findAddon(): Addon {
  if (process.env.WARPLOOM_ADDON === 'wasm') throw new Error('WARPLOOM_ADDON=wasm');
  const folder = addonFolder();
  const find = createRequire(import.meta.url)('node-gyp-build') as (folder: string) => Addon;
  return find(folder);
}

function load(): Loaded {
  if (loaded !== undefined) return loaded;
  try {
    loaded = { addon: findAddon() };
    copyLargeArraysBy(loaded.addon.copyArray);
  } catch (error) {
    const reason = explain(error as NodeJS.ErrnoException);
    loaded = loadWasm(reason) ?? { reason, cause: error };
  }
  return loaded;
}

/** What computes on the host: the addon, and whose, or WebAssembly; undefined if neither is there. */
export function addonSource(): string | undefined {
  const result = load();
  if ('reason' in result) return undefined;
  if (result.addon instanceof WasmAddon) return 'WebAssembly, prebuilds/wasm32/warploom.wasm';
  if (addonFolder() === process.env.WARPLOOM_PREBUILD) return `the addon in ${addonFolder()} (WARPLOOM_PREBUILD)`;
  return addonFolder() === packageRoot() ? `the addon built here, prebuilds/${platform}` : `the addon of @warploom/${platform}`;
}

/** Why the addon is not available; undefined if it is. */
export function missingReason(): string | undefined {
  const result = load();
  return 'reason' in result ? result.reason : undefined;
}

/**
 * The addon.
 * @throws UnavailableError ERR_WARPLOOM_UNAVAILABLE if it cannot be loaded, saying why
 */
export function addon(): Addon {
  const result = load();
  if ('reason' in result) throw new UnavailableError(`no backend: ${result.reason}`, { cause: result.cause });
  return result.addon;
}
