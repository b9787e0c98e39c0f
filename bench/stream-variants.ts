// Layouts of the twelve programs on a device (`npm run bench -- stream --variants`): the search of `compileForDevice({ tune: true })`, with
// every candidate's rate in the report, and every item of its output checked. Rows, items of output a second with input and output on the
// device:
//   stream/<program>/variant/default   the layout of stream.run without a search
//   stream/<program>/variant/<name>    candidates by their names (lib/stream/run/layouts.ts)
import type { BenchmarkProgram } from '../examples/stream/programs.ts';
import { CompiledGpu } from '../lib/stream/run/gpu.ts';
import { byDefault, firstCandidates, furtherCandidates, LayoutSearch, shortList, type Candidate } from '../lib/stream/run/layouts.ts';
import { Failures, type BenchContext } from './domain.ts';
import type { Report, Row } from './report.ts';
import { eachProgram, kernelNote, roofline, shareOf, wantedPrograms } from './stream-device.ts';
import { StreamWork } from './stream-device-work.ts';
import { programGraph } from './stream-programs.ts';

const all = [byDefault, ...firstCandidates, ...shortList, ...furtherCandidates(firstCandidates)];
const allNames = [...new Set(all.map(({ name }) => name))];
/** Candidates of a quick run. */
const quickNames = new Set([firstCandidates[0]!.name, firstCandidates.at(-1)!.name]);

async function searchProgram(context: BenchContext, program: BenchmarkProgram): Promise<void> {
  const { device, quick, say, emit, wanted } = context;
  const idOf = ({ name }: Candidate): string => `stream/${program.name}/variant/${name}`;
  const graph = await programGraph(program.name);
  using compiled = await CompiledGpu.compileDefault(graph, device);
  using work = await StreamWork.open(program, graph, compiled, quick);
  const time = async (candidate: Candidate, made: CompiledGpu): Promise<number> => {
    const id = idOf(candidate);
    const { best, spread, bytesPerSecond } = await work.time(made, id);
    emit({ id, value: best, unit: 'items/s', spread, ...shareOf(best, roofline(device, program.name, made)),
      note: `${(bytesPerSecond / 1e9).toPrecision(4)} GB/s; ${kernelNote(made)}` });
    return best;
  };
  using search = new LayoutSearch(graph, device, { time, skip: (candidate, reason) => { say(`${idOf(candidate)}: ${reason}`); } });
  if (wanted(idOf(byDefault))) search.knows(byDefault, compiled.program, { rate: await time(byDefault, compiled), compiled });
  const isWanted = (candidate: Candidate): boolean => wanted(idOf(candidate)) && (!quick || quickNames.has(candidate.name));
  await search.run(isWanted);
  await search.tries(shortList.filter(isWanted));
  if (search.failures.length > 0) throw new AggregateError(search.failures, `${search.failures.length} variants failed`);
}

/** The domain `stream-variants`. */
export async function benchmarkStreamVariants(context: BenchContext): Promise<void> {
  const programs = wantedPrograms(context, allNames.map((name) => `variant/${name}`));
  const failures = new Failures(context);
  await eachProgram(programs, context, failures, (program) => searchProgram(context, program));
  failures.end();
}

/** A table of each program's variants, the fastest first. */
export function variantTables({ rows }: Report): string {
  const byProgram = new Map<string, Row[]>();
  for (const row of rows) {
    const [, program = ''] = row.id.split('/');
    byProgram.set(program, [...byProgram.get(program) ?? [], row]);
  }
  return [...byProgram].map(([program, all]) => {
    const lines = all.sort((a, b) => b.value - a.value).map(({ id, value, fraction, spread, note = '' }) =>
      [id.split('/')[3], (value / 1e9).toPrecision(4), fraction === undefined ? '' : `${(100 * fraction).toFixed(1)} %`,
        `${(100 * spread).toFixed(1)} %`, note]);
    return [[program, 'G items/s', 'of the limit', 'spread', ''], ['---', '---', '---', '---', '---'], ...lines]
      .map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  }).join('\n\n');
}
