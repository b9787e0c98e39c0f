// The `stream` job: runs a program, writes its output and graph, and reports how fast and how accurate it was.
import { basename, join } from 'node:path';
import { refusal } from '../../core/errors.ts';
import { readBytes, writeFileAtomic } from '../../core/files.ts';
import { elementAt } from '../../core/known.ts';
import * as stream from '../../stream/index.ts';
import type { ItemFunction, ItemReport } from '../kind.ts';
import { readItems, writeItems } from './files.ts';
import { compileProgram } from './program.ts';
import type { StreamJob } from './schema.ts';
import { distortion, kSoundRate, stereoBroadcast } from './signal.ts';

/** Number of items that are compared with the interpreter's. */
const compared = 2000;

interface Input {
  readonly numbers: ArrayLike<number> | undefined;
  readonly rate?: number | undefined;
}

async function inputOf(job: StreamJob, graph: stream.StreamGraph, path: (path: string) => string): Promise<Input> {
  if (graph.input === undefined) return { numbers: undefined };
  const { input } = job;
  if (input === undefined) throw refusal('input', 'a file or a signal, because the program has an open input', 'none');
  if (typeof input === 'string') return readItems(path(input), graph.input.type);
  if (graph.input.type.kind !== 'vector' || graph.input.type.name !== 'complex') {
    throw refusal('input', 'a program that takes complex samples, for signal "fm-stereo"', 'another one');
  }
  return { numbers: stereoBroadcast(input.seconds, input.noise), rate: kSoundRate };
}

async function filesOf(graph: stream.StreamGraph, path: (path: string) => string): Promise<Record<string, Uint8Array>> {
  const files: Record<string, Uint8Array> = {};
  for (const node of graph.nodes) if (node.kind === 'reader') files[node.file.path] ??= await readBytes(path(node.file.path));
  return files;
}

/** Accuracy compared with the transmitted sound or, for files, with the interpreter's first items. */
async function accuracyOf(
  job: StreamJob, graph: stream.StreamGraph, options: stream.StreamRunOptions, output: ArrayLike<number>,
): Promise<ItemReport['accuracy']> {
  if (typeof job.input === 'object') return { value: distortion(output), meaning: 'noise and distortion of the sound, relative' };
  // As written: the difference is then what `algebraic` changes.
  const { items: _items, iterations: _iterations, algebraic: _algebraic, ...rest } = options;
  const known = await stream.run(graph, { ...rest, backend: 'interpret', items: compared });
  let worst = 0;
  for (let i = 0; i < Math.min(known.output.length, output.length); ++i) {
    worst = Math.max(worst, Math.abs(elementAt(known.output, i) - elementAt(output, i)));
  }
  return { value: worst, meaning: `largest difference from the interpreter, first ${compared} items` };
}

/** Runs one program. */
export const streamItem: ItemFunction<StreamJob> = async (job, { input: path, folder, signal, onProgress }) => {
  const { compiled: { graph, diagnostics } } = await compileProgram(job, path, signal);
  if (graph.output === undefined) throw refusal('program', 'a program with an open output', 'one that keeps its items');
  const { numbers, rate } = await inputOf(job, graph, path);
  const { backend, items, iterations, threads, algebraic } = job;
  const options: stream.StreamRunOptions = {
    backend, signal, algebraic: algebraic === true, files: await filesOf(graph, path), ...(numbers === undefined ? {} : { input: numbers }),
    ...(items === undefined ? {} : { items }), ...(iterations === undefined ? {} : { iterations }),
    ...(threads === undefined ? {} : { threads }),
  };
  onProgress(0, 2);
  const result = await stream.run(graph, options);
  const seconds = result.milliseconds / 1e3;
  onProgress(1, 2);
  const count = await writeItems(join(folder, job.output), result.output, graph.output.type,
    { rate: job.rate ?? rate, channels: job.channels });
  await writeFileAtomic(join(folder, 'graph.svg'), await stream.graphSvg(graph, job.name));
  const accuracy = await accuracyOf(job, graph, options, result.output);
  onProgress(2, 2);
  return {
    summary: `${basename(path(job.program))}, ${graph.nodes.length} nodes, ${count} items, ${result.backend}`,
    figures: { items: count, seconds, itemsPerSecond: count / seconds, nodes: graph.nodes.length },
    accuracy, files: [job.output, 'graph.svg'],
    notes: [...diagnostics.map(({ code, message, line }) => `${code}, line ${line}: ${message}`),
      ...(result.note === undefined ? [] : [result.note]),
      ...(result.algebraic ?? []).map(({ node, replaces, before, after }) =>
        `${node} replaces ${replaces.length} nodes: ${before} operations in a steady state, now ${after}`)],
  };
};
