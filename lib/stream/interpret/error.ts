// Errors of running programs.
import { WarploomError } from '../../core/errors.ts';
import { elementAt } from '../../core/known.ts';
import { formatDiagnostic, Reporter, type Diagnostic } from '../diagnostics.ts';
import type { StreamGraph } from '../graph.ts';
import type { Fault } from './fault.ts';

/** A run-time error of a program: `diagnostic` says what went wrong and where in the source, `node` in which node of the graph. */
export class StreamRunError extends WarploomError {
  override readonly name = 'StreamRunError';
  readonly diagnostic: Diagnostic;
  /** Name of the node; '' if no node is responsible. */
  readonly node: string;
  /** The node's firing, from 0. */
  readonly firing: number;
  /** Of an error of `StreamSession.end`: the output before it, which no later call could give. */
  output?: Float32Array | Float64Array | Int32Array | string;

  constructor(message: string, details: { diagnostic: Diagnostic; node: string; firing: number }) {
    super('ERR_WARPLOOM_INVALID_PROGRAM', message);
    this.diagnostic = details.diagnostic;
    this.node = details.node;
    this.firing = details.firing;
  }
}

/** The error for a fault in a node; `firing` is -1 if firings are not counted. */
export function runError(graph: StreamGraph, fault: Fault, node: string, firing: number): StreamRunError {
  const files = graph.files ?? [];
  const reporter = new Reporter(files);
  const message = node === '' ? fault.message : `${fault.message} (in ${node}${firing < 0 ? '' : `, firing ${firing}`})`;
  reporter.report({ code: fault.code, severity: 'error', message, hint: fault.hint }, fault.span ?? { file: 0, start: 0, end: 0 });
  const diagnostic = elementAt(reporter.finish(), 0);
  const text = fault.span === undefined || files.length === 0 ? `${fault.code}: ${message}` : formatDiagnostic(diagnostic, { files });
  return new StreamRunError(text, { diagnostic, node, firing });
}
