// State in runs on a device: what launches hand on to each other, what they begin with, and the last steady states, whose input is made up.
import { inputArray, resultArray, type Device, type DeviceArray } from '../../core/device.ts';
import { elementAt, required } from '../../core/known.ts';
import { scalarCount } from '../interpret/values.ts';
import { countsOf } from '../plan/layout.ts';
import { wordsOf } from '../state/words.ts';
import type { FusedProgram } from '../targets/cuda.ts';
import type { ScanWork, StageWork } from '../targets/state-layout.ts';
import { elementTypes, type Ends, type StreamMemory } from './gpu-ends.ts';
import { joinItems, splitItems, type RunOptions } from './prepare.ts';
import type { CompiledWasm } from './wasm.ts';

/** What a launch of a program with state takes beside its span. */
export interface StateSpan {
  /** The state before it, and where it leaves the one behind it, which is right if the launch makes whole rounds. */
  readonly carry: DeviceArray;
  readonly carried: DeviceArray;
  /** Steady states of the run before it. */
  readonly first: number;
}

/** What the launches of a run hand on to each other, in order. */
export interface RunState {
  /** For the next launch, which begins with steady state `first`. */
  next(first: number): StateSpan;
  dispose(): void;
}

/** The state that launches hand on, in order. */
export class Carry implements RunState {
  readonly #arrays: readonly DeviceArray[];
  #at = 0;

  /** @param kept launches after which what a launch began with may be overwritten */
  constructor(device: Device, words: Int32Array, kept = 1) {
    this.#arrays = [inputArray(device, words), ...Array.from({ length: kept }, () => resultArray(device, 'int32', words.length))];
  }

  next(first: number): StateSpan {
    const carry = elementAt(this.#arrays, this.#at);
    this.#at = (this.#at + 1) % this.#arrays.length;
    return { carry, carried: elementAt(this.#arrays, this.#at), first };
  }

  dispose(): void {
    for (const array of this.#arrays) array.dispose();
  }
}

/** The state that the launch from steady state `from` begins with, made by WebAssembly. */
export async function stateBefore(
  { state, warmRounds, states, input, plan }: FusedProgram, wasm: CompiledWasm, ends: Pick<Ends, 'part'>, from: number,
  options: RunOptions,
): Promise<Int32Array> {
  const { works, kernels, carryWords } = required(state);
  const words = new Int32Array(Math.max(1, carryWords));
  const warmStates = warmRounds / kernels.length * states;
  const { iterations: _, items: __, ...rest } = options;
  const scans = works.flatMap((work) => work.scans.map((scan) => ({ work, scan })));
  // Scans of earlier passes begin earlier: their state is that at the start of the rounds in which channels fill for the later ones.
  for (const pass of new Set(scans.map(({ scan }) => scan.pass))) {
    const own = scans.filter(({ scan }) => scan.pass === pass);
    const at = from - (kernels.length - pass) * warmStates;
    const { before, items, external: { first, later } } = input;
    const given = await ends.part(0, before + at * items + first.items + first.beyond + later.beyond);
    const names = own.flatMap(({ work, scan }) => namesOf(work, scan, originOf(plan, wasm.plan, work.node)));
    const found = wasm.stateAfter(at, given, names, rest);
    let number = 0;
    for (const { work, scan } of own) {
      let to = scan.carryAt;
      for (const element of scan.scan.elements) {
        const { buffer, index, initial } = elementAt(work.plan.state.elements, element);
        const value = found[number++]?.[index] ?? initial;
        const stored = scan.scan.choices === undefined ? wordsOf(buffer.element, value) : [Math.max(0, scan.scan.choices.indexOf(value))];
        for (const word of stored) words[to++] = word;
      }
    }
  }
  return words;
}

/** By element of a scan: the buffer that holds it in another plan of the program, where the node is number `node`. */
function namesOf({ plan: { state } }: StageWork, { scan }: ScanWork, node: number): string[] {
  return scan.elements.map((element) => elementAt(state.elements, element).buffer.name.replace(/^s\d+_/, `s${node}_`));
}

/** The node of another plan of a program that is the same as a node of this one. */
export function originOf(plan: FusedProgram['plan'], other: FusedProgram['plan'], node: number): number {
  const origin = elementAt(plan.origins, node);
  const found = other.origins.indexOf(origin);
  return origin === undefined || found < 0 ? node : found;
}

/** A span on arrays of its own. */
interface OwnSpan {
  readonly input: StreamMemory;
  readonly output: StreamMemory;
  readonly firstInput: number;
  readonly firstOutput: number;
  readonly states: number;
}

/**
 * The last steady states of a run, of which only what the run asks for counts. Where the input ends before them, they take items of the
 * steady state before again.
 */
export async function paddedSpan(
  program: FusedProgram, device: Device, ends: Pick<Ends, 'part' | 'put' | 'items'>, state: number, states: number,
): Promise<{ readonly span: OwnSpan; take(signal: AbortSignal | undefined): Promise<void>; dispose(): void }> {
  const { input: { before, items, external: { type, later } }, output, warmRounds } = program;
  const firstInput = warmRounds * program.states * items;
  const begin = before + state * items - firstInput;
  const given = await ends.part(begin, begin + firstInput + states * items + later.beyond);
  const width = scalarCount(type);
  const numbers = new Float64Array((firstInput + states * items + later.beyond) * width);
  numbers.set(given);
  for (let i = given.length; i < numbers.length; ++i) numbers[i] = numbers[i - items * width] ?? 0;
  const made: DeviceArray[] = [];
  const keep = (array: DeviceArray): DeviceArray => {
    made.push(array);
    return array;
  };
  const arrays = splitItems(numbers, type);
  const { kinds, external: { type: outType } } = output;
  const dispose = (): void => { for (const array of made) array.dispose(); };
  try {
    const taken = program.input.kinds.map((kind) => keep(inputArray(device, required(arrays[kind]))));
    const left = kinds.map((kind) => keep(resultArray(device, elementTypes[kind], states * output.items * countsOf(outType)[kind])));
    const take = async (signal: AbortSignal | undefined): Promise<void> => {
      const parts = await Promise.all(left.map((array) => array.read(undefined, 0, signal === undefined ? {} : { signal })));
      const whole = joinItems(Object.fromEntries(kinds.map((kind, i) => [kind, parts[i]])), outType, states * output.items);
      const from = output.before + state * output.items;
      await ends.put(whole.subarray(0, (ends.items - from) * scalarCount(outType)), from);
    };
    return { span: { input: taken, output: left, firstInput, firstOutput: 0, states }, take, dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}
