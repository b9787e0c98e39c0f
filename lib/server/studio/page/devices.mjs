// The devices: what they are, what they do, and their memory.
import { get } from './api.mjs';
import { bytesText, numberText } from './format.mjs';
import { Failure, Heading, html, usePoll, useRef } from './ui.mjs';

/**
 * @typedef {{ index: number, backend: string, name: string, lost: boolean, waiting: number, waitingBytes: number, running: number,
 *   memory: Record<string, number> | null }} Device
 */
/** @typedef {{ devices: Device[], host: { cores: number, cpuSeconds: number, residentBytes: number } }} Load */

/** The share of the processor's cores that the server used since the last answer. @param {Load | undefined} load */
function useProcessorLoad(load) {
  const last = useRef(/** @type {{ at: number, cpuSeconds: number, share: number | undefined } | undefined} */ (undefined));
  if (load === undefined) return undefined;
  const at = performance.now() / 1000, { cpuSeconds, cores } = load.host;
  const before = last.current;
  if (before === undefined) last.current = { at, cpuSeconds, share: undefined };
  else if (before.cpuSeconds !== cpuSeconds && at - before.at > 0.5) {
    last.current = { at, cpuSeconds, share: Math.min(1, (cpuSeconds - before.cpuSeconds) / ((at - before.at) * cores)) };
  }
  return last.current?.share;
}

/** @param {{ device: Device }} props */
function DeviceCard({ device: { index, backend, name, lost, waiting, waitingBytes, running, memory } }) {
  const state = lost ? 'lost: restart the server' : running > 0 ? 'working' : 'idle';
  const rows = [
    ['State', state], ['Calls that run', numberText(running)],
    ['Calls that wait', waiting === 0 ? '0' : `${numberText(waiting)} (${bytesText(waitingBytes)})`],
    ...Object.entries(memory ?? {}).filter(([key]) => key in memoryNames).map(([key, bytes]) => [memoryNames[key], bytesText(bytes)]),
  ];
  return html`<section class="card" aria-labelledby=${`device-${index}`}>
    <h2 id=${`device-${index}`}>${name}</h2><p class="hint">${backend}, device ${index} of the server</p>
    <dl>${rows.map(([what, value]) => html`<div><dt>${what}</dt><dd>${value}</dd></div>`)}</dl>
  </section>`;
}

/** @type {Readonly<Record<string, string>>} */
const memoryNames = { inUseBytes: 'Memory in use', pooledBytes: 'Kept for reuse', peakBytes: 'Peak', limitBytes: 'Limit' };

/** The devices of the server, asked for every second. */
export function DevicesView() {
  const { value, error } = usePoll(() => /** @type {Promise<Load>} */ (get('/v1/devices')), 1000);
  const share = useProcessorLoad(value);
  return html`<${Heading} title="Devices" /><${Failure} error=${error} />
    ${value === undefined ? html`<p>Asking the server…</p>` : html`
      <div class="grid">${value.devices.map((device) => html`<${DeviceCard} key=${device.index} device=${device} />`)}
        <section class="card" aria-labelledby="host">
          <h2 id="host">Host</h2><p class="hint">the process of the server</p>
          <dl>
            <div><dt>Processor</dt><dd>${share === undefined ? 'measuring…' : html`
              <meter min="0" max="1" value=${share} aria-label="Processor load"></meter> ${Math.round(100 * share)} %`}
              ${' '}of ${value.host.cores} cores</dd></div>
            <div><dt>Memory</dt><dd>${bytesText(value.host.residentBytes)}</dd></div>
          </dl>
        </section>
      </div>`}`;
}
