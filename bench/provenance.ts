// Where a report's figures come from: sources, commit, versions, device.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';

/** What the bundle writes instead of git and of the sources of the addon. */
const buildInfoSchema = z.object({ commit: z.string(), sourceHash: z.string(), nvcc: z.string() });

/** Folders whose files make a domain's figures. */
function foldersOf(domain: string): readonly string[] {
  if (domain === 'imports') return ['lib'];
  if (domain === 'kernel') return ['lib/kernel', 'cuda/kernel'];
  if (domain === 'stencil') return ['lib/stencil', 'lib/kernel', 'cuda/stencil'];
  return domain.startsWith('stream') ? ['lib/stream', 'lib/kernel', 'cuda/stream', 'examples/stream'] : ['cuda', 'native'];
}

/** SHA-256 over the paths and contents of all files of folders, in path order. */
export function sourceHash(root: string, folders: readonly string[] = foldersOf('')): string {
  const hash = createHash('sha256');
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name))));
  for (const file of files.sort()) hash.update(`${file}\0`).update(readFileSync(join(root, file))).update('\0');
  return hash.digest('hex');
}

function output(command: string, args: readonly string[], root: string): string {
  try {
    return execFileSync(command, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
}

/** Commit, source hash and compiler, from the checkout or from the bundle's build-info.json. */
export function provenance(root: string, domain = ''): { commit: string; sourceHash: string; nvcc: string } {
  const info = join(root, 'build-info.json');
  if (existsSync(info)) {
    const built = buildInfoSchema.parse(JSON.parse(readFileSync(info, 'utf8')));
    return domain.startsWith('stream') || domain === 'kernel' || domain === 'stencil' ? { ...built, sourceHash: sourceHash(root, foldersOf(domain)) } : built;
  }
  return {
    commit: output('git', ['rev-parse', 'HEAD'], root),
    sourceHash: sourceHash(root, foldersOf(domain)),
    nvcc: /release ([\d.]+)/.exec(output('nvcc', ['--version'], root))?.[1] ?? 'none',
  };
}

/** Folder of a device's reports: `h200` for an NVIDIA H200, `cpu` for any host. */
export function deviceFolder(backend: string, name: string): string {
  if (backend !== 'cuda') return backend;
  return /\b([A-Z]{1,3}\d{2,4}[A-Z]*)\b/.exec(name)?.[1]?.toLowerCase() ?? name.toLowerCase().replace(/\W+/g, '-');
}
