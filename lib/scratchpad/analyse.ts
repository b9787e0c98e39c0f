// Analyses one kernel, from its source to live ranges.
import { collectArrays, KernelMeaning, type KernelArrays } from './arrays.ts';
import { fullWrites, type BlockShape } from './coverage.ts';
import type { Instance } from './effects.ts';
import { buildFlow, closeAfterExits, type Flow, type FlowLoop } from './flow.ts';
import { analyseLiveness, inseparable, type Liveness } from './liveness.ts';
import type { Library } from './model.ts';
import type { FunctionNode } from './program.ts';
import { Refusal } from './refusal.ts';
import type { SharedArray } from './arrays.ts';
import { descend, kDeepestTree, type SyntaxNode } from './syntax.ts';
import { Visitor } from './visitor.ts';
import { requireNoWarpSynchrony } from './warp-synchrony.ts';

/** Limit on the number of shared arrays times statements. */
const kMostTouches = 3e6;

/** What the caller tells the analysis. */
export interface AnalysisOptions {
  /** Functions without a body that access neither shared arrays nor barriers. */
  readonly trusted: ReadonlySet<string>;
  /** Whether to assume that every iteration of a loop writes whatever it reads of an array. */
  rewritten(array: SharedArray, loop: FlowLoop): boolean;
  /** Threads of a block along x, y, z, if all launches have this shape. */
  readonly shape: BlockShape | undefined;
  /** Whether this pass emitted the source. */
  readonly emitted?: boolean;
}

/** The results of analysing a kernel. */
export interface Analysis extends KernelArrays {
  readonly fn: FunctionNode;
  readonly visitor: Visitor;
  readonly instance: Instance;
  readonly flow: Flow;
  /** Slots that not all threads may reach together. */
  readonly closed: ReadonlySet<number>;
  readonly liveness: Liveness;
  /** Per array: nodes after which nothing remains of its previous content. */
  readonly fullWrites: readonly ReadonlySet<number>[];
  readonly conflicts: readonly (readonly [number, number])[];
}

function requireReadable(fn: FunctionNode, library: Library): void {
  const { node } = fn;
  for (const each of node.broken ? descend(node) : []) {
    if (each.failed) throw new Refusal('parse-error', each, 'the grammar does not know this text');
  }
  let deepest: SyntaxNode = node;
  for (const each of descend(node)) if (each.depth > deepest.depth) deepest = each;
  if (deepest.depth - node.depth > kDeepestTree) throw new Refusal('too-deep', deepest, `expressions nest more than ${kDeepestTree} deep`);
  if (library.program.isConditional(node)) return;
  for (const each of descend(fn.body)) {
    if (!/^preproc_(?:if|ifdef|include)$/.test(each.type)) continue;
    throw new Refusal('preprocessor', each, 'conditional compilation inside the kernel');
  }
}

/** Analyses a kernel; throws {@link Refusal} if it cannot be proved safe. */
export function analyse(library: Library, fn: FunctionNode, options: AnalysisOptions): Analysis {
  requireReadable(fn, library);
  const model = library.model(fn);
  const arrays = collectArrays(model, options.emitted);
  const visitor = new Visitor(library, arrays, options.trusted);
  const instance = visitor.root(model);
  const flow = buildFlow(visitor, instance);
  const closed = closeAfterExits(flow);
  requireNoWarpSynchrony(visitor, instance, flow);
  const meaning = new KernelMeaning(model);
  const full = arrays.arrays.map((array) => fullWrites(flow, closed, array, instance, meaning, options.shape));
  const most = arrays.arrays.length * flow.nodes.length;
  if (most > kMostTouches) {
    throw new Refusal('too-deep', fn.body, `${arrays.arrays.length} shared arrays in ${flow.nodes.length} statements are too many`);
  }
  const liveness = analyseLiveness(flow, arrays.arrays, full, (array, loop) => options.rewritten(array, loop));
  const conflicts = inseparable(flow, arrays.arrays, closed);
  return { ...arrays, fn, visitor, instance, flow, closed, liveness, fullWrites: full, conflicts };
}
