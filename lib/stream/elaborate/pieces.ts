// The results of elaborating streams.
import type { Creator, Span } from '../ast.ts';
import type { NameSymbol } from '../front/checked.ts';
import type { GraphTree } from '../graph.ts';
import type { IrType } from '../ir.ts';
import type { Runner } from './runner.ts';
import type { End, Entity, Session } from './session.ts';

/** An elaborated stream. An end is undefined if the stream is void on that side. */
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
 * Elaborates a stream. It yields the tasks of the streams in it and receives their pieces, because streams may be nested deeper than the
 * call stack allows.
 */
export type Task = Generator<Task, Piece, Piece>;

/** A parameter and its value. */
export interface BoundParameter {
  readonly symbol: NameSymbol;
  readonly entity: Entity;
}


/** Elaborates the stream that `add`, `body` or `loop` creates, within the stream whose body `runner` executes. */
export type Instantiate = (session: Session, creator: Creator, runner: Runner) => Task;
