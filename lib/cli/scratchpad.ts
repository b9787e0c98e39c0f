// warploom scratchpad: shared-memory reuse for a file of CUDA kernels.
import { resolve } from 'node:path';
import { readText, unlessAbsent, writeFileAtomic } from '../core/files.ts';
import type { Occupancy } from '../scratchpad/occupancy.ts';
import { optimize } from '../scratchpad/optimize.ts';
import type { OptimizeOptions } from '../scratchpad/options.ts';
import type { OptimizePtxOptions } from '../scratchpad/ptx/options.ts';
import { planSvg } from '../scratchpad/plan-svg.ts';
import type { KernelReport, ScratchpadReport } from '../scratchpad/report.ts';
import { ExitCode, integerFlag, parseFlags, UsageError, type Command } from './command.ts';
import { isCompiled, launch, optimizeCompiled } from './scratchpad-compiled.ts';
import { formatTable } from './table.ts';

const text = { type: 'string' } as const;
const list = { type: 'string', multiple: true } as const;
const yes = { type: 'boolean' } as const;
const flags = {
  out: { type: 'string', short: 'o' }, report: text, svg: text, planner: text, reorder: yes, check: yes, kernel: text, arch: text,
  threads: text, registers: text, define: { type: 'string', multiple: true, short: 'D' }, macro: list, function: list, rewritten: list,
  keep: yes, 'no-reuse': yes, barriers: text,
} as const;

function definesFlag(given: readonly string[] | undefined): OptimizeOptions['defines'] {
  return given && Object.fromEntries(given.map((pair) => {
    const [name, value] = pair.split(/=(.*)/s);
    if (!name || !value) throw new UsageError(`-D takes NAME=VALUE, not '${pair}'`);
    return [name, /^-?\d+$/.test(value) ? Number(value) : value] as const;
  }));
}

/** 256, or a shape that all launches have: 16x16. */
function threadsFlag(given: string | undefined): OptimizeOptions['blockThreads'] {
  if (given === undefined || !given.includes('x')) return integerFlag('threads', given, 1, 1024);
  const shape = given.split('x').map(Number);
  if (shape.length > 3 || shape.some((extent) => !Number.isSafeInteger(extent) || extent < 1)) {
    throw new UsageError(`--threads takes a number or a shape such as 16x16, not '${given}'`);
  }
  return shape as [number, number?, number?];
}

type Values = ReturnType<typeof parseFlags<{ options: typeof flags; allowPositionals: true }>>['values'];

function optionsOf(values: Values): OptimizeOptions {
  const given: Record<string, unknown> = {
    kernel: values.kernel, planner: values.planner, arch: values.arch, reorder: values.reorder,
    blockThreads: threadsFlag(values.threads), registersPerThread: integerFlag('registers', values.registers, 1, 255),
    defines: definesFlag(values.define), macros: values.macro, functions: values.function,
    rewritten: values.rewritten?.includes('all') === true ? true : values.rewritten,
    reuse: values['no-reuse'] === true ? false : undefined, whenNoGain: values.keep === true ? 'keep' : undefined,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** Options of the pass on compiled kernels; the others do not apply to it. */
function compiledOptions(values: Values): OptimizePtxOptions {
  const others = (['check', 'keep', 'no-reuse', 'define', 'macro', 'function', 'rewritten'] as const)
    .filter((name) => values[name] !== undefined);
  if (others.length > 0) throw new UsageError(`--${others.join(', --')} ${others.length > 1 ? 'apply' : 'applies'} to source text only`);
  const threads = threadsFlag(values.threads);
  const given: Record<string, unknown> = {
    kernel: values.kernel, planner: values.planner, arch: values.arch, barriers: values.barriers, reorder: values.reorder,
    blockThreads: typeof threads === 'object' ? threads.reduce<number>((product, each) => product * (each ?? 1), 1) : threads,
    registersPerThread: integerFlag('registers', values.registers, 1, 255),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
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
      array.name, array.type + array.dimensions.map((extent) => `[${extent}]`).join(''), String(array.bytes), String(array.alignment),
      array.live.map((range) => `${range.beginLine}–${range.endLine}`).join(', ') || 'never',
      String(array.offset), String(array.partition),
    ]);
    lines.push(formatTable(['array', 'type', 'bytes', 'alignment', 'needed in lines', 'offset', 'partition'], rows));
  }
  const facts = [`lower bound ${kernel.lowerBound} bytes${kernel.optimal ? ', reached: no placement takes fewer' : ''}`];
  if (kernel.symbolic) facts.push('sizes depend on template parameters: bytes are those of one instance');
  for (const barrier of kernel.barriersAdded) {
    const pairs = barrier.separates.map((pair) => pair.join(' and ')).join(', ');
    facts.push(`barrier inserted before line ${barrier.line}${barrier.loops > 0 ? ', inside a loop' : ''}`
      + (pairs === '' ? '' : `, between ${pairs}`));
  }
  for (const statement of kernel.moved) {
    const where = statement.beforeLine === undefined ? 'to the end of its block' : `before line ${statement.beforeLine}`;
    facts.push(`line ${statement.line} moved ${where}`);
  }
  if (kernel.dynamicBytes !== undefined) facts.push(`launch with ${kernel.dynamicBytes} bytes of dynamic shared memory`);
  if (residency !== undefined) {
    const { before, after } = residency;
    const share = (part: Occupancy) => (100 * part.occupancy).toFixed(0);
    facts.push(`${residency.architecture}, ${residency.threads} threads of ${residency.registers} registers: `
      + `${before.blocks} to ${after.blocks} blocks per multiprocessor, occupancy ${share(before)} to ${share(after)} %, `
      + `now limited by ${after.limiter}`);
  }
  facts.push(...kernel.assumptions);
  for (const { name, reason, line } of kernel.pinned ?? []) {
    facts.push(`${name} keeps its own bytes: ${reason}${line > 0 ? ` (line ${line})` : ''}`);
  }
  return [...lines, ...facts.map((fact) => `  ${fact}`)].join('\n');
}

/** What the terminal shows of a report. */
export function reportText({ kernels, refused }: ScratchpadReport): string {
  const parts = kernels.map(kernelText);
  for (const { kernel, line, column, code, reason, remedy } of refused) {
    parts.push(`${kernel}: refused at line ${line}, column ${column} (${code}): ${reason}\n  ${remedy}`);
  }
  return `${parts.join('\n\n')}\n`;
}

/** --check: what is not as the pass would have it; empty when all is. */
async function findStale(path: string, out: string | undefined, source: string, { kernels }: ScratchpadReport): Promise<string> {
  if (out !== undefined) {
    const present = await unlessAbsent(readText(out));
    if (present === source) return '';
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
  help: `Usage: warploom scratchpad KERNEL.cu [-o OUT.cu] [--report report.json] [--svg plan.svg] [options]
       warploom scratchpad KERNEL.cu|KERNEL.ptx -o OUT.ptx|OUT.cubin [options] [-- nvcc options]
       warploom scratchpad --launch NVCC ARGUMENTS…

Finds __shared__ arrays that are never needed at the same time, places them in one pool, and inserts
__syncthreads() exactly where the reuse needs one that is not there yet. A kernel it cannot prove safe
is left unchanged, and the line and the reason are printed. Without -o only the tables are printed.

  -o, --out OUT.cu       the rewritten source; - for standard output
      --report FILE      everything found, as JSON
      --svg FILE         live ranges over program points, before and after
      --planner P        exact (default), packing, coloring, greedy (Algorithm 1 of the paper)
      --reorder          also reorders independent statements so that less is needed at a time
      --kernel NAME      only this kernel
      --check            write nothing: fail if OUT.cu is not what the pass produces, or, without -o,
                         if a kernel could still save memory
      --arch A           sm_70 to sm_121 (default sm_90), for the blocks per multiprocessor
      --threads N        threads per block, if the kernel has no __launch_bounds__; a shape such as
                         16x16 also promises that all launches have it, which proves more loops safe
      --registers N      registers per thread, as reported by ptxas -v (default 32)
      --keep             leave kernels unchanged if no more blocks would fit
  -D NAME=VALUE          a constant or type that the text does not define (repeatable)
      --macro WORD       a word that the grammar cannot parse: blanked out before parsing (repeatable)
      --function NAME    a function defined elsewhere that touches neither shared memory nor barriers
      --rewritten NAME   every iteration of a loop writes what it reads of this array (or: all)
      --no-reuse         the same pool with all arrays separate, for comparison

Compiled kernels (a .ptx file, or -o OUT.ptx or OUT.cubin): no kernel is refused; arrays whose addresses
cannot be followed keep their own bytes. Of the options above, --report, --svg, --planner, --reorder,
--kernel, --arch, --threads and --registers apply, and
      --barriers B       gain (default): add barriers only if more blocks fit; any; none
  --launch stands in front of nvcc in a build, and optimises all kernels on their way to ptxas:
      cmake -DCMAKE_CUDA_COMPILER_LAUNCHER="warploom;scratchpad;--launch" …

Examples
  warploom scratchpad kernel.cu -o kernel.cubin --barriers any -- -I include -arch=sm_90
  warploom scratchpad curvature2d.cu -o curvature2d.small.cu --svg plan.svg --threads 256 --registers 30
  warploom scratchpad registration.cu --reorder -o registration.small.cu
  warploom scratchpad kernels.cu -o kernels.small.cu --check        # in CI

Exit codes: 0 success; 1 --check failed; 2 invalid flags or a source that cannot be read.
`,
  async run(argv, context) {
    const { out, err } = context;
    if (argv[0] === '--launch') return await launch(argv.slice(1), context) === 0 ? ExitCode.ok : ExitCode.failed;
    const split = argv.indexOf('--');
    const [own, nvccOptions] = split < 0 ? [argv, []] : [argv.slice(0, split), argv.slice(split + 1)];
    const { values, positionals } = parseFlags({ args: own, allowPositionals: true, options: flags });
    const [path] = positionals;
    if (path === undefined || positionals.length !== 1) throw new UsageError('name one source file');
    requireDistinct([path, values.out, values.report, values.svg]);
    if (isCompiled(path, values.out)) {
      const { report, dynamicBytes } = await optimizeCompiled(path, values.out, nvccOptions, compiledOptions(values), context);
      (values.out === '-' ? err : out).write(reportText(report));
      await writeReport(values, report, dynamicBytes);
      return ExitCode.ok;
    }
    if (nvccOptions.length > 0 || values.barriers !== undefined) {
      throw new UsageError('options for nvcc and --barriers apply to compiled kernels: name a .ptx or .cubin file by -o');
    }
    const { source, report, dynamicBytes } = await optimize(await readText(path), optionsOf(values));
    (values.out === '-' ? err : out).write(reportText(report));
    if (values.check === true) {
      const stale = await findStale(path, values.out === '-' ? undefined : values.out, source, report);
      if (stale !== '') err.write(`${stale}\n`);
      return stale === '' ? ExitCode.ok : ExitCode.failed;
    }
    if (values.out === '-') out.write(source);
    else if (values.out !== undefined) await writeFileAtomic(values.out, source);
    await writeReport(values, report, dynamicBytes);
    return ExitCode.ok;
  },
};
