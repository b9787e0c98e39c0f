// Nodes that only move items: splitters, joiners, identities, files.
import { required } from '../../core/known.ts';
import { get, i32, load, set, type Buffer, type Local } from '../../kernel/ir.ts';
import type { External } from '../plan/plan.ts';
import { countsOf } from '../plan/layout.ts';
import type { GraphNode } from '../graph.ts';
import { compareOf, operate } from './arithmetic.ts';
import { End, type Tape } from './ends.ts';
import { loadValue } from './memory.ts';
import { placeOf, times, type Buffers, type Index } from './value.ts';
import type { Writer } from './writer.ts';

export type MoverNode = Exclude<GraphNode, { kind: 'filter' }>;

/** What the enclosing function offers. */
export interface Mover {
  readonly w: Writer;
  readonly externals: readonly External[];
  /** Whether the function runs several nodes. */
  readonly isGroup: boolean;
  end(port: number, isInput: boolean): End | undefined;
  /** Where the next item of a file is written. */
  file(external: External): Tape;
  /** The local with the index of the next item of a file to read, and the memory word that holds the number of items. */
  reader(external: External): { readonly local: Local; readonly buffers: Buffers; readonly ix: Buffer; readonly length: number };
}

/** A firing of a node that only moves items. */
export function moverFiring(m: Mover, node: MoverNode): void {
  const inputs = node.inputs.map((_, port) => m.end(port, true));
  const outputs = node.outputs.map((_, port) => m.end(port, false));
  const [input, output] = [inputs[0], outputs[0]];
  switch (node.kind) {
    case 'duplicate': {
      const item = m.w.stableValue(required(input).pop());
      for (const end of outputs) end?.push(item);
      break;
    }
    case 'splitter': node.weights.forEach((weight, port) => { transfer(m, input, outputs[port], weight); }); break;
    case 'joiner': node.weights.forEach((weight, port) => { transfer(m, inputs[port], output, weight); }); break;
    case 'identity': transfer(m, input, output, 1); break;
    case 'reader': read(m, node, required(output)); break;
    case 'writer': write(m, node, required(input)); break;
  }
  for (const end of [...inputs, ...outputs]) end?.finish();
}

/** Up to this many items are moved one by one, without a loop. */
const mostAlone = 8;

function transfer({ w }: Mover, from: End | undefined, to: End | undefined, count: number): void {
  if (from === undefined || to === undefined || count === 0) return;
  if (count <= mostAlone || from.isInLocals || to.isInLocals) {
    for (let i = 0; i < count; ++i) to.push(from.pop());
    return;
  }
  w.each({ to: i32(count) }, (counter) => {
    const turns = { counter: get(counter), first: 0 };
    const marks = [from.enterLoop(1, count, turns), to.enterLoop(1, count, turns)] as const;
    to.push(from.pop());
    from.endLoop(marks[0], 1, count);
    to.endLoop(marks[1], 1, count);
  });
}

/** The next item of a file; wraps to the first after the last. */
function read(m: Mover, node: MoverNode, output: End): void {
  const external = required(m.externals.find(({ kind, node: id }) => kind === 'reader' && id === node.id));
  const { w } = m;
  const { local, buffers, ix, length } = m.reader(external);
  w.when(compareOf('>=', get(local), load(ix, i32(length))), () => { w.emit(set(local, i32(0))); });
  const at: Index = { base: get(local), add: 0, stable: false };
  const counts = countsOf(external.type);
  const place = { ...placeOf(buffers), at: { i: times(at, counts.i), f: times(at, counts.f), d: times(at, counts.d) } };
  output.push(w.stableValue(loadValue(w, place, external.type)));
  if (m.isGroup) w.emit(set(local, operate('+', get(local), i32(1), true)));
}

function write(m: Mover, node: MoverNode, input: End): void {
  const external = required(m.externals.find(({ kind, node: id }) => kind === 'writer' && id === node.id));
  const { type } = external;
  const end = new End(m.w, { type, isInput: false, rate: 1, window: 1, sites: { rate: () => 0, peek: () => 0 } }, m.file(external));
  end.push(input.pop());
}
