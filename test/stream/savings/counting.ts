// Counts what a plan does in a steady state, by following the code of each firing with whole numbers and constants alone.
import { known } from '../../../lib/stream/interpret/values.ts';
import { binaryOf } from '../../../lib/stream/interpret/operators.ts';
import { expressionsOf, operands } from '../../../lib/stream/interpret/walk.ts';
import type { IrExpression, IrStatement, Variable } from '../../../lib/stream/ir.ts';
import { firingCodes, type ProgramPlan } from '../../../lib/stream/plan/plan.ts';

class Count {
  products = 0;
  readonly #ints = new Map<Variable, number>();

  #int(e: IrExpression): number | undefined {
    if (e.kind === 'variable') return this.#ints.get(e.variable);
    if (e.kind === 'convert') return this.#int(e.operand);
    if (e.kind !== 'binary' || e.left.type.kind !== 'scalar' || e.left.type.name !== 'int') return known(e);
    const [a, b] = [this.#int(e.left), this.#int(e.right)];
    return a === undefined || b === undefined ? undefined : binaryOf(e.operator, 'int')!(a, b);
  }

  #expression(e: IrExpression): void {
    if (e.kind === 'binary' && e.operator === '*' && e.type.kind === 'scalar' && e.type.name === 'float') ++this.products;
    for (const part of operands(e)) this.#expression(part);
  }

  statement(s: IrStatement): void {
    if (s.kind === 'block') {
      for (const part of s.statements) this.statement(part);
      return;
    }
    if (s.kind === 'loop') {
      for (const part of s.initial) this.statement(part);
      for (let turn = 0; turn < (s.trips ?? Infinity) && (s.condition === undefined || this.#int(s.condition) !== 0); ++turn) {
        if (s.trips === undefined && this.#int(s.condition!) === undefined) throw new Error('a loop without a known end');
        for (const part of [s.body, ...s.step]) this.statement(part);
      }
      return;
    }
    for (const e of expressionsOf(s)) this.#expression(e);
    if (s.kind === 'if') {
      const x = this.#int(s.condition);
      if (x !== 0) this.statement(s.then);
      else if (s.otherwise !== undefined) this.statement(s.otherwise);
    }
    const variable = s.kind === 'declare' ? s.variable : s.kind === 'assign' && s.target.kind === 'variable' ? s.target.variable : undefined;
    if (variable === undefined || (s.kind !== 'declare' && s.kind !== 'assign')) return;
    const value = s.value === undefined ? 0 : this.#int(s.value);
    if (value === undefined) this.#ints.delete(variable);
    else this.#ints.set(variable, value);
  }
}

/** Multiplications of floats in a steady state. */
export function multiplications(plan: ProgramPlan): number {
  const count = new Count();
  for (const node of plan.graph.nodes) {
    if (node.kind !== 'filter') continue;
    const codes = firingCodes(plan, node);
    for (let firing = 0; firing < plan.steady.repetitions[node.id]!; ++firing) {
      const code = codes[firing % codes.length];
      if (code !== undefined) count.statement(code.work.body);
    }
  }
  return count.products;
}
