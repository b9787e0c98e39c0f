// Equations on the host's cores: compiled C++ with several steps per pass and with one, WebAssembly, and Python's arrays beside them.
//
//   stencil/<equation>/<dims>/<size>/<cpp|cpp-one-core|cpp-depth-1|wasm>   seconds per step; the limit is one read and one write of the
//   state at the rate at which as many cores copy memory
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { BenchContext } from './domain.ts';
import { summarise } from './statistics.ts';
import { measureRow, type Problem } from './stencil-row.ts';

/** A problem, and how NumPy takes a step of it. */
export interface HostCase extends Problem {
  readonly python?: { readonly slices: string; readonly loops: string };
}

/** How a row runs. */
interface Way {
  readonly name: string;
  readonly options: object;
  readonly isOneCore?: boolean;
}

const ways: readonly Way[] = [
  { name: 'cpp', options: { backend: 'cpp' } },
  { name: 'cpp-one-core', options: { backend: 'cpp', threads: 1 }, isOneCore: true },
  { name: 'cpp-depth-1', options: { backend: 'cpp', depth: 1 } },
  { name: 'wasm', options: { backend: 'wasm' } },
];

const seconds = 0.3, repeats = 7;

/** Bytes a second that one core reads and writes when it copies an array. */
function oneCoreRate(bytes: number): number {
  const from = new Float64Array(bytes / 16).fill(1), to = new Float64Array(bytes / 16);
  const found: number[] = [];
  for (let i = 0; i < repeats + 1; ++i) {
    const began = performance.now();
    to.set(from);
    found.push((performance.now() - began) / 1000);
  }
  return bytes / summarise(found.slice(1)).median;
}

const script = (size: number, steps: number, { slices, loops }: NonNullable<HostCase['python']>): string => `
import json, time
import numpy as np
def median(step):
    u, v = np.full((${size}, ${size}), 0.5), np.full((${size}, ${size}), 0.5)
    step(u, v)
    found = []
    for _ in range(${repeats}):
        began = time.perf_counter()
        for _ in range(${steps}):
            step(u, v)
            u, v = v, u
        found.append((time.perf_counter() - began) / ${steps})
    return sorted(found)[len(found) // 2]
def slices(u, v):
    ${slices}
made = {'NumPy ' + np.__version__ + ', slices': median(slices)}
try:
    import numba
    @numba.njit(parallel=True)
    def loops(u, v):
        for i in numba.prange(1, ${size} - 1):
            for j in range(1, ${size} - 1):
                ${loops}
    made['Numba ' + numba.__version__ + ', all cores'] = median(loops)
except ImportError:
    pass
print(json.dumps(made))
`;

/** Seconds per step of what Python has; nothing where there is no NumPy. */
async function peersOf({ python, shape, small }: HostCase, quick: boolean): Promise<Readonly<Record<string, number>>> {
  if (python === undefined) return {};
  try {
    const text = script((quick ? small : shape)[0]!, quick ? 2 : 3, python);
    const { stdout } = await promisify(execFile)('python3', ['-c', text], { timeout: 300_000 });
    return JSON.parse(stdout) as Record<string, number>;
  } catch {
    return {};
  }
}

async function row(
  context: BenchContext, each: HostCase, { name, options }: Way, id: string, rate: number, peers: Readonly<Record<string, number>>,
): Promise<void> {
  try {
    await measureRow(context, each, {
      id, options, rate, seconds, repeats, peers, steps: (depth) => ({ warm: 2 * depth, unit: depth }),
      note: ({ reason }, cells) => `${(cells / 1e9).toFixed(2)} G cells/s (${name === 'wasm' ? 'WebAssembly' : 'C++'}); ${reason}`,
    });
  } catch (error) {
    context.say(`${id}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Measures the cases on the host. `rate`: bytes a second that all cores read and write when they copy. */
export async function hostRows(context: BenchContext, cases: readonly HostCase[], rate: number): Promise<void> {
  const { quick } = context;
  const one = oneCoreRate(quick ? 2 ** 16 : 2 ** 29);
  context.say(`copy: all cores ${(rate / 1e9).toFixed(1)} GB/s, one core ${(one / 1e9).toFixed(1)} GB/s, read and written`);
  for (const each of cases) {
    const idOf = ({ name }: Way): string => `stencil/${each.name}/${each.shape.length}/${each.shape.join('x')}/${name}`;
    const wanted = ways.filter((way) => context.wanted(idOf(way)));
    if (wanted.length === 0) continue;
    const peers = await peersOf(each, quick);
    for (const way of wanted) await row(context, each, way, idOf(way), way.isOneCore === true ? one : rate, peers);
  }
}
