// What happens inside, in words, for NODE_DEBUG=warploom and `warploom --verbose`; almost free while nobody listens.
import { debuglog } from 'node:util';

const section = debuglog('warploom');
let listener: ((text: string) => void) | undefined;

/** Whether anybody reads what {@link log} says. */
export const isLogged = (): boolean => section.enabled || listener !== undefined;

/** Says something that `make` puts into words; not called while nobody listens. */
export function log(make: () => string): void {
  if (!isLogged()) return;
  const text = make();
  section('%s', text);
  listener?.(text);
}

/** Also gives what is said to a function; undefined ends that. */
export function logTo(next: ((text: string) => void) | undefined): void {
  listener = next;
}

