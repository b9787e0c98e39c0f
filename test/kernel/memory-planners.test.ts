// Planners: valid placements always, the least bytes from `exact`, the order of quality, the printed algorithm.
import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert/strict';
import fc from 'fast-check';
import { ArgumentError } from '../../lib/core/errors.ts';
import { firstFit } from '../../lib/kernel/memory/packing.ts';
import { interference, plan } from '../../lib/kernel/memory/plan.ts';
import { prepare, resized } from '../../lib/kernel/memory/prepared.ts';
import { planners, type Block, type Plan, type PlanProblem } from '../../lib/kernel/memory/types.ts';
import { guillotine, intervalKernels, ratios } from '../../bench/scratchpad-problems.ts';
import { Random } from '../support/random.ts';

const alignmentOf = (block: Block): number => block.alignment ?? 16;

/** Straight from the definition, pair by pair. */
function mustNotShare({ blocks, conflicts = [] }: PlanProblem, a: number, b: number): boolean {
  const meet = blocks[a]!.live.some((x) => blocks[b]!.live.some((y) => x.begin < y.end && y.begin < x.end));
  return meet || conflicts.some(([x, y]) => (x === a && y === b) || (x === b && y === a));
}

function checkPlan(problem: PlanProblem, found: Plan): void {
  const { blocks } = problem;
  strictEqual(found.offsets.length, blocks.length);
  const end = (i: number) => found.offsets[i]! + blocks[i]!.bytes;
  blocks.forEach((block, a) => {
    const at = found.offsets[a]!;
    ok(Number.isSafeInteger(at) && at >= 0 && at % alignmentOf(block) === 0, `${block.name} at ${at}`);
    for (let b = 0; b < a; ++b) {
      if (mustNotShare(problem, a, b)) ok(end(a) <= found.offsets[b]! || end(b) <= at, `blocks ${a} and ${b} share bytes`);
    }
  });
  strictEqual(found.bytes, Math.max(0, ...blocks.map((_, i) => end(i))));
  ok(found.bytes >= found.lowerBound);
  deepStrictEqual(found.partitions.flatMap((partition) => partition.blocks).sort((a, b) => a - b), blocks.map((_, i) => i));
  found.partitions.forEach(({ offset, bytes, blocks: members }, i) => {
    strictEqual(offset, Math.min(...members.map((member) => found.offsets[member]!)));
    strictEqual(offset + bytes, Math.max(...members.map(end)));
    if (i > 0) ok(offset >= found.partitions[i - 1]!.offset + found.partitions[i - 1]!.bytes);
  });
}

/** The least height by trying every aligned offset of every block. */
function bruteForce(problem: PlanProblem): number {
  const { blocks } = problem;
  let least = blocks.reduce((sum, block) => Math.ceil(sum / alignmentOf(block)) * alignmentOf(block) + block.bytes, 0);
  const offsets: number[] = [];
  const descend = (block: number, height: number): void => {
    if (block === blocks.length) {
      least = height;
      return;
    }
    const { bytes } = blocks[block]!;
    for (let at = 0; at + bytes < least; at += alignmentOf(blocks[block]!)) {
      const free = offsets.every((other, b) => !mustNotShare(problem, block, b) || at + bytes <= other || other + blocks[b]!.bytes <= at);
      if (!free) continue;
      offsets.push(at);
      descend(block + 1, Math.max(height, at + bytes));
      offsets.pop();
    }
  };
  descend(0, 0);
  return least;
}

const ranges = fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 3 })), { maxLength: 3 }).map((steps) => {
  let at = 0;
  return steps.map(([length, gap]) => {
    const begin = at + gap;
    at = begin + length;
    return { begin, end: at };
  });
});

function problems(maxCount: number, maxBytes: number, alignments: readonly number[]): fc.Arbitrary<PlanProblem> {
  const block = fc.record({ bytes: fc.integer({ min: 1, max: maxBytes }), alignment: fc.constantFrom(...alignments, undefined), live: ranges });
  return fc.array(block, { maxLength: maxCount }).chain((blocks) => fc.record({
    blocks: fc.constant(blocks.map((own, i) => ({ name: `b${i}`, ...own }))),
    conflicts: blocks.length < 2 ? fc.constant(undefined)
      : fc.option(fc.array(fc.tuple(fc.nat(blocks.length - 1), fc.nat(blocks.length - 1)).filter(([a, b]) => a !== b), { maxLength: 4 }), { nil: undefined }),
  }));
}

describe('planners of shared memory', () => {
  it('keep interfering blocks apart and aligned, and get better from coloring to packing to exact', () => {
    fc.assert(fc.property(problems(12, 300, [1, 4, 16, 128]), (problem) => {
      const found = planners.map((planner) => plan(problem, planner, { budget: 200_000 }));
      found.forEach((own) => checkPlan(problem, own));
      const [, coloring, packing, exact] = found as [Plan, Plan, Plan, Plan];
      // Packed by units of the least alignment: less than one unit lies between the order of bytes and that of units.
      const unit = Math.min(...problem.blocks.map(alignmentOf));
      const units = (bytes: number) => Math.ceil(bytes / unit);
      if (problem.blocks.length > 0) ok(units(exact.bytes) <= units(packing.bytes) && units(packing.bytes) <= units(coloring.bytes));
    }), { numRuns: 200, seed: 4 });
  });

  it('exact gives the least bytes there are: every placement of up to six blocks tried', () => {
    fc.assert(fc.property(problems(6, 5, [1, 2]).map(({ blocks, conflicts }) => (
      { conflicts, blocks: blocks.map((block) => ({ ...block, alignment: block.alignment ?? 1 })) })), (problem) => {
      const found = plan(problem);
      const unit = Math.min(1e9, ...problem.blocks.map(alignmentOf));
      ok(found.optimal);
      strictEqual(Math.ceil(found.bytes / unit), Math.ceil(bruteForce(problem) / unit));
    }), { numRuns: 300, seed: 5 });
  });

  it('greedy is Algorithm 1: colours by adjacency from the first block, the lowest free colour', () => {
    // B1–B2, B1–B3, B2–B3, B3–B5, B2–B4: B4 and B1 share P1 as in the paper's Fig. 3.
    const block = (name: string, bytes: number) => ({ name, bytes, alignment: 1, live: [] });
    const problem = {
      blocks: [block('B1', 40), block('B2', 30), block('B3', 20), block('B4', 10), block('B5', 25)],
      conflicts: [[0, 1], [0, 2], [1, 2], [2, 4], [1, 3]] as [number, number][],
    };
    const found = plan(problem, 'greedy');
    deepStrictEqual(found.offsets, [0, 40, 70, 0, 0]);
    deepStrictEqual(found.partitions.map((partition) => partition.blocks), [[0, 3, 4], [1], [2]]);
    strictEqual(found.bytes, 90);
    strictEqual(found.bytesBefore, 125);
    strictEqual(plan(problem, 'exact').bytes, 90);
  });

  it('two dead blocks lie inside one live one where packing may (Fig. 4(b))', () => {
    const live = (begin: number, end: number) => [{ begin, end }];
    const blocks = [{ name: 'B3', bytes: 64, live: live(1, 2) }, { name: 'B1', bytes: 32, live: live(0, 1) }, { name: 'B2', bytes: 32, live: live(0, 1) }];
    strictEqual(plan({ blocks }, 'coloring').bytes, 96);
    for (const planner of ['packing', 'exact'] as const) {
      const found = plan({ blocks }, planner);
      ok(found.bytes === 64 && found.optimal && found.lowerBound === 64, planner);
    }
  });

  it('reproduces the mean ratios of random straight-line kernels', () => {
    // Research figures over 2000 kernels each: without reuse, Algorithm 1, coloring, first fit; ours are 150 kernels.
    const known: [number, number, number, number, number][] = [[5, 1.45, 1.083, 1.047, 1.008], [8, 1.89, 1.175, 1.088, 1.015], [10, 2.18, 1.221, 1.107, 1.016]];
    for (const [n, none, greedy, coloring, packing] of known) {
      const found = ratios(intervalKernels(n, 150, new Random(n)));
      ok(found.proved === 150);
      ok(Math.abs(found.mean.none - none) < 0.12, `none ${found.mean.none}`);
      ok(Math.abs(found.mean.greedy - greedy) < 0.04, `greedy ${found.mean.greedy}`);
      ok(Math.abs(found.mean.coloring - coloring) < 0.03, `coloring ${found.mean.coloring}`);
      ok(found.mean.packing <= packing, `packing ${found.mean.packing}`);
    }
  });

  it('proves optimality of 24 blocks, of packings without a gap, and of large problems at least their bound', () => {
    const random = new Random(24);
    for (let i = 0; i < 6; ++i) {
      const kernel = intervalKernels(24, 1, random)[0]!;
      const found = plan(kernel);
      checkPlan(kernel, found);
      ok(found.optimal);
      const capacity = 1000 + i;
      const packed = guillotine(24, 16, capacity, random);
      const perfect = plan(packed);
      checkPlan(packed, perfect);
      ok(perfect.optimal && perfect.bytes === capacity, `${perfect.bytes} of ${capacity}`);
    }
    const large = guillotine(200, 60, 2 ** 20, random);
    const found = plan(large, 'exact', { budget: 2_000_000 });
    checkPlan(large, found);
    strictEqual(found.lowerBound, 2 ** 20);
    ok(found.bytes < 1.35 * found.lowerBound, `${found.bytes}`);
  });

  it('first fit gives each block the lowest place left, above its floor and on one side of the fence, for other sizes as well', () => {
    fc.assert(fc.property(problems(8, 40, [1, 4, 16]), fc.array(fc.nat(30), { minLength: 8, maxLength: 8 }), fc.nat(60), fc.nat(5),
      (problem, floors, fence, more) => {
        const sizes = problem.blocks.map(({ bytes }) => 1 + bytes * more);
        const prepared = resized(prepare(problem), sizes);
        deepStrictEqual(prepared, prepare({ ...problem, blocks: problem.blocks.map((block, i) => ({ ...block, bytes: sizes[i]! })) }));
        const { bytes, alignment, neighbours } = prepared;
        const order = bytes.map((_, i) => i).sort((a, b) => bytes[b]! - bytes[a]! || b - a);
        for (const bounds of [undefined, { floors, fence }]) {
          const offsets = firstFit(prepared, order, bounds);
          const isFree = (block: number, at: number, others: readonly number[]): boolean => at % alignment[block]! === 0
            && (bounds === undefined || (at >= floors[block]! && (at >= fence || at + bytes[block]! <= fence)))
            && others.every((other) => !neighbours[block]!.includes(other)
              || at + bytes[block]! <= offsets[other]! || offsets[other]! + bytes[other]! <= at);
          order.forEach((block, i) => {
            let at = 0;
            while (!isFree(block, at, order.slice(0, i))) ++at;
            strictEqual(offsets[block], at);
          });
        }
      }), { numRuns: 150, seed: 6 });
  });

  it('says so when the budget was not enough', () => {
    const random = new Random(7);
    const problem = guillotine(120, 60, 99_991, random);
    const found = plan(problem, 'exact', { budget: 1 });
    checkPlan(problem, found);
    strictEqual(found.optimal, found.bytes === found.lowerBound);
    ok(!found.optimal);
  });

  it('is pure, takes no blocks, blocks that are never live, and lists the edges', () => {
    const problem = intervalKernels(9, 1, new Random(9))[0]!;
    const frozen = JSON.stringify(problem);
    deepStrictEqual(plan(problem), plan(problem));
    strictEqual(JSON.stringify(problem), frozen);
    deepStrictEqual(plan({ blocks: [] }), {
      planner: 'exact', offsets: [], bytes: 0, bytesBefore: 0, lowerBound: 0, optimal: true, partitions: [] });
    const idle = { name: 'idle', bytes: 10, live: [] };
    strictEqual(plan({ blocks: [idle, { ...idle, bytes: 4 }] }).bytes, 10);
    deepStrictEqual(interference({ blocks: [idle, idle, idle], conflicts: [[2, 0]] }), [[0, 2]]);
  });

  it('refuses malformed problems by name, before any work', () => {
    const good = { name: 'a', bytes: 4, live: [{ begin: 0, end: 1 }] };
    const blames = (argument: string, call: () => unknown) => throws(call, (error: unknown) => error instanceof ArgumentError && error.argument === argument);
    const block = (change: object) => ({ blocks: [good, { ...good, ...change }] });
    for (const bytes of [0, -4, 1.5, NaN, '4', undefined, 2 ** 41]) blames('problem.blocks[1].bytes', () => plan(block({ bytes }) as never));
    for (const alignment of [0, 3, -16, 2 ** 21, '16', null]) blames('problem.blocks[1].alignment', () => plan(block({ alignment }) as never));
    for (const name of [1, undefined, null]) blames('problem.blocks[1].name', () => plan(block({ name }) as never));
    for (const live of [undefined, 3, 'all']) blames('problem.blocks[1].live', () => plan(block({ live }) as never));
    blames('problem.blocks[1].live[0]', () => plan(block({ live: [null] }) as never));
    blames('problem.blocks[1].live[0].begin', () => plan(block({ live: [{ begin: -1, end: 2 }] })));
    blames('problem.blocks[1].live[0].end', () => plan(block({ live: [{ begin: 2, end: 2 }] })));
    blames('problem.blocks[1].live[1].begin', () => plan(block({ live: [{ begin: 2, end: 4 }, { begin: 3, end: 5 }] })));
    blames('problem.blocks', () => plan({ blocks: [{ ...good, bytes: 2 ** 39 }, { ...good, bytes: 2 ** 39 }, good] }));
    blames('problem.blocks', () => plan({ blocks: 'none' } as never));
    blames('problem.blocks', () => plan({ blocks: new Array<Block>(4097).fill(good) }));
    blames('problem.blocks[0]', () => plan({ blocks: [null] } as never));
    blames('problem', () => plan(undefined as never));
    blames('problem.conflicts', () => plan({ blocks: [good], conflicts: 1 } as never));
    for (const pair of [[0], [0, 1, 1], null, [0, 2], [0, -1], [1, 1], ['0', 1]]) blames('problem.conflicts[0]', () => plan({ blocks: [good, good], conflicts: [pair] } as never));
    for (const name of ['best', '', 3, null]) blames('planner', () => plan({ blocks: [] }, name as never));
    for (const budget of [0, -1, 0.5, NaN]) blames('limits.budget', () => plan({ blocks: [] }, 'exact', { budget }));
  });
});
