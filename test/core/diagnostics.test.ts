// Tracing channels: one event pair per call and transfer, none while nobody listens.
import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { tracingChannel } from 'node:diagnostics_channel';
import { openDevice } from '../../lib/core/device.ts';
import { validParameters } from '../support/valid-parameters.ts';

type Event = Record<string, unknown>;

function listen(name: string): { events: [string, Event][]; stop: () => void } {
  const events: [string, Event][] = [];
  const note = (kind: string) => (message: unknown): void => void events.push([kind, { ...(message as Event) }]);
  const subscriber = {
    start: note('start'), asyncEnd: note('asyncEnd'), error: note('error'),
    end() { /* of the synchronous part */ }, asyncStart() { /* as asyncEnd */ },
  };
  const channel = tracingChannel(name);
  channel.subscribe(subscriber);
  return { events, stop: () => void channel.unsubscribe(subscriber) };
}

describe('diagnostics', () => {
  it('publishes calls with their device time, and their errors', async () => {
    await using device = await openDevice({ backend: 'cpu', threads: 1 });
    await device.run('scan.prefix', validParameters('scan.prefix'));
    const { events, stop } = listen('warploom:run');
    const { deviceSeconds } = await device.run('scan.prefix', validParameters('scan.prefix'));
    await rejects(device.run('scan.prefix', { n: -1 }), { argument: 'n' });
    stop();
    await device.run('scan.prefix', validParameters('scan.prefix'));
    deepStrictEqual(events.map(([kind]) => kind), ['start', 'asyncEnd', 'start', 'error', 'asyncEnd']);
    deepStrictEqual(events[0]![1], { operation: 'scan.prefix', backend: 'cpu', device: device.name });
    strictEqual(events[1]![1].deviceSeconds, deviceSeconds);
    ok(events[3]![1].error instanceof Error);
  });

  it('publishes transfers with direction and bytes', async () => {
    await using device = await openDevice({ backend: 'cpu', threads: 1 });
    using array = await device.array('float64', 10);
    const { events, stop } = listen('warploom:transfer');
    await array.write(new Float64Array(4));
    await array.read();
    stop();
    await array.read();
    deepStrictEqual(events.filter(([kind]) => kind === 'start').map(([, event]) => event), [
      { direction: 'upload', bytes: 32, backend: 'cpu' }, { direction: 'download', bytes: 80, backend: 'cpu' },
    ]);
  });
});
