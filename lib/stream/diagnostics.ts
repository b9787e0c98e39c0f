// What the compiler has to say about a program: errors and warnings with their place in the source.
import { WarploomError } from '../core/errors.ts';
import type { Span } from './ast.ts';

/** One finding. */
export interface Diagnostic {
  /** Stable: `S` and four digits; docs/stream-diagnostics.md lists them. */
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  /** What to do about it; '' where the message says it. */
  readonly hint: string;
  readonly span: Span;
  /** File name as given; lines and columns from 1. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

/** A program was refused. `diagnostics`: at least one error. The message shows them with their source. */
export class ProgramError extends WarploomError {
  override readonly name = 'ProgramError';
  readonly diagnostics: readonly Diagnostic[];

  constructor(diagnostics: readonly Diagnostic[], message: string) {
    super('ERR_WARPLOOM_INVALID_PROGRAM', message);
    this.diagnostics = diagnostics;
  }
}
