// kernel.compile: a function, compiled ahead.
import { describeValue } from '../../core/arrays.ts';
import { choice, requireList } from '../../core/checks.ts';
import type { Device } from '../../core/device.ts';
import { briefly } from '../../core/display.ts';
import { refusal } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { optionsOf, type ChecksOf } from '../../core/options.ts';
import { programText } from '../text.ts';
import { compiledFor, type Compiled } from './compiled.ts';
import { callChecks, mapArrays } from './map.ts';
import { siteOf } from './place.ts';
import { arrange, elementNames, functionsOf, kindsOf, resultTypes, scalarTypes, sourceOf, type Kind } from './point.ts';
import { readInputs } from './operands.ts';
import { reduceArrays } from './reduce.ts';
import type {
  KernelBackend, KernelCallOptions, KernelElement, KernelInput, MapOptions, ReduceResult, Reduction,
} from './types.ts';

/** A kind of argument: a number given at each call, or the elements of an array. */
export type ArrayKind = 'number' | KernelElement;
/** A kind for each parameter. */
export type ArrayKinds = readonly ArrayKind[];

/** Options of {@link compile}. */
export interface CompileOptions {
  /** The device to compile for. Default: the CPU. */
  readonly device?: Device;
  /** Where to run: as in `map`. */
  readonly backend?: KernelBackend;
  /** Element type of results that are numbers. Default: the precision in which the function is computed. */
  readonly type?: KernelElement;
  /** Functions that it may call: as in `map`. */
  readonly functions?: KernelCallOptions['functions'];
  readonly signal?: AbortSignal;
}

/** What was made of a function. */
export interface KernelInfo {
  readonly backend: KernelBackend;
  /** The precision in which it is computed. */
  readonly precision: 'float32' | 'float64';
  /** Element types of the results, in the arrangement in which the function returns them. */
  readonly results: unknown;
  /** The generated code: CUDA C++ for devices, otherwise the compiler's representation. */
  readonly source: string;
  /** Whether it had been compiled before in this process. */
  readonly cached: boolean;
  /** On devices: registers and spilled bytes of a thread. */
  readonly registers?: number;
  readonly localBytes?: number;
}

type Inputs<F> = F extends (...args: infer Args) => unknown ? { readonly [K in keyof Args]: KernelInput } : readonly KernelInput[];

/** A function that has been compiled for kinds of inputs by {@link compile}. */
export interface CompiledKernel<F = unknown> {
  readonly info: KernelInfo;
  /** Applies it: as `kernel.map`, to inputs of the kinds that it was compiled for. */
  map(inputs: Inputs<F>, options?: MapOptions): Promise<unknown>;
  /** Applies it and combines its values: as `kernel.reduce`. */
  reduce(
    inputs: Inputs<F>, reduction: Reduction, options?: KernelCallOptions,
  ): Promise<F extends (...args: never[]) => infer R ? ReduceResult<R> : unknown>;
}

const { device: deviceCheck, backend: backendCheck, signal: signalCheck, functions: functionsCheck } = callChecks;
const compileOptions = optionsOf('kernel.compile', {
  device: deviceCheck, backend: backendCheck, signal: signalCheck, functions: functionsCheck,
  type: choice<KernelElement>(['float32', 'float64', 'int32']),
} satisfies ChecksOf<CompileOptions>);

const kindCheck = choice<Kind>(['number', 'float32', 'float64', 'int32']);
const wasmCompiled = new WeakSet<Compiled>();

function readKinds(given: unknown): Kind[] {
  requireList(given, 'kinds');
  return Array.from({ length: given.length }, (_, i) => {
    kindCheck(given[i], `kinds[${i}]`);
    return given[i] as Kind;
  });
}

/** Compiles a function: see `compile` of ../index.ts. */
export async function compileKernel(f: unknown, given: unknown, options: CompileOptions): Promise<CompiledKernel> {
  const { device, backend, type, signal, functions } = compileOptions.read(options);
  signal?.throwIfAborted();
  const kinds = readKinds(given);
  const compiled = compiledFor(sourceOf(f), kinds, functionsOf(functions));
  const { point } = compiled;
  const results = resultTypes(point, type && scalarTypes[type]);
  const site = await siteOf(device, backend, []);
  let info: KernelInfo;
  const common = {
    precision: point.precision === 'f32' ? 'float32' : 'float64',
    results: arrange(point.arrangement, results.map((each) => elementNames[each])),
  } as const;
  if (site.kind === 'device') {
    const request = { results, rank: 0 };
    const cached = compiled.readyOn(site.device, request) !== undefined;
    const { text, module } = await compiled.onDevice(site.device, request, signal);
    const { registers, localBytes } = elementAt([...module.kernels.values()], 0);
    info = { ...common, backend: site.device.backend as KernelBackend, source: text.source, cached, registers, localBytes };
  } else {
    const kernel = compiled.hostMap(results, site.backend);
    if (site.backend === 'wasm') kernel.prepare();
    info = { ...common, backend: site.backend, source: programText(kernel.program.program), cached: wasmCompiled.has(compiled) };
    wasmCompiled.add(compiled);
  }
  const where = { ...(device && { device }), ...(backend && { backend }), ...(functions && { functions }) };
  const requireKinds = (inputs: unknown): void => {
    const own = kindsOf(readInputs(inputs));
    if (own.join() !== kinds.join()) throw refusal('inputs', kinds.join(', '), own.join(', ') || describeValue(inputs));
  };
  return briefly<CompiledKernel>('CompiledKernel', {
    info,
    async map(inputs, more = {}) {
      requireKinds(inputs);
      return mapArrays(f, inputs, { ...where, ...(type && { type }), ...more });
    },
    async reduce(inputs, reduction, more = {}) {
      requireKinds(inputs);
      return reduceArrays(f, inputs, reduction, { ...where, ...more }) as never;
    },
  });
}
