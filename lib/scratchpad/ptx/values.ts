// Which shared variables the registers of a kernel may point into.
//
// Why this is sound. A program can form the address of a shared variable only from the variable's name. Here the name gives a register
// its label, and every instruction that computes with a labelled register passes the label on, whatever else the register held before or
// after: labels belong to registers, not to places, so joins, loops and any order of execution are covered. A register with several labels
// may point to any of these variables, and an access through it counts as one to each of them. Wherever an address could get out of this
// view (it is stored, passed on, computed from two addresses, taken apart into bits, compared with a number, used by an instruction that
// is not known), the variable is pinned: it keeps its own bytes, and nothing more needs to be known about it. So addresses that are loaded
// from memory, returned by calls or received as parameters can only be of pinned variables.
// As in C++, an access through an address stays inside the variable from whose name the address was formed.
import { elementAt } from '../../core/known.ts';
import { namesIn, type Instruction, type PtxFunction, type PtxModule, type SharedVariable } from '../../kernel/ptx/module.ts';
import type { Facts } from './facts.ts';

/** Why a variable keeps its own bytes. */
export const pinReasons = {
  dynamic: 'its size is known only at the launch',
  linkage: 'other modules or debugging information may use it',
  together: 'it is declared together with others in one statement',
  function: 'a function that is not inlined uses it',
  declared: 'its name is declared more than once',
  stored: 'its address is stored in memory',
  passed: 'its address is passed to a function that is not inlined',
  mixed: 'an address is computed from one of this and one of another array, or compared with it',
  bits: 'the bits of its address are used',
  compared: 'its address is compared with a number',
  instruction: 'an instruction that the pass does not know uses its address',
  barrier: 'some threads may pass barriers of the block in other places than others do',
} as const;
/** Why an array keeps bytes of its own. */
export type PinReason = keyof typeof pinReasons;

/** A variable that keeps its own bytes, why, and the source line (0 if unknown). */
export interface Pinned {
  readonly variable: SharedVariable;
  readonly reason: PinReason;
  readonly line: number;
}

/** An access to a variable that may move, or to one of several. */
export interface Access {
  readonly variables: readonly number[];
  readonly mode: 'r' | 'w' | 'rw';
}

/** The shared variables of a kernel. */
export interface Values {
  /** Those that may move. */
  readonly movable: readonly SharedVariable[];
  readonly pinned: readonly Pinned[];
  /** Per instruction: its access to variables that may move. */
  readonly accesses: readonly (Access | undefined)[];
}

/** Instructions whose result is an address again if exactly one operand, one of these (by position), is. */
const moving: Readonly<Record<string, readonly number[]>> = {
  mov: [1], cvta: [1], cvt: [1], add: [1, 2], sub: [1], mad: [3], shfl: [1],
};
/** Instructions that compare: all operands must be of the same variable, because only then order and distance do not depend on places. */
const relative = new Set(['min', 'max', 'setp', 'set']);

interface Candidate {
  readonly variable: SharedVariable;
  readonly reason: PinReason | undefined;
}

const outsides = new WeakMap<PtxModule, string>();

/** The text outside of functions: debugging information, aliases, initial values. */
function outside(module: PtxModule): string {
  let text = outsides.get(module);
  if (text === undefined) {
    const ends = [0, ...module.functions.map((fn) => fn.end)];
    text = ends.map((end, at) => module.masked.slice(end, module.functions[at]?.bodyStart)).join('\n');
    outsides.set(module, text);
  }
  return text;
}

/** Whether a shared variable is named outside of functions, besides its declaration. */
function isNamedOutside(module: PtxModule, { name }: SharedVariable): boolean {
  const text = outside(module);
  if (!text.includes(name)) return false;
  const declarations = module.shared.filter((each) => each.name === name).length;
  return namesIn(text).filter((each) => each === name).length > declarations;
}

/** The variables that a kernel names, and what pins them whatever the kernel does. */
function candidates(module: PtxModule, fn: PtxFunction, facts: readonly Facts[]): Candidate[] {
  const named = new Set(facts.flatMap(({ defs, uses, addresses }) => [...defs, ...uses, ...addresses]));
  const others = module.functions.filter((each) => !each.isEntry);
  const inFunctions = others.map((each) => module.masked.slice(each.bodyStart, each.end)).join('\n');
  const isUsed = (name: string): boolean => inFunctions.includes(name) && namesIn(inFunctions).includes(name);
  const all = [...module.shared, ...fn.shared].filter((variable) => named.has(variable.name) || fn.shared.includes(variable));
  return all.map((variable) => {
    const times = all.filter((each) => each.name === variable.name).length + (fn.declared.get(variable.name) ?? 0);
    const isDeclaredOnce = times === (fn.shared.includes(variable) ? 2 : 1);
    const reason = variable.fixed ?? (!isDeclaredOnce ? 'declared' : isUsed(variable.name) ? 'function'
      : isNamedOutside(module, variable) ? 'linkage' : undefined);
    return { variable, reason };
  });
}

/** The variables of a set of bits. */
function* members(set: bigint): Generator<number> {
  for (let index = 0, rest = set; rest !== 0n; ++index, rest >>= 1n) if ((rest & 1n) !== 0n) yield index;
}

class Labels {
  /** Per name, the variables that it may point into, as bits. */
  readonly #label = new Map<string, bigint>();
  readonly #pins = new Map<number, { reason: PinReason; line: number }>();

  constructor(variables: readonly Candidate[]) {
    variables.forEach(({ variable, reason }, index) => {
      this.#label.set(variable.name, this.of(variable.name) | 1n << BigInt(index));
      if (reason !== undefined) this.#pins.set(index, { reason, line: 0 });
    });
  }

  of(name: string | undefined): bigint {
    return name === undefined ? 0n : this.#label.get(name) ?? 0n;
  }

  pin(name: string, reason: PinReason, { line }: { line: number }): void {
    for (const index of members(this.of(name))) if (!this.#pins.has(index)) this.#pins.set(index, { reason, line });
  }

  isPinned(index: number): boolean {
    return this.#pins.has(index);
  }

  reasonOf(index: number): { reason: PinReason; line: number } | undefined {
    return this.#pins.get(index);
  }

  /** Gives a register labels; returns whether one of them is new. */
  give(name: string, set: bigint): boolean {
    const known = this.of(name);
    this.#label.set(name, known | set);
    return (known | set) !== known;
  }
}

/** Spreads labels over registers until nothing changes. Loads and comparisons do not pass labels on. */
function spread(fn: PtxFunction, facts: readonly Facts[], labels: Labels): void {
  const users = new Map<string, number[]>();
  facts.forEach(({ uses }, at) => {
    for (const name of uses) {
      const list = users.get(name);
      if (list === undefined) users.set(name, [at]);
      else list.push(at);
    }
  });
  const queue = fn.instructions.map((each) => each.index);
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    const { uses, defs, memory } = elementAt(facts, at);
    if (memory !== '' || /^(?:setp|call)$/.test(elementAt(elementAt(fn.instructions, at).opcode, 0))) continue;
    for (const used of uses) {
      const set = labels.of(used);
      if (set !== 0n) for (const def of defs) if (labels.give(def, set)) queue.push(...users.get(def) ?? []);
    }
  }
}

/** Pins what one instruction lets out of view. */
function judge(each: Instruction, { uses, memory }: Facts, labels: Labels): void {
  const labelled = uses.filter((name) => labels.of(name) !== 0n);
  if (labelled.length === 0) return;
  const [head = '', space] = each.opcode;
  const labelOf = (operand: string): bigint => labels.of(namesIn(operand)[0]);
  const pin = (reason: PinReason): void => { for (const name of labelled) labels.pin(name, reason, each); };
  if (head === 'call' || (head === 'st' && space === 'param')) return pin('passed');
  if (memory !== '') return pin(memory === '?' ? 'instruction' : 'stored');
  if (head === 'selp') return each.operands.slice(1, 3).every((operand) => labelOf(operand) !== 0n) ? undefined : pin('mixed');
  if (relative.has(head)) {
    const [a = 0n, b = 0n] = each.operands.slice(1, 3).map(labelOf);
    if (a === 0n || b === 0n) return pin('compared');
    return a === b && (a & (a - 1n)) === 0n ? undefined : pin('mixed');
  }
  if (head === 'isspacep') return;
  const places = moving[head];
  if (places === undefined) {
    return pin(/^(?:and|or|xor|not|shl|shr|shf|lop3|mul|mad24|bfe|bfi|prmt|rem|div)$/.test(head) ? 'bits' : 'instruction');
  }
  const isWhole = !/^(?:cvt|mov|add|sub|mad|shfl)$/.test(head)
    || each.opcode.slice(1).every((part) => !/^[busf](?:8|16|128)$|^f\d|^cc$/.test(part));
  const isScalar = each.operands.every((operand) => !operand.startsWith('{'));
  const inPlace = each.operands.filter((operand, at) => at > 0 && labelOf(operand) !== 0n && places.includes(at)).length;
  if (labelled.length > 1 || inPlace !== labelled.length || !isWhole || !isScalar) pin(labelled.length > 1 ? 'mixed' : 'bits');
}

/** Finds the shared variables of a kernel, which of them may move, and their accesses. */
export function analyseValues(module: PtxModule, fn: PtxFunction, facts: readonly Facts[]): Values {
  const all = candidates(module, fn, facts);
  const labels = new Labels(all);
  spread(fn, facts, labels);
  fn.instructions.forEach((each) => {
    const own = elementAt(facts, each.index);
    judge(each, own, labels);
    const touched = own.addresses.filter((name) => labels.of(name) !== 0n);
    const isKnown = own.memory !== '?' && own.memory !== '' && !/cluster/.test(each.opcode.join('.'));
    for (const name of touched) {
      if (!isKnown) labels.pin(name, 'instruction', each);
      else if (touched.length > 1) labels.pin(name, 'mixed', each);
    }
  });
  const place = new Map<number, number>();
  all.forEach((_, index) => { if (!labels.isPinned(index)) place.set(index, place.size); });
  const accesses = facts.map(({ addresses, memory }): Access | undefined => {
    const set = addresses.reduce((sum, name) => sum | labels.of(name), 0n);
    const variables = [...members(set)].flatMap((index) => place.get(index) ?? []);
    return variables.length === 0 || memory === '' || memory === '?' ? undefined : { variables, mode: memory };
  });
  return {
    accesses, movable: all.filter((_, index) => place.has(index)).map((each) => each.variable),
    pinned: all.flatMap(({ variable }, index) => {
      const why = labels.reasonOf(index);
      return why === undefined ? [] : [{ variable, ...why }];
    }),
  };
}
