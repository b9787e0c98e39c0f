// What stops an elaboration or a run: a code, a message and a position in the source.
import type { Span } from '../ast.ts';

/** Thrown inside elaboration and interpretation; turned into a diagnostic or an error before it reaches the caller. */
export class Fault extends Error {
  readonly code: string;
  readonly span: Span | undefined;
  readonly hint: string;
  /** What follows is unreliable or too expensive: stop at once. */
  readonly fatal: boolean;

  constructor(code: string, message: string, span: Span | undefined, options: { hint?: string; fatal?: boolean } = {}) {
    super(message);
    this.code = code;
    this.span = span;
    this.hint = options.hint ?? '';
    this.fatal = options.fatal ?? false;
  }
}
