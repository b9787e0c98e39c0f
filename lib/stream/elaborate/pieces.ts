// What streams become when they are elaborated.
import type { Creator, Span } from '../ast.ts';
import type { NameSymbol } from '../front/checked.ts';
import type { GraphTree } from '../graph.ts';
import type { IrType } from '../ir.ts';
import type { Runner } from './runner.ts';
import type { End, Entity, Session } from './session.ts';

/** A stream that has been elaborated. An end is undefined where the stream is void on that side. */
export interface Piece {
  readonly tree: GraphTree;
  readonly input: End | undefined;
  readonly output: End | undefined;
  /** For messages. */
  readonly name: string;
  readonly span: Span;
}

export const voidType: IrType = { kind: 'void' };

export function endType(end: End | undefined): IrType {
  return end?.type ?? voidType;
}

/**
 * A stream being elaborated. It yields the streams in it, and is given what they become: they may be nested deeper than the stack
 * allows.
 */
export type Task = Generator<Task, Piece, Piece>;

/** A parameter and what it stands for. */
export interface BoundParameter {
  readonly symbol: NameSymbol;
  readonly entity: Entity;
}


/** Elaborates what `add`, `body` or `loop` makes, in the stream whose body `runner` executes. */
export type Instantiate = (session: Session, creator: Creator, runner: Runner) => Task;
