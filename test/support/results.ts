// The files of jobs' results, for comparing runs to the byte.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** All files below a folder by name, without what differs from run to run: times in result.json and summaries, and checkpoints. */
export async function resultsIn(folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /^(state\.checkpoint|summary\.)/.test(entry.name)) continue;
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1);
    const bytes = await readFile(path);
    if (entry.name !== 'result.json') found.set(name, bytes.toString('base64'));
    else {
      const { parameters, summary, accuracy, hash } = JSON.parse(bytes.toString()) as Record<string, unknown>;
      found.set(name, JSON.stringify({ parameters, summary, accuracy, hash }));
    }
  }
  return found;
}
