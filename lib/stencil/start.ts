// Starts runs: compiles, chooses an engine, takes the state from a checkpoint. Loaded by the first call that needs it.
import { loadCheckpoint } from '../core/checkpoint.ts';
import { Clock, type ClockState } from '../core/clock.ts';
import { findCompiler, NoCompilerError } from '../core/compile/compiler.ts';
import { implicitDevice } from '../core/device.ts';
import { refusal, UnavailableError } from '../core/errors.ts';
import { elementAt } from '../core/known.ts';
import { programText } from '../kernel/text.ts';
import { axisNames, imageDistance, sides, type Rules } from './boundary.ts';
import { programOf, remembered } from './compile/memo.ts';
import type { StencilProgram, Target } from './compile/stages.ts';
import { InterpreterEngine } from './engines/interpreter.ts';
import { JavaScriptEngine } from './engines/javascript.ts';
import type { Content, Engine } from './engines/span.ts';
import { Run } from './run.ts';
import { checkpointFormat } from './saved.ts';
import type { Inspection, Request } from './request.ts';
import type { Equation, RealArray } from './types.ts';

/** Compiles an equation for {@link inspect}. */
export function inspectEquation(
  equation: Equation,
  { spacing, rules, precision }: { readonly spacing: readonly number[]; readonly rules: Rules; readonly precision: 'float32' | 'float64' },
): Inspection {
  const made = programOf(equation, { spacing, rules, origin: spacing.map(() => 0), precision: precision === 'float32'
    ? 'f32' : 'f64', isAdaptive: equation.definition.speed !== undefined || equation.definition.diffusivity !== undefined });
  return {
    reach: made.reach, stages: made.stages.length, leastShape: made.leastCells,
    program: remembered(made, ['text'], () => programText(made.program)),
    reads: made.stages.map(({ point: { inputs } }) => inputs.flatMap((input) => (input.kind === 'y' || input.kind === 'c'
      ? [{ name: elementAt(input.kind === 'y' ? equation.fields : equation.coefficients, input.index), offset: input.offset }] : []))),
  };
}

/** Checks that boundary conditions find the inner cells that they need. */
function requireCells({ leastCells }: StencilProgram, shape: readonly number[]): void {
  shape.forEach((extent, axis) => {
    const least = elementAt(leastCells, axis);
    if (extent < least) {
      throw refusal(`shape[${axis}]`, `at least ${least} cells along ${elementAt(axisNames, axis)}, which its boundary conditions read`,
        `${extent}`);
    }
  });
}

/** Checks that Robin conditions have a solution beyond the boundary: alpha / 2 + beta / h is not 0 at any distance h that is read. */
function requireSolvable({ reach }: StencilProgram, { rules, spacing }: Target): void {
  rules.forEach((both, axis) => both.forEach((side, end) => side.forEach((rule) => {
    if (rule.kind !== 'robin') return;
    for (let k = 1; k <= elementAt(reach, axis); ++k) {
      const h = imageDistance(k, elementAt(spacing, axis));
      if (rule.alpha / 2 + rule.beta / h !== 0) continue;
      throw refusal(`boundary.${elementAt(axisNames, axis)}.${elementAt(sides, end)}.beta`,
        `a number other than ${rule.beta}, with which no value of cell ${k} beyond the boundary gives alpha u + beta ∂u/∂n = value`,
        `alpha ${rule.alpha}, beta ${rule.beta} and a spacing of ${elementAt(spacing, axis)}`);
    }
  })));
}

/** JavaScript can run functions only, not texts. */
function requireFunctions({ definition }: Equation, rules: Rules): void {
  const { rate, step, admissible, speed, diffusivity } = definition as unknown as Readonly<Record<string, unknown>>;
  const values = rules.flat(2).map((rule) => ('value' in rule ? rule.value : undefined));
  const all = [rate, step, admissible, speed, diffusivity, ...values].flat();
  if (all.some((each) => typeof each === 'string')) throw refusal('backend', 'another one for functions that are given as text',
    '\'javascript\'');
}

/** An engine in C++, where that was asked for. */
async function startCpp(request: Request, target: Target, made: StencilProgram, content: Content): Promise<Engine> {
  const { variant, threads, depth, signal } = request;
  if (variant !== 'auto' && variant !== 'streaming') throw refusal('variant', "'streaming' or 'auto' with backend cpp", `'${variant}'`);
  const { CppEngine } = await import('./engines/cpp.ts');
  return CppEngine.begin({ made, target, content, threads, depth, signal });
}

/** What runs equations on devices, once it is loaded. */
let choosing: Promise<typeof import('./engines/choose.ts')> | undefined;

async function engineFor(request: Request, target: Target, made: StencilProgram, content: Content): Promise<Engine> {
  const { equation, backend, variant, threads, rules, precision } = request;
  const refuseStreaming = (): void => {
    if (variant !== 'auto' && variant !== 'classic') {
      throw refusal('variant', `'classic' or 'auto' with backend ${backend}`, `'${variant}'`);
    }
  };
  switch (backend) {
    case 'interpreter':
      refuseStreaming();
      return new InterpreterEngine(made, content);
    case 'javascript':
      refuseStreaming();
      requireFunctions(equation, rules);
      if (precision === 'float32') throw refusal('precision', '\'float64\' with backend javascript, which computes in doubles',
        '\'float32\'');
      return new JavaScriptEngine(equation, target, made, content);
    case 'cpp': return startCpp(request, target, made, content);
    case 'wasm': break;
    default: {
      const device = request.device ?? implicitDevice();
      const wanted = backend === 'device' || request.device !== undefined;
      if ((!wanted && device.backend !== 'cuda') || (backend === 'auto' && device.backend === 'cpu')) break;
      try {
        const { startDeviceEngine } = await (choosing ??= import('./engines/choose.ts'));
        return await startDeviceEngine({ device, equation, made, target, content, request });
      } catch (error) {
        if (wanted || !(error instanceof UnavailableError)) throw error;
      }
    }
  }
  if (variant === 'streaming' && backend === 'auto') return startCpp(request, target, made, content);
  if (variant !== 'streaming') refuseStreaming();
  const { WasmEngine } = await import('./engines/wasm.ts');
  const engine = new WasmEngine(equation, made, content, { threads, depth: request.depth, isClassic: variant === 'classic' });
  if (variant === 'streaming' && engine.variant === 'classic') refuseStreaming();
  return backend === 'auto' && variant === 'auto' ? growing(engine, request, target, made, content) : engine;
}

/** Cells from which a run in WebAssembly goes on as C++ when it turns out to be long. */
const worthCpp = 2 ** 12;

/** The same engine where C++ is not worth it, or not there. */
async function growing(engine: Engine, request: Request, target: Target, made: StencilProgram, content: Content): Promise<Engine> {
  const { grid: { cells, members } } = content;
  const { threads, depth } = request;
  if (cells * members < worthCpp) return engine;
  const [{ CppEngine, prepareCpp }, { GrowingEngine }] = await Promise.all([import('./engines/cpp.ts'), import('./engines/growing.ts')]);
  if (!hasCompiler()) return engine;
  return new GrowingEngine(engine, (signal) => prepareCpp(made, target, { signal }),
    (initial, signal) => CppEngine.begin({ made, target, content: { ...content, initial }, threads, depth, signal }));
}

function hasCompiler(): boolean {
  try {
    findCompiler();
    return true;
  } catch (error) {
    if (error instanceof UnavailableError || error instanceof NoCompilerError) return false;
    throw error;
  }
}

/** A run that has been checked, with the state and the time that it begins with; not on any device yet. */
export interface Prepared {
  readonly request: Request;
  readonly made: StencilProgram;
  readonly target: Target;
  /** [member][field][cell], of the checkpoint where there is one. */
  readonly state: RealArray;
  /** Of the checkpoint. */
  readonly clock: ClockState | undefined;
}

/** Compiles the equation and reads the checkpoint, if there is one to continue from. */
export async function prepareRun(request: Request): Promise<Prepared> {
  const { equation, places: { shape, spacing, origin }, rules, precision, adaptive, resume, fingerprint } = request;
  const target: Target = { spacing, origin, rules, precision: precision === 'float32' ? 'f32' : 'f64', isAdaptive: adaptive !== undefined };
  const made = programOf(equation, target);
  requireCells(made, shape);
  requireSolvable(made, target);
  const saved = resume === undefined ? undefined : await loadCheckpoint(resume, checkpointFormat);
  if (saved === undefined) return { request, made, target, state: request.initial, clock: undefined };
  if (saved.parameters.fingerprint !== fingerprint) {
    throw refusal('resume', 'a checkpoint of the same equation, grid, boundary, parameters, coefficients and time step',
      'one of another run');
  }
  return { request, made, target, state: saved.arrays['state'] as RealArray, clock: saved.parameters.clock };
}

/** Begins a run. */
export async function beginRun({ request, made, target, state, clock }: Prepared): Promise<Run> {
  const { equation, places, members, parameters, coefficients, precision, dt, adaptive, end, fingerprint } = request;
  const { shape, cells, spacing } = places;
  const grid = { shape, cells, members, fields: equation.fields.length };
  const content: Content = { grid, initial: state, parameters, coefficients, precision: target.precision };
  const engine = await engineFor(request, target, made, content);
  return new Run({
    equation, engine, grid, spacing, made,
    // The origin of a clock moves along with steps of varying length, so its step does not matter.
    clock: new Clock(adaptive === undefined ? dt : 1, clock),
    dt, adaptive, precision, fingerprint, parameters, reach: made.reach, stages: made.stages.length, end,
  });
}
