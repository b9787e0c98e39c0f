// Limits on the text of a program.
import { limitsOf } from '../options.ts';

/** Limits that keep hostile sources from taking time or memory. */
export interface SyntaxLimits {
  /** Characters of all files together; default 16 Mi. */
  readonly characters: number;
  /** Tokens of all files together; default 1 000 000. */
  readonly tokens: number;
  /** Depth of parentheses, blocks and statements in each other; default 100. */
  readonly nesting: number;
  /** Height of the tree of one expression; default 500. */
  readonly expression: number;
}

export const defaultSyntaxLimits: SyntaxLimits = { characters: 1 << 24, tokens: 1_000_000, nesting: 100, expression: 500 };
export const syntaxLimits = limitsOf('syntaxLimits', defaultSyntaxLimits);
