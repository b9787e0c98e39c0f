// Places of a program that can fault or print. Compiled code names them by number.
import type { Span } from '../ast.ts';
import type { IrType } from '../ir.ts';

/** Kinds of faults: what was wrong. */
export type SiteKind = 'index' | 'divide' | 'remainder' | 'random' | 'pop' | 'push' | 'peek' | 'steps' | 'print';

/** A place in a program that can raise a fault or print. */
export interface Site {
  readonly kind: SiteKind;
  readonly node: number;
  readonly span: Span | undefined;
  /** Length of the array, declared rate. */
  readonly limit: number;
  /** For a printing site: the type of the value, or a text; whether it ends the line; how many lines it ends in all. */
  readonly print?: {
    readonly type?: IrType; readonly text?: string; readonly newline: boolean; readonly lines: number;
    /** Not shown: it gives the number of the firing. */ readonly isMark?: true;
  };
}
