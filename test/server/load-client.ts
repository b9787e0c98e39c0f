// Clients of a server under load, in a process of their own: `load-client.ts URL SECONDS`. Honest ones, which compare every answer with the
// library's; ones that leave before they have an answer; and ones that send what no honest client sends. Prints what happened as JSON.
import { Agent } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { scan, tridiagonal } from '../../lib/index.ts';
import { Random } from '../support/random.ts';
import { infer, inferOver, type Answer } from './client.ts';
import { hostile, sendRaw } from './hostile.ts';

/** What happened to the requests. */
export interface LoadReport {
  /** Right answers to honest requests. */
  answers: number;
  /** Answers 503: the queue was full. */
  refused: number;
  /** Requests of clients that left. */
  left: number;
  attacks: number;
  /** Honest requests whose connection was closed, and how. */
  readonly closed: string[];
  /** Honest requests with another answer than the library gives. */
  readonly wrong: string[];
}

const [url = '', seconds = '3'] = process.argv.slice(2);
const port = Number(new URL(url).port), end = Date.now() + Number(seconds) * 1000;
const random = new Random(7);
const report: LoadReport = { answers: 0, refused: 0, left: 0, attacks: 0, closed: [], wrong: [] };


async function honest(index: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 }); // a connection of its own, which is never idle for long
  for (let turn = 0; turn < 3 || Date.now() < end; turn += 1) {
    const n = 1 + ((index * 37 + turn * 11) % 300), binary = turn % 2 === 0;
    const values = Float64Array.from({ length: n }, (_, i) => Math.sin(i * (index + 1) + turn));
    const data = binary ? values : [...values];
    const one = turn % 3 === 0;
    const inputs = one ? [{ name: 'values', datatype: 'FP64', shape: [n], data }] : ['lower', 'diagonal', 'upper', 'rhs'].map((name) => ({
      name, datatype: 'FP64', shape: name === 'rhs' ? [n] : [1], data: name === 'rhs' ? data : [name === 'diagonal' ? 4 : -1] }));
    let answer: Answer;
    try {
      answer = await inferOver(agent, url, one ? 'scan' : 'tridiagonal_solve', inputs, { parameters: { binary_data_output: binary } });
    } catch (error) {
      report.closed.push(String(error));
      continue;
    }
    if (answer.status === 503) { report.refused += 1; continue; }
    const expected = one ? (await scan(values)).result : (await tridiagonal.solve({ lower: -1, diagonal: 4, upper: -1, rhs: values })).solution;
    const received = answer.outputs[one ? 'result' : 'solution']?.data ?? [];
    if (answer.status === 200 && isDeepStrictEqual(Float64Array.from(received as number[]), expected)) report.answers += 1;
    else report.wrong.push(`${answer.status} ${JSON.stringify(answer.json).slice(0, 300)}`);
  }
  agent.destroy();
}

/** Leaves after some milliseconds; most of the time its answer is not there yet. */
async function leaving(): Promise<void> {
  while (Date.now() < end) {
    const signal = AbortSignal.timeout(random.integer(1, 8));
    const values = [{ name: 'values', datatype: 'FP64', shape: [20_000], data: new Float64Array(20_000) }];
    await infer(url, 'scan', values, { signal }).catch(() => { report.left += 1; });
  }
}

async function attacking(): Promise<void> {
  while (Date.now() < end) {
    await sendRaw(port, hostile[random.integer(0, hostile.length - 1)]!);
    report.attacks += 1;
  }
}

await Promise.all([0, 1, 2, 3].map(honest).concat([leaving(), leaving(), attacking(), attacking()]));
console.log(JSON.stringify(report));
