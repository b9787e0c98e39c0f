// A client of `bench -- serve`, in a process of its own: autocannon with what the bench sends it. Answers with all latencies.
import autocannon from 'autocannon';
import { performance } from 'node:perf_hooks';

/** Sends requests over so many connections, each with one at a time, for so many seconds. */
async function fire({ url, path, headers, body, connections, seconds }) {
  const latencies = [];
  const began = performance.now(), cpu = process.cpuUsage();
  let last = began;
  const running = autocannon({
    url: url + path, method: body === undefined ? 'GET' : 'POST', headers, connections, duration: seconds, timeout: 60,
    ...(body === undefined ? {} : { body: Buffer.from(body, 'base64') }),
    // It would keep answers as text, which takes milliseconds for a quarter of a megabyte of bytes that are none.
    setupClient: (client) => { client.pipelinedRequests.addBody = () => undefined; },
  });
  // Its own histogram has steps of a millisecond.
  running.on('response', (_, status, bytes, milliseconds) => {
    latencies.push(milliseconds / 1e3);
    last = performance.now();
  });
  const { non2xx, errors, timeouts, resets } = await running;
  const used = process.cpuUsage(cpu);
  return {
    latencies: Float64Array.from(latencies), seconds: (last - began) / 1e3, failed: non2xx + errors + timeouts + resets,
    processor: (used.user + used.system) / 1e6,
  };
}

process.on('message', (work) => {
  fire(work).then((result) => process.send(result), (error) => process.send({ error: String(error) }));
});
