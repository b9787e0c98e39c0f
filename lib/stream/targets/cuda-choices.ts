// Parts of the text: what a warp does, what members of a task have, and what lanes find together.
import type { Group } from '../plan/plan.ts';
import { elementAt, required } from '../../core/known.ts';
import type { SplitFold } from '../../kernel/passes/split-fold.ts';

/** Finds the task to which a unit belongs. */
export function chosen(units: readonly { readonly first: number; readonly text: readonly string[] }[]): string[] {
  if (units.length === 1) return [...required(units[0]).text];
  const [low, high] = [units.slice(0, units.length >> 1), units.slice(units.length >> 1)];
  return [`      if (unit < ${required(high[0]).first}) {`, ...chosen(low), '      } else {', ...chosen(high), '      }'];
}

/** What each member has: one text for all, or the one of the member's number. */
export function choiceOf(type: string, values: readonly string[], tables: string[]): string {
  const [first] = values as [string];
  if (values.every((value) => value === first)) return first;
  const numbers = values.map(Number), step = elementAt(numbers, 1) - elementAt(numbers, 0);
  if (type === 'int' && numbers.every((x, i) => x === elementAt(numbers, 0) + i * step)) return `(${first} + member * ${step})`;
  const table = `wl_of_members_${tables.length}`;
  tables.push(`WL_UNIFORM_TABLE ${type} ${table}[] = {${values.join(', ')}};`);
  return `${table}[member]`;
}

/** Schedulers of a multiprocessor, each with a cache for the instructions of every fourth warp. */
const schedulers = 4;
/** How much longer a scheduler may be busy for warps that run the same code. */
const sharedWorth = 1.1;

/**
 * How many units each scheduler takes, one after the other, so that its warps run the same code; undefined if that is no better than units
 * in turn: where schedulers would get work that differs.
 */
export function sharedCaches(tasks: readonly { readonly count: number; readonly size: number }[], warps: number): number | undefined {
  const sizes = tasks.flatMap(({ count, size }) => Array.from({ length: count }, () => size));
  if (warps % schedulers > 0 || sizes.length <= schedulers) return undefined;
  const quarter = Math.ceil(sizes.length / schedulers);
  const loads = (of: (unit: number) => number): number[] => sizes.reduce((sums, size, unit) => {
    sums[of(unit)] = elementAt(sums, of(unit)) + size;
    return sums;
  }, Array.from({ length: schedulers }, () => 0));
  const [own, inTurn] = [loads((unit) => Math.floor(unit / quarter)), loads((unit) => unit % schedulers)];
  return Math.max(...own) <= sharedWorth * Math.max(...inTurn) ? quarter : undefined;
}

/** Kinds of scalars of the input in the printed program. */
export interface InputText {
  readonly tile: string;
  readonly placing: string;
  readonly landing: string;
  readonly from: string;
  readonly count: string;
  readonly each: number;
}

/** Call number `i` of `parts` lanes that look for a value together. */
export function foldLines(
  type: string, parts: number, join: SplitFold['join'],
  { condition, part, rest }: { readonly condition: string; readonly part: readonly string[]; readonly rest: readonly string[] },
): string[] {
  const joined = join === 'max' || join === 'min' ? `wl_${join}(a, b)` : `b ${join === 'gt' ? '>' : '<'} a ? b : a`;
  return [
    `      const int turn = fused::quotient(i, ${parts}), part = i - turn * ${parts};`, `      ${type} found[1] = {0};`,
    `      if (${condition}) {`, ...part, '      }',
    `      fused::fold_lanes<${parts}>(block, found[0], [](${type} a, ${type} b) { return ${joined}; });`,
    `      if (part == 0 && ${condition}) {`, ...rest, '      }',
  ];
}

/** What a round is told of iteration `turn` of a group that went wrong; programs with state tell more. */
export function failedAt({ iterations }: Group, state: object | undefined): string {
  return `turn / ${iterations}${state === undefined ? '' : `, turn % ${iterations}, fault`}`;
}
