// Functions on the CPU: programs that work on a chunk of elements in buffers of their own, as WebAssembly or in the interpreter.
import { elementAt, required } from '../../core/known.ts';
import {
  binary, call, constant, exact, forLoop, get, i32, load, set, store, type Buffer, type Expression, type KernelFunction,
  type Label, type Local, type Program, type ScalarType, type Statement,
} from '../ir.ts';
import { Machine } from '../interpret.ts';
import { optimise } from '../passes/index.ts';
import { layoutWasm, pageBytes } from '../print/wasm-layout.ts';
import { printWasm } from '../print/wasm.ts';
import { chunkItems } from './chunks.ts';
import { accumulators, identities, reducedItems, type Combination } from './order.ts';
import { itemFunction, scalarTypes, type Point, type Preparation } from './point.ts';
import type { HostArray } from './types.ts';
import type { HostEngine, Place, WasmCode } from './wasm-engine.ts';

/** A program for chunks. Its `run` takes the number of elements and the numbers among the arguments. */
export interface HostProgram {
  readonly program: Program;
  /** The buffers for arrays among the arguments, in order, and for results. */
  readonly inputs: readonly Buffer[];
  readonly outputs: readonly Buffer[];
}

const global = (name: string, element: ScalarType, length: number): Buffer => ({ name, element, role: 'global', length });

class Builder {
  readonly point: Point;
  readonly inputs: readonly Buffer[];
  readonly count: Local = { name: 'count', type: 'i32', range: [0, chunkItems] };
  readonly scalars: readonly Local[];
  readonly #results: readonly ScalarType[];
  #names = 0;

  constructor(point: Point, results: readonly ScalarType[]) {
    this.point = point;
    this.#results = results;
    this.inputs = point.kinds.flatMap((kind, i) => (kind === 'number' ? [] : [global(`in${i}`, scalarTypes[kind], chunkItems)]));
    this.scalars = point.kinds.flatMap((kind, i): Local[] => (kind === 'number' ? [{ name: `s${i}`, type: 'f64' }] : []));
  }

  label(): Label {
    return { name: `loop${this.#names++}` };
  }

  counter(name: string): Local {
    return { name: `${name}${this.#names++}`, type: 'i32' };
  }

  /** Computes the function at an index, and passes its values on. */
  at(index: Expression, use: (values: readonly Expression[]) => Statement[]): Statement[] {
    let [array, scalar] = [0, 0];
    const args = this.point.kinds.map((kind) =>
      (kind === 'number' ? get(elementAt(this.scalars, scalar++)) : load(elementAt(this.inputs, array++), index)));
    const values = this.#results.map((type): Local => ({ name: `v${this.#names++}`, type }));
    return [call('item', args, values), ...use(values.map(get))];
  }

  run(body: readonly Statement[], results: readonly ScalarType[]): KernelFunction {
    return { name: 'run', parameters: [this.count, ...this.scalars], results, buffers: [], body };
  }
}

/** Stores the function's values for each element. */
export function mapProgram(point: Point, results: readonly ScalarType[], preparation: Preparation = 'none'): HostProgram {
  const build = new Builder(point, results);
  const outputs = results.map((type, i) => global(`out${i}`, type, chunkItems));
  const i: Local = { ...build.counter('i'), range: [0, chunkItems - 1] };
  const body = build.at(get(i), (values) => values.map((value, r) => store(elementAt(outputs, r), get(i), value)));
  const run = build.run([forLoop(build.label(), i, { from: i32(0), to: get(build.count) }, body)], []);
  return finished(point, results, preparation, run, { inputs: build.inputs, outputs });
}

/** Reduces the function's values over the elements of a block: `run` returns a double for each result. */
export function reduceProgram(point: Point, preparation: Preparation, combination: Combination): HostProgram {
  const results = point.f.results.map((): ScalarType => 'f64');
  const build = new Builder(point, results);
  const sums = results.map((_, r) => global(`sum${r}`, 'f64', accumulators));
  const op = combination === 'sum' ? 'add' : combination;
  const joined = (r: number, c: Expression, value: Expression): Statement =>
    store(elementAt(sums, r), c, binary(op, load(elementAt(sums, r), c), value));
  const loop = (limit: Expression, work: (c: Expression) => Statement[]): Statement => {
    const c: Local = { ...build.counter('c'), range: [0, accumulators - 1] };
    return forLoop(build.label(), c, { from: i32(0), to: limit }, work(get(c)));
  };
  const rounds: Local = { ...build.counter('rounds'), range: [0, reducedItems / accumulators] };
  const row: Local = { ...build.counter('row'), range: [0, reducedItems / accumulators - 1] };
  const taken = (of: Expression) => (c: Expression): Statement[] =>
    build.at(exact('add', exact('mul', of, i32(accumulators)), c), (values) => values.map((value, r) => joined(r, c, value)));
  const shift = i32(Math.log2(accumulators));
  const body: Statement[] = [
    loop(i32(accumulators), (c) => sums.map((sum) => store(sum, c, constant('f64', identities[combination])))),
    set(rounds, binary('shr', get(build.count), shift)),
    forLoop(build.label(), row, { from: i32(0), to: get(rounds) }, [loop(i32(accumulators), taken(get(row)))]),
    loop(binary('band', get(build.count), i32(accumulators - 1)), taken(get(rounds))),
  ];
  for (let half = accumulators / 2; half >= 1; half /= 2) {
    body.push(loop(i32(half), (c) => sums.map((sum, r) => joined(r, c, load(sum, c, half)))));
  }
  body.push({ kind: 'return', values: sums.map((sum) => load(sum, i32(0))) });
  return finished(point, results, preparation, build.run(body, results), { inputs: build.inputs, outputs: sums });
}

function finished(
  point: Point, results: readonly ScalarType[], preparation: Preparation, run: KernelFunction,
  { inputs, outputs }: Pick<HostProgram, 'inputs' | 'outputs'>,
): HostProgram {
  const program: Program = {
    buffers: [...inputs, ...outputs], imports: [], functions: [point.f, itemFunction(point, results, preparation), run],
  };
  return { program, inputs, outputs };
}

/** A program as WebAssembly. */
export function wasmCode({ program, inputs, outputs }: HostProgram): WasmCode {
  const better = optimise(program, { roots: new Set(['run']) });
  const layout = layoutWasm(better);
  const places = (buffers: readonly Buffer[]): Place[] => buffers.map((buffer) =>
    ({ element: buffer.element, at: required(layout.places.get(buffer)).at, length: required(buffer.length) }));
  return {
    bytes: printWasm(better, { layout, exports: new Set(['run']) }), pages: layout.pages + Math.ceil(layout.ownBytes / pageBytes) + 1,
    own: layout.pages * pageBytes, inputs: places(inputs), outputs: places(outputs),
  };
}

/** The program in the interpreter. */
export function interpreted({ program, inputs, outputs }: HostProgram): HostEngine {
  const machine = new Machine(program, { limit: Infinity });
  const contents = (buffers: readonly Buffer[]): HostArray[] => buffers.map((buffer) => machine.contents(buffer));
  return {
    inputs: contents(inputs), outputs: contents(outputs), run: (count, scalars) => machine.call('run', [count, ...scalars]) as number[],
  };
}

