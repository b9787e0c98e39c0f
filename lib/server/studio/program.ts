// What the editor of stream programs shows: diagnostics with their places, the graph, and a schedule over cores.
import { WarploomError } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { coreBars } from '../../stream/pictures/core-bars.ts';
import * as stream from '../../stream/index.ts';
import { RequestError } from '../errors.ts';

/** Nodes of a graph that is drawn at most: the layout of more takes seconds, and nobody reads it. */
const mostDrawn = 400;
const mostCores = 64;

/** Steady states of a run at most, items and characters of an answer. */
const mostIterations = 1_000_000, mostItems = 10_000, mostCharacters = 100_000;

interface Program {
  readonly text: string;
  readonly main?: string;
  readonly cores: number;
  readonly iterations: number;
}

function wholeOf(value: unknown, argument: string, most: number): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most) return value as number;
  throw new RequestError(400, `${argument} must be a whole number from 1 to ${most}`, { argument });
}

function programOf(request: unknown): Program {
  const { text, main, cores = 4, iterations = 1 } = (typeof request === 'object' && request !== null ? request : {}) as
    Partial<Record<string, unknown>>;
  if (typeof text !== 'string') throw new RequestError(400, 'the request must be { "text": the program }', { argument: 'text' });
  if (main !== undefined && typeof main !== 'string') throw new RequestError(400, 'main must be a name', { argument: 'main' });
  return {
    text, cores: wholeOf(cores, 'cores', mostCores), iterations: wholeOf(iterations, 'iterations', mostIterations),
    ...(main === undefined || main === '' ? {} : { main }),
  };
}

const plain = ({ code, severity, message, hint, line, column, endLine, endColumn }: stream.Diagnostic) =>
  ({ code, severity, message, hint, line, column, endLine, endColumn });

/** How often each actor fires, and one launch over cores; costs are those of counted operations. */
function scheduleOf(graph: stream.StreamGraph, cores: number): object {
  const sdf = stream.toSdf(graph), costs = stream.estimateCosts(graph);
  const steady = stream.steadyState(sdf);
  const plan = stream.assignToCores(sdf, steady, stream.cpuCosts(sdf, costs), { cores });
  const actors = steady.order.map((id) => ({
    name: elementAt(sdf.actors, id).name, firings: steady.repetitions[id], microseconds: costs[id], stage: plan.stages[id],
    cores: plan.programs.flatMap((slices, core) => (slices.some(({ actor }) => actor === id) ? [core] : [])),
  }));
  const picture = stream.ganttSvg(sdf, coreBars(sdf, plan, costs), cores, plan.interval, `one launch on ${cores} cores`);
  return { cores, actors, interval: plan.interval, bound: plan.bound, multiplier: plan.multiplier, picture };
}

/** What `work` gives, or why it gives nothing. */
async function orReason<T>(work: () => T | Promise<T>): Promise<T | { readonly reason: string }> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof WarploomError) return { reason: error.message };
    throw error;
  }
}

/** Compiles a program and describes it. Whatever is wrong with it is in `diagnostics`. */
export async function examineProgram(request: unknown, timeout: number): Promise<object> {
  const { text, main, cores } = programOf(request);
  let compiled: stream.Compiled;
  try {
    compiled = await stream.elaborate(text, { timeout, ...(main === undefined ? {} : { main }) });
  } catch (error) {
    if (!(error instanceof stream.ProgramError)) throw error;
    return { diagnostics: error.diagnostics.map(plain) };
  }
  const { graph, diagnostics } = compiled;
  const size = { nodes: graph.nodes.length, channels: graph.channels.length };
  const picture = size.nodes > mostDrawn ? { reason: `a graph of more than ${mostDrawn} nodes is not drawn` }
    : await orReason(async () => ({ picture: await stream.graphSvg(graph, 'stream graph') }));
  return {
    diagnostics: diagnostics.map(plain), graph: { ...size, text: stream.describeGraph(graph).trimEnd(), ...picture },
    schedule: size.nodes > mostDrawn ? picture : await orReason(() => scheduleOf(graph, cores)),
  };
}

/** Runs a program, and gives the first of what it puts out. Files are neither read nor written. */
export async function runProgram(request: unknown, timeout: number): Promise<object> {
  const { text, main, iterations } = programOf(request);
  const { graph } = await stream.elaborate(text, { timeout, ...(main === undefined ? {} : { main }) });
  if (graph.input !== undefined) throw new RequestError(400, 'the program has an open input: run it as a job', { argument: 'text' });
  const { printed, output, backend, milliseconds, note } = await stream.run(graph, { iterations, timeout });
  const shown = Array.from({ length: Math.min(output.length, mostItems) }, (_, i) => {
    const value = elementAt(output, i);
    return Number.isFinite(value) ? value : null;
  });
  return {
    printed: printed.slice(0, mostCharacters), output: shown, items: output.length, backend, seconds: milliseconds / 1000,
    ...(note === undefined ? {} : { note }),
  };
}
