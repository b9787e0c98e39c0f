// Programs for tests: source to graph in one call.
import { elaborate, type ElaborateOptions } from '../../lib/stream/elaborate/index.ts';
import { formatDiagnostic, type Diagnostic } from '../../lib/stream/diagnostics.ts';
import { check } from '../../lib/stream/front/check.ts';
import { parse } from '../../lib/stream/front/parser.ts';
import type { StreamGraph } from '../../lib/stream/graph.ts';
import { findCompiler } from '../../lib/core/compile/compiler.ts';

/** Whether this machine has a C++ compiler: without one WebAssembly stands alone, and tests of C++ are skipped. */
export function hasCompiler(): boolean {
  try {
    findCompiler();
    return true;
  } catch {
    return false;
  }
}

/** All diagnostics of a source, and its graph if there is one. */
export function build(source: string, options: ElaborateOptions = {}): { graph: StreamGraph | undefined; diagnostics: readonly Diagnostic[] } {
  const { program, diagnostics } = parse([{ name: 'test.str', text: source }]);
  if (diagnostics.some(({ severity }) => severity === 'error')) return { graph: undefined, diagnostics };
  const checked = check(program, { parameters: Object.keys(options.parameters ?? {}) });
  if (checked.diagnostics.some(({ severity }) => severity === 'error')) return { graph: undefined, diagnostics: [...diagnostics, ...checked.diagnostics] };
  const made = elaborate(checked.checked, options);
  return { graph: made.graph, diagnostics: [...diagnostics, ...checked.diagnostics, ...made.diagnostics] };
}

/** The graph of a source that has no errors. */
export function graphOf(source: string, options: ElaborateOptions = {}): StreamGraph {
  const { graph, diagnostics } = build(source, options);
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (graph === undefined || errors.length > 0) {
    throw new Error(errors.map((each) => formatDiagnostic(each, { files: [{ name: 'test.str', text: source }] })).join('\n'));
  }
  return graph;
}
