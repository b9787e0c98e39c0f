// An editor for stream programs: diagnostics under the text, the graph, a schedule, and a run.
import { post } from './api.mjs';
import { numberText, secondsText } from './format.mjs';
import { LinePlot } from './plots.mjs';
import { announce, Failure, Heading, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from './ui.mjs';

/**
 * @typedef {{ code: string, severity: 'error' | 'warning', message: string, hint: string, line: number, column: number, endLine: number,
 *   endColumn: number }} Diagnostic
 */
/** @typedef {{ name: string, firings: number, microseconds: number, stage: number, cores: number[] }} Actor */
/**
 * @typedef {{ diagnostics: Diagnostic[], graph?: { nodes: number, channels: number, text: string, picture?: string, reason?: string },
 *   schedule?: { cores: number, actors: Actor[], interval: number, bound: number, multiplier: number, picture: string, reason?: undefined }
 *     | { reason: string } }} Examined
 */

const sample = `/* A wavy ramp, smoothed by a moving average of four values. */
void->void pipeline Smoothing {
  add Ramp();
  add Average(4);
  add Printer();
}

void->float filter Ramp {
  float value;
  init { value = 0; }
  work push 1 {
    push(value + sin(3 * value));
    value = value + 0.25;
  }
}

float->float filter Average(int taps) {
  work pop 1 push 1 peek taps {
    float sum = 0;
    for (int i = 0; i < taps; i++) sum += peek(i);
    push(sum / taps);
    pop();
  }
}

float->void filter Printer {
  work pop 1 { println(pop()); }
}
`;

const storageKey = 'warploom-program';

function storedText() {
  try {
    return localStorage.getItem(storageKey) ?? sample;
  } catch {
    return sample;
  }
}

/** Offsets at which lines begin. @param {string} text */
function lineStarts(text) {
  const starts = [0];
  for (const match of text.matchAll(/\n/g)) starts.push(match.index + 1);
  return starts;
}

/** The part of a text that a diagnostic means; at least one character. @param {readonly number[]} starts @param {Diagnostic} diagnostic */
function spanOf(starts, { line, column, endLine, endColumn }) {
  const from = (starts[line - 1] ?? 0) + column - 1;
  return { from, to: Math.max(from + 1, (starts[endLine - 1] ?? 0) + endColumn - 1) };
}

/** The text again, with what is wrong underlined. @param {{ text: string, diagnostics: Diagnostic[] }} props */
function Marked({ text, diagnostics }) {
  const starts = lineStarts(text);
  const spans = diagnostics.map((each) => ({ ...spanOf(starts, each), severity: each.severity })).sort((a, b) => a.from - b.from);
  const parts = [];
  let at = 0;
  for (const { from, to, severity } of spans) {
    if (from < at) continue;
    parts.push(text.slice(at, from), html`<mark class=${severity}>${text.slice(from, to)}</mark>`);
    at = Math.min(to, text.length);
  }
  return html`${parts}${text.slice(at)}${'\n'}`;
}

/**
 * @param {{ text: string, onText: (text: string) => void, diagnostics: Diagnostic[],
 *   area: { current: HTMLTextAreaElement | null } }} props
 */
function Editor({ text, onText, diagnostics, area }) {
  const marks = useRef(/** @type {HTMLPreElement | null} */ (null));
  const count = text.split('\n').length;
  const wrong = new Map(diagnostics.map(({ line, severity }) => [line, severity]));
  const follow = () => { if (marks.current !== null && area.current !== null) marks.current.scrollLeft = area.current.scrollLeft; };
  return html`<div class="editor">
    <pre class="gutter" aria-hidden="true">${Array.from({ length: count }, (_, i) => html`
      <span class=${wrong.get(i + 1) ?? ''}>${i + 1}</span>`)}</pre>
    <div class="text"><pre class="marks" aria-hidden="true" ref=${marks}><${Marked} text=${text} diagnostics=${diagnostics} /></pre>
      <textarea id="program" ref=${area} rows=${count + 1} wrap="off" spellcheck=${false} autocapitalize="off" autocomplete="off"
        aria-describedby="diagnostics-summary" value=${text} onScroll=${follow}
        onInput=${(/** @type {any} */ event) => onText(event.currentTarget.value)} /></div></div>`;
}

/** @param {Diagnostic[]} diagnostics */
function summaryOf(diagnostics) {
  const errors = diagnostics.filter(({ severity }) => severity === 'error').length, warnings = diagnostics.length - errors;
  if (diagnostics.length === 0) return 'No errors, no warnings';
  const counted = (/** @type {number} */ count, /** @type {string} */ word) =>
    (count === 0 ? [] : [`${count} ${word}${count === 1 ? '' : 's'}`]);
  return [...counted(errors, 'error'), ...counted(warnings, 'warning')].join(', ');
}

/** @param {{ diagnostics: Diagnostic[], onShow: (diagnostic: Diagnostic) => void }} props */
function Diagnostics({ diagnostics, onShow }) {
  return html`<ol class="diagnostics" aria-label="Diagnostics">${diagnostics.map((each) => html`
    <li key=${`${each.code}${each.line}:${each.column}`} class=${each.severity}>
      <button type="button" class="link" onClick=${() => onShow(each)}>line ${each.line}, column ${each.column}</button>
      ${' '}<strong>${each.severity} ${each.code}</strong>: ${each.message}
      ${each.hint !== '' && html`<p class="hint">${each.hint}</p>`}</li>`)}</ol>`;
}

/** A picture of the server, whose parts say what they are to those who point at them. @param {{ svg: string, label: string }} props */
function Svg({ svg, label }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  useLayoutEffect(() => {
    const { documentElement } = new DOMParser().parseFromString(svg, 'image/svg+xml');
    box.current?.replaceChildren(document.importNode(documentElement, true));
  }, [svg]);
  return html`<div class="picture drawing scroll" tabindex="0" role="region" aria-label=${label}>
    <div role="img" aria-label=${label} ref=${box}></div></div>`;
}

/** @param {{ graph: NonNullable<Examined['graph']> }} props */
function Graph({ graph }) {
  const size = `${graph.nodes} nodes, ${graph.channels} channels`;
  return html`<section class="card" aria-labelledby="graph"><h2 id="graph">Graph</h2><p class="hint">${size}</p>
    ${graph.picture === undefined ? html`<p class="message">${graph.reason}</p>`
      : html`<${Svg} svg=${graph.picture} label=${`Graph: ${size}`} />`}
    <details><summary>As text</summary><pre tabindex="0" aria-label="The graph as text">${graph.text}</pre></details></section>`;
}

/** @param {{ schedule: NonNullable<Examined['schedule']>, cores: string, onCores: (cores: string) => void }} props */
function Schedule({ schedule, cores, onCores }) {
  return html`<section class="card" aria-labelledby="schedule"><h2 id="schedule">Schedule</h2>
    <div class="field short"><label for="cores">Cores</label><select id="cores" value=${cores}
      onChange=${(/** @type {any} */ event) => onCores(event.currentTarget.value)}>
      ${['1', '2', '4', '8', '16', '32'].map((each) => html`<option key=${each} value=${each}>${each}</option>`)}</select></div>
    ${'actors' in schedule ? html`
      <p>One launch is ${numberText(schedule.multiplier)} × the steady state and takes ${numberText(schedule.interval)} µs by counted
        ${' '}operations, ${numberText(100 * (schedule.interval / schedule.bound - 1), 2)} % above the bound.</p>
      <${Svg} svg=${schedule.picture} label=${`Schedule of one launch on ${schedule.cores} cores`} />
      <div class="scroll" tabindex="0" role="region" aria-label="Firings"><table aria-label="Firings">
        <thead><tr><th scope="col">Actor</th><th scope="col">Firings</th><th scope="col">µs each</th><th scope="col">Stage</th>
          <th scope="col">Cores</th></tr></thead>
        <tbody>${schedule.actors.map(({ name, firings, microseconds, stage, cores: own }, i) => html`<tr key=${i}>
          <th scope="row">${name}</th><td>${numberText(firings)}</td><td>${numberText(microseconds, 3)}</td><td>${stage}</td>
          <td>${own.length === schedule.cores ? 'all' : own.join(', ')}</td></tr>`)}</tbody></table></div>`
      : html`<p class="message">${schedule.reason}</p>`}</section>`;
}

/** What the server says of a text, a moment after it stopped changing. @param {string} text @param {string} main @param {string} cores */
function useExamined(text, main, cores) {
  const [examined, setExamined] = useState(/** @type {{ of: string, value: Examined } | undefined} */ (undefined));
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const request = { text, cores: Number(cores), ...(main.trim() === '' ? {} : { main: main.trim() }) };
        const value = /** @type {Examined} */ (await post('/v1/stream/check', request, stop.signal));
        setError(undefined);
        setExamined({ of: text, value });
        announce(summaryOf(value.diagnostics));
      } catch (failure) {
        if (!stop.signal.aborted) setError(failure);
      }
    }, 400);
    return () => { clearTimeout(timer); stop.abort(); };
  }, [text, main, cores]);
  return { examined, error };
}

/** @typedef {{ printed: string, output: number[], items: number, backend: string, seconds: number, note?: string }} Ran */

/** Numbers of a printed text, if it is a number in each line. @param {string} printed */
function numbersOf(printed) {
  const numbers = printed.trim().split('\n').map(Number);
  return numbers.length > 1 && numbers.every(Number.isFinite) ? numbers : undefined;
}

/** @param {{ ran: Ran }} props */
function Output({ ran: { printed, output, items, backend, seconds, note } }) {
  const numbers = output.length > 1 ? output : numbersOf(printed), what = output.length > 1 ? 'output' : 'printed';
  return html`<section class="card" aria-labelledby="run-output"><h2 id="run-output">Output</h2>
    <p class="hint">${numberText(items)} items, by ${backend} in ${secondsText(seconds)}${note === undefined ? '' : `; ${note}`}</p>
    ${numbers !== undefined && html`<${LinePlot} x=${numbers.map((_, i) => i)} lines=${[{ label: what, values: numbers }]} xLabel="item"
      yLabel=${what} label=${`The first ${numbers.length} numbers, ${what}`} />`}
    ${printed !== '' && html`<details open=${numbers === undefined}><summary>Printed</summary>
      <pre tabindex="0" aria-label="What the program printed">${printed}</pre></details>`}</section>`;
}

/** @param {{ text: string, main: string, isWrong: boolean, onRan: (ran: Ran | undefined, error: unknown) => void }} props */
function Run({ text, main, isWrong, onRan }) {
  const [iterations, setIterations] = useState('100');
  const [isRunning, setRunning] = useState(false);
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    setRunning(true);
    try {
      const request = { text, iterations: Number(iterations), ...(main.trim() === '' ? {} : { main: main.trim() }) };
      onRan(await post('/v1/stream/run', request), undefined);
      announce('The program has run');
    } catch (failure) {
      onRan(undefined, failure);
    }
    setRunning(false);
  };
  return html`<form class="row run" onSubmit=${submit}>
    <div class="field short"><label for="iterations">Steady states</label>
      <input id="iterations" type="text" inputmode="numeric" autocomplete="off" value=${iterations}
        onInput=${(/** @type {any} */ event) => setIterations(event.currentTarget.value)} /></div>
    <button class="primary" type="submit" disabled=${isWrong || isRunning}>${isRunning ? 'Running…' : 'Run'}</button></form>`;
}

/** The editor and what the compiler says. */
export function ProgramView() {
  const [text, setText] = useState(storedText());
  const [main, setMain] = useState(''), [cores, setCores] = useState('4');
  const { examined, error } = useExamined(text, main, cores);
  const [outcome, setOutcome] = useState(/** @type {{ ran?: Ran | undefined, failure?: unknown }} */ ({}));
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  useEffect(() => {
    try {
      localStorage.setItem(storageKey, text);
    } catch {
      // It then lasts as long as the page.
    }
  }, [text]);
  // Places in a text that has changed since would be wrong.
  const diagnostics = useMemo(() => (examined?.of === text ? examined.value.diagnostics : []), [examined, text]);
  /** @param {Diagnostic} diagnostic */
  const show = (diagnostic) => {
    const { from, to } = spanOf(lineStarts(text), diagnostic);
    area.current?.focus();
    area.current?.setSelectionRange(from, to);
  };
  const value = examined?.value;
  const isWrong = value?.diagnostics.some(({ severity }) => severity === 'error') === true;
  return html`<${Heading} title="Stream program" />
    <section class="card" aria-label="Editor">
      <div class="controls">
        <div class="field"><label for="main-stream">Main stream</label><input id="main-stream" type="text" autocomplete="off" value=${main}
          placeholder="the one that no other adds" onInput=${(/** @type {any} */ event) => setMain(event.currentTarget.value)} /></div>
        <${Run} text=${text} main=${main} isWrong=${isWrong} onRan=${(/** @type {Ran | undefined} */ ran, /** @type {unknown} */ failure) =>
          setOutcome({ ran, failure })} />
      </div><${Failure} error=${outcome.failure} />
      <div class="field"><label for="program">Program</label>
        <${Editor} text=${text} onText=${setText} diagnostics=${diagnostics} area=${area} /></div>
      <p id="diagnostics-summary" class=${isWrong ? 'issue' : 'hint'}>
        ${value === undefined ? 'Asking the compiler…' : summaryOf(value.diagnostics)}</p>
      <${Diagnostics} diagnostics=${diagnostics} onShow=${show} /><${Failure} error=${error} />
      <p><button type="button" onClick=${() => setText(sample)}>Replace by the sample</button></p>
    </section>
    ${outcome.ran !== undefined && html`<${Output} ran=${outcome.ran} />`}
    ${value?.graph !== undefined && html`<${Graph} graph=${value.graph} />`}
    ${value?.schedule !== undefined && html`<${Schedule} schedule=${value.schedule} cores=${cores} onCores=${setCores} />`}`;
}
