// Paths of job files.
import { createRequire } from 'node:module';
import { isAbsolute, join, resolve } from 'node:path';
import { refusal } from '../core/errors.ts';
import type { Resolve } from './kind.ts';

/** `package:NAME/PATH` is a file of an npm package installed for `folder`; other paths are relative to `folder`. */
export function inputResolver(folder: string): Resolve {
  const require = createRequire(join(resolve(folder), 'job.json'));
  return (path) => {
    if (!path.startsWith('package:')) return isAbsolute(path) ? path : join(resolve(folder), path);
    const wanted = path.slice('package:'.length);
    const [name, rest] = /^((?:@[^/]+\/)?[^/]+)\/(.+)$/.exec(wanted)?.slice(1) ?? [];
    if (name === undefined || rest === undefined) {
      throw refusal('path', 'package:NAME/PATH', path);
    }
    // Not require.resolve(NAME/PATH): an exports map may hide data files.
    for (const folder of require.resolve.paths(name) ?? []) {
      const root = join(folder, name);
      try {
        require.resolve(join(root, 'package.json'));
        return join(root, rest);
      } catch {
        continue;
      }
    }
    throw refusal('path', `an installed package '${name}' (npm install ${name})`, path);
  };
}
