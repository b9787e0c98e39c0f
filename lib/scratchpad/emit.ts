// Writes the pool, the references into it and the barriers to the source.
import { elementAt, required } from '../core/known.ts';
import type { SharedArray } from './arrays.ts';
import type { Analysis } from './analyse.ts';
import type { FunctionNode } from './program.ts';
import type { NewBarrier } from './barriers.ts';
import { Refusal } from './refusal.ts';
import type { Syntax, SyntaxNode } from './syntax.ts';
import type { Plan } from '../kernel/memory/types.ts';

/** A replacement of [start, end) of the source. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The maximum size of static shared memory in bytes. */
export const kMostStaticBytes = 48 * 1024;
/** The minimum alignment of a pool, as the compiler may use vector loads. */
const kPoolAlignment = 16;

/** Applies edits that do not overlap. Edits at the same place are applied in the given order. */
export function applyEdits(source: string, edits: readonly Edit[]): string {
  const sorted = edits.map((edit, at) => ({ ...edit, at })).sort((a, b) => a.start - b.start || a.end - b.end || a.at - b.at);
  let text = '';
  let from = 0;
  for (const { start, end, text: inserted } of sorted) {
    text += source.slice(from, start) + inserted;
    from = Math.max(from, end);
  }
  return text + source.slice(from);
}

/** The edits for one kernel. */
export interface Emission {
  readonly edits: readonly Edit[];
  readonly dynamicBytes: number | undefined;
}

function referenceText(array: SharedArray, pool: string, offset: string): string {
  const extents = array.extentTexts.map((text) => `[${text}]`).join('');
  const type = extents === '' ? `${array.type}*` : `${array.type}(*)${extents}`;
  return `auto& ${array.name} = *reinterpret_cast<${type}>(${pool} + ${offset});`;
}

function poolText(pool: string, bytes: string, alignment: number, dynamic: boolean): string {
  // After extern __shared__, nvcc takes alignas for an attribute that applies to nothing.
  const qualifiers = dynamic ? 'extern __shared__ __align__' : '__shared__ alignas';
  return `${qualifiers}(${Math.max(kPoolAlignment, alignment)}) unsigned char ${pool}[${dynamic ? '' : bytes}];`;
}

/** A name that does not occur in the source. */
function freeName(syntax: Syntax, wanted: string): string {
  let name = wanted;
  while (syntax.source.includes(name)) name += '_';
  return name;
}

/** The declarations in order, each with the arrays it declares. */
function byDeclaration(arrays: readonly SharedArray[]): Map<SyntaxNode, SharedArray[]> {
  const groups = new Map<SyntaxNode, SharedArray[]>();
  for (const array of arrays) groups.set(array.declaration, [...groups.get(array.declaration) ?? [], array]);
  return groups;
}

function numericEdits(syntax: Syntax, fn: FunctionNode, arrays: readonly SharedArray[], plan: Plan): Emission {
  const pool = freeName(syntax, `warploom_pool_${fn.name}`);
  const dynamic = plan.bytes > kMostStaticBytes;
  const strictest = Math.max(...arrays.map((array) => array.alignment));
  const edits: Edit[] = [
    { start: fn.body.start + 1, end: fn.body.start + 1, text: ` ${poolText(pool, String(plan.bytes), strictest, dynamic)}` },
  ];
  for (const [declaration, group] of byDeclaration(arrays)) {
    const text = group.map((array) => {
      const reference = referenceText(array, pool, String(elementAt(plan.offsets, array.index)));
      if (!array.derived) return reference;
      return `${reference} static_assert(sizeof(${array.name}) == ${array.bytes}, "laid out for another size");`;
    }).join(' ');
    edits.push({ start: declaration.start, end: declaration.end, text });
  }
  return { edits, dynamicBytes: dynamic ? plan.bytes : undefined };
}

/** If sizes depend on template parameters, the compiler computes the layout, one partition after another. */
function symbolicEdits(syntax: Syntax, fn: FunctionNode, arrays: readonly SharedArray[], plan: Plan): Emission {
  const pool = freeName(syntax, `warploom_pool_${fn.name}`);
  const prefix = pool.replace('_pool_', '_');
  const first = elementAt(arrays, 0).declaration;
  const outside = arrays.find((array) => array.symbolic && array.extentTexts.some((text) => namesLocal(text, array, fn, syntax)));
  if (first.parent !== fn.body || outside !== undefined) {
    throw new Refusal('symbolic-scope', (outside ?? elementAt(arrays, 0)).declaration,
      'sizes depend on template parameters and on names that the layout cannot use');
  }
  const offsets = [...new Set(plan.offsets)].sort((a, b) => a - b);
  const unit = Math.max(kPoolAlignment, ...arrays.map((array) => array.alignment));
  const lines: string[] = [];
  let end = '0';
  const names = new Map<number, string>();
  for (const [at, offset] of offsets.entries()) {
    const start = `${prefix}_at${at}`;
    lines.push(`constexpr unsigned ${start} = ${end};`);
    names.set(offset, start);
    let largest = '';
    for (const array of arrays.filter((each) => plan.offsets[each.index] === offset)) {
      const size = `${prefix}_size${array.index}`;
      lines.push(`constexpr unsigned ${size} = sizeof(${array.type})${array.extentTexts.map((text) => ` * (${text})`).join('')};`);
      lines.push(`static_assert(alignof(${array.type}) <= ${unit}, "over-aligned elements");`);
      const most = `${prefix}_most${array.index}`;
      if (largest !== '') lines.push(`constexpr unsigned ${most} = ${largest} > ${size} ? ${largest} : ${size};`);
      largest = largest === '' ? size : most;
    }
    end = `(${start} + ${largest} + ${unit - 1}) / ${unit} * ${unit}`;
  }
  lines.push(`constexpr unsigned ${prefix}_bytes = ${end};`, poolText(pool, `${prefix}_bytes`, unit, false));
  const edits: Edit[] = [];
  for (const [declaration, group] of byDeclaration(arrays)) {
    const nameOf = ({ index }: { readonly index: number }) => required(names.get(elementAt(plan.offsets, index)));
    const references = group.map((array) => referenceText(array, pool, nameOf(array))).join(' ');
    const text = declaration === first ? `${lines.join(' ')} ${references}` : references;
    edits.push({ start: declaration.start, end: declaration.end, text });
  }
  return { edits, dynamicBytes: undefined };
}

/** Whether an extent uses a name declared in the kernel, possibly after the pool. */
function namesLocal(text: string, array: SharedArray, fn: FunctionNode, syntax: Syntax): boolean {
  const before = syntax.masked.slice(fn.body.start, array.declaration.start);
  return [...text.matchAll(/[A-Za-z_]\w*/g)].some(([word]) =>
    new RegExp(`\\b(?:const|constexpr)\\b[^;]*\\b${word}\\b\\s*[={]`).test(before));
}

/** Inserts a barrier before a statement, or before the end of a block. */
function barrierEdit(syntax: Syntax, offset: number, closing: boolean): Edit {
  const { source } = syntax;
  const lineStart = source.lastIndexOf('\n', offset - 1) + 1;
  const indent = source.slice(lineStart, offset);
  const ownLine = /^[ \t]*$/.test(indent);
  const newline = source.includes('\r\n') ? '\r\n' : '\n';
  const call = '__syncthreads();';
  if (!ownLine) return { start: offset, end: offset, text: `${call} ` };
  return { start: offset, end: offset, text: closing ? `  ${call}${newline}${indent}` : `${call}${newline}${indent}` };
}

/** The edits that place a kernel's arrays in one pool according to the plan, and insert barriers. */
export function emitKernel(syntax: Syntax, fn: FunctionNode, { arrays, flow, visitor }: Analysis, plan: Plan,
  barriers: readonly NewBarrier[]): Emission {
  const symbolic = arrays.some((array) => array.symbolic);
  const { edits, dynamicBytes } = (symbolic ? symbolicEdits : numericEdits)(syntax, fn, arrays, plan);
  const calls = barriers.map(({ slot }) => {
    const { offset, closing } = elementAt(flow.nodes, slot);
    return barrierEdit(syntax, offset, closing);
  });
  const promises = [...visitor.plainParameters].map((name) => ({
    start: fn.body.start + 1, end: fn.body.start + 1,
    text: ` static_assert(!__is_class(${name}) && !__is_union(${name}), "may keep a reference to shared memory");`,
  }));
  return { edits: [...edits, ...promises, ...calls], dynamicBytes };
}
