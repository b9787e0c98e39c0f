// Finds the name that a misspelt one may have meant.

/** Number of edits between two names, up to `limit`: insertions, deletions, substitutions and swaps of neighbours. */
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let older: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; ++i) {
    const row = [i];
    for (let j = 1; j <= b.length; ++j) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      const edits = Math.min(numberAt(last, j) + 1, numberAt(row, j - 1) + 1, numberAt(last, j - 1) + same);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = swapped ? Math.min(edits, numberAt(older, j - 2) + 1) : edits;
    }
    older = last;
    last = row;
  }
  return numberAt(last, b.length);
}

const numberAt = (row: readonly number[], index: number): number => row[index] ?? Infinity;

/** The known name nearest to a misspelt one, if any is within a third of its length. Ties go to the first in alphabetical order. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  const limit = Math.min(3, Math.floor(name.length / 3));
  if (name.length > 64) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, limit + 1);
  for (const candidate of known) {
    if (candidate === name) continue;
    const edits = candidate.toLowerCase() === name.toLowerCase() ? 0.5 : distance(name, candidate, limit);
    if (edits < bestDistance || (edits === bestDistance && best !== undefined && candidate < best)) {
      best = candidate;
      bestDistance = edits;
    }
  }
  return best;
}

/** A hint that names the nearest known name, or `otherwise`. */
export function didYouMean(name: string, known: Iterable<string>, otherwise: string): string {
  const found = nearest(name, known);
  return found === undefined ? otherwise : `did you mean '${found}'?`;
}
