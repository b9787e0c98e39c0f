// A server of several processes: workers answer inferences on one port, and this process has the jobs and adds up what workers report.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { makeTemporaryFolder, removeAll } from '../../core/files.ts';
import { run, type Running } from '../app.ts';
import { addedStates, stateOfDevices } from '../devices.ts';
import type { TakenServerOptions } from '../options.ts';
import type { WorkerReport } from './messages.ts';
import { requirePrimary, Team } from './team.ts';

/** A port that is free now: all workers, also those that come later, have to name the same. */
async function portFor({ host, port }: TakenServerOptions): Promise<number> {
  if (port !== 0) return port;
  const server = createServer().listen({ host, port });
  await once(server, 'listening');
  const { port: found } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return found;
}

/** Opens the devices of this process for jobs, and starts the workers. */
export async function runWorkers(options: TakenServerOptions): Promise<Running> {
  requirePrimary(options.workers);
  const folder = await makeTemporaryFolder();
  const socket = process.platform === 'win32' ? `\\\\.\\pipe\\warploom-${randomUUID()}` : join(folder, 'server');
  let own: Running | undefined, team: Team | undefined;
  const reports = async (): Promise<readonly WorkerReport[]> => await team?.reports() ?? [];
  const close = async (): Promise<void> => {
    await Promise.all([team?.stop(), own?.close()]); // workers wait for what this process still sends through them
    await removeAll(folder);
  };
  try {
    own = await run(options, {
      listenOn: socket,
      metrics: async (mine) => [...(await reports()).map(({ metrics }) => metrics), mine],
      devices: async (pool) => addedStates([stateOfDevices(pool), ...(await reports()).map(({ devices }) => devices)]),
      statistics: async () => (await reports()).map(({ statistics }) => statistics),
      replaced: () => team?.replaced ?? 0,
    });
    team = new Team({ ...options, port: await portFor(options) }, own.pool, socket);
    return { ...own, url: await team.start(options.workers), close };
  } catch (error) {
    await close();
    throw error;
  }
}
