// Programs printed for a device, cached between processes: planning and printing take longer than all else where the compiled kernel is in
// the cache too. An entry is found by the whole content of the graph, the options and the library's code, so it is never out of date.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { cachedText, cacheFolder } from '../../core/compile/cache.ts';
import { ownCode } from '../../core/compile/own-code.ts';
import { WarploomError } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import { apart, NoWorker } from '../apart/index.ts';
import { contentOf } from '../content.ts';
import type { StreamGraph } from '../graph.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { isTrusted } from '../require.ts';
import type { FusedOptions } from '../targets/cuda-layout.ts';
import { fusedPlan, fusedProgram, type FusedProgram, type FusedState } from '../targets/cuda.ts';

/** What is stored of a program; the rest is made again by the first run. */
interface Stored extends Omit<FusedProgram, 'plan' | 'state'> {
  readonly state: Omit<FusedState, 'works'> | null;
}

function storedOf({ plan: _, state, ...printed }: FusedProgram): Stored {
  if (state === undefined) return { ...printed, state: null };
  const { works: __, ...numbers } = state;
  return { ...printed, state: numbers };
}

/**
 * The program of an entry. What is not stored is made when it is read; what runs need of the plan of programs without state does not depend
 * on how nodes are grouped, so it is the plan of the default layout, which takes less time.
 */
function programOf({ state, ...printed }: Stored, graph: StreamGraph, options: FusedOptions): FusedProgram {
  let plan: ProgramPlan | undefined, whole: FusedProgram | undefined;
  const printedAgain = (): FusedProgram => whole ??= fusedProgram(graph, options);
  if (state === null) return { ...printed, state: undefined, get plan() { return plan ??= fusedPlan(graph, {}); } };
  return {
    ...printed, get plan() { return printedAgain().plan; },
    state: { ...state, get works() { return required(printedAgain().state).works; } },
  };
}

/** The content of graphs that nobody changes: a compilation asks for several programs of one. */
const contents = new WeakMap<StreamGraph, string>();

async function keyOf(graph: StreamGraph, options: FusedOptions): Promise<string | undefined> {
  // Others may change their graph after they had it compiled, and before all is read.
  const own = isTrusted(graph) ? contents.get(graph) ?? contentOf(graph) : undefined, chosen = contentOf(options);
  if (own === undefined || chosen === undefined) return undefined;
  contents.set(graph, own);
  const hash = createHash('sha256').update(await ownCode(['core', 'kernel', 'stream']));
  return hash.update(own).update(chosen).digest('hex').slice(0, 40);
}

/** What is stored of a graph in one layout. Throws as {@link fusedProgram} does. */
export function printedText(graph: StreamGraph, options: FusedOptions): string {
  return textOf(fusedProgram(graph, options));
}

function textOf(program: FusedProgram): string {
  const stored = storedOf(program), json = JSON.stringify(stored);
  if (!isDeepStrictEqual(JSON.parse(json), stored)) throw new WarploomError('ERR_WARPLOOM_INTERNAL', 'a printed program is not JSON');
  return json;
}

/** A text from the cache, or made and kept there; undefined where there is no cache. */
async function throughCache(
  graph: StreamGraph, options: FusedOptions, make: () => string | Promise<string>,
): Promise<string | undefined> {
  try {
    const key = await keyOf(graph, options);
    return key === undefined ? undefined : await cachedText(cacheFolder(undefined, 'stream'), key, make);
  } catch (error) {
    // Without a cache: no folder, no permission, no space.
    const isOfFiles = error instanceof WarploomError && ['ERR_WARPLOOM_SYSTEM_FAILED', 'ERR_WARPLOOM_UNAVAILABLE'].includes(error.code);
    if (!isOfFiles) throw error;
    return undefined;
  }
}

/** A graph as {@link fusedProgram} prints it, from the cache if it is there. Throws as that does. */
export async function printedProgram(graph: StreamGraph, options: FusedOptions = {}): Promise<FusedProgram> {
  let made: FusedProgram | undefined;
  const text = await throughCache(graph, options, () => textOf(made = fusedProgram(graph, options)));
  if (made !== undefined) return made;
  return text === undefined ? fusedProgram(graph, options) : programOf(JSON.parse(text) as Stored, graph, options);
}

/** Numbers of graphs that nobody changes, by which worker threads know them again. */
const numbers = new WeakMap<StreamGraph, number>();
let graphs = 0;

/**
 * Like {@link printedProgram}, on a worker thread, where there is one. Several at once are printed by several threads. Throws the reason of
 * `stop` when that comes.
 */
export async function printedAside(graph: StreamGraph, options: FusedOptions, stop: AbortSignal): Promise<FusedProgram> {
  let number: number | undefined;
  if (isTrusted(graph)) numbers.set(graph, number = numbers.get(graph) ?? ++graphs);
  let made: string | undefined;
  const print = async (): Promise<string> => made = await apart<string>({ kind: 'print', graph, number, options }, stop);
  try {
    const text = await throughCache(graph, options, print) ?? made ?? await print();
    return programOf(JSON.parse(text) as Stored, graph, options);
  } catch (error) {
    if (!(error instanceof NoWorker)) throw error;
    return printedProgram(graph, options);
  }
}
