// Layouts that a search found to be the fastest for a program's kernel, kept by program and device.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { cacheFolder } from '../../core/compile/cache.ts';
import type { Device } from '../../core/device.ts';
import { readText, writeFileAtomic } from '../../core/files.ts';
import type { FusedOptions } from '../targets/cuda-layout.ts';
import type { FusedProgram } from '../targets/cuda.ts';

/** The layout in a stored text. Throws if it is not one of ours. */
async function layoutIn(text: string): Promise<FusedOptions | null> {
  const { z } = await import('zod');
  const layout = z.strictObject({
    threads: z.number().int().min(32).max(1024).multipleOf(32), sharedBytes: z.number().int().min(1).max(2 ** 18),
    minBlocks: z.number().int().min(1).max(32), groupSize: z.number().int().min(1).max(1e6),
    live: z.number().int().min(0).max(1e4).optional(), width: z.number().int().min(1).max(16), readsAhead: z.boolean(),
    hasTables: z.boolean().optional(), views: z.boolean().optional(),
  });
  return z.strictObject({ version: z.literal(1), layout: layout.nullable() }).parse(JSON.parse(text)).layout;
}

function pathOf({ source }: FusedProgram, { description: { name, computeCapability, driver } }: Device): string {
  const key = createHash('sha256').update(JSON.stringify([1, source, name, computeCapability, driver])).digest('hex').slice(0, 40);
  return join(cacheFolder(undefined, 'stream'), `${key}.layout.json`);
}

/**
 * The layout that is kept for a program, given with its default layout. `byDefault`: a search found the default layout to be the fastest;
 * undefined: none is kept.
 */
export async function keptLayout(program: FusedProgram, device: Device): Promise<FusedOptions | 'byDefault' | undefined> {
  try {
    return await layoutIn(await readText(pathOf(program, device))) ?? 'byDefault';
  } catch {
    return undefined; // none yet, or not one of ours
  }
}

/** Keeps a layout for a program, given with its default layout; undefined: the default one is the fastest. */
export async function keepLayout(program: FusedProgram, device: Device, layout: FusedOptions | undefined): Promise<void> {
  await writeFileAtomic(pathOf(program, device), `${JSON.stringify({ version: 1, layout: layout ?? null })}\n`);
}
