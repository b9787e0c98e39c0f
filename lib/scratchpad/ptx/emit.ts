// Writes a layout into the text of a kernel: one pool instead of its arrays, and new barriers.
import { elementAt, required } from '../../core/known.ts';
import type { Layout } from '../../kernel/memory/layout.ts';
import type { Analysis } from './analysis.ts';
import { namesIn, type PtxModule } from '../../kernel/ptx/module.ts';

/** A replacement of text [start, end). */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Where an array went. */
export interface Moved {
  readonly name: string;
  readonly bytes: number;
  readonly alignment: number;
  readonly offset: number;
}

/** A rewritten kernel. */
export interface Emission {
  readonly kernel: string;
  readonly pool: string;
  readonly poolBytes: number;
  readonly moved: readonly Moved[];
  readonly barriers: number;
  readonly kills: readonly { readonly name: string; readonly at: number }[];
  /** Whether the pool is dynamic shared memory, because it is too large for the other kind. */
  readonly isDynamic: boolean;
  readonly edits: readonly Edit[];
}

/** The most bytes of static shared memory that ptxas accepts. */
export const staticLimit = 49_152;
const plainText = (name: string): string => name.replace(/[$.*+?^()[\]{}|\\]/g, '\\$&');

/** Names a pool so that nothing else in the module has its name. */
function poolName({ text }: PtxModule, kernel: string): string {
  let name = `warploom_pool_${kernel}`;
  while (text.includes(name)) name += '_';
  return name;
}

/** Replaces the names of arrays in one statement by places in the pool. */
function renamed(text: string, places: ReadonlyMap<string, number>, pool: string): string {
  const names = [...places.keys()].map(plainText).join('|');
  const use = new RegExp(`(?<![\\w$%.])(${names})(?![\\w$])(?:\\s*([+-])\\s*(-?(?:0[xX][0-9a-fA-F]+|\\d+))(?![\\w.]))?`, 'g');
  return text.replace(use, (_, name: string, sign: string | undefined, number: string | undefined) => {
    const value = number === undefined ? 0 : Number(number.replace('-', '')) * (number.startsWith('-') ? -1 : 1);
    return `${pool}+${required(places.get(name)) + (sign === '-' ? -value : value)}`;
  });
}

/** The edits for one kernel. */
export function emit(module: PtxModule, analysis: Analysis, { plan, barriers }: Layout, pinnedBytes: number): Emission {
  const { fn, values, arrays, flow } = analysis;
  const pool = poolName(module, fn.name);
  const alignment = Math.max(...arrays.map((array) => array.alignment));
  const isDynamic = plan.bytes + pinnedBytes > staticLimit;
  const places = new Map(values.movable.map(({ name }, at) => [name, elementAt(plan.offsets, at)]));
  const edits: Edit[] = [isDynamic
    ? { start: fn.start, end: fn.start, text: `.extern .shared .align ${Math.max(alignment, 16)} .b8 ${pool}[];\n\n` }
    : { start: fn.bodyStart + 1, end: fn.bodyStart + 1, text: `\n\t.shared .align ${alignment} .b8 ${pool}[${plan.bytes}];` }];
  for (const { start, end, name } of fn.shared) if (places.has(name)) edits.push({ start, end, text: '' });
  for (const { operandsAt: start, end, operands } of fn.instructions) {
    if (!operands.some((operand) => namesIn(operand).some((name) => places.has(name)))) continue;
    const text = module.text.slice(start, end);
    edits.push({ start, end, text: renamed(text, places, pool) });
  }
  for (const { slot } of barriers) {
    const { start } = elementAt(fn.instructions, elementAt(flow.nodes, slot).at);
    edits.push({ start, end: start, text: 'bar.sync \t0;\n\t' });
  }
  const moved = values.movable.map(({ name, bytes, alignment: own }, at) =>
    ({ name, bytes, alignment: own, offset: elementAt(plan.offsets, at) }));
  const kills = analysis.kills.map(({ array, at }) => ({ name: elementAt(values.movable, array).name, at }));
  return { kernel: fn.name, pool, poolBytes: plan.bytes, moved, barriers: barriers.length, kills, isDynamic, edits };
}

/** Removes declarations outside of functions that nothing uses any more. */
export function unusedDeclarations(module: PtxModule, emissions: readonly Emission[]): Edit[] {
  const moved = new Map(emissions.map((each) => [each.kernel, new Set(each.moved.map((one) => one.name))]));
  const used = new Set(module.functions.flatMap((fn) => fn.instructions.flatMap((each) => each.operands.flatMap(namesIn))
    .filter((name) => moved.get(fn.name)?.has(name) !== true)));
  const anywhere = new Set([...moved.values()].flatMap((names) => [...names]));
  return module.shared.filter(({ name }) => anywhere.has(name) && !used.has(name)).map(({ start, end }) => ({ start, end, text: '' }));
}

/** Applies edits, which do not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const edit of [...edits].sort((a, b) => a.start - b.start || a.end - b.end)) {
    parts.push(text.slice(at, edit.start), edit.text);
    at = edit.end;
  }
  return [...parts, text.slice(at)].join('');
}
