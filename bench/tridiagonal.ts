// Batched tridiagonal solves: time against the copy floor and the peers, by shape, precision and algorithm.
//
//   batch/<systems>x<n>/<float32|float64>/<cold|hot>/<algorithm>   GPU backends
//   batch/…/cr-regpack-paper                                       CR-RegPack to the letter of its paper (cuda/bench)
//   batch/…/public-<kernel>                                        constants of public kernels, timed elsewhere
//   shape/<name>/<float32|float64>/<auto|another way>              everyday shapes and layouts: tridiagonal-shapes.ts
//   cpu/20000x512/float64/auto                                     cpu backend, peers copy and lapack
//   accuracy/<family>/<precision>/<algorithm>                      accuracy.ts
//
// The floor of a row (peer `copy`) is measured beside it, on the same arrays: floor.ts. Cold: the sets in turn
// exceed the last cache several times.
import { availableParallelism } from 'node:os';
import { benchmarkAccuracy } from './accuracy.ts';
import type { Reports } from '../lib/core/operations.gen.ts';
import { isUnsupported, type BenchContext } from './domain.ts';
import { copyFloor, streamFloor } from './floor.ts';
import { nativeBenchmarks } from './native.ts';
import { emitPublicKernels } from './public-tridiagonal.ts';
import type { Row } from './report.ts';
import {
  bytesOf, DeviceSystems, precisions, randomBands, spotCheck, type HostBands, type Precision, type Shape,
} from './systems.ts';
import { time, type Timing } from './timing.ts';
import { benchmarkShapes } from './tridiagonal-shapes.ts';

export type Temperature = 'cold' | 'hot';

const shapes: readonly (Shape & { readonly temperatures: readonly Temperature[] })[] = [
  { systems: 512, n: 512, temperatures: ['hot', 'cold'] },
  { systems: 1024, n: 1024, temperatures: ['hot', 'cold'] },
  { systems: 2048, n: 2048, temperatures: ['cold'] },
  { systems: 4096, n: 4096, temperatures: ['cold'] },
  { systems: 65536, n: 512, temperatures: ['cold'] },
  { systems: 32768, n: 1024, temperatures: ['cold'] },
  { systems: 16384, n: 2048, temperatures: ['cold'] },
  { systems: 8192, n: 4096, temperatures: ['cold'] },
  { systems: 1_000_000, n: 64, temperatures: ['cold'] },
  { systems: 16, n: 2 ** 20, temperatures: ['cold'] },
  { systems: 1, n: 2 ** 20, temperatures: ['cold'] },
];
const quickShapes: typeof shapes = [{ systems: 64, n: 64, temperatures: ['hot'] }];

/** `pivoting` is `stable: true`. */
const algorithms = ['auto', 'cr-regpack', 'pivoting', 'cr', 'pcr', 'cr-pcr', 'pcr-thomas', 'thomas', 'partition'] as const;

/** `<systems>x<n>`. */
export const nameOf = ({ systems, n }: Shape): string => `${systems}x${n}`;

/** Least bytes that the sets of a cold row touch in turn: several times any last-level cache. */
const coldBytes = 512 * 2 ** 20;

function setCount(shape: Shape, precision: Precision, temperature: Temperature): number {
  if (temperature === 'hot') return 1;
  const setBytes = 5 * shape.systems * shape.n * bytesOf(precision);
  return Math.min(64, Math.max(1, Math.ceil(coldBytes / setBytes)));
}

/** Least seconds of a solve's bytes: on a GPU a, b, c, d read and x written, elsewhere a copy of as many bytes. */
async function measureFloor(context: BenchContext, sets: readonly DeviceSystems[]): Promise<Timing> {
  const { shape, precision } = sets[0]!;
  if (context.device.backend !== 'cuda') {
    return await copyFloor(context.device, 5 * shape.systems * shape.n * bytesOf(precision));
  }
  return await streamFloor(context.device, precision, sets.map(({ arrays }) => ({
    from: [arrays.lower, arrays.diagonal, arrays.upper, arrays.rhs], to: arrays.solution,
  })));
}

function peerAvailable(peer: string): boolean {
  return nativeBenchmarks().peers().some((entry) => entry.name === peer && entry.available);
}

/** Seconds of a peer, or undefined where it cannot run. */
async function measurePeer(
  context: BenchContext, operation: string, sets: readonly DeviceSystems[],
): Promise<number | undefined> {
  if (!peerAvailable(operation)) return undefined;
  const { solution } = sets[0]!.arrays;
  return (await time(context.device, solution, operation, sets.map((set) => set.peer()))).seconds;
}

/** A row and the options of its solve. */
export interface Variant {
  readonly id: string;
  readonly algorithm?: string;
  readonly stable?: boolean;
  readonly depth?: number;
  /** Another kernel of the addon instead of `tridiagonal.solve`, and what it is. */
  readonly peer?: { readonly operation: string; readonly note: string };
}

interface Measured {
  readonly floor: Timing;
  readonly peers: Record<string, number>;
}

async function solveRow(
  context: BenchContext, { id, peer, ...method }: Variant, sets: readonly DeviceSystems[], bands: HostBands,
  { floor, peers }: Measured,
): Promise<Row | undefined> {
  try {
    const timing = await time(
      context.device, sets[0]!.arrays.solution, peer?.operation ?? 'tridiagonal.solve',
      sets.map((set) => (peer === undefined ? set.solve(method) : { ...set.peer(), ...method })));
    const error = await spotCheck(sets[0]!, bands);
    const bound = sets[0]!.precision === 'float32' ? 1e-3 : 1e-11;
    if (error > bound) throw new Error(`${id}: backward error ${error}`);
    const { algorithm, depth, threads, launches } = timing.report as Reports['tridiagonal.solve'];
    return {
      id, value: timing.seconds, unit: 's', limit: floor.seconds, fraction: floor.seconds / timing.seconds, peers,
      spread: timing.spread,
      note: peer?.note ?? `${algorithm}, depth ${depth}, ${threads} threads, ${launches} launches`,
    };
  } catch (error) {
    if (!isUnsupported(error)) throw error;
    context.say(`${id}: ${error.message}`);
    return undefined;
  }
}

/** Rows of several methods on one batch, with one floor and one run of the peers. */
export async function benchmarkVariants(
  context: BenchContext, shape: Shape, precision: Precision, temperature: Temperature, variants: readonly Variant[],
): Promise<void> {
  const wanted = variants.filter(({ id }) => context.wanted(id));
  if (wanted.length === 0) return;
  const bands = randomBands(precision, shape.systems * shape.n, 1);
  using stack = new DisposableSets();
  for (let i = 0; i < setCount(shape, precision, temperature); i += 1) {
    stack.sets.push(await DeviceSystems.upload(context.device, shape, precision, bands));
  }
  const floor = await measureFloor(context, stack.sets);
  const peers: Record<string, number> = { copy: floor.seconds };
  const cusparse = context.device.backend === 'cuda'
    ? await measurePeer(context, 'bench.cusparse_strided', stack.sets) : undefined;
  if (cusparse !== undefined) peers['cusparse-strided'] = cusparse;
  for (const variant of wanted) {
    const row = await solveRow(context, variant, stack.sets, bands, { floor, peers });
    if (row !== undefined) context.emit(row);
  }
}

/** CR-RegPack as its paper has it: what equation 3 counts goes through shared memory. */
export const paperVariant = (id: string, depth: number): Variant => ({
  id, depth,
  peer: { operation: 'bench.paper_regpack', note: `a row of every thread through shared memory in each stage, depth ${depth}` },
});

/** The variants of a `batch/…` prefix: one per algorithm, and the paper's own. */
export function algorithmVariants(prefix: string): Variant[] {
  const ours = algorithms.map((algorithm) => ({
    id: `${prefix}/${algorithm}`, ...(algorithm === 'pivoting' ? { stable: true } : { algorithm }),
  }));
  return [...ours, paperVariant(`${prefix}/cr-regpack-paper`, 8)];
}

class DisposableSets implements Disposable {
  readonly sets: DeviceSystems[] = [];
  [Symbol.dispose](): void {
    for (const set of this.sets) set[Symbol.dispose]();
  }
}

/** The host: all cores, against a copy by all cores and LAPACK called by as many threads. */
async function benchmarkCpu(context: BenchContext): Promise<void> {
  const shape: Shape = context.quick ? { systems: 200, n: 512 } : { systems: 20000, n: 512 };
  for (const precision of precisions) {
    const id = `cpu/${nameOf(shape)}/${precision}/auto`;
    if (!context.wanted(id)) continue;
    const bands = randomBands(precision, shape.systems * shape.n, 1);
    using systems = await DeviceSystems.upload(context.device, shape, precision, bands);
    const floor = await measureFloor(context, [systems]);
    const peers: Record<string, number> = { copy: floor.seconds };
    const lapack = await measurePeer(context, 'bench.lapack', [systems]);
    if (lapack !== undefined) peers['lapack'] = lapack;
    const row = await solveRow(context, { id, algorithm: 'auto' }, [systems], bands, { floor, peers });
    const reason = nativeBenchmarks().peers().find((peer) => peer.name === 'bench.lapack')!.reason;
    if (row !== undefined) context.emit({ ...row, note: `${availableParallelism()} cores; lapack: ${reason}` });
  }
}

/** All rows of the domain on the context's device. */
export async function benchmarkTridiagonal(context: BenchContext): Promise<void> {
  if (context.device.backend === 'cpu') await benchmarkCpu(context);
  else {
    for (const { temperatures, ...shape } of context.quick ? quickShapes : shapes) {
      for (const precision of precisions) {
        for (const temperature of temperatures) {
          const variants = algorithmVariants(`batch/${nameOf(shape)}/${precision}/${temperature}`);
          await benchmarkVariants(context, shape, precision, temperature, variants);
          if (context.device.backend === 'cuda') emitPublicKernels(context, `batch/${nameOf(shape)}/${precision}/${temperature}`);
        }
      }
    }
    await benchmarkShapes(context);
  }
  await benchmarkAccuracy(context);
}
