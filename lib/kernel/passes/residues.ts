// What is known of integers modulo powers of two: positions that move by whole firings, for instance.
import { valueOf, type Expression, type KernelFunction, type Local } from '../ir.ts';
import { localsSetBy, walkBody } from '../visit.ts';

/** A number is `value` modulo `modulus`, a power of two; 1: nothing is known. */
export interface Residue {
  readonly modulus: number;
  /** From 0 to `modulus` - 1. */
  readonly value: number;
}

/** Larger moduli are not told apart. */
const largest = 1024;

export function residue(modulus: number, value: number): Residue {
  const own = Math.min(modulus, largest);
  return { modulus: own, value: value & own - 1 };
}

const unknown = residue(1, 0);

/** The largest power of two in a number, as a modulus. */
export function powerIn(x: number): number {
  return x === 0 ? largest : Math.min(x & -x, largest);
}

/** What holds for both. */
export function common(a: Residue, b: Residue): Residue {
  return residue(Math.min(a.modulus, b.modulus, powerIn(Math.abs(a.value - b.value))), a.value);
}

/** Residues of the locals of a function, from those of its parameters. Undefined for locals that are never set. */
export function residuesIn({ parameters, body }: KernelFunction, given: ReadonlyMap<Local, Residue>): ReadonlyMap<Local, Residue> {
  const found = new Map<Local, Residue>(parameters.map((local) => [local, given.get(local) ?? unknown]));
  let isSettled = false;
  const add = (local: Local, value: Residue | undefined): void => {
    if (value === undefined) return;
    const before = found.get(local);
    const after = before === undefined ? value : common(before, value);
    if (after.modulus === before?.modulus && after.value === before.value) return;
    found.set(local, after);
    isSettled = false;
  };
  // Moduli only shrink.
  while (!isSettled) {
    isSettled = true;
    walkBody(body, { statement: (s) => {
      if (s.kind === 'set') add(s.local, s.local.type === 'i32' ? residueOf(s.value, found) : unknown);
      else if (s.kind === 'for') {
        const from = residueOf(s.from, found);
        add(s.counter, from && residue(Math.min(from.modulus, powerIn(s.step)), from.value));
      } else for (const local of localsSetBy(s)) add(local, unknown);
    } });
  }
  return found;
}

/** The residue of an i32; undefined if it depends on locals that are not set so far. */
export function residueOf(e: Expression, locals: ReadonlyMap<Local, Residue>): Residue | undefined {
  const known = valueOf(e);
  if (known !== undefined) return residue(largest, known);
  if (e.kind === 'get') return locals.get(e.local);
  if (e.kind !== 'binary') return unknown;
  const [left, right] = [residueOf(e.left, locals), residueOf(e.right, locals)];
  if (left === undefined || right === undefined) return undefined;
  const by = valueOf(e.right);
  switch (e.op) {
    case 'add': return residue(Math.min(left.modulus, right.modulus), left.value + right.value);
    case 'sub': return residue(Math.min(left.modulus, right.modulus), left.value - right.value);
    case 'mul': return by === undefined ? unknown : residue(left.modulus * powerIn(by), Math.imul(left.value, by));
    case 'shl': return by === undefined ? unknown : residue(left.modulus * powerIn(1 << by), left.value << by);
    default: return unknown;
  }
}
