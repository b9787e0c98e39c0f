// Programs printed for a device, cached between processes: planning and printing take longer than all else where the compiled kernel is in
// the cache too. An entry is found by the whole content of the graph, the options and the library's code, so it is never out of date.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { cachedText, cacheFolder } from '../../core/compile/cache.ts';
import { ownCode } from '../../core/compile/own-code.ts';
import { WarploomError } from '../../core/errors.ts';
import { required } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { isTrusted } from '../require.ts';
import type { FusedOptions } from '../targets/cuda-layout.ts';
import { fusedPlan, fusedProgram, type FusedProgram, type FusedState } from '../targets/cuda.ts';
import { contentOf } from './content.ts';

/** What is stored of a program; the rest is made again by the first run. */
interface Stored extends Omit<FusedProgram, 'plan' | 'state'> {
  readonly state: Omit<FusedState, 'works'> | null;
}

function storedOf({ plan: _, state, ...printed }: FusedProgram): Stored {
  if (state === undefined) return { ...printed, state: null };
  const { works: __, ...numbers } = state;
  return { ...printed, state: numbers };
}

/** The program of an entry. What is not stored is made when it is read. */
function programOf({ state, ...printed }: Stored, graph: StreamGraph, options: FusedOptions): FusedProgram {
  let plan: ProgramPlan | undefined, whole: FusedProgram | undefined;
  const printedAgain = (): FusedProgram => whole ??= fusedProgram(graph, options);
  if (state === null) return { ...printed, state: undefined, get plan() { return plan ??= fusedPlan(graph, options); } };
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

/** A graph as {@link fusedProgram} prints it, from the cache if it is there. Throws as that does. */
export async function printedProgram(graph: StreamGraph, options: FusedOptions = {}): Promise<FusedProgram> {
  let made: FusedProgram | undefined;
  try {
    const key = await keyOf(graph, options);
    if (key === undefined) return fusedProgram(graph, options);
    const text = await cachedText(cacheFolder(undefined, 'stream'), key, () => {
      made = fusedProgram(graph, options);
      const stored = storedOf(made), json = JSON.stringify(stored);
      if (!isDeepStrictEqual(JSON.parse(json), stored)) throw new WarploomError('ERR_WARPLOOM_INTERNAL', 'a printed program is not JSON');
      return json;
    });
    return made ?? programOf(JSON.parse(text) as Stored, graph, options);
  } catch (error) {
    // Without a cache: no folder, no permission, no space.
    const isOfFiles = error instanceof WarploomError && ['ERR_WARPLOOM_SYSTEM_FAILED', 'ERR_WARPLOOM_UNAVAILABLE'].includes(error.code);
    if (!isOfFiles) throw error;
    return made ?? fusedProgram(graph, options);
  }
}
