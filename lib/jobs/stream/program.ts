// The compiled program of a `stream` job, and the files that it reads.
import { basename } from 'node:path';
import { readBytes, readText, unlessAbsent } from '../../core/files.ts';
import * as stream from '../../stream/index.ts';
import type { StreamJob } from './schema.ts';

/** A program, and the files that it reads besides its input. */
interface Program {
  readonly compiled: stream.Compiled;
  /** Files that its readers read; they must exist. */
  readonly readers: readonly string[];
  /** Tables read during elaboration; zeros if a file does not exist. */
  readonly tables: readonly string[];
}

/** Compiles the program of a job. Paths in it are relative to the job file, like those in the job. */
export async function compileProgram(job: StreamJob, resolve: (path: string) => string, signal?: AbortSignal): Promise<Program> {
  const path = resolve(job.program);
  const sources = [{ name: basename(path), text: await readText(path) }];
  const options = {
    ...(signal === undefined ? {} : { signal }), ...(job.main === undefined ? {} : { main: job.main }),
    ...(job.parameters === undefined ? {} : { parameters: job.parameters }),
  };
  const first = await stream.elaborate(sources, options);
  const tables = first.graph.missing ?? [];
  const files: Record<string, Uint8Array> = {};
  for (const table of tables) {
    const bytes = await unlessAbsent(readBytes(resolve(table)));
    if (bytes !== undefined) files[table] = bytes;
  }
  const compiled = Object.keys(files).length === 0 ? first : await stream.elaborate(sources, { ...options, files });
  const readers = new Set(compiled.graph.nodes.flatMap((node) => (node.kind === 'reader' ? [node.file.path] : [])));
  return { compiled, readers: [...readers], tables };
}

/** The files that a job's program reads, for the job's hash. */
export async function programFiles(
  job: StreamJob, resolve: (path: string) => string,
): Promise<{ field: string; path: string; optional: boolean }[]> {
  const { readers, tables } = await compileProgram(job, resolve);
  return [
    ...readers.map((path) => ({ field: `program: ${path}`, path: resolve(path), optional: false })),
    ...tables.map((path) => ({ field: `program: ${path}`, path: resolve(path), optional: true })),
  ];
}
