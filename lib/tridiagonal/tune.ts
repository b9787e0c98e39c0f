// tridiagonal.tune: finds the fastest packing depth of cr-regpack on a device.
import { dirname } from 'node:path';
import { makeTypedArray } from '../core/arrays.ts';
import { callChecks } from '../core/call.ts';
import { abortSignal, callback, choice, fileName, number, text, whole } from '../core/checks.ts';
import { implicitDevice, type Device } from '../core/device.ts';
import { refusal, WarploomError } from '../core/errors.ts';
import { makeFolder, readText, writeFileAtomic } from '../core/files.ts';
import { elementAt } from '../core/known.ts';
import { normally, optionsOf, type ChecksOf, type Taken } from '../core/options.ts';
import { list, mapOf, record } from '../core/shapes.ts';
import { snapshot } from '../core/snapshot.ts';
import { solve } from './solve.ts';

/** Options of {@link tune}. */
export interface TuneOptions {
  readonly device?: Device;
  /** System sizes. Default: powers of two from 64 to 8192. */
  readonly sizes?: readonly number[];
  /** Default both. */
  readonly types?: readonly ('float32' | 'float64')[];
  /** Depths to try. Default 2, 4, 8, 16, 32. */
  readonly depths?: readonly number[];
  /** Unknowns per timed call, split into systems. Default 2^22; use far fewer on simt. */
  readonly unknowns?: number;
  /** Timed calls per depth; the median counts. Default 5. */
  readonly repeats?: number;
  readonly signal?: AbortSignal;
  /** Called with each finished row. */
  readonly onRow?: (row: TuneRow) => void;
}

/** Times of one size and type. */
export interface TuneRow {
  readonly type: 'float32' | 'float64';
  readonly n: number;
  readonly batch: number;
  /** Median device seconds by depth; depths that do not support the size are absent. */
  readonly seconds: Readonly<Record<string, number>>;
  /** The fastest depth. */
  readonly best: number;
}

/** A tuned policy, as {@link writePolicy} stores it. */
export interface TunedPolicy {
  readonly schema: 1;
  readonly backend: string;
  readonly device: string;
  readonly computeCapability: number;
  readonly date: string;
  readonly rows: readonly TuneRow[];
}

const some = { least: 1 };
const packings = [2, 4, 8, 16, 32] as const;

const checks = {
  device: callChecks.device,
  sizes: normally(list(whole(1), some), [64, 128, 256, 512, 1024, 2048, 4096, 8192]),
  types: normally(list(choice(['float32', 'float64'] as const), some), ['float32', 'float64']),
  depths: normally(list<number>(choice(packings), some), packings),
  unknowns: normally(whole(1), 2 ** 22),
  repeats: normally(whole(1), 5),
  signal: abortSignal,
  onRow: callback,
} satisfies ChecksOf<TuneOptions>;
const tuneOptions = optionsOf('tridiagonal.tune', checks);

/**
 * Times `cr-regpack` at every depth for each size and type and picks the fastest. Arrays stay on the device, one call warms up, and
 * the median of `repeats` device times is used. Sizes that no depth supports are omitted.
 *
 * @throws ArgumentError naming the option; what `solve` throws, except `ERR_WARPLOOM_UNSUPPORTED`
 */
export async function tune(given: TuneOptions = {}): Promise<TunedPolicy> {
  const options = snapshot(tuneOptions.read(given));
  const device = options.device ?? implicitDevice();
  const rows: TuneRow[] = [];
  for (const type of options.types) {
    for (const n of options.sizes) {
      const row = await tuneSize(device, type, n, options);
      if (row === undefined) continue;
      rows.push(row);
      options.onRow?.(row);
    }
  }
  const { name, computeCapability } = device.description;
  return { schema: 1, backend: device.backend, device: name, computeCapability, date: new Date().toISOString(), rows };
}

async function tuneSize(
  device: Device, type: 'float32' | 'float64', n: number, options: Taken<TuneOptions, typeof checks>,
): Promise<TuneRow | undefined> {
  const { depths, unknowns, repeats, signal } = options;
  const batch = Math.max(1, Math.floor(unknowns / n));
  const make = (value: number) => {
    const data = makeTypedArray(type, n * batch) as Float32Array | Float64Array;
    return device.array(data.fill(value));
  };
  using lower = await make(-1);
  using diagonal = await make(4);
  using upper = await make(-1);
  using rhs = await make(1);
  using out = await make(0);
  const seconds: Record<string, number> = {};
  for (const depth of depths) {
    const once = async () => (await solve({
      lower, diagonal, upper, rhs, out, n, batch, device, algorithm: 'cr-regpack', depth, signal,
    })).info.deviceSeconds;
    try {
      await once();
    } catch (error) {
      if (error instanceof WarploomError && error.code === 'ERR_WARPLOOM_UNSUPPORTED') continue;
      throw error;
    }
    const times: number[] = [];
    for (let repeat = 0; repeat < repeats; repeat += 1) times.push(await once());
    seconds[depth] = elementAt(times.sort((a, b) => a - b), Math.floor(times.length / 2));
  }
  const ranked = Object.entries(seconds).sort(([, a], [, b]) => a - b);
  return ranked.length === 0 ? undefined : { type, n, batch, seconds, best: Number(elementAt(ranked, 0)[0]) };
}

/**
 * A tuned policy as a readable table: one line per type and size, with the best depth marked.
 * @throws ArgumentError naming the field of an invalid policy
 */
export function formatPolicy(policy: TunedPolicy): string {
  requirePolicy(policy);
  const depths = [...new Set(policy.rows.flatMap(({ seconds }) => Object.keys(seconds).map(Number)))].sort((a, b) => a - b);
  const header = ['type', 'n', 'batch', ...depths.map((depth) => `depth ${depth}`), 'best'];
  const lines = policy.rows.map(({ type, n, batch, seconds, best }) => [
    type, String(n), String(batch),
    ...depths.map((depth) => (seconds[depth] === undefined ? '-' : `${(seconds[depth] * 1e6).toFixed(1)} us`)),
    String(best),
  ]);
  const widths = header.map((_, column) => Math.max(...[header, ...lines].map((line) => elementAt(line, column).length)));
  return [header, ...lines].map((line) => line.map((cell, column) => cell.padStart(elementAt(widths, column))).join('  ')).join('\n');
}

const checkPolicy = record({
  schema: choice([1]), backend: text(), device: text(), computeCapability: whole(Number.MIN_SAFE_INTEGER), date: text(),
  rows: list(record({
    type: choice(['float32', 'float64']), n: whole(1), batch: whole(1), seconds: mapOf(number({ least: 0 })),
    best: choice(packings),
  })),
});

function requirePolicy(policy: unknown): asserts policy is TunedPolicy {
  checkPolicy(policy, 'policy');
}

/**
 * A policy that {@link writePolicy} stored.
 * @throws ArgumentError naming `path` if the file does not contain one; FileError if it cannot be read
 */
export async function readPolicy(path: string): Promise<TunedPolicy> {
  fileName(path, 'path');
  const content = await readText(path);
  try {
    const policy: unknown = JSON.parse(content);
    requirePolicy(policy);
    return policy;
  } catch (error) {
    throw refusal('path', 'a policy as writePolicy stores it', path, { cause: error });
  }
}

/**
 * Stores a policy as JSON, completely or not at all.
 * @throws ArgumentError naming the field of an invalid policy; FileError if it cannot be written
 */
export async function writePolicy(path: string, policy: TunedPolicy): Promise<void> {
  fileName(path, 'path');
  requirePolicy(policy);
  const content = `${JSON.stringify(policy, null, 2)}\n`;
  await makeFolder(dirname(path));
  await writeFileAtomic(path, content);
}
