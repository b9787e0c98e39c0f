// What a target language must be able to say. Operands are texts that need no brackets; results are such texts too.
import type { IrBinary, MathName, ScalarName } from '../ir.ts';
import type { Kind } from '../plan/layout.ts';

export interface Dialect {
  literal(kind: Kind, x: number): string;
  /** Arithmetic; comparisons and logic are {@link condition}. `site`: of the fault where a divisor is zero. */
  binary(operator: IrBinary, kind: Kind, a: string, b: string, site: number | undefined): string;
  /** A comparison as a condition. */
  compare(operator: IrBinary, a: string, b: string): string;
  negate(kind: Kind, a: string): string;
  /** A condition as 0 or 1. */
  fromCondition(condition: string): string;
  convert(from: ScalarName, to: ScalarName, a: string): string;
  math(name: MathName, kind: Kind, args: readonly string[]): string;
  /** Rounds a double to a single. */
  single(a: string): string;
  /** Sum of indices, which never overflow. */
  offset(a: string, b: string): string;
  /** Arithmetic of integers that never overflows. */
  exact(operator: '+' | '-' | '*', a: string, b: string): string;
  /** `index` if it is at least 0 and less than `length`, else the fault of the site. */
  within(index: string, length: string, site: number): string;
  /** 32 random bits from a state. */
  mix(state: string): string;
  constant(kind: Kind, name: string, value: string): string;
  variable(kind: Kind, name: string, value: string): string;
  /** A block that can be left by {@link leave}. */
  openLabel(label: string): string;
  closeLabel(label: string): string;
  leave(label: string): string;
  /** Raises the fault of a site. */
  fail(site: number, value: string): string;
  /** Copies `count` scalars between arrays that do not overlap. */
  copy(kind: Kind, to: string, toAt: string, from: string, fromAt: string, count: number): string;
  fill(kind: Kind, to: string, at: string, count: number): string;
  print(site: number, values: readonly string[], lines: number): string;
  /** Counts a turn of a loop without known end. */
  tick(site: number): string;
}
