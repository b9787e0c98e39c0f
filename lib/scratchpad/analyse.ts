// One kernel from its text to live ranges.
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

/** Shared arrays times statements. */
const kMostTouches = 3e6;

/** What the analysis asks of its caller. */
export interface AnalysisOptions {
  /** Functions without a body that touch neither shared arrays nor barriers. */
  readonly trusted: ReadonlySet<string>;
  /** Whether a loop may be taken to write all that it reads of an array in each iteration. */
  rewritten(array: SharedArray, loop: FlowLoop): boolean;
  /** Threads of a block along x, y, z, where all launches have them. */
  readonly shape: BlockShape | undefined;
  /** Whether the text was written by this pass. */
  readonly emitted?: boolean;
}

/** What is known of a kernel. */
export interface Analysis extends KernelArrays {
  readonly fn: FunctionNode;
  readonly visitor: Visitor;
  readonly instance: Instance;
  readonly flow: Flow;
  /** Slots that threads may not reach together. */
  readonly closed: ReadonlySet<number>;
  readonly liveness: Liveness;
  /** Per array: nodes after which nothing of its former content is left. */
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

/** Analyses a kernel; throws {@link Refusal} where it cannot be proved safe. */
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
