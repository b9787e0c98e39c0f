// Marks in the printed output of compiled programs. If several nodes print, each text is preceded by the number of the firing that printed
// it, which is not shown. After the run, these numbers put the texts of all nodes in order. Other programs are left unchanged.
import { elementAt, required } from '../../core/known.ts';
import type { Site } from '../lower/sites.ts';
import type { StreamGraph } from '../graph.ts';
import { OrderedTexts, severalPrinters } from '../interpret/print-order.ts';
import { printed, scalar, unflatten } from '../interpret/values.ts';
import type { FilterCode, IrFunction, IrStatement } from '../ir.ts';
import type { SteadyState } from '../schedule/steady.ts';

const type = scalar('int');
const mark: IrStatement = { kind: 'print', value: { kind: 'iter', type }, newline: false, isMark: true };

/** Statements in sequence, with a mark before each run of consecutive printing statements. */
function markedAll(statements: readonly IrStatement[]): IrStatement[] {
  return statements.flatMap((s, i) => (s.kind === 'print' && statements[i - 1]?.kind !== 'print' ? [mark, s] : [marked(s)]));
}

/** A single statement, with marks in it. */
function marked(s: IrStatement): IrStatement {
  const alone = (part: IrStatement): IrStatement => (part.kind === 'print' ? { kind: 'block', statements: [mark, part] } : marked(part));
  switch (s.kind) {
    case 'block': return { ...s, statements: markedAll(s.statements) };
    case 'if': return { ...s, then: alone(s.then), otherwise: s.otherwise === undefined ? undefined : alone(s.otherwise) };
    case 'loop': return { ...s, initial: markedAll(s.initial), step: markedAll(s.step), body: alone(s.body) };
    default: return s;
  }
}

function markedCode(code: FilterCode): FilterCode {
  const within = <Part extends Pick<IrFunction, 'body'>>(part: Part): Part => ({ ...part, body: marked(part.body) });
  return {
    ...code, functions: code.functions.map(within), work: within(code.work),
    prework: code.prework === undefined ? undefined : within(code.prework),
  };
}

/** The graph with marks if several nodes print; otherwise the graph itself. */
export function withMarks(graph: StreamGraph): StreamGraph {
  const printers = new Set(severalPrinters(graph));
  if (printers.size === 0) return graph;
  const codes = new Map<FilterCode, FilterCode>();
  const nodes = graph.nodes.map((node) => {
    if (node.kind !== 'filter' || !printers.has(node.id)) return node;
    let code = codes.get(node.code);
    if (code === undefined) codes.set(node.code, code = markedCode(node.code));
    return { ...node, code };
  });
  return { ...graph, nodes };
}

/** The text that a printing site writes. */
function printedText(site: Site, values: ArrayLike<number>): string {
  const { text, type, newline } = required(site.print);
  return (type === undefined ? text ?? '' : printed(type, unflatten(type, values, { at: 0 }))) + (newline ? '\n' : '');
}

/** The text of printed records, in order. */
export function textOf(
  sites: readonly Site[], records: Iterable<readonly [site: number, values: ArrayLike<number>]>, steady: SteadyState,
): string {
  const pieces: string[] = [];
  let ordered: OrderedTexts | undefined;
  let firing = 0;
  for (const [number, values] of records) {
    const site = elementAt(sites, number);
    if (site.print?.isMark === true) {
      ordered ??= new OrderedTexts(steady);
      firing = elementAt(values, 0) >>> 0;
    } else if (ordered !== undefined) ordered.add(site.node, firing, printedText(site, values));
    else pieces.push(printedText(site, values));
  }
  return ordered === undefined ? pieces.join('') : ordered.toString();
}
