// Robust summaries of repeated measurements.

function quantile(sorted: readonly number[], q: number): number {
  const at = q * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(low + 1, sorted.length - 1);
  return sorted[low]! + (at - low) * (sorted[high]! - sorted[low]!);
}

/** Median and relative interquartile range of at least one value. */
export function summarise(values: readonly number[]): { median: number; spread: number } {
  if (values.length === 0) throw new RangeError('no measurements');
  const sorted = [...values].sort((a, b) => a - b);
  const median = quantile(sorted, 0.5);
  return { median, spread: median === 0 ? 0 : (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / median };
}

/** Geometric mean. */
export const geomean = (values: readonly number[]): number =>
  Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / Math.max(values.length, 1));
