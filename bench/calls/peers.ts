// JAX, CuPy and PyTorch on the same machine in the same run, where Python has them (bench/calls/peers.py).
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../../lib/core/binding.ts';
import type { BenchContext } from '../domain.ts';

/** Seconds of one call by row id and peer. */
export type Peers = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Times the peers; none where there is no Python, and a word about it. */
export async function pythonPeers(context: BenchContext): Promise<Peers> {
  const script = join(packageRoot(), 'bench/calls/peers.py');
  const output = await new Promise<string | undefined>((resolve) => {
    const large = context.wanted('calls/tridiagonal.solve/1000000x64/float32/device');
    const child = spawn('python3', [script, ...(large ? [] : ['--small'])], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => { text += chunk; });
    child.on('error', () => resolve(undefined));
    child.on('close', (code) => resolve(code === 0 ? text : undefined));
  });
  if (output === undefined) {
    context.say('no peers: python3 with JAX, CuPy or PyTorch did not run');
    return {};
  }
  return JSON.parse(output.slice(output.indexOf('{'))) as Peers;
}
