// Two pictures of one size over each other, and a slider between them.
import { useBlob } from './blob.mjs';
import { Failure, html, useState } from './ui.mjs';

/**
 * Before on the left of the line, after on its right. The line follows the slider's keys, and the pointer on the pictures.
 * @param {{ before: string, after: string, what: string }} props
 */
export function Compare({ before, after, what }) {
  const [at, setAt] = useState(50);
  const first = useBlob(before), second = useBlob(after);
  /** @param {any} event */
  const drag = (event) => {
    if (event.buttons === 0 && event.type !== 'pointerdown') return;
    const { left, width } = event.currentTarget.getBoundingClientRect();
    setAt(Math.round(Math.max(0, Math.min(100, (100 * (event.clientX - left)) / width))));
  };
  if (first.url === undefined || second.url === undefined) return html`<${Failure} error=${first.error ?? second.error} />`;
  return html`<figure class="compare"><figcaption>Before and after: ${what}</figcaption>
    <div class="pair" style=${{ '--at': `${at}%` }} onPointerDown=${drag} onPointerMove=${drag}>
      <img src=${second.url} alt=${`After: ${what}`} draggable=${false} />
      <img class="over" src=${first.url} alt=${`Before: ${what}`} draggable=${false} />
      <span class="edge" aria-hidden="true"></span><span class="side" aria-hidden="true">before</span>
      <span class="side right" aria-hidden="true">after</span>
    </div>
    <label class="unseen" for="compare-at">Share that shows before</label>
    <input id="compare-at" type="range" min="0" max="100" value=${at} aria-valuetext=${`${at} % before, ${100 - at} % after`}
      onInput=${(/** @type {any} */ event) => setAt(Number(event.currentTarget.value))} /></figure>`;
}
