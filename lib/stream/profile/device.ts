// Algorithm 1 on a device: each filter of a program alone on all multiprocessors, with the functions that its schedules run, by every
// number of threads and limit on registers.
import { createHash } from 'node:crypto';
import { lastOf, required } from '../../core/known.ts';
import type { Device } from '../../core/device.ts';
import { refusal } from '../../core/errors.ts';
import type { DeviceModule } from '../../core/module.ts';
import { arithmeticHeader } from '../../kernel/print/c-family.ts';
import type { StreamGraph } from '../graph.ts';
import { blockSizes, registerLimits, type GpuProperties, type RuntimeTable } from '../partition/index.ts';
import { programFor, widthOf } from '../run/gpu-pipelined.ts';
import { codesByActor, shuffleItems } from '../run/gpu-lists.ts';
import { emptyLaunch, soloTime } from '../run/gpu-solo.ts';
import { openedFor } from '../run/on-device.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { pipelinePlan, type PipelineProgram } from '../targets/cuda-pipeline.ts';
import { keepGpuProfile, keptGpuProfile, type GpuProfilePlace } from './gpu.ts';
import type { DeviceProfile, DeviceProfileOptions } from './types.ts';

/** Firings of a multiprocessor, at least, so that a launch takes long beside its start; the shim has no such start. */
const leastFirings = { cuda: 24_000, simt: 1 };
/** Microseconds of a run that is too short to be told from an empty one. */
const leastTime = 1e-3;
/** The share of the device's memory, and the bytes, that channels of a run may take. */
const memoryShare = 1 / 4, mostBytes = 2 ** 28;

/** What devices of the supported architectures have; none tells it all (a profile keeps it, so that others can be told apart). */
export function propertiesOf({ description }: Device): GpuProperties {
  const { name, multiprocessors, memoryBytes, computeCapability } = description;
  const isTuring = computeCapability === 75, isSmall = computeCapability % 10 !== 0;
  const [sharedBytes, sharedBytesPerBlock] = isTuring ? [65_536, 65_536] : isSmall ? [102_400, 101_376]
    : computeCapability >= 90 ? [233_472, 232_448] : [167_936, 166_912];
  return {
    name, multiprocessors, registers: 65_536, registersPerThread: 255, registerUnit: 256, threads: isTuring ? 1024 : isSmall ? 1536 : 2048,
    threadsPerBlock: 1024, sharedBytes, sharedBytesPerBlock, memoryBytes: Math.max(1, memoryBytes),
  };
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}

/** The table's rows and columns, without times. */
function shapeOf(device: Device, options: DeviceProfileOptions): Omit<RuntimeTable, 'microseconds'> {
  const { threads = blockSizes, mode = 'swp', layout = 'block' } = options;
  const unit = mode === 'swpnc' ? 32 : widthOf(layout);
  const odd = threads.find((count) => count % unit !== 0);
  if (odd !== undefined) throw refusal('threads', `multiples of ${unit}`, String(odd));
  const whole = [...threads, shuffleItems].reduce((a, b) => a / gcd(a, b) * b, 1);
  const least = device.backend === 'cuda' ? leastFirings.cuda : leastFirings.simt;
  const firings = options.firings ?? Math.ceil(least / whole) * whole;
  if (firings % whole !== 0) throw refusal('firings', `a multiple of ${whole}`, String(firings));
  // The shim has no registers.
  const registers = options.registers ?? (device.backend === 'cuda' ? registerLimits(propertiesOf(device), threads) : [255]);
  return { registers, threads, firings };
}

/** The program under a limit on registers. */
function compiledWith(
  registers: number, { source, kernel }: PipelineProgram, device: Device, signal: AbortSignal | undefined,
): Promise<DeviceModule> {
  return device.module({
    source, kernels: [kernel], headers: { 'arithmetic.h': arithmeticHeader() },
    ...(device.backend === 'cuda' ? { maxRegisters: registers } : {}), ...(signal === undefined ? {} : { signal }),
  });
}

/** The times of all filters under one limit on registers. */
async function timesUnder(
  module: DeviceModule, shape: Omit<RuntimeTable, 'microseconds'>, program: PipelineProgram, device: Device,
  { signal, step }: { readonly signal: AbortSignal | undefined; readonly step: () => void },
): Promise<number[][]> {
  const { limitBytes } = device.memory();
  const most = limitBytes === 0 ? mostBytes : Math.min(mostBytes, memoryShare * limitBytes);
  const blocks = device.description.multiprocessors;
  const nothing = await emptyLaunch(program, device, module, blocks);
  const times: number[][] = [];
  const codes = codesByActor(program.instances, program.actors.groups.length).map(({ code }) => code);
  for (const threads of shape.threads) {
    const own: number[] = [];
    // Filters of one code move the same items, and differ in constants only.
    const known = new Map<number, number>();
    for (const { id: actor } of program.graph.actors) {
      signal?.throwIfAborted();
      const code = codes[actor] ?? -1, before = known.get(code);
      if (before !== undefined) {
        own.push(before);
        step();
        continue;
      }
      const time = await soloTime(program, device, module, { actor, threads, firings: shape.firings, blocks, mostBytes: most });
      own.push(time === Infinity ? Infinity : Math.max(leastTime, time - nothing));
      if (code >= 0) known.set(code, lastOf(own));
      step();
    }
    times.push(own);
  }
  return times;
}

/** What `profile` does on a device. */
export async function measureOnDevice(graph: StreamGraph, options: DeviceProfileOptions): Promise<DeviceProfile> {
  const { backend, mode = 'swp', layout = 'block', force = false, cacheFolder, signal, onProgress } = options;
  if (mode === 'swpnc' && options.layout !== undefined) throw refusal('layout', "none with mode 'swpnc'", options.layout);
  const device = options.device ?? await openedFor(backend);
  const shape = shapeOf(device, options);
  const planned = pipelinePlan(graph);
  if (planned.isContinued) throw new UnsupportedProgram('the program has state or feedback loops, whose costs are counted');
  const program = programFor(planned, { mode, width: widthOf(layout), threads: lastOf(shape.threads) });
  const actors = program.graph.actors.length;
  const place: GpuProfilePlace = {
    program: createHash('sha256').update(JSON.stringify(shape)).update(program.source).digest('hex'), device: propertiesOf(device),
    software: `${device.backend} ${device.description.driver}`, ...(cacheFolder === undefined ? {} : { cacheFolder }),
  };
  const kept = force ? undefined : await keptGpuProfile(place, actors);
  if (kept !== undefined) return { ...kept, mode, layout, cached: true };
  const total = shape.registers.length * shape.threads.length * actors;
  let done = 0;
  const step = (): void => { onProgress?.(++done, total); };
  const microseconds: number[][][] = [];
  // All are compiled at once, and run one after the other.
  const modules = await Promise.allSettled(shape.registers.map((registers) => compiledWith(registers, program, device, signal)));
  try {
    const failed = modules.find((each) => each.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    // A limit that changes nothing gives the same code as another one.
    const known = new Map<string, number[][]>();
    for (const made of modules) {
      if (made.status === 'rejected') continue;
      const { registers, localBytes } = required(made.value.kernels.get(program.kernel)), key = `${registers} ${localBytes}`;
      const before = device.backend === 'cuda' ? known.get(key) : undefined;
      const times = before ?? await timesUnder(made.value, shape, program, device, { signal, step });
      if (before !== undefined) for (let i = 0; i < total / shape.registers.length; ++i) step();
      known.set(key, times);
      microseconds.push(times);
    }
  } finally {
    for (const made of modules) if (made.status === 'fulfilled') made.value.dispose();
  }
  const table = { ...shape, microseconds };
  await keepGpuProfile(place, table);
  return { kind: 'gpu', device: place.device, software: place.software, table, mode, layout, cached: false };
}
