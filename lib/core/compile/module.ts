// From a module's text to code on the device: compiled for the backend, cached by content.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { cachedProgram, cacheFolder, withFiles } from './cache.ts';
import { cudaToolchain } from './cuda.ts';
import { hostToolchain } from './host.ts';
import type { Toolchain } from './toolchain.ts';
import type { DeviceDescription } from '../binding.ts';
import { WarploomError } from '../errors.ts';
import { DeviceModule } from '../module.ts';
import type { ReadModuleOptions } from '../module-options.ts';
import type { Owner } from '../device-memory.ts';

/** The toolchain for a device. Throws UnavailableError if there is none. */
async function toolchainFor(device: DeviceDescription, options: ReadModuleOptions): Promise<Toolchain> {
  switch (device.backend) {
    case 'simt': return hostToolchain(options);
    case 'cuda': return cudaToolchain(device.computeCapability, options);
    case 'cpu': throw new WarploomError('ERR_WARPLOOM_UNSUPPORTED',
      'the cpu backend runs no modules: open a device of backend cuda, or simt in a build that has it');
  }
}

function keyOf(toolchain: Toolchain, { source, headers }: ReadModuleOptions): string {
  const hash = createHash('sha256').update(JSON.stringify([toolchain.identity, [...headers.keys()]]));
  for (const text of [source, ...headers.values()]) hash.update(`\0${text.length}\0`).update(text);
  return hash.digest('hex').slice(0, 40);
}

/** The image that the toolchain makes of the text, or has made of it before. */
export async function compileModule(toolchain: Toolchain, options: ReadModuleOptions): Promise<Uint8Array> {
  const folder = cacheFolder(options.cacheFolder, 'modules');
  const path = await cachedProgram(folder, keyOf(toolchain, options), (work, to) => toolchain.compile(work, to, options));
  return withFiles('read a compiled module', () => readFile(path));
}

/** Compiles and loads a module. */
export async function makeModule(owner: Owner, device: DeviceDescription, options: ReadModuleOptions): Promise<DeviceModule> {
  const { signal, kernels } = options;
  signal?.throwIfAborted();
  const image = await compileModule(await toolchainFor(device, options), options);
  signal?.throwIfAborted();
  return DeviceModule.load(owner, image, kernels, signal);
}
