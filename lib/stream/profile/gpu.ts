// Profiles of a GPU: the times of Algorithm 1, stored by program and device. Whatever measures them stores them here, and the schedulers
// read them through `selectConfiguration`.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { readText, writeFileAtomic } from '../../core/files.ts';
import { checkRuntimes, type GpuProperties, type RuntimeTable } from '../partition/index.ts';
import { cacheFolder } from '../../core/compile/cache.ts';

/** Times of a program's filters on a GPU. */
export interface GpuProfile {
  readonly kind: 'gpu';
  readonly device: GpuProperties;
  /** Driver and compiler, on which times depend. */
  readonly software: string;
  readonly table: RuntimeTable;
}

const count = z.number().int().positive();
const size = z.number().int().nonnegative();
/** JSON has no Infinity, so null stands for a configuration that cannot run. */
const time = z.number().nonnegative().nullable();
const storedSchema = z.strictObject({
  version: z.literal(1), kind: z.literal('gpu'), software: z.string(),
  device: z.strictObject({
    name: z.string(), multiprocessors: count, registers: count, registersPerThread: count, registerUnit: count, threads: count,
    threadsPerBlock: count, sharedBytes: size, sharedBytesPerBlock: size, memoryBytes: count,
  }),
  table: z.strictObject({
    registers: z.array(count), threads: z.array(count), firings: count, microseconds: z.array(z.array(z.array(time))),
  }),
});

type Times = RuntimeTable['microseconds'];

/** The profile as JSON. */
export function gpuProfileText({ kind, device, software, table }: GpuProfile): string {
  const text = (each: number): number | null => each === Infinity ? null : each;
  const microseconds = table.microseconds.map((byThreads) => byThreads.map((times) => times.map(text)));
  return `${JSON.stringify({ version: 1, kind, software, device, table: { ...table, microseconds } })}\n`;
}

/** Reads a profile of a program with this number of actors from JSON. Throws if the text is not one. */
export function readGpuProfile(text: string, actors: number): GpuProfile {
  const { kind, software, device, table } = storedSchema.parse(JSON.parse(text));
  const microseconds: Times = table.microseconds.map((byThreads) => byThreads.map((times) => times.map((each) => each ?? Infinity)));
  const whole = { ...table, microseconds };
  checkRuntimes(whole, actors);
  return { kind, software, device, table: whole };
}

/** The file of a program's profile on a device. `program` identifies the code of the filters. */
export interface GpuProfilePlace {
  readonly program: string;
  readonly device: GpuProperties;
  readonly software: string;
  readonly cacheFolder?: string;
}

function pathOf({ program, device, software, cacheFolder: folder }: GpuProfilePlace): string {
  const key = createHash('sha256').update(JSON.stringify([1, program, software, Object.entries(device).sort()])).digest('hex').slice(0, 40);
  return join(cacheFolder(folder, 'stream'), `${key}.gpu-profile.json`);
}

/** The stored profile of a program on a device; undefined if there is none or it is damaged. */
export async function keptGpuProfile(place: GpuProfilePlace, actors: number): Promise<GpuProfile | undefined> {
  const path = pathOf(place);
  try {
    return readGpuProfile(await readText(path), actors);
  } catch {
    return undefined; // none yet, or not one of ours
  }
}

/** Stores the times of a program on a device. */
export async function keepGpuProfile(place: GpuProfilePlace, table: RuntimeTable): Promise<void> {
  const { device, software } = place;
  await writeFileAtomic(pathOf(place), gpuProfileText({ kind: 'gpu', device, software, table }));
}
