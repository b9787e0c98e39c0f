// If limits were raised, the stack may overflow before they are reached.
import { WarploomError } from '../../core/errors.ts';
import type { Span } from '../ast.ts';
import type { Reporter } from '../diagnostics.ts';
import { syntaxRules } from './syntax-rules.ts';

/** Reports it where the stack does not suffice for `make`. */
export function withinStack(reporter: Reporter, span: Span, make: () => void): void {
  try {
    make();
  } catch (error) {
    if (!(error instanceof RangeError) || error instanceof WarploomError) throw error;
    reporter.report(syntaxRules.stack, span);
  }
}
