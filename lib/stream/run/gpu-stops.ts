// How what is under way on a device ends early.
import { reasonOf } from '../../core/progress.ts';

/** Has something freed at the end of a block, or as soon as the signal comes: what is under way by then may take longer. */
export function untilAborted(signal: AbortSignal | undefined, free: () => void): Disposable {
  signal?.addEventListener('abort', free, { once: true });
  return {
    [Symbol.dispose](): void {
      signal?.removeEventListener('abort', free);
      free();
    },
  };
}

/** A promise that only rejects, with a signal's reason. */
export function stopOf(signal: AbortSignal | undefined): { readonly stopped: Promise<never>; end(): void } {
  let stop = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    stop = () => { if (signal !== undefined) reject(reasonOf(signal)); };
  });
  stopped.catch(() => undefined);
  signal?.addEventListener('abort', stop, { once: true });
  return { stopped, end: () => { signal?.removeEventListener('abort', stop); } };
}
