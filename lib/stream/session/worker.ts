// The thread of a session (aside.ts): it runs WebAssembly or the interpreter, which sleeps where a program with dynamic rates needs input.
import { workerData, type MessagePort } from 'node:worker_threads';
import { isDynamic } from '../elaborate/to-sdf.ts';
import type { Made, SessionEngine } from './engine.ts';
import { partsOf, type ThreadAnswer, type ThreadCall, type ThreadData } from './thread-calls.ts';

const nothing = { numbers: [], text: '', isOver: false } as const;

async function engineOf({ backend, graph, outlet, options }: ThreadData): Promise<SessionEngine> {
  const { signal } = new AbortController();
  if (backend === 'wasm') return new (await import('./wasm.ts')).WasmEngine(graph, outlet, options, signal);
  return new (await import('./interpret.ts')).InterpretEngine(graph, outlet, options, signal);
}

function answer(port: MessagePort, { output, text, isOver = false, error }: Made): void {
  const made: ThreadAnswer = { numbers: output, text, isOver, ...(error === undefined ? {} : partsOf(error)) };
  const { buffer } = output;
  port.postMessage(made, buffer instanceof ArrayBuffer && buffer.byteLength === output.byteLength ? [buffer] : []);
}

async function start(data: ThreadData): Promise<void> {
  const { backend, graph, port } = data;
  if (backend === 'interpret' && graph.nodes.some(isDynamic)) {
    const { Sleeper } = await import('./sleeper.ts');
    port.postMessage(nothing);
    new Sleeper(data).run();
  }
  const engine = await engineOf(data);
  port.on('message', (call: ThreadCall) => {
    const made = call.kind === 'push' ? engine.push(call.numbers) : call.kind === 'end' ? engine.end() : engine.pull(call.items);
    made.then((each) => { answer(port, each); }, (error: unknown) => { port.postMessage({ ...nothing, ...partsOf(error) }); });
  });
  port.postMessage(nothing);
}

const data = workerData as ThreadData;
start(data).catch((error: unknown) => { data.port.postMessage({ ...nothing, ...partsOf(error) }); });
