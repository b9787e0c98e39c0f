// Mixed-integer models, their text in CPLEX's LP format, and a check of solutions that does not trust the solver.
import { elementAt } from '../../core/known.ts';

/** One term of a sum: a coefficient and the number of a variable. */
export type Term = readonly [coefficient: number, variable: number];

/** HiGHS refuses longer lines than 560 characters. */
const kLineLength = 500;

interface Variable { readonly kind: 'binary' | 'integer' | 'continuous'; readonly lower: number; readonly upper: number }
interface Row { readonly terms: readonly Term[]; readonly sense: '<=' | '>=' | '='; readonly right: number }

function number(value: number): string {
  if (!Number.isFinite(value)) throw new RangeError(`a model cannot hold ${value}`);
  return String(Number(value.toPrecision(14)));
}

/** A linear model with integer and continuous variables, to be minimised. Variables are numbered from 0 in order of creation. */
export class LinearModel {
  private readonly variables: Variable[] = [];
  private readonly rows: Row[] = [];
  private objective: readonly Term[] = [];

  get variableCount(): number { return this.variables.length; }
  get rowCount(): number { return this.rows.length; }

  /** A variable ≥ 0 (or `lower`); returns its number. */
  variable(kind: Variable['kind'], upper = kind === 'binary' ? 1 : Infinity, lower = 0): number {
    return this.variables.push({ kind, lower, upper }) - 1;
  }

  /** Adds Σ terms ‹sense› right. */
  constrain(terms: readonly Term[], sense: Row['sense'], right: number): void {
    this.rows.push({ terms, sense, right });
  }

  minimise(terms: readonly Term[]): void {
    this.objective = terms;
  }

  /** The model in LP format; variable n is called xn, row n is called cn. */
  text(): string {
    const lines = ['Minimize', ...wrap(' obj:', this.termsOf(this.objective)), 'Subject To'];
    this.rows.forEach(({ terms, sense, right }, at) =>
      lines.push(...wrap(` c${at}:`, [...this.termsOf(terms), `${sense} ${number(right)}`])));
    lines.push('Bounds');
    this.variables.forEach(({ kind, lower, upper }, at) => {
      if (kind === 'binary' && lower === 0 && upper === 1) return;
      lines.push(upper === Infinity ? ` x${at} >= ${number(lower)}` : ` ${number(lower)} <= x${at} <= ${number(upper)}`);
    });
    for (const [kind, title] of [['binary', 'Binary'], ['integer', 'General']] as const) {
      const names = this.variables.flatMap((variable, at) => variable.kind === kind ? [`x${at}`] : []);
      if (names.length > 0) lines.push(title, ...wrap('', names));
    }
    return [...lines, 'End', ''].join('\n');
  }

  private termsOf(terms: readonly Term[]): string[] {
    if (terms.length === 0) return ['0 x0'];
    return terms.map(([factor, at]) => `${factor < 0 ? '-' : '+'} ${number(Math.abs(factor))} x${at}`);
  }

  /** Value of the objective. */
  value(values: ArrayLike<number>): number {
    return this.objective.reduce((sum, [factor, at]) => sum + factor * elementAt(values, at), 0);
  }

  /** The largest violation of a row, bound or integrality constraint; for rows relative to their largest term. */
  violation(values: ArrayLike<number>): number {
    let worst = 0;
    this.variables.forEach(({ kind, lower, upper }, at) => {
      const value = elementAt(values, at);
      if (!Number.isFinite(value)) worst = Infinity;
      worst = Math.max(worst, lower - value, value - upper, kind === 'continuous' ? 0 : Math.abs(value - Math.round(value)));
    });
    for (const { terms, sense, right } of this.rows) {
      let sum = 0, scale = Math.max(1, Math.abs(right));
      for (const [factor, at] of terms) {
        sum += factor * elementAt(values, at);
        scale = Math.max(scale, Math.abs(factor * elementAt(values, at)));
      }
      const miss = sense === '<=' ? sum - right : sense === '>=' ? right - sum : Math.abs(sum - right);
      worst = Math.max(worst, miss / scale);
    }
    return worst;
  }
}

function wrap(head: string, words: readonly string[]): string[] {
  const lines: string[] = [];
  let line = head;
  for (const word of words) {
    if (line.length + word.length + 1 > kLineLength) {
      lines.push(line);
      line = ' ';
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}
