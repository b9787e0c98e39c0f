// Spans of OpenTelemetry for launches and calls, from the library's diagnostics channels: around them the spans of whoever calls. A server
// with an exporter (OTLP, Jaeger, …) needs traceWarploom() only; this program keeps its spans in memory and prints them.
import { tracingChannel } from 'node:diagnostics_channel';
import { context, SpanStatusCode, trace, type Attributes, type Span } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { openDevice, scan, tridiagonal, type BatchTrace, type RunTrace } from 'warploom';

/** Makes a span of every launch of a batcher and of every call of an operation; returns how to end that. */
function traceWarploom(): () => void {
  const tracer = trace.getTracer('warploom');
  const spans = new WeakMap<object, Span>();
  function follow<Trace extends object>(
    name: string, before: (message: Trace) => Attributes, after: (message: Trace) => Attributes,
  ): () => void {
    const channel = tracingChannel<Trace, Trace>(name);
    const subscribers = {
      start: (message: Trace) => { spans.set(message, tracer.startSpan(name, { attributes: before(message) })); },
      end: () => {}, asyncStart: () => {},
      error: (message: Trace & { readonly error: unknown }) => {
        const error = message.error as Error;
        spans.get(message)?.recordException(error);
        spans.get(message)?.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
      },
      asyncEnd: (message: Trace) => { spans.get(message)?.setAttributes(after(message)).end(); },
    };
    channel.subscribe(subscribers);
    return () => { channel.unsubscribe(subscribers); };
  }
  const stops = [
    follow<BatchTrace>('warploom:batch', ({ operation, backend, calls, items, bytes, waitSeconds }) =>
      ({ operation, backend, calls, items, bytes, waitSeconds }), () => ({})),
    follow<RunTrace>('warploom:run', ({ operation, backend }) => ({ operation, backend }), ({ deviceSeconds = 0 }) => ({ deviceSeconds })),
  ];
  return () => { for (const stop of stops) stop(); };
}

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()); // the active span follows awaited calls
const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
const stop = traceWarploom();

await using device = await openDevice({ backend: 'cpu' });
await using batcher = device.batcher();
const solve = batcher.wrap(tridiagonal.solve);
await trace.getTracer('example').startActiveSpan('request', async (span) => {
  const rhs = new Float64Array(64).fill(1);
  await Promise.all([1, 2, 3].map(() => solve({ lower: -1, diagonal: 4, upper: -1, rhs })));
  await scan(rhs, { device });
  span.end();
});
await batcher.close();
stop();

const spans = exporter.getFinishedSpans();
const request = spans.find(({ name }) => name === 'request');
for (const { name, attributes, duration: [, nanoseconds], parentSpanContext } of spans) {
  const inside = parentSpanContext?.spanId === request?.spanContext().spanId ? 'in request: ' : '';
  console.log(`${inside}${name} ${JSON.stringify(attributes)}, ${nanoseconds / 1e3} µs`);
}
const launch = spans.find(({ name }) => name === 'warploom:batch');
if (launch?.attributes['calls'] !== 3 || !spans.some(({ attributes }) => attributes['operation'] === 'scan.prefix')) process.exitCode = 1;
