// A registry of npm packages on this machine, for tests of how npm chooses among packages that are not published.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Registry {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves one version of each package, from the tarballs that `npm pack` made. */
export async function registryOf(tarballs: readonly string[]): Promise<Registry> {
  const manifests = tarballs.map((file) =>
    JSON.parse(execFileSync('tar', ['xzOf', file, 'package/package.json'], { encoding: 'utf8' })) as { name: string; version: string });
  let url = '';
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '').slice(1);
    const at = manifests.findIndex(({ name }) => path === name || path === `${name}.tgz`), file = tarballs[at], manifest = manifests[at];
    if (file === undefined || manifest === undefined) return response.writeHead(404).end('{}');
    const bytes = readFileSync(file);
    if (path.endsWith('.tgz')) return response.end(bytes);
    const dist = { tarball: `${url}${manifest.name}.tgz`, integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}` };
    return response.end(JSON.stringify({ name: manifest.name, 'dist-tags': { latest: manifest.version },
      versions: { [manifest.version]: { ...manifest, dist } } }));
  });
  await new Promise<void>((settle) => { server.listen(0, '127.0.0.1', settle); });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { url, close: () => new Promise((settle) => { server.close(() => { settle(); }); server.closeAllConnections(); }) };
}
