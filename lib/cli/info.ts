// warploom info: what this machine can run on, and why it cannot use the rest.
import { addonSource } from '../core/binding.ts';
import { version } from '../core/version.ts';
import { installedCompilers } from '../core/compile/cuda.ts';
import { devices } from '../core/devices.ts';
import { ExitCode, parseFlags, UsageError, type Command } from './command.ts';
import { formatBytes, formatTable, wrapText } from './table.ts';

/** What GPUs are used with: this build of CUDA 13, and its oldest architecture. */
export const gpuNeeds = 'GPUs need an NVIDIA driver 580 or newer (CUDA 13) and compute capability 7.5 or higher: '
  + 'Turing, Ampere, Ada, Hopper, Blackwell';

/** Output that is read in a bug report, too. */
const width = 100;

/** `warploom info`. */
export const infoCommand: Command = {
  name: 'info',
  summary: 'show the devices and compilers of this machine and why each can or cannot be used',
  help: `Usage: warploom info [options]

Shows what is loaded (the addon or WebAssembly), and every device of every backend:
  cuda  NVIDIA GPUs, the product
  cpu   all cores of this machine, complete
  simt  the GPU code run thread by thread on the CPU, for tests and debugging

and the compilers of functions and programs: NVRTC or nvcc for GPUs, C++ for the CPU.

Paste the output into a bug report. Exit code 1 if no device is usable; warploom doctor says what to do.
`,
  options: {},
  async run(argv, context) {
    const { positionals } = parseFlags({}, argv);
    if (positionals.length > 0) throw new UsageError(`info takes no '${positionals.join(' ')}'`);
    const { out } = context;
    const usable = (yes: boolean): string => context.paint(yes ? 'green' : 'red', yes ? 'yes' : 'no');
    const list = devices();
    const code = list.some(({ available }) => available) ? ExitCode.ok : ExitCode.failed;
    const compilers = await installedCompilers();
    const fitting = Math.min(out.columns ?? width, width);
    const table = (headings: readonly string[], rows: readonly (readonly string[])[]): string =>
      formatTable(headings, rows, fitting);
    if (context.json) {
      const platform = `${process.platform}-${process.arch}`;
      const report = { warploom: version, node: process.version, platform, addon: addonSource() ?? null, devices: list, compilers };
      out.write(`${JSON.stringify(report, null, 2)}\n`);
      return code;
    }
    out.write(`warploom ${version}, node ${process.version}, ${process.platform}-${process.arch}\n${addonSource() ?? 'no addon'}\n\n`);
    out.write(`${table(['backend', 'device', 'memory', 'usable', 'why'], list.map((d) => [
      d.backend, d.name || '–', d.memoryBytes > 0 ? formatBytes(d.memoryBytes) : '–', usable(d.available), d.reason]))}\n\n`);
    if (!list.some(({ backend, available }) => backend === 'cuda' && available)) out.write(`${wrapText(gpuNeeds, fitting).join('\n')}\n\n`);
    out.write(`${table(['compiler', 'version', 'usable', 'why', 'where'], compilers.map((c) => [
      c.compiler, c.version || '–', usable(c.available), c.reason, c.path || '–']))}\n`);
    return code;
  },
};
