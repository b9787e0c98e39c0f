// Finds the installed packages that some packages need at run time, from package-lock.json and without network access.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './list-sources.mjs';

/** The location to which `name` resolves for a package installed in `from` (a lock file key, '' for the root). */
function locate(packages, from, name) {
  for (let base = from; ; base = base.slice(0, Math.max(base.lastIndexOf('/node_modules/'), 0))) {
    const key = base === '' ? `node_modules/${name}` : `${base}/node_modules/${name}`;
    if (key in packages) return key;
    if (base === '') return undefined;
  }
}

/** Folders (node_modules/…) of `names` and all their dependencies; optional ones only if installed. */
export function closure(names) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const found = new Set();
  const visit = (from, name, optional) => {
    const key = locate(packages, from, name);
    if (key === undefined || !existsSync(join(root, key))) {
      if (optional) return;
      throw new Error(`${name} (needed by ${from || 'the bundle'}) is not installed: run npm ci`);
    }
    if (found.has(key)) return;
    found.add(key);
    for (const dependency of Object.keys(packages[key].dependencies ?? {})) visit(key, dependency, false);
    for (const dependency of Object.keys(packages[key].optionalDependencies ?? {})) visit(key, dependency, true);
  };
  for (const name of names) visit('', name, false);
  return [...found].sort();
}
