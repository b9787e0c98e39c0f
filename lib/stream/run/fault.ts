// Converts faults of compiled programs to errors that name the place in the source.
import { WarploomError } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import type { StreamGraph } from '../graph.ts';
import type { Site } from '../lower/sites.ts';
import { mostPrinted } from '../interpret/print-order.ts';
import { runError } from '../interpret/error.ts';
import { Fault } from '../interpret/fault.ts';

const codes: Readonly<Record<Site['kind'], string>> = {
  index: 'S5001', divide: 'S5002', remainder: 'S5002', random: 'S5003', pop: 'S5004', push: 'S5004', peek: 'S5005', steps: 'S4101',
    print: 'S5009',
};

function messageOf({ kind, limit }: Site, value: number): string {
  switch (kind) {
    case 'index': return `index ${value} is outside an array of ${limit}`;
    case 'divide': return `${value} / 0: an integer cannot be divided by zero`;
    case 'remainder': return `${value} % 0: an integer cannot be divided by zero`;
    case 'random': return `random(${value}) has no value: the range must be positive`;
    case 'peek': return `peek(${value}) looks beyond the items that peek ${limit} declares`;
    case 'pop': case 'push': return `a firing does not ${kind} as often as ${kind} ${limit} declares`;
    case 'steps': return 'the program takes more steps than the limit allows';
    case 'print': return `the program prints more than ${mostPrinted} values`;
  }
}

/** The error for a fault. Without a site, a channel is full and `value` is its number. */
export function faultError(graph: StreamGraph, site: Site | undefined, value: number): WarploomError {
  if (site === undefined) return new WarploomError('ERR_WARPLOOM_INTERNAL', `channel ${value} holds more items than planned`);
  return runError(graph, new Fault(codes[site.kind], messageOf(site, value), site.span), elementAt(graph.nodes, site.node).name, -1);
}
