// warploom doctor: goes through everything that the library needs of a machine, and says what to do where something is missing.
import { availableParallelism, totalmem } from 'node:os';
import { cacheFolder, isOwnFolder } from '../core/compile/cache.ts';
import { installedCompilers, type InstalledCompiler } from '../core/compile/cuda.ts';
import { addonSource, isClone, missingReason, type DeviceDescription } from '../core/binding.ts';
import { devices } from '../core/devices.ts';
import { version } from '../core/version.ts';
import { ExitCode, parseFlags, UsageError, type Command } from './command.ts';
import { wrongSettings } from './doctor-settings.ts';
import { gpuNeeds } from './info.ts';
import { formatBytes, wrapText } from './table.ts';

/** One thing that was looked at. `warning`: not everything works without it. */
interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly found: string;
  /** What to do; empty if nothing. */
  readonly remedy: string;
}

const fine = (check: string, found: string): Finding => ({ check, state: 'ok', found, remedy: '' });

const toGetTheAddon = (): string => (isClone() ? 'on Linux, install a C++17 compiler and CMake, then npm run build:native'
  : 'on Linux with glibc 2.28 or newer, install warploom with its optional dependencies to have the addon');

function checkLoader(list: readonly DeviceDescription[]): Finding {
  const reason = missingReason(), cpu = list.find(({ backend }) => backend === 'cpu');
  if (reason !== undefined) {
    return { check: 'loader', state: 'failed', found: `neither the addon nor WebAssembly: ${reason}`,
      remedy: `${toGetTheAddon()}; elsewhere the package has WebAssembly` };
  }
  if (cpu?.name === 'cpu (WebAssembly)') {
    return { check: 'loader', state: 'warning', found: `WebAssembly ${cpu.reason}`,
      remedy: `one thread only; ${toGetTheAddon()}` };
  }
  return fine('loader', addonSource() ?? '');
}

function checkDriver(list: readonly DeviceDescription[]): Finding {
  const gpus = list.filter(({ backend }) => backend === 'cuda'), usable = gpus.filter(({ available }) => available);
  if (usable.length > 0) return fine('driver', `${usable.map(({ name }) => name).join(', ')}; ${usable[0]?.driver ?? ''}`);
  return { check: 'driver', state: 'warning', found: gpus.map(({ reason }) => reason).join('; ') || 'not looked for', remedy: gpuNeeds };
}

function checkCompiler(compiler: InstalledCompiler | undefined, check: string, state: Finding['state'], remedy: string): Finding {
  if (compiler?.available === true) return fine(check, `${compiler.version}, ${compiler.path}`);
  return { check, state, found: compiler?.reason ?? 'not looked for', remedy };
}

function checkCompilers(compilers: readonly InstalledCompiler[], hasGpu: boolean): Finding[] {
  const named = (name: string): InstalledCompiler | undefined => compilers.find(({ compiler }) => compiler === name);
  const nvcc = named('nvcc'), forGpus = named('nvrtc')?.available !== true && nvcc?.available === true ? nvcc : named('nvrtc');
  return [
    checkCompiler(forGpus, forGpus === nvcc && nvcc !== undefined ? 'nvcc' : 'NVRTC', hasGpu ? 'warning' : 'ok',
      hasGpu ? 'functions and programs of your own on the GPU need it: pip install nvidia-cuda-nvrtc' : ''),
    checkCompiler(named('c++'), 'compiler', 'ok', ''),
  ];
}

function checkCache(): Finding {
  const remedy = 'set XDG_CACHE_HOME to a folder that only you can write to; until then, programs are compiled anew in every process';
  try {
    const folder = cacheFolder(undefined, 'modules');
    if (!isOwnFolder(folder)) return fine('cache', folder);
    return { check: 'cache', state: 'warning', found: `${folder}, for this process only`, remedy };
  } catch (error) {
    return { check: 'cache', state: 'warning', found: error instanceof Error ? error.message : String(error), remedy };
  }
}

function checkMemory(list: readonly DeviceDescription[]): Finding {
  const usable = list.find(({ backend, available }) => backend === 'cpu' && available)?.memoryBytes ?? totalmem();
  const found = `${formatBytes(usable)} of ${formatBytes(totalmem())}, ${availableParallelism()} cores`;
  if (usable >= 2 ** 30) return fine('memory', `${found}; calls may take half of it (memoryLimit)`);
  return { check: 'memory', state: 'warning', found,
    remedy: 'a control group or container limits this process; calls may take half of that, and large ones need more' };
}

/** `warploom doctor`. */
export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'check what the library needs of this machine, and say what to do',
  help: `Usage: warploom doctor [options]

Looks at the loader of the addon, the NVIDIA driver and GPUs, NVRTC and the C++ compiler, the folder
of compiled programs, the memory that this process may use, and environment variables. Says what to do
where one of them is missing or wrong. Exit code 1 if nothing can be computed here.
`,
  options: {},
  async run(argv, context) {
    const { positionals } = parseFlags({}, argv);
    if (positionals.length > 0) throw new UsageError(`doctor takes no '${positionals.join(' ')}'`);
    const list = devices(), hasGpu = list.some(({ backend, available }) => backend === 'cuda' && available);
    const findings = [
      checkLoader(list), checkDriver(list), ...checkCompilers(await installedCompilers(), hasGpu), checkCache(), checkMemory(list),
      ...wrongSettings(process.env).map((wrong): Finding => ({ check: 'settings', state: 'warning', ...wrong })),
    ];
    const colours = { ok: 'green', warning: 'yellow', failed: 'red' } as const;
    const lines = findings.flatMap(({ check, state, found, remedy }) => [
      `${context.paint(colours[state], state.padEnd(8))} ${check.padEnd(9)} ${wrapText(found, 80).join(`\n${' '.repeat(19)}`)}`,
      ...(remedy === '' ? [] : wrapText(`→ ${remedy}`, 80).map((line) => ' '.repeat(19) + line)),
    ]);
    context.result({ warploom: version, findings }, lines.join('\n'));
    return list.some(({ available }) => available) ? ExitCode.ok : ExitCode.failed;
  },
};
