// Programs of one node each, with the items that were on the node's channels in a run of the whole program: what profiling measures.
import { refusal } from '../../core/errors.ts';
import { elementAt, required } from '../../core/known.ts';
import { programText } from '../../kernel/text.ts';
import type { GraphNode, StreamGraph } from '../graph.ts';
import { ratesOf } from '../elaborate/to-sdf.ts';
import { StreamRunError } from '../interpret/error.ts';
import { recordChannelsAside } from '../interpret/index.ts';
import { scalarsOf } from '../interpret/files.ts';
import { scalarCount } from '../interpret/values.ts';
import { countRun } from '../plan/counts.ts';
import { planProgram, type ProgramPlan } from '../plan/plan.ts';
import type { FilterCode, IrType } from '../ir.ts';
import { defaultWasmPlan, lowerForWasm } from '../targets/wasm.ts';

/** One node as a program, and the nodes whose cost it tells. */
export interface Part {
  readonly graph: StreamGraph;
  /** Scalars for its open input, if it has one. */
  readonly input: Float64Array | undefined;
  /** Items of a firing on the input. */
  readonly pop: number;
  /** By node: how many firings of the part one firing of the node is worth. */
  readonly worth: ReadonlyMap<number, number>;
}

/** Firings of the whole program in the recorded run. */
const recordedFirings = 20_000;
const recordedScalars = 16_384;

export interface RecordOptions {
  /** Scalars of items on an open input: some that the program may see. Only the first ones are read. Default: made up. */
  readonly input?: ArrayLike<number>;
  readonly files?: Readonly<Record<string, Uint8Array>>;
  readonly seed?: number;
  readonly signal?: AbortSignal;
}

function alone(graph: StreamGraph, node: GraphNode, input: IrType | undefined, output: IrType | undefined): StreamGraph {
  const only = { ...node, id: 0, inputs: input === undefined ? [] : [undefined], outputs: output === undefined ? [] : [undefined] };
  return {
    nodes: [only], channels: [], tree: { kind: 'node', node: 0 }, portals: [],
    input: input === undefined ? undefined : { type: input, node: 0 }, output: output === undefined ? undefined : { type: output, node: 0 },
    ...(graph.files === undefined ? {} : { files: graph.files }),
  };
}

function typeAt(graph: StreamGraph, node: GraphNode, side: 'input' | 'output', port = 0): IrType | undefined {
  const channel = (side === 'input' ? node.inputs : node.outputs)[port];
  if (channel !== undefined) return elementAt(graph.channels, channel).type;
  return port === 0 && graph[side]?.node === node.id ? graph[side].type : undefined;
}

/** Items that a node without code moves in a firing. */
function movedItems(node: GraphNode): number {
  switch (node.kind) {
    case 'duplicate': return node.outputs.length;
    case 'splitter': return ratesOf(node, 0).pop;
    case 'joiner': return ratesOf(node, 0).push;
    default: return 1;
  }
}

/** Scalars of whole items: floats in [-1, 1), ints of 0 to 255, bits; from a seed. */
export function sampleInput(type: IrType, scalars: number, seed: number): Float64Array {
  const names = scalarsOf(type);
  const numbers = new Float64Array(Math.ceil(scalars / Math.max(names.length, 1)) * names.length);
  let state = seed >>> 0;
  for (let i = 0; i < numbers.length; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const name = names[i % names.length];
    numbers[i] = name === 'int' ? state >>> 24 : name === 'float' || name === 'double' ? (state >>> 8) / 2 ** 23 - 1 : state >>> 31;
  }
  return numbers;
}

/** Steady states of the recorded run. */
function recordedStates({ steady }: ProgramPlan): number {
  return Math.max(2, Math.ceil(recordedFirings / steady.repetitions.reduce((sum, count) => sum + count, 0)));
}

/** The first items of an input: all that the recorded run reads. Undefined where there is none. */
export function recordedInput(plan: ProgramPlan, input: ArrayLike<number> | undefined): number[] | undefined {
  const { graph, externals } = plan;
  const at = externals.findIndex(({ kind }) => kind === 'input'), external = externals[at];
  if (graph.input === undefined || external === undefined || input === undefined) return undefined;
  const { passed } = countRun(plan, { input: Infinity, iterations: recordedStates(plan) });
  const items = elementAt(passed, at) + Math.max(external.first.beyond, external.later.beyond);
  return Array.from({ length: Math.min(input.length, items * scalarCount(graph.input.type)) }, (_, i) => elementAt(input, i));
}

/** What stands on the channels when the program runs on the input's first part, or on made-up items where none is given. */
async function recorded(
  plan: ProgramPlan, { input, files, seed = 1, signal }: RecordOptions,
): Promise<{ channels: number[][]; input: number[] }> {
  const { graph } = plan;
  const madeUp = (): number[] => (graph.input === undefined ? [] : Array.from(sampleInput(graph.input.type, recordedScalars, seed)));
  const given = recordedInput(plan, input) ?? madeUp();
  const channels = await recordChannelsAside(graph, {
    iterations: recordedStates(plan), seed, files, signal, ...(graph.input === undefined ? {} : { input: given }),
  }, recordedScalars).catch((error: unknown) => {
    if (graph.input === undefined || input !== undefined || !(error instanceof StreamRunError)) throw error;
    throw refusal('input', 'items on which the program does not fault', `none, and on made-up ones it faults: ${error.diagnostic.message}`,
      { cause: error });
  });
  return { channels, input: given };
}

/** Generated code without its float constants, which do not change what it takes. */
function shapeOf(graph: StreamGraph): string {
  const { program } = lowerForWasm(planProgram(graph, { ...defaultWasmPlan, savings: false }));
  return programText(program).replace(/\bf(?:32|64)\([^)]*\)/g, '#');
}

/**
 * The parts of a program: one for each shape of a filter's code, one for each type of item that nodes without code move.
 */
export async function partsOf(plan: ProgramPlan, options: RecordOptions): Promise<Part[]> {
  const { graph } = plan;
  const { channels, input: given } = await recorded(plan, options);
  const parts = new Map<string, Part & { readonly worth: Map<number, number> }>();
  const shapes = new Map<FilterCode, string>();
  const add = (key: string, node: number, worth: number, make: () => Omit<Part, 'worth'>): void => {
    const found = parts.get(key);
    if (found === undefined) parts.set(key, { ...make(), worth: new Map([[node, worth]]) });
    else found.worth.set(node, worth);
  };
  for (const node of graph.nodes) {
    const [input, output] = [typeAt(graph, node, 'input'), typeAt(graph, node, 'output')];
    if (node.kind === 'filter') {
      const single = alone(graph, node, input, output);
      if (!shapes.has(node.code)) shapes.set(node.code, shapeOf(single));
      const channel = node.inputs[0];
      add(required(shapes.get(node.code)), node.id, 1, () => ({
        graph: single, pop: ratesOf(node, 0).pop,
        input: input === undefined ? undefined : Float64Array.from(channel === undefined ? given : elementAt(channels, channel)),
      }));
      continue;
    }
    const type = input ?? output ?? typeAt(graph, node, 'output', 1);
    if (type === undefined) continue;
    const mover: GraphNode = { id: 0, name: 'move', kind: 'identity', inputs: [], outputs: [] };
    add(`move ${JSON.stringify(type)}`, node.id, movedItems(node), () => ({
      graph: alone(graph, mover, type, type), input: new Float64Array(scalarCount(type) * 1024), pop: 1,
    }));
  }
  return [...parts.values()];
}
