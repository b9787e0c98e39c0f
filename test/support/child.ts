// Child processes that use the library: for tests of exits, workers, crashes and memory.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot, type BackendName } from '../../lib/core/binding.ts';

/** How a child process ended. */
export interface ChildEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
  readonly milliseconds: number;
}

const folder = join(packageRoot(), 'build', 'test-library');
let bundled: string | undefined;

/**
 * The library as one plain module inside the package, so that children and workers start in
 * milliseconds, without the TypeScript loader.
 * @returns its file URL, exporting openDevice, devices and addon
 */
export function libraryModule(): string {
  if (bundled !== undefined) return bundled;
  const require = createRequire(createRequire(import.meta.url).resolve('tsx'));
  const { buildSync } = require('esbuild') as { buildSync(options: object): void };
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `warploom-${process.pid}.mjs`);
  const core = join(packageRoot(), 'lib', 'core');
  buildSync({
    stdin: {
      contents: `export * from '${core}/device.ts'; export * from '${core}/devices.ts'; export { addon } from '${core}/binding.ts';`,
      resolveDir: core, loader: 'ts',
    },
    bundle: true, platform: 'node', format: 'esm', target: 'node20', packages: 'external', outfile: file, logLevel: 'error',
  });
  bundled = pathToFileURL(file).href;
  return bundled;
}

/** Number of systems for a call that takes a while. */
const kSystems: Readonly<Record<BackendName, number>> = { cpu: 20_000, simt: 60, cuda: 200_000 };

/** Common first lines of scripts: the library, and a call that keeps one thread busy for a while. */
export function preamble(backend: BackendName = 'cpu', systems = kSystems[backend]): string {
  return `
import { openDevice, devices, addon } from '${libraryModule()}';
const constant = (value, batch, n) => ({ data: Float64Array.of(value), extents: [batch, n], strides: [0, 0] });
const view = (data, n) => ({ data, extents: [data.length / n, n] });
const solving = (n, batch, rhs, solution) => ({ type: 'float64', n, batch,
  lower: constant(-1, batch, n), diagonal: constant(4, batch, n), upper: constant(-1, batch, n), rhs: view(rhs, n), solution: view(solution, n) });
const open = (options = {}) => openDevice({ backend: '${backend}', threads: 1, ...options });
const small = async (device) => {
  const x = new Float64Array(96).fill(1);
  await device.run('tridiagonal.solve', solving(32, 3, x, x));
  return x;
};
const size = ${64 * systems};
const startLong = async (device, memory = 'plain') => {
  const make = async () => {
    if (memory === 'device') return device.array('float64', size);
    if (memory === 'pinned') return device.pinned('float64', size);
    return new Float64Array(memory === 'shared' ? new SharedArrayBuffer(8 * size) : size);
  };
  const rhs = await make();
  const calls = [];
  for (let i = 0; i < 6; i += 1) {
    const parameters = { ...solving(64, size / 64, rhs, await make()), algorithm: 'pivoting', check: true };
    calls.push(device.run('tridiagonal.solve', parameters));
  }
  return calls;
};
`;
}

/** Runs a module script in a process of its own. */
export function runChild(script: string, { args = [] as string[], env = {}, timeout = 120_000 } = {}): Promise<ChildEnd> {
  const begin = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--expose-gc', ...args, '--input-type=module', '-e', script],
      { env: { ...process.env, NODE_OPTIONS: '', ...env }, cwd: packageRoot(), stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    let err = '';
    child.stdout.on('data', (data: Buffer) => { out += data.toString(); });
    child.stderr.on('data', (data: Buffer) => { err += data.toString(); });
    const timer = setTimeout(() => child.kill('SIGKILL'), timeout);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, out, err, milliseconds: performance.now() - begin });
    });
  });
}
