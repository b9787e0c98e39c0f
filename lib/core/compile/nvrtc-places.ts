// Where NVRTC may be installed, and the program that loads it.
import { readdir, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { onPath } from './compiler.ts';

/** Names under which the system's loader may find it. */
const loaderNames = ['libnvrtc.so.13', 'libnvrtc.so.12', 'libnvrtc.so'];

/** Matching paths in a folder, newest versions first; none if the folder does not exist. */
async function namesIn(folder: string, pattern: RegExp): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const version = (name: string): number => Number(/(\d+)$/.exec(name)?.[1] ?? 0);
  return names.filter((name) => pattern.test(name)).sort((a, b) => version(b) - version(a)).map((name) => join(folder, name));
}

async function inFolders(folders: readonly string[], pattern: RegExp): Promise<string[]> {
  return (await Promise.all(folders.map((folder) => namesIn(folder, pattern)))).flat();
}

/** Package folders of Python: of `python3` on PATH, environments, pyenv, the user, and the system. */
async function pythonPackages(): Promise<string[]> {
  const { VIRTUAL_ENV, CONDA_PREFIX, HOME = homedir() } = process.env;
  const python = onPath(['python3', 'python']);
  const real = python === undefined ? undefined : await realpath(python).catch(() => undefined);
  const own = real === undefined ? undefined : dirname(dirname(real));
  const prefixes = [VIRTUAL_ENV, CONDA_PREFIX, own, '/usr/local', '/usr', join(HOME, '.local')]
    .filter((each): each is string => each !== undefined && each !== '');
  const versions = [...prefixes, ...await namesIn(join(HOME, '.pyenv/versions'), /./)].map((prefix) => join(prefix, 'lib'));
  const libraries = await inFolders(versions, /^python3(\.\d+)?$/);
  return inFolders([...new Set(libraries)], /^(site|dist)-packages$/);
}

/**
 * Paths and names to try, in order: only WARPLOOM_NVRTC if it is set; otherwise names for the system's loader, the toolkit, and Python
 * packages (nvidia-cuda-nvrtc).
 */
export async function nvrtcCandidates(): Promise<readonly string[]> {
  const { WARPLOOM_NVRTC, CUDA_HOME, CUDA_PATH } = process.env;
  if (WARPLOOM_NVRTC !== undefined && WARPLOOM_NVRTC !== '') return [WARPLOOM_NVRTC];
  const homes = [CUDA_HOME, CUDA_PATH, '/usr/local/cuda'].filter((each): each is string => each !== undefined && each !== '');
  const library = /^libnvrtc\.so(\.\d+)?$/;
  const toolkit = await inFolders(homes.flatMap((home) => [join(home, 'lib64'), join(home, 'lib')]), library);
  const vendors = await inFolders((await pythonPackages()).map((packages) => join(packages, 'nvidia')), /./);
  return [...loaderNames, ...toolkit, ...await inFolders(vendors.map((folder) => join(folder, 'lib')), library)];
}

/** The Node binary of this process; on Deno and Bun, the one on PATH. */
export function nodeProgram(): string | undefined {
  const { versions, execPath } = process;
  return versions['bun'] === undefined && versions['deno'] === undefined ? execPath : onPath(['node']);
}
