// Results of a job: items with their figures, pictures, and files.
import { get, getBlob, getText, resultPath } from './api.mjs';
import { useBlob } from './blob.mjs';
import { Compare } from './compare.mjs';
import { bytesText, nameText, numberText, secondsText } from './format.mjs';
import { FramesView } from './live.mjs';
import { Failure, html, useEffect, useState } from './ui.mjs';

/** @typedef {{ name: string, bytes: number }} ResultFile */
/**
 * @typedef {{ summary: string, figures: Record<string, number>, accuracy: { value: number | null, meaning: string }, notes?: string[],
 *   failed?: boolean, wallSeconds: number, device: { backend: string, name: string } }} Result
 */
/** @typedef {{ item: string, values: Record<string, unknown>, result?: Result, files: ResultFile[] }} Item */
/** @typedef {{ id: string, items: Item[], files: ResultFile[] }} Results */

/** What a picture of a job shows, from its name. @param {string} name */
const captionOf = (name) => nameText(name.replace(/\.\w+$/, ''));

/** @param {{ id: string, item: string, name: string }} props */
function Picture({ id, item, name }) {
  const { url, error } = useBlob(resultPath(id, item, name));
  return html`<figure class="picture"><figcaption class="capital">${captionOf(name)}</figcaption><${Failure} error=${error} />
    ${url === undefined ? html`<p class="hint">Loading…</p>`
      : html`<img src=${url} alt=${`${captionOf(name)}, a picture of the results`} />`}</figure>`;
}

/** @param {{ id: string, item: string, file: ResultFile }} props */
function FileRow({ id, item, file: { name, bytes } }) {
  const [text, setText] = useState(/** @type {string | undefined} */ (undefined));
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  const path = resultPath(id, item, name);
  const download = async () => {
    try {
      const url = URL.createObjectURL(await getBlob(path));
      const link = Object.assign(document.createElement('a'), { href: url, download: name.split('/').at(-1) ?? name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    } catch (failure) {
      setError(failure);
    }
  };
  const show = () => {
    if (text !== undefined) setText(undefined);
    else getText(path).then((all) => setText(all.slice(0, 100_000)), setError);
  };
  const isText = /\.(txt|csv|json)$/.test(name) && bytes < 2e6;
  return html`<tr><th scope="row">${name}</th><td>${bytesText(bytes)}</td><td>
      <button type="button" onClick=${download} aria-label=${`Download ${name}`}>Download</button>
      ${isText && html` <button type="button" onClick=${show} aria-expanded=${text === undefined ? 'false' : 'true'}
        aria-label=${`${text === undefined ? 'Show' : 'Hide'} ${name}`}>${text === undefined ? 'Show' : 'Hide'}</button>`}
      <${Failure} error=${error} /></td></tr>
    ${text !== undefined && html`<tr><td colspan="3"><pre tabindex="0" aria-label=${name}>${text}</pre></td></tr>`}`;
}

/** @param {{ id: string, item: string, files: ResultFile[] }} props */
function Files({ id, item, files }) {
  if (files.length === 0) return null;
  const plain = files.filter(({ name }) => !name.includes('/')), inner = files.filter(({ name }) => name.includes('/'));
  return html`<details><summary>Files (${files.length})</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="Files"><table aria-label="Files">
    <thead><tr><th scope="col">Name</th><th scope="col">Size</th><th scope="col">Actions</th></tr></thead>
    <tbody>${[...plain, ...inner.slice(0, 200)].map((file) => html`<${FileRow} key=${file.name} id=${id} item=${item} file=${file} />`)}
      ${inner.length > 200 && html`<tr><td colspan="3">and ${inner.length - 200} more in folders</td></tr>`}</tbody>
    </table></div></details>`;
}

/** The snapshots of an item, where it has any. @param {{ id: string, item: string }} props */
function Snapshots({ id, item }) {
  const [frames, setFrames] = useState(/** @type {import('./api.mjs').Frame[]} */ ([]));
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  useEffect(() => { get(`/v1/jobs/${id}/frames/${encodeURIComponent(item)}`).then((got) => setFrames(got.frames), setError); }, [id, item]);
  return html`<${Failure} error=${error} /><${FramesView} frames=${frames} title="Snapshots" />`;
}

/** @param {{ id: string, one: Item, isRunning: boolean }} props */
function ItemView({ id, one: { item, result, files }, isRunning }) {
  const hasSides = ['before.png', 'after.png'].every((side) => files.some(({ name }) => name === side));
  const pictures = files.filter(({ name }) => /^[^/]*\.(svg|png|jpe?g)$/.test(name) && !(hasSides && /^(before|after)\.png$/.test(name)));
  return html`
    ${result !== undefined && html`<p>${result.summary}</p>
      ${(result.notes ?? []).map((note) => html`<p class="message" key=${note}>${note}</p>`)}
      <dl class="inline">
        <div><dt>${result.accuracy.meaning}</dt><dd>${numberText(result.accuracy.value ?? NaN)}</dd></div>
        <div><dt>Elapsed</dt><dd>${secondsText(result.wallSeconds)}</dd></div>
        <div><dt>Device</dt><dd>${result.device.backend}, ${result.device.name}</dd></div>
        ${Object.entries(result.figures).map(([name, value]) => html`<div key=${name}>
          <dt>${nameText(name)}</dt><dd>${numberText(value)}</dd></div>`)}
      </dl>`}
    ${!isRunning && files.some(({ name }) => name.startsWith('result.zarr/')) && html`<${Snapshots} id=${id} item=${item} />`}
    ${hasSides && html`<${Compare} before=${resultPath(id, item, 'before.png')} after=${resultPath(id, item, 'after.png')}
      what=${result?.summary ?? item} />`}
    <div class="plots">${pictures.map(({ name }) => html`<${Picture} key=${name} id=${id} item=${item} name=${name} />`)}</div>
    <${Files} id=${id} item=${item} files=${files} />`;
}

/** Figures in which items differ, the first ones. @param {Item[]} items */
function comparedFigures(items) {
  const names = Object.keys(items[0]?.result?.figures ?? {});
  return names.filter((name) => new Set(items.map(({ result }) => result?.figures[name])).size > 1).slice(0, 5);
}

/** @param {unknown} value */
const wordOf = (value) => (typeof value === 'number' ? numberText(value) : typeof value === 'string' ? value : JSON.stringify(value));

/** @param {{ items: Item[], shown: string, onShow: (item: string) => void }} props */
function ItemTable({ items, shown, onShow }) {
  const swept = Object.keys(items[0]?.values ?? {}), figures = comparedFigures(items);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Items"><table aria-label="Items">
    <thead><tr><th scope="col">Item</th>
      ${[...swept, ...figures].map((name) => html`<th scope="col" key=${name}>${nameText(name)}</th>`)}</tr></thead>
    <tbody>${items.map(({ item, values, result }) => html`<tr key=${item}>
      <th scope="row"><button type="button" class="link" aria-pressed=${item === shown ? 'true' : 'false'}
        onClick=${() => onShow(item)}>${item}</button></th>
      ${swept.map((name) => html`<td key=${name}>${wordOf(values[name])}</td>`)}
      ${figures.map((name) => html`<td key=${name}>${numberText(result?.figures[name] ?? NaN)}</td>`)}</tr>`)}</tbody></table></div>`;
}

/**
 * What has been finished. `finished`: how much that is; the results are asked for again when it changes.
 * @param {{ id: string, finished: string, isRunning: boolean }} props
 */
export function ResultsView({ id, finished, isRunning }) {
  const [results, setResults] = useState(/** @type {Results | undefined} */ (undefined));
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  const [chosen, setChosen] = useState(/** @type {string | undefined} */ (undefined));
  useEffect(() => { get(`/v1/jobs/${id}/results`).then(setResults, setError); }, [id, finished]);
  const items = results?.items.filter(({ result }) => result !== undefined) ?? [];
  if (items.length === 0) return html`<${Failure} error=${error} />`;
  const one = items.find(({ item }) => item === chosen) ?? items[0];
  const own = results?.files.filter(({ name }) => /\.(svg|png)$/.test(name)) ?? [];
  return html`<section class="card" aria-labelledby="results"><h2 id="results">Results</h2>
    ${items.length > 1 && one !== undefined && html`<${ItemTable} items=${items} shown=${one.item} onShow=${setChosen} />
      <div class="plots">${own.map(({ name }) => html`<${Picture} key=${`${finished}${name}`} id=${id} item="" name=${name} />`)}</div>
      <h3>${one.item}</h3>`}
    ${one !== undefined && html`<${ItemView} key=${one.item} id=${id} one=${one} isRunning=${isRunning} />`}
    ${results !== undefined && items.length > 1 && html`<h3>Files of the whole job</h3>
      <${Files} id=${id} item="" files=${results.files} />`}
  </section>`;
}
