// Microseconds of firings as callers give them.
import { refusal } from '../../core/errors.ts';

/** Checks times of nodes. */
export function checkTimes(costs: readonly number[], nodes: number, name = 'options.costs'): void {
  const wrong = costs.findIndex((cost) => !(cost >= 0 && cost < Infinity));
  if (costs.length === nodes && wrong < 0) return;
  const received = costs.length === nodes ? String(costs[wrong]) : `${costs.length} of them`;
  throw refusal(name, `microseconds for each of ${nodes} nodes`, received);
}
