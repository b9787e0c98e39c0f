// Numerics over HTTP: a server in this process, requests of several clients at once, and a job that is followed until it is done.
import { server } from 'warploom';

await using running = await server.serve({ port: 0, maxDelay: 1 });

const fp64 = (name: string, data: readonly number[]) => ({ name, datatype: 'FP64', shape: [data.length], data });

/** The solution of one system, by the Open Inference Protocol: clients of Triton and KServe send the same. */
async function solve(rhs: readonly number[]): Promise<readonly number[]> {
  const inputs = [fp64('lower', [-1]), fp64('diagonal', [2]), fp64('upper', [-1]), fp64('rhs', rhs)];
  const response = await fetch(`${running.url}/v2/models/tridiagonal_solve/infer`, { method: 'POST', body: JSON.stringify({ inputs }) });
  const { outputs } = await response.json() as { outputs: { name: string; data: number[] }[] };
  return outputs.find(({ name }) => name === 'solution')!.data;
}

// Requests that arrive together share a launch; each has the bits that it would have alone.
const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => solve([1, 0, i, 0, 1])));
console.log(`${answers.length} answers; the first: ${answers[0]!.map((x) => x.toFixed(6)).join(', ')}`);
const worst = Math.max(...answers.map((x, i) => Math.abs(2 * x[2]! - x[1]! - x[3]! - i)));
if (!(worst < 1e-12)) process.exitCode = 1;

// A job: submitted, followed by server-sent events, and its results fetched.
const job = { kind: 'simulate', name: 'rod', equation: 'heat', n: 101, fourier: 0.4, initial: 'ramp', until: { time: 0.01 } };
const submitted = await fetch(`${running.url}/v1/jobs`, { method: 'POST', body: JSON.stringify({ job }) });
const { id } = await submitted.json() as { id: string };
const events = await (await fetch(`${running.url}/v1/jobs/${id}/events`)).text(); // ends with the job
const results = await (await fetch(`${running.url}/v1/jobs/${id}/results`)).json() as { items: { files: { name: string }[] }[] };
console.log(`${events.split('event: state').length - 1} states; files: ${results.items[0]!.files.map(({ name }) => name).join(', ')}`);
if (!events.includes('"state":"finished"')) process.exitCode = 1;
