// The pass on PTX: finds shared arrays of compiled kernels that are not needed at the same time, and lets them overlap.
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import { layOut, type Layout } from '../layout.ts';
import { architectures, occupancy, type Architecture } from '../occupancy.ts';
import type { OptimizePtxResult, TakenPtxOptions as Options } from './options.ts';
import { Work } from '../../kernel/memory/work.ts';
import type { KernelReport, ResidencyReport } from '../report.ts';
import { analyse, inseparable, plainName, type Analysis } from './analysis.ts';
import { check } from './checker.ts';
import { describe } from './describe.ts';
import { applyEdits, emit, staticLimit, unusedDeclarations, type Emission } from './emit.ts';
import { calleesOf } from './facts.ts';
import { readModule, type PtxModule } from './module.ts';

function threadsOf(header: string, given: number | undefined): number | undefined {
  const found = /\.(?:reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?/.exec(header);
  const declared = found === null ? undefined : [found[1], found[2], found[3]].reduce((product, each) => product * Number(each ?? 1), 1);
  return given ?? (declared !== undefined && declared >= 1 && declared <= 1024 ? declared : undefined);
}

function architectureOf(module: PtxModule, given: Architecture | undefined): Architecture {
  const target = /\.target\s+(sm_\d+)/.exec(module.masked)?.[1];
  return given ?? architectures.find((each) => each === target) ?? 'sm_90';
}

interface Treated {
  readonly report: KernelReport;
  readonly emission: Emission | undefined;
}

/** Lays out a kernel with and without new barriers, and takes what the option says. */
async function choose(analysis: Analysis, options: Options, work: Work, residency: (bytes: number) => number | undefined): Promise<Layout> {
  const fixed = { ...analysis, conflicts: inseparable(analysis.flow, analysis.arrays.length, false) };
  const plain = await layOut(fixed, options.planner, true, work);
  if (options.barriers === 'none') return plain;
  const more = await layOut(analysis, options.planner, true, work);
  if (more.plan.bytes >= plain.plan.bytes) return plain;
  if (options.barriers === 'any') return more;
  const [before, after] = [residency(plain.plan.bytes), residency(more.plan.bytes)];
  return before !== undefined && after !== undefined && after > before ? more : plain;
}

async function treat(module: PtxModule, analysis: Analysis, options: Options, work: Work): Promise<Treated> {
  const { fn, pinned, arrays } = analysis;
  const pinnedBytes = pinned.reduce((sum, { variable }) => sum + variable.bytes, 0);
  const threads = threadsOf(fn.header, options.blockThreads);
  const architecture = architectureOf(module, options.arch);
  const registers = options.registersPerThread;
  const at = (bytes: number): ResidencyReport['before'] =>
    occupancy({ threads: threads ?? 1, registers, sharedBytes: bytes + pinnedBytes }, architecture);
  const layout = await choose(analysis, options, work, (bytes) => threads === undefined ? undefined : at(bytes).blocks);
  const { plan } = layout;
  const residency = threads === undefined ? undefined
    : { architecture, threads, registers, before: at(plan.bytesBefore), after: at(plan.bytes) };
  const isDynamic = plan.bytes + pinnedBytes > staticLimit;
  const reason = arrays.length === 0 ? pinned.length === 0 ? 'no shared arrays' : 'no array may move'
    : arrays.length === 1 ? 'one array only'
      : plan.bytes >= plan.bytesBefore ? whyNot(analysis, options)
        : isDynamic && pinned.some(({ reason: why }) => why === 'dynamic')
          ? 'the pool would have to be dynamic shared memory, which the kernel uses already' : '';
  const emission = reason === '' ? emit(module, analysis, layout, pinnedBytes) : undefined;
  return { report: describe(module, analysis, layout, reason, residency, emission), emission };
}

function whyNot({ flow, arrays, conflicts }: Analysis, { barriers }: Options): string {
  const pairs = arrays.length * (arrays.length - 1) / 2;
  if (barriers === 'any' || conflicts.length === pairs || inseparable(flow, arrays.length, true).length === pairs) {
    return 'all arrays are needed at the same time, or no barrier can keep them apart';
  }
  return barriers === 'none' ? 'sharing would take new barriers'
    : 'sharing would take new barriers, and it is not shown that more blocks fit then (options blockThreads, barriers)';
}

/** `optimizePtx` with options that have been checked. */
export async function optimizeModule(text: string, options: Options): Promise<OptimizePtxResult> {
  const module = readModule(text);
  const callees = calleesOf(module);
  const { kernel } = options;
  const isWanted = (name: string): boolean => kernel === undefined || name === kernel || plainName(name) === kernel;
  const entries = module.functions.filter((fn) => fn.isEntry && isWanted(fn.name));
  if (kernel !== undefined && entries.length === 0) {
    const known = module.functions.filter((fn) => fn.isEntry).map((fn) => plainName(fn.name));
    const list = known.length > 0 ? known.join(', ') : 'it has none';
    throw refusal('kernel', `one of the kernels of the module: ${list}`, describeValue(kernel));
  }
  const work = new Work(options.budget, options.signal);
  const treated: Treated[] = [];
  for (const fn of entries) {
    await work.pause();
    treated.push(await treat(module, analyse(module, fn, callees), options, work));
  }
  const rewrite = (emissions: readonly Emission[]): string =>
    applyEdits(text, [...emissions.flatMap((each) => each.edits), ...unusedDeclarations(module, emissions)]);
  const all = treated.flatMap(({ emission }) => emission ?? []);
  const isRight = all.length === 0 || check(text, rewrite(all), all) === undefined;
  // A kernel whose result the checker does not confirm stays as it is.
  for (const [index, { emission, report }] of treated.entries()) {
    if (isRight || emission === undefined) continue;
    await work.pause();
    const failure = check(text, rewrite([emission]), [emission]);
    if (failure !== undefined) {
      const reason = `not confirmed: ${failure}`;
      treated[index] = { emission: undefined, report: { ...report, status: 'kept', reason, barriersAdded: [] } };
    }
  }
  const emissions = treated.flatMap(({ emission }) => emission ?? []);
  const ptx = rewrite(emissions);
  const dynamic = emissions.filter((each) => each.isDynamic).map((each) => each.poolBytes);
  return {
    ptx, report: { kernels: treated.map(({ report }) => report), refused: [] },
    ...(dynamic.length > 0 ? { dynamicBytes: dynamic.reduce((a, b) => Math.max(a, b)) } : {}),
  };
}
