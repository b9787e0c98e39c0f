// The schedules of chapter 3 with the shim's threads and blocks in other orders, and on a device with slow memory of its own.
import { openDevice } from '../../../lib/core/device.ts';
import type { PipelineOptions } from '../../../lib/stream/run/gpu-pipelined.ts';
import { drillBackends } from '../../support/backends.ts';
import { program } from '../programs/support.ts';
import { pipelinedTogether } from './pipelined.ts';
import { agrees, firstState, inputItems } from './support.ts';

const settings = [
  { WARPLOOM_SIMT_ORDER: 'forward' }, { WARPLOOM_SIMT_ORDER: 'reverse' }, { WARPLOOM_SIMT_ORDER: 'random:5' }, { WARPLOOM_SIMT_ORDER: 'random:77' },
  { WARPLOOM_SIMT_DISCRETE: '1', WARPLOOM_SIMT_DELAY: '5' },
];
const ways: readonly PipelineOptions[] = [
  { mode: 'swp', width: 32, threads: 64, coarsening: 2, processors: 5 }, { mode: 'swpnc', threads: 64, coarsening: 1, processors: 3 },
  { mode: 'serial', width: 32, threads: 32, coarsening: 1, launch: 'persistent' },
  { mode: 'swp', width: 32, threads: 32, coarsening: 1, launch: 'persistent' },
];

describe('the schedules of chapter 3 with threads in other orders', function () {
  this.timeout(120_000);
  const graphs = ['bitonic', 'filterbank', 'fm-radio', 'dct'].map((name) => program(name));

  for (const setting of drillBackends(settings.length, ['simt']).flatMap(() => settings)) {
    it(Object.entries(setting).flat().join(' '), async () => {
      Object.assign(process.env, setting);
      try {
        await using device = await openDevice({ backend: 'simt' });
        const samples = graphs.flatMap((graph, i) => [0, 1].map((k) => ({ graph, options: ways[(i + 2 * k + (i >> 1)) % ways.length]! })));
        for (const [i, compiled] of (await pipelinedTogether(device, samples)).entries()) {
          const length = inputItems(compiled!, firstState(compiled!) + compiled!.schedule.states + 1);
          await agrees(compiled!, samples[i]!.graph, Float32Array.from({ length }, (_, at) => (at * 7919) % 1009));
        }
      } finally {
        for (const name of Object.keys(setting)) delete process.env[name];
      }
    });
  }
});
