// In place of core/binding.ts in a page: the cpu backend as WebAssembly, which importing the library fetches.
import type { Addon } from '../core/addon.ts';
import { UnavailableError } from '../core/errors.ts';
import { WasmAddon } from '../core/wasm/addon.ts';

export type * from '../core/addon.ts';

let loaded: WasmAddon | undefined;
let failure = new UnavailableError('no backend');
const place = new URL('../../prebuilds/wasm32/warploom.wasm', import.meta.url);

/** The part of the engine's interface that the type definitions for Node lack. */
const { WebAssembly: engine } = globalThis as unknown as { WebAssembly: { compile(bytes: ArrayBuffer): Promise<object> } };

async function fetchModule(url: URL | string): Promise<object> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return engine.compile(await answer.arrayBuffer());
}

/**
 * Fetches the WebAssembly module of the CPU backend from another place. Importing the library has looked for it beside the library's
 * own code, as `../../prebuilds/wasm32/warploom.wasm`, and waited for it; call this where a bundler or server does not keep it there.
 * `url`: where the module is.
 * @throws UnavailableError ERR_WARPLOOM_UNAVAILABLE if it is not there, or is not the module
 */
export async function load({ url }: { readonly url: URL | string }): Promise<void> {
  if (loaded !== undefined) return;
  try {
    loaded = new WasmAddon(await fetchModule(url), 'a page in a browser has no addon');
  } catch (cause) {
    const reason = (cause as Error).message;
    failure = new UnavailableError(`no backend: ${String(url)} could not be loaded (${reason}): serve the package's `
      + 'prebuilds/wasm32/warploom.wasm, and say where it is with load({ url })', { cause });
    throw failure;
  }
}

/** Why the module is not available; undefined if it is. */
export function missingReason(): string | undefined {
  return loaded === undefined ? failure.message : undefined;
}

/** The module, as the addon. */
export function addon(): Addon {
  if (loaded === undefined) throw failure;
  return loaded;
}

/** What computes. */
export const addonSource = (): string => 'WebAssembly';

const noFiles = (): never => {
  throw new UnavailableError('a page in a browser has no files');
};
export const packageRoot = noFiles, loaderOfAddon = noFiles;

// Nothing can be computed without it, and most calls begin at once. A failure is told to calls.
await load({ url: place }).catch(() => undefined);
