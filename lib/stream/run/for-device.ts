// Compiling a program for one device. What that takes is loaded at the first call.
import { truth } from '../../core/checks.ts';
import type { Device } from '../../core/device.ts';
import { normally, optionsOf, type ChecksOf } from '../../core/options.ts';
import type { StreamGraph } from '../graph.ts';
import { deviceCheck, requireDevice, stopChecks } from '../options.ts';
import { withGraph } from '../require.ts';
import { within } from '../stop.ts';
import type { DeviceProgram } from './device-program.ts';

/** Options of {@link compileForDevice}. */
export interface DeviceCompileOptions {
  /** Of backend cuda (or simt). Default: the thread's default device. */
  readonly device?: Device;
  /** Allows floating-point operations to be contracted, so that outputs differ in rounding. */
  readonly fast?: boolean;
  readonly signal?: AbortSignal;
  /** Time limit in milliseconds; default 600 000. */
  readonly timeout?: number;
}

const compileOptions = optionsOf('stream.compileForDevice', {
  ...stopChecks, timeout: normally(stopChecks.timeout, 600_000), fast: normally(truth, false), device: deviceCheck,
} satisfies ChecksOf<DeviceCompileOptions>);

/**
 * Compiles a program for a device: for runs on data that lies there, and to have compiled it before the first run. (`run` with
 * backend `cuda` compiles by itself.) What the compiler makes is kept between processes.
 *
 * @throws WarploomError with code ERR_WARPLOOM_UNSUPPORTED for programs that only the CPU can run: those with state that only firings in
 * order can find, messages, dynamic rates, feedback loops, files or prints, and those whose channels do not fit; UnavailableError if
 * nothing here compiles device code
 */
export async function compileForDevice(graph: StreamGraph, given: DeviceCompileOptions = {}): Promise<DeviceProgram> {
  const { device: asked, ...options } = compileOptions.read(given);
  if (asked !== undefined) await requireDevice(asked);
  return withGraph(graph, async () => within(options, async (signal) => {
    const [{ defaultDevice }, { CompiledGpu }, { DeviceProgram: Program }] = await Promise.all(
      [import('../../core/device.ts'), import('./gpu.ts'), import('./device-program.ts')]);
    const device = asked ?? await defaultDevice();
    return new Program(graph, await CompiledGpu.compile(graph, device, { fast: options.fast, signal }));
  }), options.signal);
}
