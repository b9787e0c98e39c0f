// Text that chooses: what a warp does, and what members of a task have.
import { elementAt, required } from '../../core/known.ts';

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
