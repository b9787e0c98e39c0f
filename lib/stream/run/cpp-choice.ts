// Whether `auto` has a program compiled as C++: one whose firings must follow each other, of which WebAssembly makes so many that compiling
// takes less time than C++ saves. All of it is counted, so that equal calls are answered alike.
import { availableParallelism } from 'node:os';
import { findCompiler, NoCompilerError } from '../../core/compile/compiler.ts';
import { WarploomError } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { sizeOf } from '../../kernel/passes/unroll.ts';
import type { StreamGraph } from '../graph.ts';
import { countRun, type RunAmount } from '../plan/counts.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { startMatters } from '../plan/start.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { scalarCount, typeBytes } from '../interpret/values.ts';
import { ScheduleError } from '../schedule/error.ts';
import { LargeProgram } from '../targets/cpp.ts';
import { timeOnCores } from './cores-time.ts';
import { compiledWasm } from './wasm.ts';

/** How many times as fast as WebAssembly C++ makes firings in order, at least. */
const gain = 1.5;
/** Milliseconds in which a compiler starts, compiles the runtime and links; and for a node of the intermediate representation. */
const leastCompiling = 1500, nodeCompiling = 0.25;
/** Milliseconds in which a byte of the input or output passes through a file, to the child process or back. */
const byteMilliseconds = 1e-6;

/** The part in order that a node belongs to: a feedback loop, or a filter with state. */
function partsOf({ graph, groups }: ProgramPlan): Map<number, number> {
  const parts = new Map<number, number>();
  let next = 0;
  for (const { isLoop, steps } of groups) {
    if (!isLoop) continue;
    for (const { actor } of steps) parts.set(actor, next);
    ++next;
  }
  for (const node of graph.nodes) if (!parts.has(node.id) && node.kind === 'filter' && node.code.stateful) parts.set(node.id, next++);
  return parts;
}

/** Milliseconds in which a run goes by WebAssembly and by C++, compiling included; undefined for programs that pieces are cut from. */
export function timesOf(
  graph: StreamGraph, amount: RunAmount, threads: number,
): { readonly wasm: number; readonly cpp: number } | undefined {
  const { plan, written } = compiledWasm(graph);
  if (startMatters(plan) !== undefined) return undefined;
  const counts = countRun(plan, amount), parts = partsOf(plan);
  const wasm = timeOnCores(plan, counts.firings, (node) => parts.get(node), threads) / 1000;
  const nodes = written.program.program.functions.reduce((sum, { body }) => sum + sizeOf(body), 0);
  const bytes = plan.externals.reduce((sum, { type }, i) => sum + typeBytes(type) * elementAt(counts.passed, i), 0);
  return { wasm, cpp: wasm / gain + leastCompiling + nodeCompiling * nodes + byteMilliseconds * bytes };
}

/** What a run is given. */
interface RunGiven {
  readonly input?: ArrayLike<number> | undefined;
  readonly items?: number | undefined;
  readonly iterations?: number | undefined;
  readonly threads?: number | undefined;
}

/** Whether a run is worth a compiler, and there is one. Only runs on an open input are. */
export function isForCpp(graph: StreamGraph, { input, items, iterations, threads = availableParallelism() }: RunGiven): boolean {
  if (graph.input === undefined || graph.output === undefined || input === undefined) return false;
  try {
    const given = Math.floor(input.length / scalarCount(graph.input.type));
    const amount = { input: given, ...(items === undefined ? {} : { items }), ...(iterations === undefined ? {} : { iterations }) };
    const times = timesOf(graph, amount, threads);
    if (times === undefined || times.wasm <= times.cpp) return false;
    findCompiler();
    return true;
  } catch (error) {
    if (error instanceof UnsupportedProgram || error instanceof ScheduleError || error instanceof WarploomError) return false;
    throw error;
  }
}

/**
 * A run by C++, if it is worth it; 'no' where it is not. Undefined where the system's compiler or temporary folder does not serve:
 * WebAssembly makes the run then, in the time that is left.
 */
export async function byCppIfWorth<Run>(
  graph: StreamGraph, given: RunGiven & { readonly timeout: number; readonly signal?: AbortSignal | undefined }, run: () => Promise<Run>,
): Promise<Run | 'no' | undefined> {
  if (!isForCpp(graph, given)) return 'no';
  const began = performance.now();
  try {
    return await run();
  } catch (error) {
    const isOver = given.signal?.aborted === true || performance.now() - began >= given.timeout;
    const isSystem = error instanceof WarploomError && error.code === 'ERR_WARPLOOM_SYSTEM_FAILED' && !isOver;
    if (error instanceof LargeProgram || error instanceof NoCompilerError || isSystem) return undefined;
    throw error;
  }
}
