// Nodes that only move items: splitters, joiners, identities, files.
import type { GraphNode } from '../graph.ts';
import type { IrType } from '../ir.ts';
import { End, type Tape } from './ends.ts';
import { countsOf, type Kind } from '../plan/layout.ts';
import { loadValue } from './memory.ts';
import { streamArrayName, type External } from '../plan/plan.ts';
import type { Ex, Place } from './value.ts';
import type { Writer } from './writer.ts';

export type MoverNode = Exclude<GraphNode, { kind: 'filter' }>;

/** What the function around offers. */
export interface Mover {
  readonly w: Writer;
  readonly externals: readonly External[];
  /** Whether several nodes make up the function. */
  readonly isGroup: boolean;
  end(port: number, isInput: boolean): End | undefined;
  /** A variable that is loaded at the start of the function and stored at its end. */
  keep(name: string, from: string): string;
  /** Writes how far an index has moved. */
  settle(name: string): void;
  /** The head of a loop of so many turns. */
  loopHead(count: number): string;
  /** Where the next item of a file goes. */
  file(external: External): { readonly tape: Tape; readonly start: Ex };
}

/** A firing of a node that only moves items. */
export function moverFiring(m: Mover, node: MoverNode): void {
  const inputs = node.inputs.map((_, port) => m.end(port, true));
  const outputs = node.outputs.map((_, port) => m.end(port, false));
  const [input, output] = [inputs[0], outputs[0]];
  switch (node.kind) {
    case 'duplicate': {
      const item = m.w.stableValue(input!.pop());
      for (const end of outputs) end?.push(item);
      break;
    }
    case 'splitter': node.weights.forEach((weight, port) => transfer(m, input, outputs[port], weight)); break;
    case 'joiner': node.weights.forEach((weight, port) => transfer(m, inputs[port], output, weight)); break;
    case 'identity': transfer(m, input, output, 1); break;
    case 'reader': read(m, node, output!); break;
    case 'writer': write(m, node, input!); break;
  }
  for (const end of [...inputs, ...outputs]) end?.finish();
}

function transfer(m: Mover, from: End | undefined, to: End | undefined, count: number): void {
  if (from === undefined || to === undefined || count === 0) return;
  const isShort = count <= 8 || from.options.registers !== undefined || to.options.registers !== undefined;
  if (isShort || from.isDynamic || to.isDynamic) {
    for (let i = 0; i < count; ++i) to.push(from.pop());
    return;
  }
  const marks = [from.enterLoop(1, count), to.enterLoop(1, count)] as const;
  m.w.open(m.loopHead(count));
  to.push(from.pop());
  from.nextTurn(marks[0], 1);
  to.nextTurn(marks[1], 1);
  m.w.close();
  from.endLoop(marks[0], 1, count);
  to.endLoop(marks[1], 1, count);
}

/** The next item of a file, the first again behind the last. */
function read(m: Mover, node: MoverNode, output: End): void {
  const external = m.externals.find(({ kind, node: id }) => kind === 'reader' && id === node.id)!;
  const w = m.w;
  const name = m.keep(`r${external.id}`, `wl_ix[${2 * external.id}]`);
  m.settle(name);
  w.emit(`if (${name} >= wl_ix[${2 * external.id + 1}]) ${name} = 0;`);
  const at: Ex = { text: name, kind: 'i', stable: false };
  const counts = countsOf(external.type);
  const place: Place = {
    arrays: externalArrays(external, external.type), isPlace: true,
    at: { i: w.times(at, counts.i), f: w.times(at, counts.f), d: w.times(at, counts.d) },
  };
  output.push(w.stableValue(loadValue(w, place, external.type)));
  if (m.isGroup) w.emit(`${name} = ${m.w.dialect.offset(name, '1')};`);
}

function write(m: Mover, node: MoverNode, input: End): void {
  const external = m.externals.find(({ kind, node: id }) => kind === 'writer' && id === node.id)!;
  const { type } = external;
  const end = new End(m.w, { type, isInput: false, rate: 1, window: 1, ...m.file(external) },
    { rate: () => 0, peek: () => 0 });
  end.push(input.pop());
}

/** Arrays of an external stream. */
export function externalArrays(external: External, type: IrType): Place['arrays'] {
  const counts = countsOf(type);
  const name = (kind: Kind) => (counts[kind] === 0 ? '' : streamArrayName(external.id, kind));
  return { i: name('i'), f: name('f'), d: name('d') };
}

