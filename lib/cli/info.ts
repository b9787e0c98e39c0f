// warploom info: what this machine can run on, and why it cannot use the rest.
import { version } from '../core/version.ts';
import { installedCompilers } from '../core/compile/cuda.ts';
import { devices } from '../core/devices.ts';
import { ExitCode, parseFlags, type Command } from './command.ts';
import { formatBytes, formatTable } from './table.ts';

/** `warploom info`. */
export const infoCommand: Command = {
  name: 'info',
  summary: 'show the devices and compilers of this machine and why each can or cannot be used',
  help: `Usage: warploom info [--json]

Shows every device of every backend:
  cuda  NVIDIA GPUs, the product
  cpu   all cores of this machine, complete
  simt  the GPU code run thread by thread on the CPU, for tests and debugging

and the compilers of functions and programs: NVRTC or nvcc for GPUs, C++ for the CPU.

  --json   one JSON object instead of a table

Paste the output into a bug report.
`,
  async run(argv, { out }) {
    const { values } = parseFlags({ args: argv, options: { json: { type: 'boolean' } } });
    const list = devices();
    const compilers = await installedCompilers();
    if (values.json) {
      const platform = `${process.platform}-${process.arch}`;
      const report = { warploom: version, node: process.version, platform, devices: list, compilers };
      out.write(`${JSON.stringify(report, null, 2)}\n`);
      return ExitCode.ok;
    }
    out.write(`warploom ${version}, node ${process.version}, ${process.platform}-${process.arch}\n\n`);
    out.write(`${formatTable(['backend', 'device', 'memory', 'usable', 'why'], list.map((d) => [
      d.backend, d.name || '–', d.memoryBytes > 0 ? formatBytes(d.memoryBytes) : '–',
      d.available ? 'yes' : 'no', d.reason]))}\n\n`);
    out.write(`${formatTable(['compiler', 'version', 'usable', 'why', 'where'], compilers.map((c) => [
      c.compiler, c.version || '–', c.available ? 'yes' : 'no', c.reason, c.path || '–']))}\n`);
    return ExitCode.ok;
  },
};
