// Shared-memory reuse for compiled kernels.
import { describeValue } from '../../core/arrays.ts';
import { abortSignal, choice, rule, whole } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { normally, optionsOf, type ChecksOf, type Taken } from '../../core/options.ts';
import { snapshot } from '../../core/snapshot.ts';
import { layOut, type Layout } from '../layout.ts';
import { architectures, occupancy, type Architecture } from '../occupancy.ts';
import { planners, type PlannerName } from '../types.ts';
import { Work } from '../work.ts';
import type { ScratchpadReport, KernelReport, ResidencyReport } from '../report.ts';
import { analyse, inseparable, plainName, type Analysis } from './analysis.ts';
import { check } from './checker.ts';
import { describe } from './describe.ts';
import { applyEdits, emit, staticLimit, unusedDeclarations, type Emission } from './emit.ts';
import { calleesOf } from './facts.ts';
import { readModule, type PtxModule } from './module.ts';

/** Options of {@link optimizePtx}. */
export interface OptimizePtxOptions {
  /** The only kernel to treat, by its name in PTX or in the source. Default: all. */
  readonly kernel?: string;
  /** How arrays are placed. Default `exact`. */
  readonly planner?: PlannerName;
  /**
   * When barriers may be added. `gain` (default): only if a multiprocessor then holds more blocks, which takes the number of threads;
   * `any`: wherever they save bytes; `none`: never.
   */
  readonly barriers?: 'none' | 'gain' | 'any';
  /** Architecture whose occupancy is predicted. Default: that of the module's `.target` if it is known, otherwise `sm_90`. */
  readonly arch?: Architecture;
  /** Threads per block. Default: `.reqntid` or `.maxntid` of the kernel, that is `__launch_bounds__`. */
  readonly blockThreads?: number;
  /** Registers per thread as reported by ptxas. Default 32. */
  readonly registersPerThread?: number;
  /** Elementary operations that the searches may spend. Default 3·10⁷, about 0.5 s. */
  readonly budget?: number;
  /** Aborts the call. */
  readonly signal?: AbortSignal;
}

/** The result of {@link optimizePtx}. */
export interface OptimizePtxResult {
  /** The module with pools; unchanged, byte for byte, if there was nothing to gain. */
  readonly ptx: string;
  readonly report: ScratchpadReport;
  /** Bytes of dynamic shared memory that launches must request if a pool exceeds 48 KB: the largest of any kernel. */
  readonly dynamicBytes?: number;
}

const checks = {
  kernel: rule<string>('the name of a kernel', (value) => typeof value === 'string' && /^[\w$]+$/.test(value)),
  planner: normally(choice(planners), 'exact'), barriers: normally(choice(['none', 'gain', 'any'] as const), 'gain'),
  arch: choice(architectures), blockThreads: whole(1, 1024), registersPerThread: normally(whole(1, 255), 32),
  budget: whole(1), signal: abortSignal,
} satisfies ChecksOf<OptimizePtxOptions>;
const readOptions = optionsOf('scratchpad.optimizePtx', checks);
type Options = Taken<OptimizePtxOptions, typeof checks>;

/** The longest text. */
const mostCharacters = 32 * 2 ** 20;

function threadsOf(header: string, given: number | undefined): number | undefined {
  const found = /\.(?:reqntid|maxntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?/.exec(header);
  const declared = found === null ? undefined : found.slice(1).reduce((product, each) => product * Number(each ?? 1), 1);
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
  const at = (bytes: number): ResidencyReport['before'] => occupancy({ threads: threads ?? 1, registers, sharedBytes: bytes + pinnedBytes }, architecture);
  const layout = await choose(analysis, options, work, (bytes) => threads === undefined ? undefined : at(bytes).blocks);
  const { plan } = layout;
  const residency = threads === undefined ? undefined
    : { architecture, threads, registers, before: at(plan.bytesBefore), after: at(plan.bytes) };
  const isDynamic = plan.bytes + pinnedBytes > staticLimit;
  const reason = arrays.length === 0 ? pinned.length === 0 ? 'no shared arrays' : 'no array may move'
    : arrays.length === 1 ? 'one array only'
      : plan.bytes >= plan.bytesBefore ? whyNot(analysis, options)
        : isDynamic && pinned.some(({ reason: why }) => why === 'dynamic') ? 'the pool would have to be dynamic shared memory, which the kernel uses already'
          : '';
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

/** {@link optimizePtx} with options that have been checked. */
async function run(text: string, options: Options): Promise<OptimizePtxResult> {
  const module = readModule(text);
  const callees = calleesOf(module);
  const { kernel } = options;
  const entries = module.functions.filter((fn) => fn.isEntry && (kernel === undefined || fn.name === kernel || plainName(fn.name) === kernel));
  if (kernel !== undefined && entries.length === 0) {
    const known = module.functions.filter((fn) => fn.isEntry).map((fn) => plainName(fn.name));
    throw refusal('kernel', `one of the kernels of the module: ${known.length > 0 ? known.join(', ') : 'it has none'}`, describeValue(kernel));
  }
  const work = new Work(options.budget, options.signal);
  const treated: Treated[] = [];
  for (const fn of entries) {
    await work.pause();
    treated.push(await treat(module, analyse(module, fn, callees), options, work));
  }
  const emissions = treated.flatMap(({ emission }) => emission ?? []);
  const edits = [...emissions.flatMap((each) => each.edits), ...unusedDeclarations(module, emissions)];
  const ptx = applyEdits(text, edits);
  await work.pause();
  if (emissions.length > 0) check(text, ptx, emissions);
  const dynamic = emissions.filter((each) => each.isDynamic).map((each) => each.poolBytes);
  return {
    ptx, report: { kernels: treated.map(({ report }) => report), refused: [] },
    ...(dynamic.length > 0 ? { dynamicBytes: dynamic.reduce((a, b) => Math.max(a, b)) } : {}),
  };
}

/**
 * Overlays shared arrays of compiled kernels if they are not needed at the same time: every kernel gets one pool, in which its arrays
 * become offsets, and barriers where reuse needs them, within `barriers`. All other text stays the same, byte for byte. An array whose
 * address cannot be followed keeps its own bytes (`pinned` in the report); no kernel is refused. The result is checked by a separate
 * program before it is returned.
 * @param text a PTX module, at most 32 MiB of characters, of nvcc, clang, NVRTC or Triton
 * @throws ArgumentError (ERR_WARPLOOM_INVALID_ARGUMENT) for invalid options, and for text that is not PTX
 * @throws `signal.reason` if the call is aborted
 * @throws WarploomError (ERR_WARPLOOM_INTERNAL) if the rewritten module fails the check that precedes its return
 */
export async function optimizePtx(text: string, given: OptimizePtxOptions = {}): Promise<OptimizePtxResult> {
  if (typeof text !== 'string') throw refusal('text', 'a PTX module', describeValue(text));
  if (text.length > mostCharacters) throw refusal('text', `at most ${mostCharacters} characters`, `${text.length}`);
  return run(text, snapshot(readOptions.read(given)));
}

