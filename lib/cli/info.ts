// warploom info: what this machine can run on, and why it cannot use the rest.
import { version } from '../core/version.ts';
import { installedCompilers } from '../core/compile/cuda.ts';
import { devices } from '../core/devices.ts';
import { ExitCode, parseFlags, UsageError, type Command } from './command.ts';
import { formatBytes } from './table.ts';

/** `warploom info`. */
export const infoCommand: Command = {
  name: 'info',
  summary: 'show the devices and compilers of this machine and why each can or cannot be used',
  help: `Usage: warploom info [options]

Shows every device of every backend:
  cuda  NVIDIA GPUs, the product
  cpu   all cores of this machine, complete
  simt  the GPU code run thread by thread on the CPU, for tests and debugging

and the compilers of functions and programs: NVRTC or nvcc for GPUs, C++ for the CPU.

Paste the output into a bug report.
`,
  options: {},
  async run(argv, context) {
    const { positionals } = parseFlags({}, argv);
    if (positionals.length > 0) throw new UsageError(`info takes no '${positionals.join(' ')}'`);
    const { out } = context;
    const usable = (yes: boolean): string => context.paint(yes ? 'green' : 'red', yes ? 'yes' : 'no');
    const list = devices();
    const compilers = await installedCompilers();
    if (context.json) {
      const platform = `${process.platform}-${process.arch}`;
      const report = { warploom: version, node: process.version, platform, devices: list, compilers };
      out.write(`${JSON.stringify(report, null, 2)}\n`);
      return ExitCode.ok;
    }
    out.write(`warploom ${version}, node ${process.version}, ${process.platform}-${process.arch}\n\n`);
    out.write(`${context.table(['backend', 'device', 'memory', 'usable', 'why'], list.map((d) => [
      d.backend, d.name || '–', d.memoryBytes > 0 ? formatBytes(d.memoryBytes) : '–', usable(d.available), d.reason]))}\n\n`);
    out.write(`${context.table(['compiler', 'version', 'usable', 'why', 'where'], compilers.map((c) => [
      c.compiler, c.version || '–', usable(c.available), c.reason, c.path || '–']))}\n`);
    return ExitCode.ok;
  },
};
