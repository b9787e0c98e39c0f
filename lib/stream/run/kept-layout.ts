// What searches have found out about the layouts of a program's kernel, kept by program and device.
import { createHash } from 'node:crypto';
import { cacheFolder, keptText, keepText } from '../../core/compile/cache.ts';
import type { Device } from '../../core/device.ts';
import type { FusedOptions } from '../targets/cuda-layout.ts';
import type { FusedProgram } from '../targets/cuda.ts';

/** What is known of the layouts of a program. */
export interface KnownLayouts {
  /** The fastest one so far; undefined: the default one. */
  readonly layout: FusedOptions | undefined;
  /** By name: items per second over those of the default layout, measured beside it; 0 for layouts that cannot run. */
  readonly rates: Readonly<Record<string, number>>;
  /** Whether nothing is left to be timed. */
  readonly isWhole: boolean;
}

/** Most layouts of a program that are remembered. */
const mostRates = 200;

/** What a stored text says. Throws if it is not one of ours. */
async function knownIn(text: string): Promise<KnownLayouts> {
  const { z } = await import('zod');
  const layout = z.strictObject({
    threads: z.number().int().min(32).max(1024).multipleOf(32), sharedBytes: z.number().int().min(1).max(2 ** 18),
    minBlocks: z.number().int().min(1).max(32), groupSize: z.number().int().min(1).max(1e6),
    live: z.number().int().min(0).max(1e4).optional(), width: z.number().int().min(1).max(16), readsAhead: z.boolean(),
    hasTables: z.boolean().optional(), views: z.boolean().optional(),
  });
  const found = z.strictObject({
    version: z.literal(2), layout: layout.nullable(), rates: z.record(z.string().max(80), z.number().min(0)), isWhole: z.boolean(),
  }).parse(JSON.parse(text));
  return { layout: found.layout ?? undefined, rates: found.rates, isWhole: found.isWhole };
}

function keyOf({ source }: FusedProgram, { description: { name, computeCapability, driver } }: Device): string {
  return createHash('sha256').update(JSON.stringify(['layouts', 2, source, name, computeCapability, driver])).digest('hex').slice(0, 40);
}

/** What is kept of a program, given with its default layout; undefined: nothing. */
export async function knownLayouts(program: FusedProgram, device: Device): Promise<KnownLayouts | undefined> {
  try {
    const text = await keptText(cacheFolder(undefined, 'stream'), keyOf(program, device));
    return text === undefined ? undefined : await knownIn(text);
  } catch {
    return undefined; // no folder, or not one of ours
  }
}

/** Keeps what is known of a program, given with its default layout. */
export async function keepLayouts(program: FusedProgram, device: Device, { layout, rates, isWhole }: KnownLayouts): Promise<void> {
  const some = Object.fromEntries(Object.entries(rates).slice(0, mostRates));
  await keepText(cacheFolder(undefined, 'stream'), keyOf(program, device),
    JSON.stringify({ version: 2, layout: layout ?? null, rates: some, isWhole }));
}
