// Describes a graph and its code as text, for people and golden files.
import { truth } from '../../core/checks.ts';
import { elementAt } from '../../core/known.ts';
import { normally, optionsOf } from '../../core/options.ts';
import type { GraphTree, StreamGraph } from '../graph.ts';
import { printed, scalar, typeText } from '../interpret/values.ts';
import type { ConstantData, FilterCode, IrExpression, IrRates, IrStatement } from '../ir.ts';
import { withGraph } from '../require.ts';

const describeOptions = optionsOf('stream.describeGraph', { code: normally(truth, false) });

/** The graph: hierarchy, nodes with their rates, channels; with `code`, also the code of the filters. Equal graphs give equal texts. */
export function describeGraph(graph: StreamGraph, given: { readonly code?: boolean } = {}): string {
  const options = describeOptions.read(given, 'options');
  return withGraph(graph, () => described(graph, options));
}

function described(graph: StreamGraph, options: { readonly code?: boolean }): string {
  const lines: string[] = [];
  const nameOf = (node: number): string => elementAt(graph.nodes, node).name;
  if (graph.input !== undefined) lines.push(`input ${typeText(graph.input.type)} -> ${nameOf(graph.input.node)}`);
  if (graph.output !== undefined) lines.push(`output ${typeText(graph.output.type)} <- ${nameOf(graph.output.node)}`);
  describeTree(graph, graph.tree, 0, lines);
  for (const { from, to, fromPort, toPort, type, initial } of graph.channels) {
    const tokens = initial.length === 0 ? '' : ` [${initial.map(constantText).join(', ')}]`;
    lines.push(`${nameOf(from)}.${fromPort} -> ${nameOf(to)}.${toPort}: ${typeText(type)}${tokens}`);
  }
  for (const { name, receivers } of graph.portals) lines.push(`portal ${name}: ${receivers.map(nameOf).join(', ')}`);
  if (options.code === true) {
    const seen = new Set<FilterCode>();
    for (const node of graph.nodes) {
      if (node.kind !== 'filter' || seen.has(node.code)) continue;
      seen.add(node.code);
      lines.push('', ...describeCode(node.code));
    }
  }
  return `${lines.join('\n')}\n`;
}

function describeTree(graph: StreamGraph, tree: GraphTree, depth: number, lines: string[]): void {
  const indent = '  '.repeat(depth);
  if (tree.kind === 'node') {
    lines.push(indent + nodeText(graph, tree.node));
    return;
  }
  lines.push(`${indent}${tree.kind} ${tree.name}`);
  const first = tree.kind === 'feedbackloop' ? tree.joiner : tree.splitter;
  const last = tree.kind === 'feedbackloop' ? tree.splitter : tree.joiner;
  if (first !== undefined) lines.push(`${indent}  ${nodeText(graph, first)}`);
  for (const child of tree.children) describeTree(graph, child, depth + 1, lines);
  if (last !== undefined) lines.push(`${indent}  ${nodeText(graph, last)}`);
}

function nodeText(graph: StreamGraph, id: number): string {
  const node = elementAt(graph.nodes, id);
  switch (node.kind) {
    case 'filter': return `${node.name}: ${filterText(node.code)}`;
    case 'splitter': case 'joiner': return `${node.name}: ${node.kind} (${node.weights.join(', ')})`;
    case 'reader': case 'writer': return `${node.name}: ${node.kind} "${node.file.path}"`;
    default: return `${node.name}: ${node.kind}`;
  }
}

function filterText(code: FilterCode): string {
  const first = code.prework === undefined ? '' : `, first ${ratesText(code.prework.rates)}`;
  const ends = `${typeText(code.input)}->${typeText(code.output)}`;
  return `filter ${code.name} ${ends} ${ratesText(code.work.rates)}${first}${code.stateful ? ', stateful' : ''}`;
}

function ratesText(rates: IrRates): string {
  const one = (name: 'push' | 'pop' | 'peek') => {
    const range = rates.dynamic?.[name];
    return `${name} ${range === undefined ? rates[name] : `[${range[0]}, ${range[1] === Infinity ? '*' : range[1]}]`}`;
  };
  return [one('pop'), ...(rates.peek > rates.pop || rates.dynamic?.peek !== undefined ? [one('peek')] : []), one('push')].join(' ');
}

function constantText(data: ConstantData): string {
  const values = Array.from(data.numbers);
  if (data.type.kind === 'scalar') return printed(data.type, elementAt(values, 0));
  const shown = values.slice(0, 16).map((x) => printed(scalar('float'), x));
  return `{${shown.join(', ')}${values.length > 16 ? `, … ${values.length} in all` : ''}}`;
}

/** The code of a filter as text. */
export function describeCode(code: FilterCode): string[] {
  const lines = [`${filterText(code)} {`];
  for (const { role, type, name, initial } of code.state) lines.push(`  ${role} ${typeText(type)} ${name} = ${constantText(initial)}`);
  for (const each of [...code.functions, ...code.handlers]) {
    const parameters = each.parameters.map(({ type, name }) => `${typeText(type)} ${name}`).join(', ');
    lines.push(`  ${typeText(each.result)} ${each.name}(${parameters})`);
    statement(each.body, 2, lines);
  }
  if (code.prework !== undefined) {
    lines.push('  prework');
    statement(code.prework.body, 2, lines);
  }
  lines.push('  work');
  statement(code.work.body, 2, lines);
  lines.push('}');
  return lines;
}

function statement(s: IrStatement, depth: number, lines: string[]): void {
  const say = (text: string) => lines.push('  '.repeat(depth) + text);
  switch (s.kind) {
    case 'block': for (const part of s.statements) statement(part, depth, lines); break;
    case 'declare': say(`${typeText(s.variable.type)} ${s.variable.name}${s.value === undefined ? '' : ` = ${text(s.value)}`}`); break;
    case 'assign': say(`${text(s.target)} = ${text(s.value)}`); break;
    case 'evaluate': say(text(s.value)); break;
    case 'push': say(`push ${text(s.value)}`); break;
    case 'if':
      say(`if ${text(s.condition)}`);
      statement(s.then, depth + 1, lines);
      if (s.otherwise !== undefined) {
        say('else');
        statement(s.otherwise, depth + 1, lines);
      }
      break;
    case 'loop': loop(s, depth, lines); break;
    case 'return': say(s.value === undefined ? 'return' : `return ${text(s.value)}`); break;
    case 'print': say(`print${s.newline ? 'ln' : ''} ${'text' in s.value ? JSON.stringify(s.value.text) : text(s.value)}`); break;
    case 'message': say(`${s.portal}.${s.handler}(${s.args.map(text).join(', ')}) [${s.low ?? '*'}:${s.high ?? '*'}]`); break;
    default: say(s.kind);
  }
}

function loop(s: Extract<IrStatement, { kind: 'loop' }>, depth: number, lines: string[]): void {
  const indent = '  '.repeat(depth);
  for (const part of s.initial) statement(part, depth, lines);
  lines.push(`${indent}${s.atLeastOnce ? 'do' : 'loop'}${s.condition === undefined ? '' : ` ${text(s.condition)}`}${
    s.trips === undefined ? '' : ` (${s.trips} turns)`}`);
  statement(s.body, depth + 1, lines);
  if (s.step.length > 0) {
    lines.push(`${indent}step`);
    for (const part of s.step) statement(part, depth + 1, lines);
  }
}

function text(e: IrExpression): string {
  switch (e.kind) {
    case 'constant': return isFloat(e) ? floatText(elementAt(e.value.numbers, 0)) : constantText(e.value);
    case 'variable': case 'state': return e.variable.name;
    case 'element': return `${text(e.array)}[${text(e.index)}${e.safe ? '' : '?'}]`;
    case 'field': return `${text(e.object)}.${e.field}`;
    case 'part': return `${text(e.vector)}.${e.part}`;
    case 'compose': return `{${e.parts.map(text).join(', ')}}`;
    case 'call': return `${e.function}(${e.args.map(text).join(', ')})`;
    case 'math': return `${e.name}(${e.args.map(text).join(', ')})`;
    case 'pop': return 'pop()';
    case 'peek': return `peek(${text(e.index)})`;
    case 'iter': return 'iter()';
    case 'unary': return `${e.operator}${text(e.operand)}`;
    case 'binary': return `(${text(e.left)} ${e.operator} ${text(e.right)})`;
    case 'conditional': return `(${text(e.condition)} ? ${text(e.then)} : ${text(e.otherwise)})`;
    case 'convert': return `${typeText(e.type)}(${text(e.operand)})`;
  }
}

function isFloat(e: IrExpression): boolean {
  return e.type.kind === 'scalar' && (e.type.name === 'float' || e.type.name === 'double');
}

function floatText(x: number): string {
  const plain = printed(scalar('float'), x);
  return /^-?\d+$/.test(plain) ? `${plain}.0` : plain;
}
