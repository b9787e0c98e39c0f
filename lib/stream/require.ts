// Arguments of the public functions: refused by name where they are not what they should be.
import { describeValue } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Refuses what is no object, or lacks one of these fields that must be arrays. */
export function requireFields(argument: string, value: unknown, expected: string, arrays: readonly string[] = []): void {
  const isFit = typeof value === 'object' && value !== null && arrays.every((field) => Array.isArray((value as Fields)[field]));
  if (!isFit) throw refusal(argument, expected, describeValue(value));
}

/** Refuses what is no elaborated program. */
export function requireProgramGraph(graph: unknown): void {
  requireFields('graph', graph, 'the graph of a program, as stream.elaborate gives it', ['nodes', 'channels', 'portals']);
}

/** Refuses what is no graph of rates. */
export function requireRateGraph(graph: unknown): void {
  requireFields('graph', graph, 'a graph of rates, as stream.toSdf gives it', ['actors', 'channels']);
}

/** Refuses what is no list. */
export function requireList(argument: string, value: unknown, expected: string): void {
  if (!Array.isArray(value) && !ArrayBuffer.isView(value)) throw refusal(argument, expected, describeValue(value));
}
