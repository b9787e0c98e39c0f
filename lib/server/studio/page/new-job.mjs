// A new job: a form made from the schema of jobs.
import { get, post, ServerError } from './api.mjs';
import { controlId, SchemaField } from './fields.mjs';
import { draftOf } from './schema.mjs';
import { announce, Failure, Heading, html, useEffect, useRef, useState } from './ui.mjs';
import { valueOf } from './values.mjs';

/** @typedef {import('./schema.mjs').Schema} Schema */
/** @typedef {import('./schema.mjs').Draft} Draft */
/** @typedef {import('./api.mjs').Issue} Issue */
/** @typedef {Record<string, unknown> & { name: string, kind: string }} Description */

/** @param {File} file @returns {Promise<string>} */
const base64Of = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
  reader.onerror = () => reject(reader.error ?? new Error('the file cannot be read'));
  reader.readAsDataURL(file);
});

/** A name that the server takes for a file. @param {string} name */
const plainName = (name) => name.replace(/[^A-Za-z0-9_.-]/g, '_').replace(/^[^A-Za-z0-9]+/, '').slice(-100) || 'file';

/** What is wrong, each with a link to its field. @param {{ issues: Issue[], error: string | undefined }} props */
function Summary({ issues, error }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  useEffect(() => { if (issues.length > 0 || error !== undefined) box.current?.focus(); }, [issues, error]);
  if (issues.length === 0 && error === undefined) return null;
  /** @param {Event} event @param {Issue} issue */
  const go = (event, issue) => {
    event.preventDefault();
    for (let length = issue.path.length; length >= 0; length -= 1) {
      const path = issue.path.slice(0, length);
      const field = document.getElementById(controlId({ path, isInner: true })) ?? document.getElementById(controlId({ path }));
      if (field !== null) return field.focus();
    }
  };
  return html`<div class="message error" role="alert" tabindex="-1" ref=${box}>
    <p>${error ?? `The job cannot be started: ${issues.length === 1 ? 'a field is' : `${issues.length} fields are`} wrong.`}</p>
    ${issues.length > 0 && html`<ul>${issues.map((issue) => html`<li>
      <a href="#/new" onClick=${(/** @type {Event} */ event) => go(event, issue)}>${issue.path.join('.') || 'job'}</a>:
      ${' '}${issue.message}</li>`)}</ul>`}</div>`;
}

/** The job as JSON, which can be edited or replaced. @param {{ value: unknown, onUse: (job: unknown) => void }} props */
function JsonView({ value, onUse }) {
  const [text, setText] = useState(/** @type {string | undefined} */ (undefined));
  const [problem, setProblem] = useState(/** @type {string | undefined} */ (undefined));
  const use = () => {
    try {
      onUse(JSON.parse(text ?? ''));
      setText(undefined);
      setProblem(undefined);
    } catch (error) {
      setProblem(/** @type {Error} */ (error).message);
    }
  };
  return html`<details class="json"><summary>The job as JSON</summary>
    <label for="job-json">This is what <code>warploom run</code> takes as a file. A job file can be pasted here.</label>
    <textarea id="job-json" class="code" rows="14" spellcheck=${false} value=${text ?? JSON.stringify(value, null, 2)}
      onInput=${(/** @type {any} */ event) => setText(event.currentTarget.value)} />
    <${Failure} error=${problem} />
    <button type="button" disabled=${text === undefined} onClick=${use}>Use this</button></details>`;
}

/** @param {{ schema: Schema, examples: Description[] }} props */
function JobForm({ schema, examples }) {
  const first = examples.find(({ name }) => name === 'heat-rod') ?? examples[0];
  const [draft, setDraft] = useState(/** @type {Draft} */ (draftOf(schema, first, true)));
  const [files, setFiles] = useState(/** @type {Record<string, string>} */ ({}));
  const [issues, setIssues] = useState(/** @type {Issue[]} */ ([]));
  const [error, setError] = useState(/** @type {string | undefined} */ (undefined));
  const [isSending, setSending] = useState(false);
  /** @param {File} file */
  const attach = async (file) => {
    const name = plainName(file.name), content = await base64Of(file);
    setFiles((before) => ({ ...before, [name]: content }));
    return name;
  };
  /** @param {unknown} job */
  const load = (job) => {
    setDraft(draftOf(schema, job, true));
    setIssues([]);
    setError(undefined);
  };
  const value = valueOf(schema, draft, true, [], []);
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    /** @type {Issue[]} */
    const missing = [];
    const job = valueOf(schema, draft, true, [], missing);
    setError(undefined);
    setIssues(missing);
    if (missing.length > 0) return;
    setSending(true);
    try {
      const used = Object.fromEntries(Object.entries(files).filter(([name]) => JSON.stringify(job).includes(JSON.stringify(name))));
      const { id, name } = await post('/v1/jobs', { job, files: used });
      announce(`Job ${name} was submitted`);
      location.hash = `#/jobs/${id}`;
    } catch (failure) {
      setSending(false);
      const found = failure instanceof ServerError ? failure.issues : [];
      const argument = failure instanceof ServerError ? failure.argument : undefined;
      const message = failure instanceof Error ? failure.message : String(failure);
      setIssues(found.length > 0 || argument === undefined ? found : [{ path: argument.split('.'), message }]);
      if (found.length === 0 && argument === undefined) setError(message);
    }
  };
  const form = { issues, files: Object.keys(files), attach };
  return html`<form class="job-form" onSubmit=${submit} novalidate>
    <${Summary} issues=${issues} error=${error} />
    <div class="card">
      <div class="field"><label for="example">Begin with an example</label>
        <select id="example" onChange=${(/** @type {any} */ event) => load(examples[Number(event.currentTarget.value)])}>
          ${examples.map((example, i) => html`<option key=${example.name} value=${String(i)} selected=${example === first}>
            ${example.name}: ${String(example['description'] ?? example.kind)}</option>`)}
        </select></div>
      <${SchemaField} form=${form} schema=${schema} draft=${draft} path=${[]} label="Kind of job" isNeeded=${true} onChange=${setDraft} />
    </div>
    ${Object.keys(files).length > 0 && html`<p class="hint">Sent along where the job names them: ${Object.keys(files).join(', ')}</p>`}
    <p class="actions"><button class="primary" type="submit" disabled=${isSending}>${isSending ? 'Sending…' : 'Start the job'}</button></p>
    <${JsonView} value=${value} onUse=${load} />
  </form>`;
}

/** The form, once the schema is there. */
export function NewJobView() {
  const [given, setGiven] = useState(/** @type {{ schema: Schema, examples: Description[] } | undefined} */ (undefined));
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  useEffect(() => {
    Promise.all([get('/v1/schema'), get('/v1/examples')]).then(([schema, { jobs }]) => setGiven({ schema, examples: jobs }), setError);
  }, []);
  return html`<${Heading} title="New job" /><${Failure} error=${error} />
    ${given === undefined ? html`<p>Asking the server…</p>` : html`<${JobForm} ...${given} />`}`;
}
