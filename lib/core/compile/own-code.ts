// What results that outlive the process depend on besides their input: the library's code that made them, and the engine that ran it.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withFiles } from './cache.ts';

const known = new Map<string, Promise<string>>();

/**
 * Digest of the files of code in these folders of the library, as they were at the first call, and of the versions of Node and V8. Rejects
 * with WarploomError where the files are not there as such, because a bundler has moved the code.
 */
export function ownCode(folders: readonly string[]): Promise<string> {
  const name = folders.join();
  let found = known.get(name);
  if (found === undefined) known.set(name, found = withFiles("read the library's own code", () => Promise.resolve(digestOf(folders))));
  return found;
}

function digestOf(folders: readonly string[]): string {
  const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
  const hash = createHash('sha256').update(JSON.stringify([process.versions.node, process.versions.v8, process.arch]));
  for (const folder of folders) {
    const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).filter((file) => /(?<!\.d)\.(ts|js)$/.test(file));
    // Reading one after the other takes less time than many reads at once.
    for (const file of files.sort()) hash.update(`\0${folder}/${file}\0`).update(readFileSync(join(root, folder, file)));
  }
  return hash.digest('hex');
}
