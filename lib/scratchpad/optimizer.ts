// The pass: finds shared arrays of CUDA kernels that are not needed at the same time, and lets them overlap.
import { analyse, type Analysis, type AnalysisOptions } from './analyse.ts';
import { checkEmitted, type CheckOptions, type Expected } from './check.ts';
import { describeValue } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import { elementAt, required } from '../core/known.ts';
import type { BlockShape } from './coverage.ts';
import { applyEdits, emitKernel, type Edit } from './emit.ts';
import { describeKernel, placeOf, residencyOf, type Described, type Description } from './describe.ts';
import { layOut, type Layout } from './layout.ts';
import { Library } from './model.ts';
import type { TakenOptimizeOptions } from './options.ts';
import { Program, type FunctionNode } from './program.ts';
import { Refusal, remedyOf } from './refusal.ts';
import { reorderSource, sameOrder, type Reordered } from './reorder.ts';
import type { KernelReport, OptimizeResult, RefusedKernel } from './report.ts';
import { descend, parse, position, type Syntax } from './syntax.ts';
import { Work } from '../kernel/memory/work.ts';

interface Settings extends CheckOptions {
  readonly options: TakenOptimizeOptions;
  /** The remaining work budget of the searches. */
  readonly work: Work;
}

interface Treated extends Description {
  readonly edits: readonly Edit[];
  readonly expected: Expected | undefined;
}

function settingsOf(options: TakenOptimizeOptions): Settings {
  return {
    options, shape: shapeOf(options), macros: options.macros, defines: new Map(Object.entries(options.defines)),
    trusted: new Set(options.functions), work: new Work(options.budget, options.signal),
  };
}

/** The shape of blocks, if the caller guarantees it. */
function shapeOf({ blockThreads }: TakenOptimizeOptions): BlockShape | undefined {
  if (!Array.isArray(blockThreads)) return undefined;
  const [x, y = 1, z = 1] = blockThreads as readonly number[];
  return [required(x), y, z];
}

function analysisOptions({ options, trusted, shape }: Settings): AnalysisOptions {
  const { rewritten } = options;
  return { trusted, shape, rewritten: (array) => rewritten === true || rewritten?.includes(array.name) === true };
}

/** Why a kernel is kept as it is; undefined if it is rewritten. */
function reasonToKeep({ arrays }: Analysis, { plan }: Layout, described: Described, options: TakenOptimizeOptions): string | undefined {
  if (arrays.length === 0) return 'no shared arrays';
  if (!options.reuse) return undefined;
  if (arrays.length === 1) return 'one shared array only';
  if (plan.bytes >= plan.bytesBefore) return 'all arrays are needed at the same time';
  const { residency } = described;
  if (options.whenNoGain !== 'keep') return undefined;
  if (residency === undefined) return 'whether more blocks fit is not known: give blockThreads';
  return residency.after.blocks > residency.before.blocks ? undefined
    : `a multiprocessor holds ${residency.after.blocks} blocks as before, limited by ${residency.after.limiter}`;
}

async function treat(syntax: Syntax, library: Library, fn: FunctionNode, settings: Settings, origin: Reordered): Promise<Treated> {
  const analysis = analyse(library, fn, analysisOptions(settings));
  const { options } = settings;
  const layout = await layOut(analysis, options.planner, options.reuse, settings.work);
  const residency = residencyOf(analysis, layout, options);
  const described: Described = { analysis, layout, residency, origin };
  const reason = reasonToKeep(analysis, layout, described, options);
  if (reason !== undefined) {
    return { ...describeKernel(described, reason, undefined), edits: [], expected: undefined };
  }
  const emission = emitKernel(syntax, fn, analysis, layout.plan, layout.barriers);
  if (emission.dynamicBytes !== undefined && analysis.dynamic.length > 0) {
    throw new Refusal('dynamic-and-large', elementAt(analysis.dynamic, 0).node,
      `the pool takes ${emission.dynamicBytes} bytes and the kernel has dynamic shared memory`);
  }
  const barriers = new Set(analysis.flow.nodes.filter((node) => node.kind === 'barrier').map((node) => node.node)).size;
  const expected: Expected = {
    ordinal: library.program.kernels.indexOf(fn), name: fn.name, bytes: layout.plan.bytes, barriers: barriers + layout.barriers.length,
    accesses: analysis.arrays.map((array) => analysis.flow.nodes.reduce((sum, node) =>
      sum + node.accesses.filter((access) => access.array === array.index).length, 0)),
    rewritten: (array, loop) => analysisOptions(settings).rewritten(array, loop),
  };
  return { ...describeKernel(described, '', emission.dynamicBytes), edits: emission.edits, expected };
}

function refusedOf(syntax: Syntax, fn: FunctionNode | undefined, name: string, error: Refusal, origin: Reordered): RefusedKernel {
  const { code, message: reason } = error;
  return { kernel: fn?.name ?? name, ...placeOf(syntax, error.node.start, origin), code, reason, remedy: remedyOf(code) };
}

/** Kernels that the grammar could not separate from their surroundings. */
function lostKernels(syntax: Syntax, program: Program, origin: Reordered): RefusedKernel[] {
  const found: RefusedKernel[] = [];
  for (const node of descend(syntax.root)) {
    if (node.children.length > 0 || syntax.masked.slice(node.start, node.end) !== '__global__') continue;
    if (program.kernels.some((kernel) => node.start >= kernel.node.start && node.end <= kernel.node.end)) continue;
    let broken = node.parent;
    while (broken !== undefined && !broken.failed) broken = broken.parent;
    if (broken === undefined) continue;
    const name = /__global__[^({;]*?(\w+)\s*\(/.exec(syntax.masked.slice(node.start, node.start + 400))?.[1] ?? '?';
    if (found.some((each) => each.kernel === name)) continue;
    found.push(refusedOf(syntax, undefined, name,
      new Refusal('parse-error', node, 'the grammar does not know the text around this kernel'), origin));
  }
  return found;
}

function selectKernels(syntax: Syntax, program: Program, lost: readonly RefusedKernel[], kernel: string | undefined): FunctionNode[] {
  const kernels = kernel === undefined ? program.kernels : program.kernels.filter((fn) => fn.name === kernel);
  if (kernel !== undefined && kernels.length === 0 && !lost.some((each) => each.kernel === kernel)) {
    const known = program.kernels.map((fn) => fn.name);
    const list = known.length > 0 ? known.join(', ') : 'it has none';
    throw refusal('kernel', `one of the kernels of the source: ${list}`, describeValue(kernel));
  }
  if (program.kernels.length === 0 && lost.length === 0 && syntax.root.broken) {
    for (const node of descend(syntax.root)) {
      if (!node.failed) continue;
      const { line, column } = position(syntax, node.start);
      throw refusal('source', 'CUDA C++ with a kernel', `a text that has none and cannot be parsed at line ${line}, column ${column}`);
    }
  }
  return kernels;
}

/** Computes line numbers of inserted barriers in the rewritten source: each insertion shifts what follows. */
function withNewLines(syntax: Syntax, treated: readonly Treated[], edits: readonly Edit[]): KernelReport[] {
  const lines = (text: string): number => text.split('\n').length - 1;
  return treated.map(({ report, offsets }) => ({
    ...report,
    barriersAdded: report.barriersAdded.map((barrier, at) => {
      const offset = elementAt(offsets, at);
      const shift = edits.filter((edit) => edit.start < offset).reduce((sum, edit) =>
        sum + lines(edit.text) - lines(syntax.source.slice(edit.start, edit.end)), 0);
      return { ...barrier, newLine: position(syntax, offset).line + shift };
    }),
  }));
}

async function run(source: string, settings: Settings, origin: Reordered): Promise<OptimizeResult> {
  const syntax = await parse(source, settings.macros);
  const program = new Program(syntax, settings.defines);
  const library = new Library(program);
  const { kernel } = settings.options;
  const refused = lostKernels(syntax, program, origin).filter((each) => kernel === undefined || each.kernel === kernel);
  const treated: Treated[] = [];
  for (const fn of selectKernels(syntax, program, refused, kernel)) {
    try {
      await settings.work.pause();
      treated.push(await treat(syntax, library, fn, settings, origin));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refused.push(refusedOf(syntax, fn, fn.name, error, origin));
    }
  }
  const edits = treated.flatMap((each) => each.edits);
  const expected = treated.flatMap((each) => each.expected ?? []);
  const result = applyEdits(source, edits);
  if (expected.length > 0) await checkEmitted(result, expected, settings);
  const reports = withNewLines(syntax, treated, edits);
  const dynamic = reports.flatMap((report) => report.dynamicBytes ?? []);
  return {
    source: result, report: { kernels: reports, refused: refused.sort((a, b) => a.line - b.line) },
    ...(dynamic.length > 0 ? { dynamicBytes: Math.max(...dynamic) } : {}),
  };
}

/** `optimise` with options that have been checked and copied. */
export async function optimizeSource(source: string, options: TakenOptimizeOptions): Promise<OptimizeResult> {
  const settings = settingsOf(options);
  const plain = await run(source, settings, sameOrder);
  if (!options.reorder) return plain;
  // Separately for each kernel: one that gains nothing keeps its order.
  const gains = new Set<string>();
  const reorder = (wanted: (name: string) => boolean): Promise<Reordered | undefined> =>
    reorderSource(source, settings, analysisOptions(settings), wanted);
  const trial = await reorder((name) => options.kernel === undefined || name === options.kernel);
  if (trial === undefined) return plain;
  const tried = await run(trial.source, settings, trial);
  for (const after of tried.report.kernels) {
    const before = plain.report.kernels.find((each) => each.kernel === after.kernel);
    if (before !== undefined && after.moved.length > 0 && after.bytesAfter < before.bytesAfter) gains.add(after.kernel);
  }
  const reordered = gains.size === 0 ? undefined : await reorder((name) => gains.has(name));
  return reordered === undefined ? plain : run(reordered.source, settings, reordered);
}
