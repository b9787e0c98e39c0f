// Barriers: exactly where reuse needs one and none stands.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { placeBarriers } from '../../lib/scratchpad/barriers.ts';
import { checkEmitted, type CheckOptions, type Expected } from '../../lib/scratchpad/check.ts';
import type { Flow, FlowNode } from '../../lib/scratchpad/flow.ts';
import { Random } from '../support/random.ts';
import { head, pass } from './pass.ts';

/** Lines before which barriers were put. */
async function added(body: string, options = {}, before = ''): Promise<number[]> {
  const { kernel } = await pass(body, options, before);
  strictEqual(kernel.status, 'rewritten', kernel.reason);
  return kernel.barriersAdded.map(({ line }) => line);
}

const use = (array: string): string => `  ${array}[t] = in[t];\n  __syncthreads();\n  out[t] += ${array}[t ^ 1];\n`;

describe('scratchpad: barriers at points of reuse', function () {
  this.timeout(120_000); // on busy machines
  it('one where none stands, none where one stands', async () => {
    deepStrictEqual(await added(`${head}${use('a')}${use('b')}`), [7]);
    deepStrictEqual(await added(`${head}${use('a')}  __syncthreads();\n${use('b')}`), []);
    for (const barrier of ['__syncthreads_count(t)', 'if (__syncthreads_or(n)) n = 3', 'n = __syncthreads_and(t > 3)', 'cg::this_thread_block().sync()',
      'cg::sync(cg::this_thread_block())',
      'WAIT', 'WAIT2()', 'wait()', 'wait_some(n)']) {
      const before = 'namespace cg = cooperative_groups;\n#define WAIT __syncthreads()\n#define WAIT2() __syncthreads()\n__device__ void wait() { __syncthreads(); }\n'
        + '__device__ void wait_some(int m) { if (m > 3) { __syncthreads(); return; } __syncthreads(); }\n';
      deepStrictEqual(await added(`${head}${use('a')}  ${barrier};\n${use('b')}`, {}, before), [], barrier);
    }
  });

  it('a barrier that only some ways pass does not count', async () => {
    for (const some of ['if (n > 3) __syncthreads();', 'if (n > 3) { __syncthreads(); } else { n = 2; }', 'for (int i = 0; i < n; ++i) __syncthreads();',
      'while (n-- > 0) { __syncthreads(); }',
      'switch (n) { case 1: __syncthreads(); break; case 2: break; default: __syncthreads(); }', 'wait_some(n);']) {
      const lines = await added(`${head}${use('a')}  ${some}\n${use('b')}`, {}, '__device__ void wait_some(int m) { if (m > 3) __syncthreads(); } ');
      strictEqual(lines.length, 1, some);
    }
    for (const all of ['if (n > 3) __syncthreads(); else __syncthreads();', 'do { __syncthreads(); } while (n-- > 0);',
      'switch (n) { case 1: __syncthreads(); break; default: __syncthreads(); }',
      'if constexpr (true) { __syncthreads(); } else { __syncthreads(); }', 'for (;;) { __syncthreads(); if (n > 3) break; }']) {
      deepStrictEqual(await added(`${head}${use('a')}  ${all}\n${use('b')}`), [], all);
    }
  });

  it('none between arms that all threads take together', async () => {
    deepStrictEqual(await added(`${head}  if (n > 3) {\n    a[t] = 1;\n    out[t] = a[t];\n  } else {\n    b[t] = 2;\n    out[t] = b[t];\n  }`), []);
  });

  it('one barrier serves several pairs', async () => {
    const { kernel } = await pass(`  __shared__ float a[64], b[64], c[64], d[64];\n  const int t = threadIdx.x;\n  a[t] = 1;\n  b[t] = 2;\n  __syncthreads();\n`
      + `  out[t] = a[t ^ 1] + b[t ^ 1];\n  c[t] = 1;\n  d[t] = 2;\n`
      + '  __syncthreads();\n  out[t] += c[t ^ 1] + d[t ^ 1];');
    deepStrictEqual(kernel.barriersAdded.map(({ line, separates }) => [line, separates.length]), [[8, 2]]);
    strictEqual(kernel.bytesAfter, 512);
  });

  it('out of loops rather than inside', async () => {
    const { kernel } = await pass(`${head}  for (int i = 0; i < n; ++i) {\n    a[t] = i;\n  }\n  __syncthreads();\n  out[t] = a[t ^ 1];\n  n = 3;\n`
      + '  for (int i = 0; i < n; ++i) {\n    b[t] = i;\n  }\n  __syncthreads();\n  out[t] += b[t ^ 1];');
    deepStrictEqual(kernel.barriersAdded.map(({ line, loops }) => [line, loops]), [[10, 0]]);
  });

  it('the way round a loop needs one too', async () => {
    const loop = `${head}  for (int i = 0; i < n; ++i) {\n    a[t] = i;\n    __syncthreads();\n    out[t] += a[t ^ 1];\n    __syncthreads();\n    b[t] = i;\n`
      + `    __syncthreads();\n    out[t] += b[t ^ 1];\n  }`;
    const { kernel, source } = await pass(loop, { rewritten: true });
    deepStrictEqual(kernel.barriersAdded.map(({ line, loops, newLine }) => [line, loops, newLine]), [[12, 1, 12]]);
    strictEqual(source.split('\n')[11], '    __syncthreads();');
  });

  it('stands in the block where it is needed, also before its end and before pragmas', async () => {
    const { source } = await pass(`${head}${use('a')}#pragma unroll\n  for (int i = 0; i < 3; ++i) b[t] = i;\n  __syncthreads();\n  out[t] = b[t ^ 1];`);
    const lines = source.split('\n');
    const at = lines.findIndex((line) => line.startsWith('#pragma'));
    ok(lines[at + 1]!.includes('for'), 'the pragma stays with its loop');
    const inside = await pass(`${head}  if (n > 3) {\n    a[t] = 1;\n    __syncthreads();\n    out[t] = a[t ^ 1];\n  } else { n = 2; }\n  b[t] = 1;\n  __syncthreads();\n`
      + `  out[t] += b[t ^ 1];`);
    strictEqual(inside.kernel.barriersAdded.length, 1);
  });

  it('arrays that no barrier can keep apart stay apart', async () => {
    const { kernel } = await pass(`${head}  a[t] = in[t];\n  __syncthreads();\n  if (t < 3) { out[t] = a[t ^ 1]; for (int i = 0; i < 2; ++i) b[i] = 1; }\n  __syncthreads();\n`
      + `  out[t] += b[t & 1];`);
    deepStrictEqual([kernel.status, kernel.interference], ['kept', [['a', 'b']]]);
    const loop = await pass(`${head}  for (int i = 0; i < n; ++i) a[t] = i;\n  if (t > n) return;\n  out[t] = a[t];\n  b[t] = 1;\n  out[t] += b[t];`);
    deepStrictEqual([loop.kernel.status, loop.kernel.inseparable], ['kept', [['a', 'b']]]);
    const unbraced = await pass(`${head}  for (int i = 0; i < n; ++i)\n    if (i % 2 > 0) a[t] = out[i]; else b[t] = 2;\n  __syncthreads();`);
    deepStrictEqual([unbraced.kernel.status, unbraced.kernel.inseparable], ['kept', [['a', 'b']]]);
  });

  it('of equal layouts one with fewer barriers is taken', async () => {
    // c may lie over a or over b; only over a a barrier stands already.
    const { kernel } = await pass('  __shared__ float a[64], b[64], c[64];\n  const int t = threadIdx.x;\n  a[t] = in[t];\n  __syncthreads();\n  b[t] = a[t ^ 1];\n'
      + '  __syncthreads();\n  out[t] = b[t ^ 1];\n  c[t] = b[t];\n'
      + '  __syncthreads();\n  out[t] += c[t ^ 1];');
    deepStrictEqual([kernel.bytesAfter, kernel.barriersAdded, kernel.partitions.map(({ arrays }) => arrays)], [512, [], [['a', 'c'], ['b']]]);
  });
});

describe('scratchpad: the fewest barriers', function () {
  this.timeout(120_000); // on busy machines
  /** A flow graph: statements that touch arrays, barriers and slots, in a row with some jumps. */
  function flowOf(kinds: readonly number[], jumps: readonly (readonly [number, number])[]): Flow {
    const nodes: FlowNode[] = kinds.map((kind, id) => ({
      id, kind: kind === -1 ? 'barrier' : kind === -2 ? 'slot' : 'statement', node: undefined as never, place: undefined as never, effects: undefined,
        successors: id + 1 < kinds.length ? [id + 1] : [],
      accesses: kind >= 0 ? [{ array: kind, mode: 'w' as const, node: undefined as never, order: 0 }] : [], loops: [], exits: false, offset: id, closing: false,
    }));
    for (const [from, to] of jumps) nodes[from % kinds.length]!.successors.push(to % kinds.length);
    return { nodes, entry: 0, loops: [] };
  }

  /** Whether a way leads from an access of one array to one of another past no barrier and none of some slots. */
  function isOpen({ nodes }: Flow, a: number, b: number, cut: ReadonlySet<number>): boolean {
    const of = (array: number): FlowNode[] => nodes.filter((node) => node.accesses.some((access) => access.array === array));
    return of(a).some((start) => {
      const seen = new Set<number>();
      const stack = [...start.successors];
      while (stack.length > 0) {
        const at = stack.pop()!;
        if (seen.has(at) || nodes[at]!.kind === 'barrier' || cut.has(at)) continue;
        seen.add(at);
        if (of(b).includes(nodes[at]!)) return true;
        stack.push(...nodes[at]!.successors);
      }
      return false;
    });
  }

  it('no smaller set of slots would do: against all sets, on random graphs', () => {
    const graph = fc.tuple(fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 3, maxLength: 12 }), fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 3 }));
    fc.assert(fc.property(graph, ([kinds, jumps]) => {
      // A slot after every node, so that a cut always exists.
      const spaced = kinds.flatMap((kind) => [kind, -2]);
      const flow = flowOf(spaced, jumps.map(([from, to]) => [2 * from + 1, 2 * to + 1]));
      const pairs: [number, number][] = [[0, 1], [1, 2]];
      const chosen = new Set(placeBarriers(flow, pairs, new Set()).map(({ slot }) => slot));
      const cuts = (set: ReadonlySet<number>): boolean => pairs.every(([a, b]) => !isOpen(flow, a, b, set) && !isOpen(flow, b, a, set));
      ok(cuts(chosen));
      const slots = flow.nodes.filter((node) => node.kind === 'slot').map((node) => node.id).slice(0, 16);
      if (flow.nodes.filter((node) => node.kind === 'slot').length > 16) return;
      for (let mask = 0; mask < 1 << slots.length; ++mask) {
        const set = new Set(slots.filter((_, at) => (mask >> at & 1) === 1));
        if (set.size < chosen.size) ok(!cuts(set), `${[...set]} does instead of ${[...chosen]}`);
      }
    }), { numRuns: 60, seed: 4 });
  });

  it('closed slots are not used', () => {
    const flow = flowOf([0, -2, -2, 1], []);
    deepStrictEqual(placeBarriers(flow, [[0, 1]], new Set([2])).map(({ slot }) => slot), [1]);
  });
});

describe('scratchpad: the check of the emitted text', function () {
  this.timeout(120_000); // on busy machines
  const options: CheckOptions = { macros: [], defines: new Map(), trusted: new Set(), shape: undefined };
  const body = `${head}${use('a')}${use('b')}  if (n > 3) {\n    __syncthreads();\n${use('a')}  }`;

  const expectations = (bytes: number, barriers: number): Expected[] => [
    { ordinal: 0, name: 'k', bytes, barriers, accesses: [4, 2], rewritten: () => false },
  ];
  /** Two arrays of which the first is used again later: only with different live ranges can they share. */
  async function emitted(): Promise<{ source: string; barriers: number }> {
    const { source, kernel } = await pass(`${head}${use('a')}${use('b')}`);
    return { source, barriers: kernel.barriersAdded.length + kernel.barriersExisting.length };
  }

  it('passes what the pass wrote', async () => {
    const { source, barriers } = await emitted();
    await checkEmitted(source, [{ ...expectations(256, barriers)[0]!, accesses: [2, 2] }], options);
  });

  it('fails without any one of its barriers', async () => {
    const { source, barriers } = await emitted();
    const places = [...source.matchAll(/__syncthreads\(\);/g)].map((match) => match.index);
    strictEqual(places.length, barriers);
    for (const at of places) {
      const mutant = source.slice(0, at) + source.slice(at + '__syncthreads();'.length);
      await rejects(checkEmitted(mutant, [{ ...expectations(256, barriers)[0]!, accesses: [2, 2] }], options), /did not pass its check/);
    }
    // The one that was put in is missed also where nobody counts.
    const mutant = source.replace('  __syncthreads();\n  b[t]', '  b[t]');
    await rejects(checkEmitted(mutant, [{ ...expectations(256, barriers - 1)[0]!, accesses: [2, 2] }], options), /touched with no barrier between/);
  });

  it('fails where live ranges meet, offsets overlap, arrays leave the pool or accesses get lost', async () => {
    const { source } = await pass(body, { reuse: false });
    const barriers = [...source.matchAll(/__syncthreads\(\);/g)].length;
    const check = (text: string, bytes = 512, accesses = [4, 2]): Promise<void> =>
      checkEmitted(text, [{ ordinal: 0, name: 'k', bytes, barriers, accesses, rewritten: () => false }], options);
    await check(source);
    await rejects(check(source.replace(/\+ 256\)/, '+ 0)')), /needed after the other was touched|no barrier between/);
    await rejects(check(source.replace(/\+ 256\)/, '+ 128)')), /did not pass/);
    await rejects(check(source.replace(/\+ 256\)/, '+ 258)')), /not aligned|outside/);
    await rejects(check(source, 500), /outside of the pool/);
    await rejects(check(source.replace('out[t] += b[t ^ 1]', 'out[t] += 1')), /touched/);
    await rejects(check(source.replace(/auto& b = [^;]*;/, '')), /did not pass/);
    await rejects(check(source.replace('void k(', 'void other(')), /not found/);
    await rejects(check(source.replace('out[t] += b[t ^ 1]', 'out[t] += b[t ^ 1'), 512), /did not pass/);
  });

  it('random kernels keep their barriers apart: none can be left out', async function () {
    this.timeout(60_000);
    const random = new Random(9);
    let inserted = 0;
    for (let round = 0; round < 25; ++round) {
      const names = ['a', 'b', 'c', 'd'];
      const lines = Array.from({ length: 8 }, () => {
        const name = names[Math.floor(random.next() * 4)]!;
        const statement = use(name).trimEnd();
        const kind = random.next();
        return kind < 0.3 ? `  if (n > 3) {\n  ${statement}\n  }` : kind < 0.5 ? `  for (int i = 0; i < n; ++i) {\n  ${statement}\n  }` : kind < 0.7 ? `${statement}\n`
          + `  __syncthreads();` : statement;
      });
      const { source, kernel } = await pass(`  __shared__ float a[64], b[32], c[16], d[48];\n  const int t = threadIdx.x;\n${lines.join('\n')}`);
      if (kernel.status === 'kept') continue;
      const accesses = [...source.matchAll(/__syncthreads/g)].length;
      const count = names.map((name) => [...source.matchAll(new RegExp(`\\b${name}\\[t`, 'g'))].length);
      const check = (text: string, barriers: number): Promise<void> =>
        checkEmitted(text, [{ ordinal: 0, name: 'k', bytes: kernel.bytesAfter, barriers, accesses: count, rewritten: () => false }], options);
      await check(source, accesses);
      const textLines = source.split('\n');
      for (const { newLine } of kernel.barriersAdded) {
        ++inserted;
        strictEqual(textLines[newLine - 1]!.trim(), '__syncthreads();');
        await rejects(check(textLines.toSpliced(newLine - 1, 1).join('\n'), accesses - 1), /touched with no barrier between/);
      }
    }
    ok(inserted > 10, String(inserted));
  });
});
