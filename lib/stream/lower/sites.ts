// Sites: the places in a program that can fault or print. Compiled code refers to them by number.
import type { Span } from '../ast.ts';
import type { IrType } from '../ir.ts';

/** Kinds of faults. */
export type SiteKind = 'index' | 'divide' | 'remainder' | 'random' | 'pop' | 'push' | 'peek' | 'steps' | 'print';

/** A place in a program that can raise a fault or print. */
export interface Site {
  readonly kind: SiteKind;
  readonly node: number;
  readonly span?: Span | undefined;
  /** The length of the array, or the declared rate. */
  readonly limit: number;
  /** For a printing site: the type of the value, or a text; whether it ends the line; how many lines it ends in total. */
  readonly print?: {
    readonly type?: IrType; readonly text?: string; readonly newline: boolean; readonly lines: number;
    /** Not shown: it gives the number of the firing. */ readonly isMark?: true;
  };
}
