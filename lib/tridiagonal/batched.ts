// How calls of solve, multiply and plans share launches (core/batching).
import { isObject } from '../core/arrays.ts';
import { batchable, loneBytes, type Outcome, type TakenCall } from '../core/batching/rule.ts';
import { giveBack, partOf } from '../core/batching/parts.ts';
import { DeviceArray, type Device } from '../core/device.ts';
import { briefly } from '../core/display.ts';
import type { Problem } from '../linear/problem.ts';
import { SystemStatuses } from '../linear/status.ts';
import { isRealArray, isSplit } from '../linear/views.ts';
import {
  bytesOf, completeInputs, isPlain, isSharedBand, joinedArrays, partsOf, resultPart, statusPart, takenAlone, type Arrays,
} from './batched-arrays.ts';
import { multiply, multiplyOptions, prepare as prepareMultiply, type MultiplyOptions } from './multiply.ts';
import { Plan, type PlanSolveOptions } from './plan.ts';
import { prepare, solve, Solved, solveOptions, type SolveOptions, type SolveResult } from './solve.ts';
import type { Algorithm, Depth, RealArray, Vector } from './types.ts';

/** A call of `solve` or `multiply` that can share a launch. */
interface PlainCall extends TakenCall<Device> {
  readonly problem: Problem;
  /** Copies of its inputs, complete. */
  readonly arrays: Arrays;
  /** Its options besides arrays and shape: alike for all calls of a launch. */
  readonly rest: Readonly<Record<string, unknown>>;
  readonly out: Vector | undefined;
  /** Whether nobody else has its arrays or results. */
  readonly owned: boolean;
}

type Given = Readonly<Record<string, unknown>>;

/** The options of a call that are the same for all calls of its launch, and a key for them and the shape. */
function restOf(
  operation: string, problem: Problem, options: Given, names: readonly string[],
): { rest: Given; key: string } {
  const { type, shape: { n, batch, rhsCount } } = problem;
  const rest: Record<string, unknown> = {};
  let key = `${operation} ${type} ${n} ${batch} ${rhsCount}`;
  for (const name of names) {
    const value = options[name];
    if (value !== undefined) rest[name] = value;
    key += ` ${String(value)}`; // words, numbers and truth values
  }
  return { rest, key };
}

/** The options of one call, or of `count` calls with joined arrays. */
function optionsOf({ problem, rest }: PlainCall, arrays: Arrays, count: number, device: Device, signal: AbortSignal | undefined): Given {
  const { type, shape: { n, batch, rhsCount } } = problem;
  const complex = type.startsWith('complex') ? { complex: true } : {};
  return { ...rest, ...complex, ...arrays, n, batch: batch * count, rhsCount, device, ...(signal === undefined ? {} : { signal }) };
}

// --- solve ---

const solveNames = ['periodic', 'transpose', 'structure', 'algorithm', 'depth', 'stable', 'check', 'refine', 'tolerance'] as const;

/**
 * The method that a GPU's policy chooses for a batch of one call, which all launches with such calls are to use. `undefined` in the table:
 * launches of such calls would not give the same bits.
 */
interface Method {
  readonly algorithm: Algorithm;
  readonly depth: Depth;
}
const methods = new WeakMap<Device, Map<string, Method | undefined>>();

function methodsOn(device: Device): Map<string, Method | undefined> {
  const found = methods.get(device) ?? new Map<string, Method | undefined>();
  methods.set(device, found);
  return found;
}

batchable<Device>(solve, 'tridiagonal.solve', ([given], _, owned) => {
  const options = solveOptions.read(given as SolveOptions);
  const { problem } = prepare(options);
  const { lower, diagonal, upper, rhs, out, signal } = options;
  if (!isPlain(problem, options, [lower, diagonal, upper, rhs, out])) {
    return takenAlone('tridiagonal.solve', given as SolveOptions, (each, device) => solve(onDevice(each, device)));
  }
  const arrays = completeInputs({ lower, diagonal, upper }, { rhs: rhs as RealArray }, problem, owned);
  const { rest, key } = restOf('solve', problem, options as unknown as Given, solveNames);
  const sharesBands = [lower, diagonal, upper].some((band) => isSharedBand(band, problem));
  const call: PlainCall = {
    name: 'tridiagonal.solve', problem, arrays, rest, out, owned, signal, bytes: bytesOf(arrays), items: problem.shape.batch,
    alone: (device, stop) => solveAlone(call, key, device, stop),
    keyOn: (device) => {
      if (call.bytes >= loneBytes) return undefined;
      if (device.backend === 'cpu') return key;
      // On a GPU the policy may choose by what the systems of a batch have in common.
      const known = methodsOn(device);
      const unlike = sharesBands || problem.shape.rhsCount > 1 || (known.has(key) && known.get(key) === undefined);
      return unlike ? undefined : key;
    },
    together: (device, calls, stop) => solveTogether(calls as PlainCall[], key, device, stop),
  };
  return call;
});

/** Device arrays, also as parts of complex ones. */
function isOnDevice(value: unknown): boolean {
  return value instanceof DeviceArray || (isSplit(value) && value.re instanceof DeviceArray);
}

/** Options with the device, unless device arrays determine it. */
function onDevice<Options extends object>(options: Options, device: Device): Options {
  const own = Object.values(options).some(isOnDevice);
  return own ? options : { ...options, device };
}

async function solveAlone(call: PlainCall, key: string, device: Device, signal: AbortSignal | undefined): Promise<SolveResult> {
  const out = call.out === undefined ? {} : { out: call.out };
  const result = await solve({ ...optionsOf(call, call.arrays, 1, device, signal), ...out } as unknown as SolveOptions);
  if (device.backend !== 'cpu') {
    const { algorithm, depth } = result.info;
    methodsOn(device).set(key, algorithm === 'cr-regpack' ? { algorithm, depth: depth as Depth } : undefined);
  }
  return result;
}

async function solveTogether(
  calls: readonly PlainCall[], key: string, device: Device, signal: AbortSignal | undefined,
): Promise<readonly Outcome[]> {
  const [first, ...others] = calls as [PlainCall, ...PlainCall[]];
  if (device.backend === 'cpu' || first.rest.algorithm !== 'auto' || first.rest.stable === true) {
    return solveJoined(calls, {}, device, signal);
  }
  const known = methodsOn(device);
  const done: Outcome[] = known.has(key) ? [] : [{ value: await solveAlone(first, key, device, signal) }];
  const left = done.length === 0 ? calls : others;
  const method = known.get(key);
  if (method !== undefined) return [...done, ...await solveJoined(left, method, device, signal)];
  for (const call of left) done.push({ value: await solveAlone(call, key, device, signal) });
  return done;
}

async function solveJoined(
  calls: readonly PlainCall[], method: Partial<Method>, device: Device, signal: AbortSignal | undefined,
): Promise<readonly Outcome[]> {
  const [first] = calls as [PlainCall];
  const inputs = joinedArrays(calls);
  const options = { ...optionsOf(first, inputs, calls.length, device, signal), ...method };
  const { solution, status, backwardError, info } = await solve(options as unknown as SolveOptions);
  giveBack(Object.values(inputs));
  const { batch, rhsCount } = first.problem.shape;
  const count = batch * rhsCount;
  return partsOf(calls, ({ out, owned }, index) => {
    const errors = backwardError === undefined ? undefined : partOf(backwardError as Float64Array, index, calls.length);
    return new Solved(resultPart(solution, index, calls.length, out, owned), statusPart(status, index * count, count),
      errors, { ...info, batch });
  });
}

// --- multiply ---

const multiplyNames = ['periodic', 'transpose', 'structure', 'alpha', 'beta'] as const;

batchable<Device>(multiply, 'tridiagonal.multiply', ([given], _, owned) => {
  const options = multiplyOptions.read(given as MultiplyOptions);
  const { problem } = prepareMultiply(options);
  const { lower, diagonal, upper, x, y, beta, signal } = options;
  if (!isPlain(problem, options, [lower, diagonal, upper, x, y])) {
    const copied = { ...given as MultiplyOptions, ...(y === undefined ? {} : { out: y }) };
    return takenAlone('tridiagonal.multiply', copied, ({ out, ...each }, device) =>
      multiply(onDevice(out === undefined ? each : { ...each, y: out }, device)));
  }
  const before = beta === 0 ? {} : { y: y as RealArray };
  const arrays = completeInputs({ lower, diagonal, upper }, { x: x as RealArray, ...before }, problem, owned && y === undefined);
  const { rest, key } = restOf('multiply', problem, options as unknown as Given, multiplyNames);
  const run = async (calls: readonly PlainCall[], device: Device, stop: AbortSignal | undefined): Promise<readonly Outcome[]> => {
    const inputs = joinedArrays(calls);
    const all = await multiply(optionsOf(call, inputs, calls.length, device, stop) as unknown as MultiplyOptions);
    giveBack(Object.values(inputs).filter((array) => array !== all.y));
    return partsOf(calls, ({ out }, index) =>
      briefly('Product', { y: resultPart(all.y, index, calls.length, out, owned), info: { ...all.info, batch: problem.shape.batch } }));
  };
  const call: PlainCall = {
    name: 'tridiagonal.multiply', problem, arrays, rest, out: y, owned, signal, bytes: bytesOf(arrays), items: problem.shape.batch,
    alone: async (device, stop) => valueOf((await run([call], device, stop))[0] as Outcome),
    keyOn: () => (call.bytes >= loneBytes ? undefined : key),
    together: (device, calls, stop) => run(calls as PlainCall[], device, stop),
  };
  return call;
});

function valueOf(outcome: Outcome): unknown {
  if ('value' in outcome) return outcome.value;
  throw outcome.error;
}

// --- plans ---

/** A call of a plan with one right-hand side per system. */
interface SideCall extends TakenCall<Device> {
  readonly rhs: RealArray;
  readonly out: RealArray | undefined;
}

/** Whether an array holds one right-hand side of a plan. */
function isSide(plan: Plan, array: unknown): array is RealArray {
  const complex = plan.info.type.startsWith('complex');
  const single = plan.info.type === 'float32' || plan.info.type === 'complex64';
  return isRealArray(array) && array instanceof Float32Array === single && array.length === plan.n * plan.batch * (complex ? 2 : 1);
}

batchable<Device>(Plan, 'tridiagonal.plan (its solve)', ([given], target) => {
  const plan = target as Plan;
  const options = given as PlanSolveOptions;
  const { rhs, out, signal, ...others } = (isObject(options) ? options : {}) as Partial<PlanSolveOptions>;
  const plain = isSide(plan, rhs) && (out === undefined || isSide(plan, out)) && Object.keys(others).length === 0
    && (signal === undefined || signal instanceof AbortSignal);
  if (!plain) return takenAlone('plan.solve', options, (each) => plan.solve(each));
  const call: SideCall = {
    name: 'plan.solve', rhs: rhs.slice(), out, signal, bytes: rhs.byteLength, items: plan.batch,
    alone: (_, stop) =>
      plan.solve({ rhs: call.rhs, ...(out === undefined ? {} : { out }), ...(stop === undefined ? {} : { signal: stop }) }),
    // Without factors, a GPU's policy chooses by the number of right-hand sides.
    keyOn: (device) => {
      const joins = device === plan.device && (device.backend === 'cpu' || plan.factorisation !== 'none');
      return joins ? keyOfPlan(plan) : undefined;
    },
    together: (_, calls, stop) => solveSides(plan, calls as SideCall[], stop),
  };
  return call;
});

const planKeys = new WeakMap<Plan, string>();
let lastPlan = 0;

function keyOfPlan(plan: Plan): string {
  const key = planKeys.get(plan) ?? `plan ${(lastPlan += 1)}`;
  planKeys.set(plan, key);
  return key;
}

/** Right-hand sides [call][system][row], solved as sides of each system. */
async function solveSides(plan: Plan, calls: readonly SideCall[], signal: AbortSignal | undefined): Promise<readonly Outcome[]> {
  const { n, batch } = plan;
  const sides = calls.length;
  const layout = { systemStride: n, rowStride: 1, rhsStride: n * batch };
  const { rhs } = joinedArrays(calls.map((each) => ({ arrays: { rhs: each.rhs } })));
  const all = await plan.solve({
    rhs: rhs as RealArray, rhsCount: sides, ...(batch === 1 ? {} : { layout }), ...(signal === undefined ? {} : { signal }),
  });
  giveBack([rhs as RealArray]);
  const across = <Kind extends Int32Array | Float64Array>(values: Kind, index: number): Kind =>
    values.filter((_, at) => at % sides === index) as Kind;
  return partsOf(calls, ({ out }, index) => {
    const { status, backwardError } = all;
    const own = new SystemStatuses(across(status.words, index), across(status.rows, index), 1);
    const errors = backwardError === undefined ? {} : { backwardError: across(backwardError as Float64Array, index) };
    return { solution: resultPart(all.solution, index, sides, out), status: own, info: all.info, ...errors };
  });
}
