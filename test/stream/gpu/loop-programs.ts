// Programs with feedback loops, and with state that firings must find one after the other: small ones, each with something of its own.
import type { StreamGraph } from '../../../lib/stream/graph.ts';
import { graphOf } from '../support.ts';

/** A program with one open input and output. */
export interface LoopProgram {
  readonly name: string;
  readonly type: 'int' | 'float';
  readonly source: string;
}

/** Filters that several programs use. */
const filters = `
int->int filter Twice { work pop 1 push 1 { push(2 * pop() + 1); } }
int->int filter Mix { work pop 2 push 1 { int a = pop(); push(a * 3 + pop()); } }
int->int filter Pair { work pop 2 push 2 { int a = pop(); int b = pop(); push(a - b); push(a ^ (b >> 1)); } }
int->int filter Widen { work pop 1 push 3 { int a = pop(); push(a); push(a + 1); push(a * a); } }
int->int filter Narrow { work pop 3 push 1 { push(pop() + 2 * pop() - pop()); } }
int->int filter Window { work pop 1 push 1 peek 3 { push(peek(0) + 2 * peek(1) - peek(2)); pop(); } }
int->int filter Chaos(int seed) { int s; init { s = seed; } work pop 1 push 1 { s = (s ^ (s << 3)) + pop() * (s >> 5 | 1); push(s); } }
int->int filter Late { work pop 1 push 1 { push(pop() - 7); } prework pop 2 push 3 peek 2 { push(peek(0)); push(pop()); push(pop() + 5); } }
int->int filter Table { int[8] t; work pop 1 push 1 { int x = pop(); t[x & 7] += x; push(t[(x >> 3) & 7]); } }
stateful int->int filter Counted { int s; work pop 1 push 1 { s = s * 5 + iter(); push(s ^ pop()); } }
float->float filter Smooth { float y; work pop 1 push 1 { y = 0.9 * y + 0.1 * pop(); push(y); } }
float->float filter Sum { work pop 2 push 1 { float a = pop(); push(a + 0.5 * pop()); } }
`;

const main = (type: string, body: string): string => `${filters}\n${type}->${type} pipeline Main { ${body} }`;

/** A loop around a body, with so many items on its way back. */
const loop = (body: string, delay: number, back = 'Identity<int>', split = 'duplicate'): string => `feedbackloop {
  join roundrobin(1, 1); body ${body}; loop ${back}; split ${split}; for (int i = 0; i < ${delay}; i++) enqueue i * 5 - 2; }`;

const int = (name: string, body: string): LoopProgram => ({ name, type: 'int', source: main('int', body) });
const float = (name: string, body: string): LoopProgram => ({ name, type: 'float', source: main('float', body) });

export const loopPrograms: readonly LoopProgram[] = [
  int('delay of one', `add ${loop('Mix', 1)};`),
  int('delay of two', `add ${loop('Mix', 2)};`),
  int('delay of seven', `add ${loop('Mix', 7)};`),
  int('delay of 100', `add Twice; add ${loop('Mix', 100)}; add Twice;`),
  int('delay of 1000', `add ${loop('Mix', 1000, 'Twice')};`),
  int('more out than goes back', `add ${loop('Pair', 3, 'Twice', 'roundrobin(1, 1)')}; add Twice;`),
  int('other rates', 'add feedbackloop { join roundrobin(2, 1); body Narrow; loop Twice; split duplicate; enqueue 1; enqueue 2; };'),
  int('several firings in a turn', `add feedbackloop { join roundrobin(3, 2); body pipeline { add Chaos(3); add Twice; }; loop Twice;
    split roundrobin(3, 2); for (int i = 0; i < 6; i++) enqueue i; };`),
  int('a loop in a loop', `add feedbackloop { join roundrobin(1, 1); body pipeline { add Mix; add ${loop('Mix', 2)}; }; loop Twice;
    split duplicate; enqueue 4; enqueue 9; };`),
  int('a loop on the way back', `add feedbackloop { join roundrobin(1, 1); body Mix; loop ${loop('Mix', 3)}; split duplicate; enqueue 4; };`),
  int('loops in a split-join', `add splitjoin { split duplicate; add ${loop('Mix', 1)}; add ${loop('Mix', 5, 'Twice')}; add Twice;
    join roundrobin; }; add Narrow;`),
  int('two loops one after the other', `add ${loop('Mix', 2)}; add Window; add ${loop('Mix', 4)};`),
  int('a loop around a split-join', `add feedbackloop { join roundrobin(1, 1); body pipeline { add Mix; add splitjoin { split duplicate;
    add Twice; add Chaos(2); join roundrobin; }; add Mix; }; loop Twice; split duplicate; enqueue 4; enqueue 5; };`),
  int('state inside a loop', `add ${loop('pipeline { add Mix; add Chaos(11); }', 2)}; add Twice;`),
  int('an array inside a loop', `add ${loop('pipeline { add Mix; add Table; }', 3)};`),
  int('a window inside a loop', `add ${loop('pipeline { add Mix; add Window; }', 6)};`),
  int('a window on the way back', `add ${loop('Mix', 6, 'Window')}; add Twice;`),
  int('a window before a loop', `add Window; add ${loop('Mix', 2)}; add Window;`),
  int('prework inside a loop', `add ${loop('pipeline { add Mix; add Late; }', 3)};`),
  int('prework around a loop', `add Late; add ${loop('Mix', 2)}; add Late;`),
  int('state', 'add Chaos(5);'),
  int('state twice', 'add Chaos(5); add Twice; add Chaos(77);'),
  int('state side by side', 'add splitjoin { split duplicate; add Chaos(1); add Chaos(2); add Twice; join roundrobin; }; add Mix; add Twice;'),
  int('state with a window', `add Window; add Widen; add int->int filter { int s; work pop 2 push 1 peek 5 { s = s * 3 + peek(4) - peek(0);
    push(s & 1023); pop(); pop(); } }; add Narrow;`),
  int('an array as state', 'add Widen; add Table; add Narrow; add Table;'),
  int('the number of the firing', `add Counted; add Twice;`),
  int('state with prework', `add Twice; add int->int filter { int s; work pop 1 push 1 { s = (s << 1) ^ (s >> 3) ^ pop(); push(s); }
    prework pop 1 push 2 { s = pop() | 1; push(s); push(-s); } }; add Window;`),
  int('loops without known end', `add int->int filter { int s; work pop 1 push 1 { int x = pop(); int n = 0;
    while (((s + n) & 15) != (x & 15)) n++; s = s * 3 + n; push(n + s); } }; add ${loop('Mix', 2)};`),
  float('recurrences of floats', 'add Smooth; add Smooth;'),
  float('an echo', `add feedbackloop { join roundrobin(1, 1); body Sum; loop Identity<float>; split duplicate; for (int i = 0; i < 50; i++) enqueue 0.25; }; add Smooth;`),
  float('structs', `add float->float filter { float x; double z; int n; work pop 1 push 1 { x = x * 0.5 + pop(); z = z * 0.25 + x; n++;
    push(x + (float) z + n % 3); } };`),
  float('random numbers', 'add float->float filter { float s; work pop 1 push 1 { s = 0.5 * s + random() * pop(); push(s); } };'),
];

/** A loop around a split-join and a window, with so many items on its way back, between filters of other rates. */
export const echo = (delay: number): string => main('int', `add Widen; add Narrow; add ${loop(`pipeline { add Mix; add splitjoin {
  split duplicate; add Twice; add Identity<int>; join roundrobin; }; add Mix; }`, delay, 'Window')}; add Window;`);

const graphs = new Map<string, StreamGraph>();

/** The graph of a program, the same at each call. */
export function loopGraph({ name, source }: LoopProgram): StreamGraph {
  let graph = graphs.get(name);
  if (graph === undefined) graphs.set(name, graph = graphOf(source));
  return graph;
}
