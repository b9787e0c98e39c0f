// The build tools of this machine: host compiler, CMake, nvcc, GPU architecture, Node headers.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** Full path of an executable on PATH, or undefined. */
export function onPath(name) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      continue;
    }
  }
  return undefined;
}

/** The host C++ compiler, or undefined. */
export function findCompiler() {
  const named = process.env.CXX;
  if (named) return existsSync(named) ? named : onPath(named);
  return onPath('c++') ?? onPath('g++') ?? onPath('clang++');
}

/** nvcc from CUDACXX, CUDA_HOME, CUDA_PATH, the usual toolkit prefix, then PATH; undefined if none of them runs. */
export function findNvcc() {
  if (process.env.WARPLOOM_CUDA === '0') return undefined;
  const homes = [process.env.CUDA_HOME, process.env.CUDA_PATH, '/usr/local/cuda'];
  const candidates = [process.env.CUDACXX, ...homes.map((home) => home && join(home, 'bin', 'nvcc')), onPath('nvcc')];
  return candidates.find((path) => path && spawnSync(path, ['--version']).status === 0);
}

/** CMake's architecture list: the GPUs of this machine, otherwise Hopper code and its PTX for later GPUs (one run of the front end). */
export function cudaArchitectures() {
  if (process.env.WARPLOOM_CUDA_ARCHITECTURES) return process.env.WARPLOOM_CUDA_ARCHITECTURES;
  const query = spawnSync('nvidia-smi', ['--query-gpu=compute_cap', '--format=csv,noheader'], { encoding: 'utf8' });
  if (query.status === 0) {
    const found = new Set(query.stdout.split('\n').map((line) => line.trim().replace('.', '')));
    const known = [...found].filter((digits) => /^\d{2,3}$/.test(digits));
    if (known.length > 0) return known.map((digits) => `${digits}-real`).join(';');
  }
  return '90';
}

/** Prefix of the running node when its headers are installed, so that node-gyp need not download them. */
export function nodeHeaders() {
  const prefix = process.env.npm_config_nodedir ?? dirname(dirname(realpathSync(process.execPath)));
  return existsSync(join(prefix, 'include/node/node_api.h')) ? prefix : undefined;
}

/** node-gyp's script: that of the npm that runs this script, or the one bundled with the npm next to node. */
export function findNodeGyp() {
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  const bundled = join(prefix, 'lib/node_modules/npm/node_modules/node-gyp/bin/node-gyp.js');
  const npm = onPath('npm');
  const beside = npm && join(dirname(dirname(realpathSync(npm))), 'node_modules/node-gyp/bin/node-gyp.js');
  return [process.env.npm_config_node_gyp, beside, bundled].find((path) => path && existsSync(path));
}
