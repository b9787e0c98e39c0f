// The files of the studio's page: its own, and the modules of packages that it imports.
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { interpolateInferno } from 'd3-scale-chromatic';
import { listFolder, readBytes } from '../../core/files.ts';

/** One file, as it is sent. */
export interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
  readonly etag: string;
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8', mjs: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml',
};

const page = join(dirname(fileURLToPath(import.meta.url)), 'page');
const { resolve } = createRequire(import.meta.url);

/** Modules of packages, by the name under which the page imports them. They import each other by names that a browser cannot resolve. */
const packages: Readonly<Record<string, () => string>> = {
  'preact.mjs': () => join(dirname(resolve('preact')), 'preact.mjs'),
  'hooks.mjs': () => join(dirname(resolve('preact/hooks')), 'hooks.mjs'),
  'htm.mjs': () => join(dirname(resolve('htm')), 'htm.mjs'),
  'uplot.mjs': () => resolve('uplot/dist/uPlot.esm.js'),
  'uplot.css': () => resolve('uplot/dist/uPlot.min.css'),
};

function assetOf(name: string, bytes: Buffer): Asset {
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream';
  return { type, bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

/** All files by their path below /studio/. */
export async function readAssets(): Promise<ReadonlyMap<string, Asset>> {
  const names = (await listFolder(page)).filter((entry) => entry.isFile()).map(({ name }) => name);
  const own = names.map(async (name) => [name, assetOf(name, await readBytes(join(page, name)))] as const);
  const others = Object.entries(packages).map(async ([name, place]) => {
    const text = (await readBytes(place())).toString('utf8').replace(/from\s*"preact"/g, 'from"./preact.mjs"');
    return [`vendor/${name}`, assetOf(name, Buffer.from(text))] as const;
  });
  const colours = Array.from({ length: 256 }, (_, i) => interpolateInferno(i / 255));
  const ramp = assetOf('inferno.mjs', Buffer.from(`export default ${JSON.stringify(colours)};\n`));
  return new Map([...await Promise.all([...own, ...others]), ['vendor/inferno.mjs', ramp]]);
}
