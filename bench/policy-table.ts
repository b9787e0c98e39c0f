// The generated part of the policy table of tridiagonal.solve: cuda/tridiagonal/solve_policy_table.inc.
import type { tridiagonal } from '../lib/index.ts';

type TunedPolicy = tridiagonal.TunedPolicy;

/** Where the rows are in the sources. */
export const policyTablePath = 'cuda/tridiagonal/solve_policy_table.inc';

const header = [
  '// Packing depths found by `npm run tune -- --table`: compute capability, bytes of an element, largest n, depth.',
  '// Generated: do not edit.',
];
const elementBytes = { float32: 4, float64: 8 } as const;

function rowOf({ computeCapability, device, date }: TunedPolicy, row: TunedPolicy['rows'][number]): string {
  const times = Object.entries(row.seconds).sort(([, a], [, b]) => a - b)
    .map(([depth, seconds]) => `${depth}: ${(seconds * 1e6).toFixed(1)} us`).join(', ');
  return `{${computeCapability}, ${elementBytes[row.type]}, ${row.n}, ${row.best}},`
    + `  // ${device}, ${date.slice(0, 10)}, ${row.batch} systems; ${times}`;
}

/**
 * The table `existing` with the rows of `policy` instead of those of its architecture and element types.
 */
export function updatedPolicyTable(existing: string, policy: TunedPolicy): string {
  if (policy.backend !== 'cuda') {
    throw new Error(`depths found on the ${policy.backend} backend say nothing about a GPU: the table takes those of cuda only`);
  }
  const types = new Set(policy.rows.map(({ type }) => elementBytes[type]));
  const kept = existing.split('\n').filter((line) => {
    const found = /^\{(\d+), (\d+), \d+, \d+\},/.exec(line);
    if (found === null) return false;
    return Number(found[1]) !== policy.computeCapability || !types.has(Number(found[2]) as 4 | 8);
  });
  const sorted = [...policy.rows].sort((a, b) => a.type.localeCompare(b.type) || a.n - b.n);
  return [...header, ...kept, ...sorted.map((row) => rowOf(policy, row)), ''].join('\n');
}
