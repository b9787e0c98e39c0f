// How the iterations of an operation ended, in numbers and in a sentence.

/** How iterations ended. */
export interface IterationStatus {
  /** Whether `measure` fell to the tolerance. */
  readonly converged: boolean;
  readonly iterations: number;
  /** What was compared with the tolerance, at the end; NaN if that was never measured. */
  readonly measure: number;
  readonly tolerance: number;
  /** All that in words and, if the iterations did not converge, what to change. */
  readonly message: string;
}

const digits = (value: number): string => (Number.isFinite(value) ? String(Number(value.toPrecision(3))) : 'not measured');

/** The status of iterations. `what`: the measure's name; `change`: options that may help, the likeliest first. */
export function statusOf(
  { converged, iterations, measure, tolerance }: Omit<IterationStatus, 'message'>, what: string, change: string,
): IterationStatus {
  const found = `${what} ${digits(measure)}, tolerance ${digits(tolerance)}`;
  const after = `converged after ${iterations} iteration${iterations === 1 ? '' : 's'}: ${found}`;
  const message = converged ? after : `not ${after}; ${change}`;
  return { converged, iterations, measure, tolerance, message };
}
