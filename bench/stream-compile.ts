// What large programs take until they run: graphs of hundreds to thousands of nodes, asked for as C++. Rows, processor seconds of this
// process and of the compilers that it starts:
//   stream/compile/<graph>/elaborate   parsing, checking, elaboration
//   stream/compile/<graph>/cpp         planning, writing and compiling for `backend: 'cpp'`, and a short run; where the program is too
//                                      large for a C++ compiler it runs as WebAssembly, and the note says so
//   stream/compile/<graph>/wasm        the same for `backend: 'wasm'`
import { readFileSync } from 'node:fs';
import { elaborate } from '../lib/stream/compile.ts';
import { run } from '../lib/stream/run/index.ts';
import type { HostContext } from './domain.ts';

const filters = {
  /** One line of arithmetic; `salt` differs from call to call, so that nothing compiled before serves. */
  line: (salt: number) => `float->float filter F(int k) { work push 1 pop 1 { push(pop() * (k - 3.5) + ${salt}.5); } }`,
  window: (salt: number) => `float->float filter F(int k) { float[16] h; init { for (int i = 0; i < 16; i++) h[i] = i * k - ${salt}; }
    work push 1 pop 1 peek 16 { float s = 0; for (int i = 0; i < 16; i++) s += h[i] * peek(i); push(s); pop(); } }`,
  state: (salt: number) => `float->float filter F(int k) { float sum;
    work push 1 pop 1 { sum = 0.5 * sum + pop() * k; push(sum - ${salt}); } }`,
} as const;
type Kind = keyof typeof filters;

const splitJoin = (n: number): string =>
  `float->float splitjoin P { split duplicate; for (int i = 0; i < ${n}; i++) add F(i); join roundrobin; }`;
const pipeline = (n: number): string => `float->float pipeline P { for (int i = 0; i < ${n}; i++) add F(i); }`;
/** Split-joins in each other: 3 nodes on each level for each branch. */
const tree = (levels: number): string => `float->float pipeline P { add T(${levels}, 1); }
  float->float splitjoin T(int levels, int k) { split roundrobin; for (int b = 0; b < 2; b++)
    if (levels == 0) add F(2 * k + b); else add pipeline { add F(k); add T(levels - 1, 2 * k + b); }; join roundrobin; }`;

/** A large program: filters of one kind in a shape. */
export interface LargeGraph { readonly name: string; readonly shape: string; readonly filter: Kind }

/** The programs of the report; sizes are nodes, splitters and joiners among them. */
export const largeGraphs: readonly LargeGraph[] = [
  { name: 'line-split-join-502', shape: splitJoin(500), filter: 'line' },
  { name: 'window-split-join-502', shape: splitJoin(500), filter: 'window' },
  { name: 'state-pipeline-500', shape: pipeline(500), filter: 'state' },
  { name: 'line-split-join-1500', shape: splitJoin(1498), filter: 'line' },
  { name: 'state-pipeline-4000', shape: pipeline(4000), filter: 'state' },
  { name: 'line-split-join-5000', shape: splitJoin(4998), filter: 'line' },
  { name: 'window-split-join-5000', shape: splitJoin(4998), filter: 'window' },
  { name: 'line-split-join-10000', shape: splitJoin(9998), filter: 'line' },
  { name: 'state-pipeline-10000', shape: pipeline(10_000), filter: 'state' },
  { name: 'line-tree-8188', shape: tree(10), filter: 'line' },
];

/** The source of a large program. */
export const largeSource = ({ shape, filter }: LargeGraph, salt: number): string => `${shape}\n${filters[filter](salt)}`;

/** Processor seconds of this process and of its children that have ended. */
function processorSeconds(): number {
  const { user, system } = process.cpuUsage();
  let children = 0;
  try {
    const fields = readFileSync('/proc/self/stat', 'latin1').split(') ')[1]!.split(' ');
    children = (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    // Only Linux tells.
  }
  return (user + system) / 1e6 + children;
}

/** `npm run bench -- stream --compile`. */
export async function benchmarkStreamCompile({ emit, wanted, quick }: HostContext): Promise<void> {
  const input = Float32Array.from({ length: 64 }, (_, i) => i % 7);
  for (const large of quick ? largeGraphs.slice(0, 1) : largeGraphs) {
    const id = `stream/compile/${large.name}`;
    if (!wanted(id)) continue;
    for (const backend of ['cpp', 'wasm'] as const) {
      const start = processorSeconds();
      const { graph } = await elaborate(largeSource(large, Date.now() % 100_000));
      const { length } = graph.nodes;
      const elaborating = processorSeconds() - start;
      if (backend === 'cpp') emit({ id: `${id}/elaborate`, value: elaborating, unit: 's', spread: 0, note: `${length} nodes` });
      const begin = processorSeconds(), clock = performance.now();
      const { note, backend: by } = await run(graph, { backend, input, threads: 1 });
      const seconds = processorSeconds() - begin;
      const byClock = `${((performance.now() - clock) / 1e3).toFixed(1)} s by the clock`;
      emit({ id: `${id}/${backend}`, value: seconds, unit: 's', spread: 0, note: note ?? `${by}, ${byClock}` });
    }
  }
}
