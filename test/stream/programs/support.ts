// Programs under examples/stream: compiled, measured and run by the interpreter.
import { readFileSync } from 'node:fs';
import { randomFloats, randomIntegers } from '../../../examples/stream/programs.ts';
import { elaborate, toSdf } from '../../../lib/stream/elaborate/index.ts';
import { formatDiagnostic, type Diagnostic } from '../../../lib/stream/diagnostics.ts';
import { check } from '../../../lib/stream/front/check.ts';
import { parse } from '../../../lib/stream/front/parser.ts';
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { interpretSync, type InterpretOptions, type Interpretation } from '../../../lib/stream/interpret/index.ts';
import { repetitions } from '../../../lib/stream/schedule/index.ts';

const examples = new URL('../../../examples/stream/', import.meta.url);

/** A program of another entry: source that is compiled with the file's. */
export interface Variant {
  readonly entry: string;
  readonly text: string;
}

/** The graph of examples/stream/NAME.str; throws with the diagnostics if there is any, a warning included. */
export function program(name: string, variant?: Variant): StreamGraph {
  const files = [{ name: `${name}.str`, text: readFileSync(new URL(`${name}.str`, examples), 'utf8') }];
  if (variant !== undefined) files.push({ name: 'variant.str', text: variant.text });
  const parsed = parse(files);
  const fail = (diagnostics: readonly Diagnostic[]): void => {
    const counted = diagnostics.filter(({ severity }) => severity === 'error' || variant === undefined);
    if (counted.length > 0) throw new Error(counted.map((each) => formatDiagnostic(each, { files })).join('\n'));
  };
  fail(parsed.diagnostics);
  const { checked, diagnostics } = check(parsed.program, variant === undefined ? {} : { entry: variant.entry });
  fail(diagnostics);
  const made = elaborate(checked);
  fail(made.diagnostics);
  return made.graph!;
}

/** What the table of the twelve programs counts. */
export interface Shape {
  /** Filters of all kinds, splitters and joiners, and what stands for the ends that are open. */
  readonly nodes: number;
  readonly filters: number;
  readonly routing: number;
  readonly peeking: number;
  readonly stateful: number;
  /** Items that come in and go out per steady state. */
  readonly rates: readonly [input: number, output: number];
}

export function shapeOf(graph: StreamGraph): Shape {
  const { nodes, input, output } = graph;
  const filters = nodes.filter(({ kind }) => kind === 'filter' || kind === 'identity');
  const routing = nodes.filter(({ kind }) => kind === 'duplicate' || kind === 'splitter' || kind === 'joiner');
  const codes = filters.flatMap((node) => (node.kind === 'filter' ? [node.code] : []));
  const ends = Number(input !== undefined) + Number(output !== undefined);
  const counts = repetitions(toSdf(graph));
  const through = (end: StreamGraph['input'], direction: 'pop' | 'push'): number => {
    const node = end === undefined ? undefined : nodes[end.node]!;
    if (node === undefined) return 0;
    return counts[node.id]! * itemsOf(node, direction);
  };
  return {
    nodes: filters.length + routing.length + ends, filters: filters.length + ends, routing: routing.length,
    peeking: codes.filter(({ work: { rates } }) => rates.peek > rates.pop).length, stateful: codes.filter(({ stateful }) => stateful).length,
    rates: [through(input, 'pop'), through(output, 'push')],
  };
}

function itemsOf(node: StreamGraph['nodes'][number], direction: 'pop' | 'push'): number {
  if (node.kind === 'filter') return node.code.work.rates[direction];
  if (node.kind === (direction === 'pop' ? 'splitter' : 'joiner')) return (node as { weights: readonly number[] }).weights.reduce((a, b) => a + b, 0);
  return 1;
}

/** What a program makes of an input until it is used up. */
export function run(graph: StreamGraph, input: ArrayLike<number>, options: Omit<InterpretOptions, 'input'> = {}): Interpretation {
  return interpretSync(graph, { input, ...options });
}

/** Random integers of 0 to 32767 as a list. */
export const randoms = (count: number, seed = 1): number[] => [...randomIntegers(count, seed)];

/** Random floats of -1 to 1 as a list. */
export const signal = (count: number, seed = 1): number[] => [...randomFloats(count, seed)];

/** Throws unless numbers are as many as expected and within 1e-5 of the expected ones' largest magnitude. */
export function assertClose(found: readonly number[], expected: readonly number[], tolerance = 1e-5): void {
  if (found.length !== expected.length) throw new Error(`${found.length} items instead of ${expected.length}`);
  const scale = expected.reduce((max, x) => Math.max(max, Math.abs(x)), 0);
  for (const [i, x] of expected.entries()) {
    const error = Math.abs(found[i]! - x);
    if (!(error <= tolerance * scale)) throw new Error(`item ${i} is ${found[i]} instead of ${x}: off by ${error / scale} of the scale ${scale}`);
  }
}
