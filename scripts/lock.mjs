// A lock file, so that two builds in one checkout take turns.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

function holderIsAlive(path) {
  try {
    process.kill(Number(readFileSync(path, 'utf8')), 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/**
 * Runs `work` while holding the lock file at `path`. Waits for a holder that is still running, and takes the lock over from one that is
 * not.
 */
export async function withLock(path, work) {
  mkdirSync(dirname(path), { recursive: true });
  for (let waited = 0; ; ++waited) {
    try {
      writeFileSync(path, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      if (!holderIsAlive(path)) rmSync(path, { force: true });
      else if (waited === 0) console.log('waiting for another build in this checkout…');
      await sleep(200);
    }
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}
