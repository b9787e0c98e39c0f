// What the library uses of Node's modules, in a page: scripts/build-browser.mjs puts this file in place of every node:* module. There are
// no files, no processes and no threads; what needs them says so.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import * as acorn from 'acorn';

function absent(what: string): never {
  throw Object.assign(new Error(`a page in a browser has no ${what}`), { code: 'ENOSYS' });
}
const noFiles = (): never => absent('files');
const noProcesses = (): never => absent('processes');

// os: WebAssembly has at most 4 GiB.
export const totalmem = (): number => 2 ** 32;
export const availableParallelism = (): number => 1;
export const cpus = (): readonly [] => [];
export const tmpdir = noFiles, homedir = noFiles, setPriority = noProcesses;

// path and url
export const delimiter = ':';
export const isAbsolute = (path: string): boolean => path.startsWith('/');
export const join = (...parts: readonly string[]): string => parts.join('/');
export const dirname = (path: string): string => path.replace(/\/[^/]*$/, '');
export const basename = (path: string): string => path.replace(/^.*\//, '');
export const fileURLToPath = noFiles, pathToFileURL = noFiles;

// fs and fs/promises
export const constants = {};
export const accessSync = noFiles, createReadStream = noFiles, existsSync = noFiles, lstatSync = noFiles, mkdirSync = noFiles,
  mkdtempSync = noFiles, readFileSync = noFiles, readdirSync = noFiles, readlinkSync = noFiles, realpathSync = noFiles, rmSync = noFiles;
const noFile = (): Promise<never> => new Promise(noFiles);
export const copyFile = noFile, link = noFile, lstat = noFile, mkdir = noFile, mkdtemp = noFile, open = noFile, readdir = noFile,
  readFile = noFile, realpath = noFile, rename = noFile, rm = noFile, stat = noFile, symlink = noFile, unlink = noFile, utimes = noFile,
  writeFile = noFile;

// child_process and worker_threads
export const fork = noProcesses, spawn = noProcesses;
export const isMainThread = true, Worker = undefined;

// module: what the library requires by name.
export const createRequire = () => (name: string): unknown => (name === 'acorn' ? acorn : absent('packages'));

// crypto
class Hash {
  readonly #hash = sha256.create();

  update(data: string | Uint8Array): this {
    this.#hash.update(typeof data === 'string' ? new TextEncoder().encode(data) : data);
    return this;
  }

  digest(encoding?: 'hex'): string | Uint8Array {
    const bytes = this.#hash.digest();
    return encoding === undefined ? bytes : bytesToHex(bytes);
  }
}
export function createHash(algorithm: string): Hash {
  return algorithm === 'sha256' ? new Hash() : absent(algorithm);
}
export const randomBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));

// util
export const inspect = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : typeof value);
export const debuglog = () => Object.assign(() => undefined, { enabled: false });
export const types = { isTypedArray: (value: unknown): boolean => ArrayBuffer.isView(value) && !(value instanceof DataView) };

// perf_hooks, process, timers/promises
export const performance = globalThis.performance;
export const emitWarning = (text: string): void => { console.warn(text); };
export const setImmediate = (): Promise<void> => new Promise((settle) => { setTimeout(settle, 0); });

// diagnostics_channel: nobody listens.
const silent = { hasSubscribers: false, publish: () => undefined };
export const channel = () => silent;
export const tracingChannel = () =>
  ({ start: silent, asyncEnd: silent, error: silent, tracePromise: <T>(call: () => T): T => call() });
