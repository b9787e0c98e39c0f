// Describes an analysed kernel in words and figures.
import { elementAt } from '../core/known.ts';
import type { Analysis } from './analyse.ts';
import { existingBarriers } from './barriers.ts';
import { evaluate } from './constants.ts';
import type { Layout } from './layout.ts';
import { occupancy } from './occupancy.ts';
import type { OptimizeOptions } from './options.ts';
import { interference } from '../kernel/memory/plan.ts';
import type { Reordered } from './reorder.ts';
import type { ArrayReport, BarrierReport, KernelReport, ResidencyReport, SourcePlace } from './report.ts';
import { child, descend, namedChildren, position, type Syntax } from './syntax.ts';

/** A kernel with its results. */
export interface Described {
  readonly analysis: Analysis;
  readonly layout: Layout;
  readonly residency: ResidencyReport | undefined;
  /** The origin of source that was reordered before the analysis. */
  readonly origin: Reordered;
}

/** Line and column in the original source. */
export function placeOf(syntax: Syntax, offset: number, origin: Reordered): SourcePlace {
  return position({ lines: origin.lines ?? syntax.lines }, origin.offset(offset));
}

/** Threads per block according to `__launch_bounds__`. */
function launchThreads({ fn, visitor }: Analysis): number | undefined {
  for (const node of descend(fn.node)) {
    if (node.start >= fn.body.start) break;
    if (node.type !== 'launch_bounds') continue;
    const bound = namedChildren(node)[0];
    const value = bound === undefined ? undefined : evaluate(visitor.library.program.text(bound), visitor.library.program);
    if (value !== undefined && value >= 1 && value <= 1024) return value;
  }
  return undefined;
}

/** Resident blocks per multiprocessor before and after. */
export function residencyOf(analysis: Analysis, { plan }: Layout, options: OptimizeOptions): ResidencyReport | undefined {
  const given = options.blockThreads;
  const threads = typeof given === 'object' ? given.reduce<number>((product, each) => product * (each ?? 1), 1)
    : given ?? launchThreads(analysis);
  if (threads === undefined) return undefined;
  const { arch: architecture = 'sm_90', registersPerThread: registers = 32 } = options;
  const at = (sharedBytes: number): ResidencyReport['before'] => occupancy({ threads, registers, sharedBytes }, architecture);
  return { architecture, threads, registers, before: at(plan.bytesBefore), after: at(plan.bytes) };
}

function arrayReports({ analysis, layout, origin }: Described): ArrayReport[] {
  const { syntax } = analysis.visitor.library.program;
  const { points, ranges, scoped } = analysis.liveness;
  const line = (offset: number): number => placeOf(syntax, offset, origin).line;
  return analysis.arrays.map((array) => ({
    name: array.name, type: array.type, dimensions: array.extents, bytes: array.bytes, alignment: array.alignment,
    ...placeOf(syntax, array.sym.node.start, origin),
    live: elementAt(ranges, array.index).map((range) => ({
      ...range, beginLine: line(elementAt(points, range.begin).place.start), endLine: line(elementAt(points, range.end - 1).place.start),
    })),
    offset: elementAt(layout.plan.offsets, array.index),
    partition: layout.plan.partitions.findIndex(({ blocks }) => blocks.includes(array.index)),
    rewrittenIn: elementAt(scoped, array.index).map((loop) => line(loop.node.start)),
  }));
}

/** The inserted barriers, with their offsets in the analysed source. */
function barrierReports({ analysis, layout, origin }: Described): { report: BarrierReport; offset: number }[] {
  const { arrays, flow, visitor } = analysis;
  const { syntax } = visitor.library.program;
  const reuse = layout.barriers.map(({ slot, pairs }) => {
    const node = elementAt(flow.nodes, slot);
    const separates = pairs.map(([a, b]) => [elementAt(arrays, a).name, elementAt(arrays, b).name] as const);
    const place = placeOf(syntax, node.offset, origin);
    return { report: { ...place, newLine: 0, loops: node.loops.length, cause: 'reuse' as const, separates }, offset: node.offset };
  });
  const order = flow.nodes.filter((node) => node.kind === 'barrier' && origin.isNew(node.node.start)).map((node) => ({
    report: { ...placeOf(syntax, node.node.start, origin), newLine: 0, loops: 0, cause: 'order' as const, separates: [] },
    offset: node.node.start,
  }));
  return [...reuse, ...order].sort((a, b) => a.offset - b.offset);
}

function existingReports({ analysis, layout, origin }: Described): KernelReport['barriersExisting'] {
  const { flow, visitor } = analysis;
  const used = existingBarriers(flow, layout.sharing, new Set(layout.barriers.map(({ slot }) => slot)));
  return flow.nodes.filter((node) => node.kind === 'barrier' && !origin.isNew(node.node.start)).map((node) => ({
    ...placeOf(visitor.library.program.syntax, node.node.start, origin), separates: used.has(node.id),
  }));
}

function assumptionsOf({ analysis, origin }: Described, arrays: readonly ArrayReport[]): string[] {
  const { syntax } = analysis.visitor.library.program;
  const wholes = analysis.arrays.flatMap(({ index, name }) => {
    const lines = [...elementAt(analysis.fullWrites, index)]
      .map((node) => placeOf(syntax, elementAt(analysis.flow.nodes, node).place.start, origin).line);
    return lines.map((line) => `${name}: all its elements are written at line ${line} (option blockThreads)`);
  });
  const trusted = [...analysis.visitor.trusted].filter((name) => analysis.visitor.library.program.text(analysis.fn.body).includes(name));
  return [
    ...wholes, ...arrays.filter((array) => array.rewrittenIn.length > 0).map((array) =>
      `${array.name}: every iteration of the loop at line ${array.rewrittenIn.join(', ')} reads only what it wrote (option rewritten)`),
    ...trusted.map((name) => `${name}() touches neither shared arrays nor barriers (option functions)`),
  ];
}

/** A report, and the offsets of its new barriers in the analysed source. */
export interface Description {
  readonly report: KernelReport;
  readonly offsets: readonly number[];
}

/** The report of a kernel. `reason`: why it is kept; empty if it is rewritten. */
export function describeKernel(described: Described, reason: string, dynamicBytes: number | undefined): Description {
  const { analysis, layout, residency, origin } = described;
  const { fn, arrays, conflicts, visitor, liveness } = analysis;
  const { plan } = layout;
  const { syntax } = visitor.library.program;
  const names = ([a, b]: readonly [number, number]): readonly [string, string] => [elementAt(arrays, a).name, elementAt(arrays, b).name];
  const rewritten = reason === '';
  const reports = arrayReports(described);
  const declarator = child(fn.node, 'declarator') ?? fn.node;
  const barriers = rewritten ? barrierReports(described) : [];
  const ofKernel = ({ kernel }: { kernel: string }): boolean => kernel === fn.name;
  const together = interference({ blocks: layout.problem.blocks });
  const known = new Set(together.map((pair) => pair.join()));
  const report: KernelReport = {
    kernel: fn.name, ...placeOf(syntax, declarator.start, origin), status: rewritten ? 'rewritten' : 'kept', reason, planner: plan.planner,
    arrays: reports, bytesBefore: plan.bytesBefore, bytesAfter: plan.bytes, lowerBound: plan.lowerBound, optimal: plan.optimal,
    partitions: plan.partitions.map((part) =>
      ({ offset: part.offset, bytes: part.bytes, arrays: part.blocks.map((block) => elementAt(arrays, block).name) })),
    interference: together.map(names), inseparable: conflicts.filter((pair) => !known.has(pair.join())).map(names),
    barriersAdded: barriers.map((each) => each.report), barriersExisting: existingReports(described),
    moved: origin.moved.filter(ofKernel).map(({ kernel: _kernel, ...each }) => each),
    barriersRemoved: origin.removed.filter(ofKernel).map(({ line, column }) => ({ line, column })),
    ...(residency === undefined ? {} : { residency }), ...(dynamicBytes === undefined ? {} : { dynamicBytes }),
    symbolic: arrays.some((array) => array.symbolic), points: liveness.points.map((node) => placeOf(syntax, node.place.start, origin).line),
    assumptions: assumptionsOf(described, reports),
  };
  return { report, offsets: barriers.map((each) => each.offset) };
}
