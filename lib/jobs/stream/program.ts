// The program of a `stream` job: compiled, with the files that it reads.
import { basename } from 'node:path';
import { readBytes, readText, unlessAbsent } from '../../core/files.ts';
import * as stream from '../../stream/index.ts';
import type { StreamJob } from './schema.ts';

/** A program, and what it reads beside its input. */
interface Program {
  readonly compiled: stream.Compiled;
  /** Files that its readers read, which must be there. */
  readonly readers: readonly string[];
  /** Tables that it is elaborated with; zeros where they are not there. */
  readonly tables: readonly string[];
}

/** Compiles the program of a job. Paths in it are relative to the job file, as those of the job are. */
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
