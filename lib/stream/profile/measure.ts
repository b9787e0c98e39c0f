// Measures the time of a firing of each node: each node runs alone, on items that were on its channels in a run of the whole program.
import { createHash } from 'node:crypto';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { cacheFolder } from '../../core/compile/cache.ts';
import { findCompiler, versionOf } from '../../core/compile/compiler.ts';
import { readText, writeFileAtomic } from '../../core/files.ts';
import { elementAt, required } from '../../core/known.ts';
import { programText } from '../../kernel/text.ts';
import { lowerProgram } from '../lower/program.ts';
import { countsOf, kindsIn, makeArray } from '../plan/layout.ts';
import { planProgram, type ProgramPlan } from '../plan/plan.ts';
import type { StreamGraph } from '../graph.ts';
import { StreamRunError } from '../interpret/error.ts';
import { scalarCount } from '../interpret/values.ts';
import { backendNamed } from '../run/backends.ts';
import { compileCppTogether } from '../run/cpp.ts';
import type { RunOptions, RunResult, Scalars } from '../run/prepare.ts';
import { compileWasm } from '../run/wasm.ts';
import { countedCosts } from './estimate.ts';
import { partsOf, recordedInput, type Part } from './parts.ts';
import type { Profile, ProfiledBackend, ProfileOptions } from './types.ts';

const storedSchema = z.strictObject({
  version: z.literal(1), microseconds: z.array(z.number().nonnegative()), measured: z.array(z.boolean()),
});

type Runner = (input: ArrayLike<number> | undefined, options: RunOptions) => RunResult | Promise<RunResult>;

async function keyOf(
  plan: ProgramPlan, backend: ProfiledBackend, { input, files = {}, seed = 1 }: ProfileOptions,
): Promise<string> {
  const hash = createHash('sha256');
  const machine = backend === 'wasm' ? process.version : await versionOf(findCompiler());
  hash.update(JSON.stringify([1, backend, machine, cpus()[0]?.model, seed, Object.keys(files)]));
  hash.update(programText(lowerProgram(plan).program));
  if (input !== undefined) hash.update(Float64Array.from(input));
  for (const bytes of Object.values(files)) hash.update(bytes);
  return hash.digest('hex').slice(0, 40);
}

async function stored(path: string, nodes: number): Promise<z.infer<typeof storedSchema> | undefined> {
  try {
    const found = storedSchema.parse(JSON.parse(await readText(path)));
    return found.microseconds.length === nodes && found.measured.length === nodes ? found : undefined;
  } catch {
    return undefined; // none yet, or not one of ours
  }
}

/** The recorded items over and over, for so many firings. */
function repeated(part: Part, firings: number): Scalars | undefined {
  const { input } = part;
  if (input === undefined || input.length === 0) return input;
  const { type } = required(part.graph.input), size = scalarCount(type);
  const whole = input.subarray(0, input.length - input.length % size);
  const length = Math.max(whole.length, Math.ceil(firings * part.pop + 256) * size);
  const [kind = 'd', ...others] = kindsIn(countsOf(type));
  const numbers = makeArray(others.length === 0 ? kind : 'd', length); // what a run takes as it is
  for (let at = 0; at < length; at += whole.length) numbers.set(whole.subarray(0, Math.min(whole.length, length - at)), at);
  return numbers;
}

const mostFirings = 4_000_000;

/** Microseconds of one firing: runs grow until one is long enough, then the quickest of four counts. */
async function timeOf(part: Part, run: Runner, seconds: number): Promise<number | undefined> {
  let input: { readonly items: Scalars | undefined; readonly firings: number } | undefined;
  const once = async (firings: number): Promise<{ each: number; count: number }> => {
    if (input?.firings !== firings) input = { items: repeated(part, firings), firings };
    const { milliseconds, firings: made } = await run(input.items, part.input === undefined ? { iterations: firings } : {});
    return { each: 1e3 * milliseconds / elementAt(made, 0), count: elementAt(made, 0) };
  };
  let firings = 64;
  let { each, count } = await once(firings);
  if (count === 0) return undefined;
  while (each * count < 1e6 * seconds && firings < mostFirings) {
    firings = Math.min(mostFirings, Math.ceil(Math.max(4 * firings, 1.2e6 * seconds / Math.max(each, 1e-3))));
    ({ each, count } = await once(firings));
  }
  for (let repeat = 0; repeat < 3; ++repeat) each = Math.min(each, (await once(firings)).each);
  return each;
}

async function runnersOf(parts: readonly Part[], backend: ProfiledBackend, options: ProfileOptions): Promise<readonly Runner[]> {
  if (backend === 'wasm') {
    return parts.map(({ graph }) => {
      const program = compileWasm(graph);
      return (input, runOptions) => program.run(input, runOptions);
    });
  }
  const { signal } = options;
  const programs = await compileCppTogether(parts.map(({ graph }) => graph), { signal });
  return programs.map((program) => (input, runOptions) => program.run(input, { ...runOptions, signal }));
}

/** What `profile` does. */
export async function measure(graph: StreamGraph, given: ProfileOptions = {}): Promise<Profile> {
  const { backend: name = 'wasm', seconds = 5e-3, force = false, signal } = given;
  const { backend, ...note } = backendNamed(name);
  signal?.throwIfAborted();
  const plan = planProgram(graph, { savings: false });
  const input = recordedInput(plan, given.input);
  const options: ProfileOptions = input === undefined ? given : { ...given, input };
  const key = await keyOf(plan, backend, options);
  const path = join(cacheFolder(given.cacheFolder, 'stream'), `${key}.profile.json`);
  const known = force ? undefined : await stored(path, graph.nodes.length);
  if (known !== undefined) return { microseconds: known.microseconds, measured: known.measured, backend, cached: true, key, ...note };
  const parts = await partsOf(plan, options);
  const runners = await runnersOf(parts, backend, options);
  const microseconds = [...countedCosts(graph)];
  const measured = graph.nodes.map(() => false);
  let done = 0;
  for (const [at, part] of parts.entries()) {
    signal?.throwIfAborted();
    const each = await timeOf(part, elementAt(runners, at), seconds).catch((error: unknown) => {
      // Items in another order than in the whole program can lead a filter astray that keeps state.
      if (error instanceof StreamRunError) return undefined;
      throw error;
    });
    for (const [node, worth] of part.worth) {
      if (each !== undefined) microseconds[node] = each * worth;
      measured[node] = each !== undefined;
    }
    options.onProgress?.(done += part.worth.size, graph.nodes.length);
    await new Promise((resolve) => { setImmediate(resolve); });
  }
  await writeFileAtomic(path, `${JSON.stringify({ version: 1, microseconds, measured })}\n`);
  return { microseconds, measured, backend, cached: false, key, ...note };
}
