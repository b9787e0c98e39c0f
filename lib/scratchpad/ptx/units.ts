// Cuts a kernel into the units that may change places: single instructions, and regions of text that control enters at the top and leaves
// at the end (loops, branches). A label behind a region, to which only its own branches lead, belongs to it.
import { elementAt, required } from '../../core/known.ts';
import type { Analysis } from './analysis.ts';
import { followers } from '../../kernel/ptx/blocks.ts';
import { targetsOf, type Instruction } from '../../kernel/ptx/module.ts';
import { pure } from '../../kernel/ptx/definitions.ts';

/** A piece of a kernel that all threads pass once. */
export interface Unit {
  /** Instructions [begin, end) and their text [start, stop). */
  readonly begin: number;
  readonly end: number;
  readonly start: number;
  readonly stop: number;
  /** `bar.sync 0` and nothing else. */
  readonly isBarrier: boolean;
  /** Does what the dependences do not describe: nothing that touches memory may be moved across it. */
  readonly isFence: boolean;
  /** Memory it reads and writes, in bits: 1 global, 2 local, 4 shared that keeps its place, 8 the first array that may move, and so on. */
  readonly reads: bigint;
  readonly writes: bigint;
  /** Segments between barriers, counted from 0. */
  readonly segment: number;
  /** Units that must come before it, because of registers. */
  readonly needs: readonly number[];
}

const [globalBit, localBit, sharedBit] = [1n, 2n, 4n];
/** The bit of an array that may move. */
export const arrayBit = (array: number): bigint => 8n << BigInt(array);

/** Where the text may be cut: the offset before every instruction at which a unit may begin. */
function cuts({ fn }: Analysis, masked: string): Map<number, number> {
  const count = fn.instructions.length;
  const crossing = new Int32Array(count + 2);
  const [forward, backward] = [new Set<number>(), new Set<number>()];
  for (const each of fn.instructions) {
    if (!/^brx?a?$/.test(elementAt(each.opcode, 0))) continue;
    for (const to of each.opcode[0] === 'bra' ? targetsOf(fn, each.operands[0] ?? '', each) : followers(fn, each).next) {
      (to > each.index ? forward : backward).add(to);
      const [from, until] = to > each.index ? [each.index + 1, to] : [to + 1, each.index + 1];
      crossing[from] = (crossing[from] ?? 0) + 1;
      crossing[until] = (crossing[until] ?? 0) - 1;
    }
  }
  const found = new Map<number, number>([[0, fn.instructions[0]?.start ?? 0]]);
  let open = 0;
  for (let at = 1; at < count; ++at) {
    open += crossing[at] ?? 0;
    if (open > 0 || (forward.has(at) && backward.has(at))) continue;
    const [before, after] = [elementAt(fn.instructions, at - 1), elementAt(fn.instructions, at)];
    const gap = masked.slice(before.end, after.start);
    const head = gap.slice(0, gap.lastIndexOf('}') + 1);
    const depth = before.scopes.length - head.split('}').length + 1;
    if (head.includes('{') || depth !== 1 || /\.branchtargets|\.(?:reg|shared|local|param|const|global)\b/.test(gap)) continue;
    const label = forward.has(at) ? [...gap.matchAll(/[A-Za-z_$%][\w$]*\s*:/g)].at(-1) : undefined;
    const split = Math.max(head.length, label === undefined ? 0 : label.index + label[0].length);
    found.set(at, before.end + split);
  }
  return found;
}

/** Memory that one instruction touches; undefined if it does more than that. */
function touched({ opcode }: Instruction, analysis: Analysis, at: number): { reads: bigint; writes: bigint } | undefined {
  const [head = ''] = opcode;
  const { memory } = elementAt(analysis.facts, at);
  if (memory === '') return pure.has(head) || /^(?:bra|brx)$/.test(head) ? { reads: 0n, writes: 0n } : undefined;
  const isOrdered = opcode.some((part) => /^(?:volatile|relaxed|acquire|release|mmio|async|cluster)/.test(part));
  if (!/^(?:ld|st)$/.test(head) || isOrdered) return undefined;
  if (/shared::cluster/.test(opcode.join('.'))) return undefined;
  const access = analysis.values.accesses[at];
  const spaces = new Set(opcode.map((part) => part.replace(/::.*/, '')));
  if (spaces.has('param')) return head === 'ld' ? { reads: 0n, writes: 0n } : undefined;
  const bits = access !== undefined ? access.variables.reduce((sum, each) => sum | arrayBit(each), 0n)
    : spaces.has('const') || spaces.has('nc') ? 0n : spaces.has('global') ? globalBit : spaces.has('local') ? localBit
      : spaces.has('shared') ? sharedBit : globalBit | localBit | sharedBit;
  return head === 'ld' ? { reads: bits, writes: 0n } : { reads: 0n, writes: bits };
}

const changing = /^%(?:clock|clock_hi|clock64|globaltimer\w*|pm\d+\w*)$/;

/** The units of a kernel; undefined if threads may leave it before its end, or wait for each other, or its end is not a plain `ret`. */
export function unitsOf(analysis: Analysis, masked: string): Unit[] | undefined {
  const { fn, facts, flow } = analysis;
  const last = fn.instructions.at(-1);
  const leaves = ({ opcode }: Instruction): boolean => /^(?:ret|exit|trap)$/.test(elementAt(opcode, 0));
  if (last === undefined || !leaves(last) || last.guard !== undefined || flow.nodes.some((node) => node.waits)) return undefined;
  const places = cuts(analysis, masked);
  if (!places.has(last.index) || fn.instructions.some((each) => each !== last && leaves(each))) return undefined;
  const begins = [...places.keys()].sort((a, b) => a - b);
  const writers = new Map<string, number>();
  const readers = new Map<string, number[]>();
  let segment = 0;
  return begins.map((begin, unit) => {
    const end = begins[unit + 1] ?? fn.instructions.length;
    const isBarrier = end === begin + 1 && facts[begin]?.kind === 'barrier' && facts[begin].defs.length === 0;
    let [reads, writes, isFence] = [0n, 0n, false];
    const needs = new Set<number>();
    const [used, defined] = [new Set<string>(), new Set<string>()];
    for (let at = begin; at < end; ++at) {
      const each = elementAt(fn.instructions, at);
      const own = elementAt(facts, at);
      const memory = touched(each, analysis, at);
      isFence ||= memory === undefined || [...own.uses].some((name) => changing.test(name));
      reads |= memory?.reads ?? 0n;
      writes |= memory?.writes ?? 0n;
      for (const name of [...own.uses, ...own.addresses, ...(each.guard === undefined ? [] : [each.guard])]) used.add(name);
      for (const name of own.defs) defined.add(name);
    }
    for (const name of used) if (writers.has(name)) needs.add(required(writers.get(name)));
    for (const name of defined) {
      if (writers.has(name)) needs.add(required(writers.get(name)));
      for (const each of readers.get(name) ?? []) needs.add(each);
    }
    for (const name of used) readers.set(name, [...readers.get(name) ?? [], unit]);
    for (const name of defined) {
      writers.set(name, unit);
      readers.delete(name);
    }
    needs.delete(unit);
    const own = segment;
    if (isBarrier) ++segment;
    return {
      begin, end, start: required(places.get(begin)), stop: places.get(end) ?? last.end, isBarrier, isFence: isFence && !isBarrier,
      reads, writes, segment: own, needs: [...needs],
    };
  });
}

/** Whether two units must keep their order because of memory. */
export function meet(a: Unit, b: Unit): boolean {
  if (a.isFence || b.isFence) return touches(a) && touches(b);
  return (a.writes & (b.reads | b.writes)) !== 0n || (a.reads & b.writes) !== 0n;
}

const touches = (unit: Unit): boolean => unit.isFence || (unit.reads | unit.writes) !== 0n;
