// Every stage of six small programs, in full: the graph with its filters' code, the schedules, and the code in the kernel representation,
// WebAssembly and C++. To renew the files after a change that was meant: GOLDEN=write mocha THIS_FILE.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import initialiseWabt from 'wabt';
import { describeGraph, toSdf } from '../../../lib/stream/elaborate/index.ts';
import { cppProgram } from '../../../lib/stream/targets/cpp.ts';
import { programText } from '../../../lib/kernel/text.ts';
import { planProgram, type ProgramPlan } from '../../../lib/stream/plan/plan.ts';
import { pushSchedule, singleAppearanceSchedule, steadyState, type Step } from '../../../lib/stream/schedule/index.ts';
import type { SdfGraph } from '../../../lib/stream/sdf.ts';
import { lowerForWasm, wasmModule } from '../../../lib/stream/targets/wasm.ts';
import { graphOf } from '../support.ts';

const programs: Readonly<Record<string, string>> = {
  sort: `int->int filter Order { work pop 2 push 2 { int a = pop(); int b = pop(); if (a > b) { push(b); push(a); } else { push(a); push(b); } } }
    int->int pipeline P { add splitjoin { split roundrobin(2); add Order; add Order; join roundrobin(1); } add Order; }`,
  smooth: `float->float filter Mean(int n) { work pop 1 push 1 peek n { float s = 0; for (int i = 0; i < n; i++) s += peek(i); push(s / n); pop(); } }
    float->float filter Thin { work pop 2 push 1 { push(pop()); pop(); } }
    float->float pipeline P { add Mean(100); add Thin; }`,
  echo: `float->float feedbackloop P { join roundrobin(1, 1); body float->float filter { work pop 2 push 1 { push(pop() + 0.5 * pop()); } }
    loop Identity<float>; split duplicate; enqueue 0.0; enqueue 0.0; }`,
  points: `struct P { float x; int[2] n; } float->P filter Pack { int i; work pop 2 push 1 { P p; p.x = pop(); p.n[i & 1] = (int) pop(); i++; push(p); } }
    P->float filter Unpack { work pop 1 push 3 { P p = pop(); push(p.x); for (int i = 0; i < 2; i++) push(p.n[i]); } }
    float->float pipeline P1 { add Pack; add P->P filter { work pop 1 push 1 peek 2 { P p = pop(); p.x = p.x + peek(0).x; push(p); } }; add Unpack; }`,
  delay: `int->int filter Delay(int n) { prework push n { for (int i = 0; i < n; i++) push(-i); } work pop 1 push 1 { push(pop()); } }
    int->int splitjoin P { split roundrobin(2, 1); add Delay(3); add Identity<int>; join roundrobin(2, 1); }`,
  parity: `static { int[4] t = {0, 1, 1, 0}; } bit->int filter Words(int n) { work pop n push 1 { int x = 0; for (int i = 0; i < n; i++) x = x << 1 | pop(); push(x); } }
    int->bit filter Check { int odd(int x) { int c = 0; while (x != 0) { c += t[x & 3]; x = x >> 2; } return c & 1; } work pop 1 push 1 { push((bit) odd(pop())); } }
    bit->bit pipeline P { add Words(8); add Check; }`,
};

function check(name: string, text: string): void {
  const path = new URL(`golden/${name}`, import.meta.url);
  if (process.env.GOLDEN === 'write') writeFileSync(path, text);
  assert.equal(text, readFileSync(path, 'utf8'));
}

/** How often everything fires, before the first steady state and in it, and in which orders. */
function scheduleText(sdf: SdfGraph): string {
  const steady = steadyState(sdf);
  const steps = (list: readonly Step[]): string => list.map(({ actor, count }) => `${count} ${sdf.actors[actor]!.name}`).join(', ') || '-';
  const [single, push] = [singleAppearanceSchedule(sdf, steady), pushSchedule(sdf, steady)];
  return [`repetitions: ${sdf.actors.map(({ id, name }) => `${steady.repetitions[id]!} ${name}`).join(', ')}`, `at first: ${steps(steady.init)}`,
    `left on channels: ${steady.residual.join(', ')}`, `single appearance: ${steps(single.steps)}; buffers ${single.buffers.join(', ')}`,
    `push: ${steps(push.steps)}; buffers ${push.buffers.join(', ')}`, ''].join('\n');
}

/** The functions of a program in WebAssembly's text, as another reader of the format prints them. */
async function wasmText(plan: ProgramPlan): Promise<string> {
  const module = (await initialiseWabt()).readWasm(wasmModule(lowerForWasm(plan), false).bytes, { readDebugNames: true });
  module.validate();
  const text = module.toText({ foldExprs: true, inlineExport: true });
  return text.slice(text.search(/^ *\(func[^\n]*\(export/m)); // what stands before is the same for all
}

describe('stages of whole programs', () => {
  for (const [name, source] of Object.entries(programs)) {
    it(`of ${name}`, async () => {
      const graph = graphOf(source);
      check(`${name}.graph.txt`, describeGraph(graph, { code: true }));
      check(`${name}.schedule.txt`, scheduleText(toSdf(graph)));
      const plan = planProgram(graph);
      check(`${name}.kernel.txt`, programText(lowerForWasm(plan, { nodes: plan.graph.nodes.map(({ id }) => id) }).program));
      check(`${name}.wasm.txt`, await wasmText(plan));
      check(`${name}.cpp.txt`, cppProgram(plan).body);
    });
  }
});
