// warploom scratchpad: shared-memory reuse for a file of kernels.
import { dirname, resolve } from 'node:path';
import { readText, unlessAbsent, writeFileAtomic } from '../core/files.ts';
import type { Occupancy } from '../kernel/occupancy.ts';
import { blocksElsewhere } from '../scratchpad/explain.ts';
import { optimize } from '../scratchpad/optimize.ts';
import { optimizeOptions, type OptimizeOptions } from '../scratchpad/options.ts';
import { planSvg } from './scratchpad-svg.ts';
import type { KernelReport, ScratchpadReport } from '../scratchpad/report.ts';
import { ExitCode, integerFlag, parseFlags, UsageError, type Command, type Options } from './command.ts';
import { launch } from './scratchpad-launch.ts';
import { readInputText } from './standard-input.ts';
import { formatTable } from './table.ts';

const text = { type: 'string' } as const;
const file = { type: 'string', takes: 'file' } as const;
const yes = { type: 'boolean' } as const;
const flags = {
  out: { type: 'string', short: 'o', takes: 'file' }, report: file, svg: file,
  planner: { type: 'string', values: ['exact', 'packing', 'coloring', 'greedy'] }, reorder: yes, check: yes, kernel: text, arch: text,
  threads: text, registers: text, barriers: { type: 'string', values: ['gain', 'any', 'none'] }, launch: yes,
} as const satisfies Options;

type Values = ReturnType<typeof parseFlags<typeof flags>>['values'];

function optionsOf(values: Partial<Values>): OptimizeOptions {
  const given: Record<string, unknown> = {
    kernel: values.kernel, planner: values.planner, arch: values.arch, barriers: values.barriers, reorder: values.reorder,
    blockThreads: integerFlag('threads', values.threads, 1, 1024), registersPerThread: integerFlag('registers', values.registers, 1, 255),
    cubin: values.out?.endsWith('.cubin') === true ? true : undefined,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Where --launch stands, behind which everything is for the compiler; -1 if it does not. */
function launcherIn(argv: readonly string[]): number {
  const [launcher, split] = [argv.indexOf('--launch'), argv.indexOf('--')];
  return split >= 0 && split < launcher ? -1 : launcher;
}

/** Options of the pass in a build: of the command line, then those of the environment. */
function launchOptions(argv: readonly string[]): OptimizeOptions {
  const { planner, reorder, arch, threads, registers, barriers } = flags;
  const given = (process.env['WARPLOOM_SCRATCHPAD'] ?? '').split(/\s+/).filter((each) => each !== '');
  const { values, positionals } = parseFlags({ planner, reorder, arch, threads, registers, barriers }, [...argv, ...given]);
  if (positionals[0] !== undefined) throw new UsageError(`${positionals[0]} is no option: --launch takes the compiler behind it`);
  const options = optionsOf(values);
  optimizeOptions.read(options);
  return options;
}

function requireDistinct(paths: readonly (string | undefined)[]): void {
  const known = new Set<string>();
  for (const path of paths) {
    if (path === undefined || path === '-') continue;
    const whole = resolve(path);
    if (known.has(whole)) throw new UsageError(`${path} is named twice: source, -o, --report and --svg must be different files`);
    known.add(whole);
  }
}

const percent = (before: number, after: number): string => (before === 0 ? '–' : `${(100 * (1 - after / before)).toFixed(1)} %`);

/** One kernel: what it saves, and its arrays. */
function kernelText(kernel: KernelReport): string {
  const { residency } = kernel;
  const lines = [`${kernel.kernel} (line ${kernel.line}): ${kernel.status === 'kept' ? `kept, ${kernel.reason}`
    : `${kernel.bytesBefore} to ${kernel.bytesAfter} bytes, ${percent(kernel.bytesBefore, kernel.bytesAfter)} saved`}`];
  if (kernel.arrays.length > 0) {
    const rows = kernel.arrays.map((array) => [
      array.name, String(array.bytes), String(array.alignment),
      array.live.map((range) => `${range.beginLine}–${range.endLine}`).join(', ') || 'never',
      String(array.offset), String(array.partition),
    ]);
    lines.push(formatTable(['array', 'bytes', 'alignment', 'needed in lines', 'offset', 'partition'], rows));
  }
  const facts = [`lower bound ${kernel.lowerBound} bytes${kernel.optimal ? ', reached: no placement takes fewer' : ''}`];
  for (const barrier of kernel.barriersAdded) {
    const pairs = barrier.separates.map((pair) => pair.join(' and ')).join(', ');
    facts.push(`barrier inserted before line ${barrier.line}${barrier.loops > 0 ? ', inside a loop' : ''}`
      + (pairs === '' ? '' : `, between ${pairs}`));
  }
  const shared = kernel.partitions.filter((partition) => partition.arrays.length > 1);
  if (kernel.status === 'rewritten') {
    for (const { arrays, offset, bytes } of shared) facts.push(`bytes ${offset} to ${offset + bytes - 1}: ${arrays.join(', ')}`);
  }
  facts.push(...new Set(kernel.moved.map(({ line, beforeLine }) => `line ${line} moved before line ${beforeLine}`)));
  if (kernel.possible !== undefined) {
    const { bytes, barrierLines } = kernel.possible;
    facts.push(`with __syncthreads() before line ${barrierLines.join(', ')}: ${bytes} bytes (--barriers any)`);
  }
  if (kernel.dynamicBytes !== undefined) facts.push(`launch with ${kernel.dynamicBytes} bytes of dynamic shared memory`);
  if (residency !== undefined) {
    const { before, after } = residency;
    const share = (part: Occupancy) => (100 * part.occupancy).toFixed(0);
    facts.push(`${residency.architecture}, ${residency.threads} threads of ${residency.registers} registers: `
      + `${before.blocks} to ${after.blocks} blocks per multiprocessor, occupancy ${share(before)} to ${share(after)} %, `
      + `now limited by ${after.limiter}`, ...blocksElsewhere(kernel));
  }
  for (const { name, reason, line } of kernel.pinned) {
    facts.push(`${name} keeps its own bytes: ${reason}${line > 0 ? ` (line ${line})` : ''}`);
  }
  return [...lines, ...facts.map((fact) => `  ${fact}`)].join('\n');
}

/** What the terminal shows of a report. */
export function reportText({ kernels, pinned }: ScratchpadReport): string {
  const counts = Object.entries(pinned).map(([code, count]) => `${count} ${code}`);
  const parts = [...kernels.map(kernelText),
    ...(counts.length > 0 ? [`arrays that keep their own bytes, by reason: ${counts.join(', ')}`] : [])];
  return `${parts.join('\n\n')}\n`;
}

/** --check: what is not as the pass would have it; empty when all is. */
async function findStale(path: string, out: string | undefined, ptx: string, { kernels }: ScratchpadReport): Promise<string> {
  if (out !== undefined) {
    const present = await unlessAbsent(readText(out));
    if (present === ptx) return '';
    return `${out} is ${present === undefined ? 'absent' : 'not what the pass gives'}: run warploom scratchpad ${path} -o ${out}`;
  }
  const open = kernels.filter((kernel) => kernel.status === 'rewritten');
  const savings = open.map((kernel) => `${kernel.kernel} could save ${kernel.bytesBefore - kernel.bytesAfter} bytes`);
  return open.length === 0 ? '' : `${path}: ${savings.join(', ')}`;
}

async function writeReport({ report: path, svg }: Values, report: ScratchpadReport, dynamicBytes: number | undefined): Promise<void> {
  if (path !== undefined) await writeFileAtomic(path, `${JSON.stringify({ ...report, dynamicBytes }, undefined, 1)}\n`);
  if (svg !== undefined) await writeFileAtomic(svg, planSvg(report.kernels));
}

/** `warploom scratchpad`. */
export const scratchpadCommand: Command = {
  name: 'scratchpad',
  summary: 'shared-memory reuse: let arrays of CUDA kernels overlap',
  help: `Usage: warploom scratchpad KERNEL.cu|KERNEL.ptx [-o OUT.ptx|OUT.cubin] [options] [-- nvcc options]
       warploom scratchpad [options] --launch NVCC ARGUMENTS…

Finds shared arrays that are never needed at the same time, places them in one pool, and adds barriers
where the reuse needs one that is not there yet. CUDA files are compiled to PTX by NVRTC or nvcc. No kernel
is refused: arrays whose addresses cannot be followed keep their own bytes. Without -o only the tables
are printed. The source - is standard input.

  -o, --out FILE         PTX, or machine code if it ends with .cubin; - for PTX on standard output
      --report FILE      everything found, as JSON
      --svg FILE         live ranges over program points, before and after
      --barriers B       gain (default): add barriers only if more blocks fit on a multiprocessor; any; none
      --reorder          independent parts may change places so that less is needed at a time
      --planner P        exact (default), packing, coloring, greedy (Algorithm 1 of the paper)
      --kernel NAME      only this kernel
      --check            write nothing: fail if OUT.ptx is not what the pass produces, or, without -o,
                         if a kernel could still save memory
      --arch A           sm_70 to sm_121, for the blocks per multiprocessor (default: that of the PTX)
      --threads N        threads per block, if the kernel has no __launch_bounds__
      --registers N      registers per thread, as reported by ptxas -v (default 32)
      --launch           stands in front of nvcc in a build, and optimises all kernels on their way to ptxas;
                         --barriers, --reorder, --planner, --arch, --threads and --registers are given before
                         it, or in the environment variable WARPLOOM_SCRATCHPAD

Examples
  warploom scratchpad kernel.cu -o kernel.cubin --barriers any -- -I include -arch=sm_90
  warploom scratchpad curvature2d.cu -o curvature2d.ptx --svg plan.svg --threads 256 --registers 30
  warploom scratchpad registration.cu --reorder --barriers any -o registration.ptx
  warploom scratchpad kernels.ptx --check        # in CI
  cmake -DCMAKE_CUDA_COMPILER_LAUNCHER="warploom;scratchpad;--barriers;any;--launch" …
  WARPLOOM_SCRATCHPAD="--reorder --barriers any" make

Exit codes: 0 success; 1 --check failed, or the source does not compile; 2 invalid flags, or a source
that cannot be read.
`,
  options: flags,
  passesOn: (argv) => launcherIn(argv) >= 0,
  async run(argv, context) {
    const { out, err, signal } = context;
    const launcher = launcherIn(argv), split = argv.indexOf('--');
    if (launcher >= 0) {
      return await launch(argv.slice(launcher + 1), launchOptions(argv.slice(0, launcher)), context) === 0 ? ExitCode.ok : ExitCode.failed;
    }
    const [own, nvccOptions] = split < 0 ? [argv, []] : [argv.slice(0, split), argv.slice(split + 1)];
    const { values, positionals } = parseFlags(flags, own);
    const [path] = positionals;
    if (path === undefined || positionals.length !== 1) throw new UsageError('name one source file');
    requireDistinct([path, values.out, values.report, values.svg]);
    const source = path === '-' ? await readInputText(context) : await readText(path);
    const isPtx = path === '-' ? /^\s*\.version\s/m.test(source) : path.endsWith('.ptx');
    if (isPtx && nvccOptions.length > 0) throw new UsageError('options for nvcc apply to CUDA files');
    if (values.check === true && values.out?.endsWith('.cubin') === true) {
      throw new UsageError('--check compares PTX: name a .ptx file by -o');
    }
    const { ptx, cubin, report, dynamicBytes } = await optimize(source, {
      ...optionsOf(values), signal, ...(isPtx ? {} : { compilerOptions: [`-I${path === '-' ? '.' : dirname(path)}`, ...nvccOptions] }),
    });
    if (context.json) (values.out === '-' ? err : out).write(`${JSON.stringify({ ...report, dynamicBytes })}\n`);
    else (values.out === '-' ? err : out).write(reportText(report));
    if (values.check === true) {
      const stale = await findStale(path, values.out === '-' ? undefined : values.out, ptx, report);
      if (stale !== '') err.write(`${stale}\n`);
      return stale === '' ? ExitCode.ok : ExitCode.failed;
    }
    if (values.out === '-') out.write(ptx);
    else if (values.out !== undefined) await writeFileAtomic(values.out, cubin ?? ptx);
    await writeReport(values, report, dynamicBytes);
    return ExitCode.ok;
  },
};
