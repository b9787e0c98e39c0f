// Places blocks with live ranges in one pool of bytes. Pure: the same problem always gives the same plan.
import { describeValue } from '../../core/arrays.ts';
import { requireCount, rule, whole } from '../../core/checks.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import { exact } from './exact.ts';
import { packing } from './packing.ts';
import { coloring, greedy } from './partitions.ts';
import { alignUp, defaultAlignment, heightOf, prepare, roomOf, type Prepared } from './prepared.ts';
import { defaultWork, Work } from './work.ts';
import { planners, type Block, type Partition, type Plan, type PlannerName, type PlanProblem } from './types.ts';

/** The maximum number of blocks that {@link plan} accepts. */
export const maxBlocks = 4096;
/** The maximum size of all blocks together, in bytes. */
const maxBytes = 2 ** 40;

/** Settings of {@link plan}. */
export interface PlanLimits {
  /** Elementary operations that `exact` may spend before it returns the best placement found. Default 3·10⁷, about 0.5 s. */
  readonly budget?: number;
}

const planLimits = optionsOf('limits of a plan', { budget: normally(whole(1), defaultWork) } satisfies ChecksOf<PlanLimits>);
const powerOfTwo = rule<number>('a power of two up to 2^20', (value) =>
  typeof value === 'number' && value >= 1 && value <= 2 ** 20 && Number.isInteger(Math.log2(value)));

function checkRanges(live: unknown, name: string): void {
  if (!Array.isArray(live)) throw refusal(name, 'an array of ranges { begin, end }', describeValue(live));
  let last = -1;
  for (const [i, range] of (live as unknown[]).entries()) {
    const place = `${name}[${i}]`;
    if (typeof range !== 'object' || range === null) throw refusal(place, 'a range { begin, end }', describeValue(range));
    const { begin, end } = range as { begin: unknown; end: unknown };
    requireCount(begin, `${place}.begin`, 0);
    requireCount(end, `${place}.end`, 0);
    if (end <= begin) throw refusal(`${place}.end`, `a point after ${begin}: ranges are half-open and not empty`, String(end));
    if (begin < last) throw refusal(`${place}.begin`, `a point from ${last} on: ranges ascend and do not meet`, String(begin));
    last = end;
  }
}

function checkBlock(block: unknown, name: string): void {
  if (typeof block !== 'object' || block === null) throw refusal(name, 'a block { name, bytes, live }', describeValue(block));
  const { name: title, bytes, alignment, live } = block as Record<string, unknown>;
  if (typeof title !== 'string') throw refusal(`${name}.name`, 'a string', describeValue(title));
  requireCount(bytes, `${name}.bytes`, 1, maxBytes);
  if (alignment !== undefined) powerOfTwo(alignment, `${name}.alignment`);
  checkRanges(live, `${name}.live`);
}

/** Size of the blocks placed one after another. */
function bytesApart(blocks: readonly Block[]): number {
  return blocks.reduce((end, { bytes, alignment = defaultAlignment }) => alignUp(end, alignment) + bytes, 0);
}

/** The maximum space needed by blocks that are live together, in bytes, including gaps for alignment, except after the topmost block. */
function boundOf({ cliques, unit }: Prepared, sizes: readonly number[]): number {
  return cliques.reduce((most, { blocks, alignment }) => Math.max(most, roomOf({ blocks, alignment: alignment * unit }, sizes)), 0);
}

function checkProblem(problem: unknown): asserts problem is PlanProblem {
  if (typeof problem !== 'object' || problem === null) throw refusal('problem', 'an object { blocks }', describeValue(problem));
  const { blocks, conflicts } = problem as { blocks: unknown; conflicts: unknown };
  if (!Array.isArray(blocks) || blocks.length > maxBlocks) {
    throw refusal('problem.blocks', `an array of at most ${maxBlocks} blocks`, describeValue(blocks));
  }
  for (let i = 0; i < blocks.length; ++i) checkBlock(blocks[i], `problem.blocks[${i}]`);
  const total = bytesApart(blocks as Block[]);
  if (total > maxBytes) throw refusal('problem.blocks', 'blocks of at most 2^40 bytes in total', `${total} bytes`);
  if (conflicts === undefined) return;
  if (!Array.isArray(conflicts)) throw refusal('problem.conflicts', 'an array of pairs of block indices', describeValue(conflicts));
  for (const [i, pair] of (conflicts as unknown[]).entries()) {
    const name = `problem.conflicts[${i}]`;
    if (!Array.isArray(pair) || pair.length !== 2) throw refusal(name, 'two block indices', describeValue(pair));
    for (const index of pair as unknown[]) requireCount(index, name, 0, blocks.length - 1);
    if (pair[0] === pair[1]) throw refusal(name, 'two different blocks', `${pair[0]} twice`);
  }
}

/** Groups of blocks whose bytes overlap, directly or through others. */
function partitionsOf(offsets: readonly number[], bytes: readonly number[]): Partition[] {
  const order = offsets.map((_, block) => block).sort((a, b) => elementAt(offsets, a) - elementAt(offsets, b) || a - b);
  const groups: { offset: number; end: number; blocks: number[] }[] = [];
  for (const block of order) {
    const offset = elementAt(offsets, block);
    const end = offset + elementAt(bytes, block);
    const group = groups.at(-1);
    if (group !== undefined && offset < group.end) {
      group.end = Math.max(group.end, end);
      group.blocks.push(block);
    } else {
      groups.push({ offset, end, blocks: [block] });
    }
  }
  return groups.map(({ offset, end, blocks }) => ({ offset, bytes: end - offset, blocks: blocks.sort((a, b) => a - b) }));
}

function* place(problem: Prepared, planner: PlannerName, work: Work): Generator<void, { offsets: number[]; complete: boolean }> {
  switch (planner) {
    case 'greedy': return { offsets: greedy(problem), complete: false };
    case 'coloring': return { offsets: coloring(problem), complete: false };
    case 'packing': return { offsets: packing(problem, work), complete: false };
    case 'exact': return yield* exact(problem, work);
  }
}

/**
 * Places blocks so that blocks needed at the same time share no bytes.
 *
 * `greedy` and `coloring` follow Algorithm 1 of Moazeni, Bui and Sarrafzadeh, "A memory optimisation technique for software-managed
 * scratchpad memory in GPUs" (2009); `packing` and `exact` choose offsets, which that paper leaves open (its Fig. 4(b)). `packing` never
 * needs more bytes than `coloring`, nor `exact` more than `packing`.
 * @param problem blocks with sizes in bytes and the half-open ranges of program points at which they are needed
 * @param planner default `exact`: proves that its plan is the smallest if the budget lasts, as it does for most problems of 24 blocks;
 * `optimal` says whether it did, and `lowerBound` how small a plan could be at best
 * @returns offsets in the order of the blocks; the pool must be aligned for the most strictly aligned block
 * @throws ArgumentError naming the invalid part, before any work
 */
export function plan(problem: PlanProblem, planner: PlannerName = 'exact', limits: PlanLimits = {}): Plan {
  checkProblem(problem);
  if (!planners.includes(planner)) throw refusal('planner', `one of ${planners.join(', ')}`, describeValue(planner));
  const { budget } = planLimits.read(limits, 'limits');
  const steps = planSteps(problem, planner, new Work(budget));
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** {@link plan} for a valid problem, in steps of a few milliseconds. */
export function* planSteps(problem: PlanProblem, planner: PlannerName, work: Work): Generator<void, Plan> {
  const prepared = prepare(problem);
  work.spend(prepared.count ** 2);
  const { offsets: places, complete } = yield* place(prepared, planner, work);
  const sizes = problem.blocks.map((block) => block.bytes);
  const offsets = places.map((at) => at * prepared.unit);
  return {
    planner, offsets, bytes: heightOf(offsets, sizes), bytesBefore: bytesApart(problem.blocks),
    lowerBound: boundOf(prepared, sizes),
    optimal: complete || heightOf(places, prepared.bytes) === prepared.lowerBound, partitions: partitionsOf(offsets, sizes),
  };
}

/** Pairs of blocks that must not share bytes, each listed once with the smaller index first: the edges of the interference graph. */
export function interference(problem: PlanProblem): [number, number][] {
  checkProblem(problem);
  const { neighbours } = prepare(problem);
  return neighbours.flatMap((others, a) => others.filter((b) => b > a).map((b): [number, number] => [a, b]));
}
