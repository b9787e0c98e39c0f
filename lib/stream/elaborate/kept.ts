// Elaborations cached between processes: those of programs in text, which take longer than all else where the code is cached.
import { createHash } from 'node:crypto';
import { deserialize, serialize } from 'node:v8';
import { cacheFolder, keepBytes, keptBytes } from '../../core/compile/cache.ts';
import { ownCode } from '../../core/compile/own-code.ts';
import { WarploomError } from '../../core/errors.ts';
import { contentOf } from '../content.ts';
import type { SourceFile } from '../diagnostics.ts';
import { shownGraph } from '../pictures/shown-graph.ts';
import { trusted } from '../require.ts';
import type { Elaborated } from './index.ts';

/** Characters of a program for which a look into the cache pays, and milliseconds of an elaboration that is kept. */
const leastText = 1000, leastMilliseconds = 20;

/** Whether a cache fails because there is none: no folder, no permission, no space, or a value that is not plain data. */
function isNoCache(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | null)?.code;
  return error instanceof WarploomError ? code === 'ERR_WARPLOOM_SYSTEM_FAILED' || code === 'ERR_WARPLOOM_UNAVAILABLE'
    : error instanceof DOMException && error.name === 'DataCloneError';
}

/**
 * What checking and elaborating files comes to, from the cache, if it is there; an entry is found by all that the result depends on: texts,
 * options, and the library's code. `make` makes it otherwise; what is right and took a while is kept.
 */
export async function keptElaboration(
  files: readonly SourceFile[], options: object, make: () => Promise<Elaborated>,
): Promise<Elaborated> {
  const noCache = (error: unknown): undefined => {
    if (!isNoCache(error)) throw error;
  };
  const entry = await entryOf(files, options).catch(noCache);
  if (entry === undefined) return make();
  const { folder, key } = entry;
  const bytes = await keptBytes(folder, key).catch(noCache);
  if (bytes !== undefined) return restored(bytes);
  const begin = performance.now();
  const made = await make();
  if (made.graph !== undefined && performance.now() - begin >= leastMilliseconds) {
    await Promise.resolve().then(() => keepBytes(folder, key, serialize(made))).catch(noCache);
  }
  return made;
}

async function entryOf(
  files: readonly SourceFile[], options: object,
): Promise<{ readonly folder: string; readonly key: string } | undefined> {
  if (files.reduce((sum, { text }) => sum + text.length, 0) < leastText) return undefined;
  const content = contentOf([files, options]);
  if (content === undefined) return undefined;
  const hash = createHash('sha256').update(await ownCode(['core', 'kernel', 'stream'])).update('elaborated').update(content);
  return { folder: cacheFolder(undefined, 'stream'), key: hash.digest('hex').slice(0, 40) };
}

function restored(bytes: Uint8Array): Elaborated {
  const { graph, diagnostics } = deserialize(bytes) as Elaborated;
  return { graph: graph === undefined ? undefined : trusted(shownGraph(graph)), diagnostics };
}
