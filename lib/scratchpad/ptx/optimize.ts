// The pass on PTX: finds shared arrays of compiled kernels that are not needed at the same time, and lets them overlap.
import { describeValue } from '../../core/arrays.ts';
import { refusal } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import { layOut, type Layout } from '../../kernel/memory/layout.ts';
import { architectures, occupancy, type Architecture } from '../../kernel/occupancy.ts';
import type { OptimizeResult, TakenOptimizeOptions as Options } from '../options.ts';
import { Work } from '../../kernel/memory/work.ts';
import type { KernelReport, ResidencyReport, ScratchpadReport } from '../report.ts';
import { analyse, inseparable, plainName, type Analysis } from './analysis.ts';
import { checkOrder } from './checker-order.ts';
import { check } from './checker.ts';
import { describe, withOrder } from './describe.ts';
import { applyEdits, emit, staticLimit, unusedDeclarations, type Emission } from './emit.ts';
import { calleesOf, type Callees } from './facts.ts';
import { readModule, type PtxFunction, type PtxModule } from '../../kernel/ptx/module.ts';
import { reorder, type Reordered } from './reorder.ts';
import type { PinReason } from './values.ts';

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

/** Lays out a kernel with and without new barriers, and takes what the option says; `more`: what any new barriers would give. */
async function choose(analysis: Analysis, options: Options, work: Work,
  residency: (bytes: number) => number | undefined): Promise<{ layout: Layout; more: Layout }> {
  const fixed = { ...analysis, conflicts: inseparable(analysis.flow, analysis.arrays.length, false) };
  const plain = await layOut(fixed, options.planner, true, work);
  const more = await layOut(analysis, options.planner, true, work);
  if (more.plan.bytes >= plain.plan.bytes || options.barriers === 'none') return { layout: plain, more };
  if (options.barriers === 'any') return { layout: more, more };
  const [before, after] = [residency(plain.plan.bytes), residency(more.plan.bytes)];
  return { layout: before !== undefined && after !== undefined && after > before ? more : plain, more };
}

async function treat(module: PtxModule, analysis: Analysis, options: Options, work: Work): Promise<Treated> {
  const { fn, pinned, arrays } = analysis;
  const pinnedBytes = pinned.reduce((sum, { variable }) => sum + variable.bytes, 0);
  const threads = threadsOf(fn.header, options.blockThreads);
  const architecture = architectureOf(module, options.arch);
  const registers = options.registersPerThread;
  const at = (bytes: number, where: Architecture): ResidencyReport['before'] =>
    occupancy({ threads: threads ?? 1, registers, sharedBytes: bytes + pinnedBytes }, where);
  const { layout, more } = await choose(analysis, options, work,
    (bytes) => threads === undefined ? undefined : at(bytes, architecture).blocks);
  const { plan } = layout;
  const residencies = threads === undefined ? [] : [architecture, ...options.architectures].map((each) =>
    ({ architecture: each, threads, registers, before: at(plan.bytesBefore, each), after: at(plan.bytes, each) }));
  const isDynamic = plan.bytes + pinnedBytes > staticLimit;
  const reason = arrays.length === 0 ? pinned.length === 0 ? 'no shared arrays' : 'no array may move'
    : arrays.length === 1 ? 'one array only'
      : plan.bytes >= plan.bytesBefore ? whyNot(analysis, options)
        : isDynamic && pinned.some(({ reason: why }) => why === 'dynamic')
          ? 'the pool would have to be dynamic shared memory, which the kernel uses already' : '';
  const emission = reason === '' ? emit(module, analysis, layout, pinnedBytes) : undefined;
  return { report: describe(module, analysis, layout, reason, residencies, emission, more), emission };
}

function whyNot({ flow, arrays, conflicts }: Analysis, { barriers }: Options): string {
  const pairs = arrays.length * (arrays.length - 1) / 2;
  if (barriers === 'any' || conflicts.length === pairs || inseparable(flow, arrays.length, true).length === pairs) {
    return 'all arrays are needed at the same time, or no barrier can keep them apart';
  }
  return barriers === 'none' ? 'sharing would take new barriers'
    : 'sharing would take new barriers, and it is not shown that more blocks fit then (options blockThreads, barriers)';
}

/** A kernel in its old and its new order. */
interface Order {
  readonly reordered: Reordered;
  readonly module: PtxModule;
  readonly original: Analysis;
}

/** Shared bytes of a treated kernel, apart from those that keep their place, and the blocks that fit. */
const outcomeOf = ({ report, emission }: Treated): { bytes: number; blocks: number | undefined } => ({
  bytes: emission?.poolBytes ?? report.bytesBefore,
  blocks: (emission === undefined ? report.residency?.before : report.residency?.after)?.blocks,
});

/** The module without all kernels but one. */
function alone(module: PtxModule, fn: PtxFunction): PtxModule {
  const others = module.functions.filter((each) => each.isEntry && each !== fn);
  return others.length === 0 ? module : readModule(applyEdits(module.text, others.map(({ start, end }) => ({ start, end, text: '' }))));
}

/** Finds an order of a kernel that pays. */
async function findOrder(module: PtxModule, fn: PtxFunction, callees: Callees, options: Options, work: Work): Promise<Order | undefined> {
  const small = alone(module, fn);
  const own = required(small.functions.find((each) => each.name === fn.name));
  const original = analyse(small, own, callees);
  const reordered = reorder(small, original);
  if (reordered === undefined || (options.barriers === 'none' && reordered.added.length > 0)) return undefined;
  const text = applyEdits(small.text, [reordered.edit]);
  const other = readModule(text);
  const found = required(other.functions.find((each) => each.name === fn.name));
  const plain = outcomeOf(await treat(small, original, options, work));
  const now = outcomeOf(await treat(other, analyse(other, found, callees), options, work));
  const isWorth = now.bytes < plain.bytes && (options.barriers !== 'gain' || reordered.added.length === 0
    || (now.blocks !== undefined && plain.blocks !== undefined && now.blocks > plain.blocks));
  if (!isWorth) return undefined;
  const moved = original.values.movable.map(({ name, bytes, alignment }) => ({ name, bytes, alignment, offset: 0 }));
  const claim = { kernel: fn.name, pool: '', poolBytes: 0, barriers: 0, kills: [], moved };
  if (checkOrder(small.text, text, claim) !== undefined) return undefined;
  const { start, end, text: changed } = reordered.edit;
  const shift = fn.start - own.start;
  return { reordered: { ...reordered, edit: { start: start + shift, end: end + shift, text: changed } }, module: small, original };
}

/** `optimize` with options that have been checked. */
export async function optimizeModule(text: string, options: Options): Promise<OptimizeResult> {
  const module = readModule(text);
  const callees = calleesOf(module);
  const entries = entriesOf(module, options.kernel);
  const work = new Work(options.budget, options.signal);
  const orders = new Map<string, Order>();
  for (const fn of options.reorder ? entries : []) {
    await work.pause();
    const order = await findOrder(module, fn, callees, options, work);
    if (order !== undefined) orders.set(fn.name, order);
  }
  const plain = new Set<string>();
  for (;;) {
    const { result, failed } = await rewriteModule(module, entries, callees, orders, plain, options, work);
    if (failed.length === 0) return result;
    for (const name of failed) {
      if (plain.has(name)) orders.delete(name);
      else plain.add(name);
    }
  }
}

function countPinned(treated: readonly Treated[]): ScratchpadReport['pinned'] {
  const counts: Partial<Record<PinReason, number>> = {};
  for (const { code } of treated.flatMap(({ report }) => report.pinned)) counts[code] = (counts[code] ?? 0) + 1;
  return counts;
}

function entriesOf(module: PtxModule, kernel: string | undefined): PtxFunction[] {
  const all = module.functions.filter((fn) => fn.isEntry);
  if (kernel === undefined) return all;
  const entries = all.filter(({ name }) => name === kernel || plainName(name) === kernel);
  if (entries.length > 0) return entries;
  const list = all.length > 0 ? all.map((fn) => plainName(fn.name)).join(', ') : 'it has none';
  throw refusal('kernel', `one of the kernels of the module: ${list}`, describeValue(kernel));
}

/**
 * Rewrites kernels, some of them in a new order, or without kills (`plain`); `failed`: those that the checker does not confirm, and for
 * which something is left to try.
 */
async function rewriteModule(original: PtxModule, entries: readonly PtxFunction[], callees: Callees, orders: ReadonlyMap<string, Order>,
  plain: ReadonlySet<string>, options: Options, work: Work): Promise<{ result: OptimizeResult; failed: readonly string[] }> {
  const text = applyEdits(original.text, [...orders.values()].map(({ reordered }) => reordered.edit));
  const module = orders.size === 0 ? original : readModule(text);
  const treated: Treated[] = [];
  for (const { name } of entries) {
    await work.pause();
    const fn = required(module.functions.find((each) => each.isEntry && each.name === name));
    const order = orders.get(name);
    const analysis = analyse(module, fn, callees, !plain.has(name));
    const own = await treat(module, analysis, options, work);
    treated.push(order === undefined ? own
      : { ...own, report: withOrder(own.report, analysis, order.module, order.original, order.reordered) });
  }
  const rewrite = (emissions: readonly Emission[]): string =>
    applyEdits(text, [...emissions.flatMap((each) => each.edits), ...unusedDeclarations(module, emissions)]);
  const all = treated.flatMap(({ emission }) => emission ?? []);
  const isRight = all.length === 0 || check(text, rewrite(all), all) === undefined;
  const failed: string[] = [];
  // A kernel whose result the checker does not confirm stays as it is.
  for (const [index, { emission, report }] of treated.entries()) {
    if (isRight || emission === undefined) continue;
    await work.pause();
    const failure = check(text, rewrite([emission]), [emission]);
    if (failure === undefined) continue;
    if (orders.has(emission.kernel) || emission.kills.length > 0) failed.push(emission.kernel);
    const reason = `not confirmed: ${failure}`;
    treated[index] = { emission: undefined, report: { ...report, status: 'kept', reason, barriersAdded: [] } };
  }
  const emissions = treated.flatMap(({ emission }) => emission ?? []);
  const dynamic = emissions.filter((each) => each.isDynamic).map((each) => each.poolBytes);
  const result = {
    ptx: rewrite(emissions), report: { kernels: treated.map(({ report }) => report), pinned: countPinned(treated) },
    ...(dynamic.length > 0 ? { dynamicBytes: dynamic.reduce((a, b) => Math.max(a, b)) } : {}),
  };
  return { result, failed };
}
