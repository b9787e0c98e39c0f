// What is wrong with a job, field by field: of a union, what the alternative says that was meant.
import type { z } from 'zod';

/** One thing that is wrong with a job. */
export interface JobIssue {
  /** Where, as names and places of lists: ['until', 'time']. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

type Issue = z.core.$ZodIssue;

/** How far a value is from an alternative: 100 if it is of another kind altogether, 10 for fields that it does not have. */
function distance(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => {
    if (issue.path.length > 0) return sum + 1;
    if (issue.code === 'invalid_union') return sum + Math.min(100, ...issue.errors.map(distance));
    if (issue.code === 'unrecognized_keys') return sum + 10;
    return sum + (issue.code === 'invalid_type' || issue.code === 'invalid_value' ? 100 : 1);
  }, 0);
}

/** What an alternative takes, in a few words; '' where its issues do not say. */
function takenBy(issues: readonly Issue[]): string {
  const first = issues.find(({ path }) => path.length === 0);
  if (first?.code === 'invalid_union') return first.errors.map(takenBy).join('; ');
  if (first?.code === 'invalid_type') return first.expected === 'object' ? 'an object' : `a ${first.expected}`;
  if (first?.code === 'invalid_value') {
    return first.values.map((value) => (typeof value === 'string' ? `"${value}"` : String(value))).join(', ');
  }
  return first?.message ?? '';
}

/** The issues of the alternative that was meant: the nearest one, if it is the only one. */
function meant(alternatives: readonly (readonly Issue[])[]): readonly Issue[] | undefined {
  const [first, second] = alternatives.map((issues) => ({ issues, far: distance(issues) })).sort((a, b) => a.far - b.far);
  return first !== undefined && first.far < 100 && (second === undefined || second.far > first.far) ? first.issues : undefined;
}

function flatten(issue: Issue, before: readonly PropertyKey[]): JobIssue[] {
  const path = [...before, ...issue.path];
  const plain = path.map((part) => (typeof part === 'number' ? part : String(part)));
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ path: [...plain, key], message: 'there is no such field' }));
  }
  if (issue.code !== 'invalid_union' || issue.message !== 'Invalid input' || issue.errors.length === 0) {
    return [{ path: plain, message: issue.message }];
  }
  const one = meant(issue.errors);
  if (one !== undefined) return one.flatMap((inner) => flatten(inner, path));
  const taken = [...new Set(issue.errors.map(takenBy).filter((text) => text !== ''))];
  return [{ path: plain, message: taken.length === 0 ? issue.message : `expected one of: ${taken.join('; ')}` }];
}

/** The issues of a job that its schema refuses. */
export function issuesOf(error: z.ZodError): JobIssue[] {
  return error.issues.flatMap((issue) => flatten(issue, [])).sort((a, b) => a.path.length - b.path.length);
}

/** A path as it is written in a job: until.time, y[0]. */
export function pathText(path: JobIssue['path']): string {
  return path.map((part, i) => (typeof part === 'number' ? `[${part}]` : `${i === 0 ? '' : '.'}${part}`)).join('');
}

/** All issues, one below the other. */
export function issuesText(issues: readonly JobIssue[]): string {
  return issues.map(({ path, message }) => (path.length === 0 ? message : `${pathText(path)}: ${message}`)).join('\n');
}
