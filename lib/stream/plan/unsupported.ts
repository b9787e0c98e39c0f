// Programs that only the interpreter can run.
import type { Span } from '../ast.ts';
import { WarploomError } from '../../core/errors.ts';

/** The program needs something that compiled code does not support; the interpreter runs it within its limits. */
export class UnsupportedProgram extends WarploomError {
  override readonly name = 'UnsupportedProgram';
  readonly span: Span | undefined;
  /** The message without what helps. */
  readonly reason: string;

  /** @param remedy what else may help */
  constructor(message: string, span?: Span, remedy?: string) {
    super('ERR_WARPLOOM_UNSUPPORTED', `${message}: run it with the interpreter${remedy === undefined ? '' : `, ${remedy}`}`);
    this.reason = message;
    this.span = span;
  }
}
