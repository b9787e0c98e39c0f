import { WarploomError } from '../core/errors.ts';

/** What is certainly there, by the rules of the representation; an error of ours where it is not. */
export function must<T>(x: T | undefined): T {
  if (x === undefined) throw new WarploomError('ERR_WARPLOOM_INTERNAL', 'the kernel layer lacks a value that must exist');
  return x;
}
