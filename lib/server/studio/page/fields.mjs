// Fields of a form made from a JSON Schema: each has a label, a hint, and below it what is wrong with it.
import { nameText } from './format.mjs';
import { alternativeNames, alternativesOf, draftOf, fieldsOf, freeOf, isCode, isPlainList, isScalar, itemOf } from './schema.mjs';
import { html } from './ui.mjs';
import { valueOf } from './values.mjs';

/** @typedef {import('./schema.mjs').Schema} Schema */
/** @typedef {import('./schema.mjs').Draft} Draft */
/** @typedef {import('./api.mjs').Issue} Issue */
/**
 * What all fields of a form share.
 * @typedef {{ issues: Issue[], files: string[], attach: (file: File) => Promise<string> }} Form
 */
/**
 * @typedef {{ form: Form, schema: Schema, draft: Draft, path: (string | number)[], label: string, isNeeded: boolean,
 *   onChange: (draft: Draft) => void, isInner?: boolean | undefined }} FieldProps
 */

/** The id of a field. @param {(string | number)[]} path */
export const idOf = (path) => `field-${path.join('.')}`;

/** @param {(string | number)[]} path @param {Issue[]} issues */
const ownIssues = (path, issues) => issues.filter((issue) => issue.path.join('.') === path.join('.'));

/** Whether anything in a part of the form is wrong. @param {(string | number)[]} path @param {Issue[]} issues */
const hasIssues = (path, issues) => issues.some((issue) => path.every((part, i) => issue.path[i] === part));

/**
 * The id of a control. The value of a chosen alternative has the path of the choice itself.
 * @param {{ path: (string | number)[], isInner?: boolean | undefined }} props
 */
export const controlId = ({ path, isInner = false }) => `${idOf(path)}${isInner ? '-value' : ''}`;

/**
 * The hint of a field, and what is wrong with it; of the value of an alternative, the choice says what is wrong.
 * @param {{ path: (string | number)[], schema: Schema, issues: Issue[], isInner?: boolean | undefined }} props
 */
function Notes({ path, schema, issues, isInner = false }) {
  const hint = schema.description ?? '';
  const own = isInner ? [] : ownIssues(path, issues);
  return html`${hint !== '' && html`<p class="hint" id=${`${controlId({ path, isInner })}-hint`}>${hint}</p>`}
    ${own.length > 0 && html`<p class="issue" id=${`${idOf(path)}-issue`}>${own.map(({ message }) => message).join('; ')}</p>`}`;
}

/** Attributes that tie a control to its hint and to what is wrong with it. @param {FieldProps} props */
function described({ path, schema, form, isNeeded, isInner }) {
  const isWrong = ownIssues(path, form.issues).length > 0;
  const texts = [
    ...(isWrong ? [`${idOf(path)}-issue`] : []),
    ...((schema.description ?? '') === '' ? [] : [`${controlId({ path, isInner })}-hint`]),
  ];
  return {
    'id': controlId({ path, isInner }), 'aria-invalid': isWrong ? 'true' : undefined,
    'aria-describedby': texts.length > 0 ? texts.join(' ') : undefined,
    'aria-required': isNeeded ? 'true' : undefined,
  };
}

/** @param {{ path: (string | number)[], label: string, isNeeded: boolean, isInner?: boolean | undefined }} props */
const Label = ({ path, label, isNeeded, isInner }) =>
  html`<label for=${controlId({ path, isInner })}>${label}
    ${isNeeded ? html` <span class="needed" aria-hidden="true">needed</span>` : null}</label>`;

/** @param {unknown} value */
const wordOf = (value) => (typeof value === 'object' ? JSON.stringify(value) : String(value));

/** What is written in an empty field. @param {Schema} schema */
function placeholderOf(schema) {
  if (schema.default !== undefined) return `default ${wordOf(schema.default)}`;
  if (isPlainList(schema)) return itemOf(schema, 0).type === 'string' ? 'a, b' : '1, 2';
  return '';
}

/** @param {FieldProps} props */
function Choice(props) {
  const { schema, draft, onChange } = props;
  const text = draft.kind === 'text' ? draft.text : '';
  const normal = schema.default === undefined ? 'not set' : `default: ${wordOf(schema.default)}`;
  return html`<select ...${described(props)} value=${text}
      onChange=${(/** @type {any} */ event) => onChange({ kind: 'text', text: event.currentTarget.value })}>
    <option value="">${props.isNeeded ? 'choose…' : normal}</option>
    ${schema.enum?.map((each) => html`<option value=${String(each)} key=${String(each)}>${String(each)}</option>`)}</select>`;
}

/** A path: typed, or that of a file of this machine that is sent along. @param {FieldProps} props */
function FileField(props) {
  const { draft, onChange, label, form } = props;
  /** @param {any} event */
  const choose = async (event) => {
    const file = event.currentTarget.files?.[0];
    if (file !== undefined) onChange({ kind: 'text', text: await form.attach(file) });
  };
  return html`<div class="row">
    <input type="text" ...${described(props)} value=${draft.kind === 'text' ? draft.text : ''} placeholder="choose a file, or shared/NAME"
      onInput=${(/** @type {any} */ event) => onChange({ kind: 'text', text: event.currentTarget.value })} />
    <input type="file" id=${`${controlId(props)}-file`} aria-label=${`${label}: choose a file`} onChange=${choose} /></div>`;
}

/** @param {FieldProps} props */
function Scalar(props) {
  const { schema, draft, path, label, form, isNeeded, isInner, onChange } = props;
  if (schema.type === 'boolean') {
    return html`<div class="field check"><input type="checkbox" ...${described(props)} checked=${draft.kind === 'flag' && draft.on}
        onChange=${(/** @type {any} */ event) => onChange({ kind: 'flag', on: event.currentTarget.checked })} />
      <label for=${controlId(props)}>${label}</label>
      <${Notes} path=${path} schema=${schema} issues=${form.issues} isInner=${isInner} /></div>`;
  }
  const text = draft.kind === 'text' ? draft.text : '';
  /** @param {any} event */
  const input = (event) => onChange({ kind: 'text', text: event.currentTarget.value });
  const isNumber = schema.type === 'number' || schema.type === 'integer';
  const control = schema.enum !== undefined ? html`<${Choice} ...${props} />`
    : schema.format === 'path' ? html`<${FileField} ...${props} />`
      : isCode(schema) || schema.type === undefined && !isPlainList(schema)
        ? html`<textarea rows="2" class="code" spellcheck=${false} ...${described(props)} value=${text} onInput=${input}
            placeholder=${placeholderOf(schema)} />`
        : html`<input type="text" inputmode=${isNumber ? 'decimal' : undefined} autocomplete="off" ...${described(props)} value=${text}
            onInput=${input} placeholder=${placeholderOf(schema)} />`;
  return html`<div class="field"><${Label} path=${path} label=${label} isNeeded=${isNeeded} isInner=${isInner} />${control}
    <${Notes} path=${path} schema=${schema} issues=${form.issues} isInner=${isInner} /></div>`;
}

/** One of several alternatives, and its own fields. @param {FieldProps} props */
function Union(props) {
  const { schema, draft, path, label, form, isNeeded, isInner, onChange } = props;
  const alternatives = alternativesOf(schema) ?? [schema];
  const names = alternativesOf(schema) === undefined ? ['set'] : alternativeNames(schema);
  const index = draft.kind === 'choice' ? draft.index : -1;
  const chosen = alternatives[index];
  const inner = draft.kind === 'choice' ? draft.draft : undefined;
  const normal = schema.default === undefined ? 'not set' : `default: ${wordOf(schema.default)}`;
  /** @param {any} event */
  const change = (event) => {
    const next = Number(event.currentTarget.value), other = alternatives[next];
    const kept = chosen === undefined || inner === undefined ? undefined : valueOf(chosen, inner, true, [], []);
    onChange({ kind: 'choice', index: next, draft: other === undefined ? undefined : draftOf(other, keptOf(kept, other), true) });
  };
  const hasBody = chosen !== undefined && inner !== undefined && chosen.const === undefined;
  return html`<div class=${hasBody && path.length > 0 ? 'field union' : 'field'}>
    <${Label} path=${path} label=${label} isNeeded=${isNeeded} isInner=${isInner} />
    <select ...${described(props)} value=${String(index)} onChange=${change}>
      ${!isNeeded && html`<option value="-1">${normal}</option>`}
      ${names.map((name, i) => html`<option value=${String(i)} key=${name}>${name}</option>`)}</select>
    <${Notes} path=${path} schema=${schema} issues=${form.issues} isInner=${isInner} />
    ${hasBody && html`<${SchemaField} ...${props} schema=${chosen} draft=${inner} isNeeded=${true}
      label=${bodyLabel(chosen, names[index] ?? '', label)} isInner=${true}
      onChange=${(/** @type {Draft} */ changed) => onChange({ kind: 'choice', index, draft: changed })} />`}</div>`;
}

/** What a chosen alternative is called. @param {Schema} schema @param {string} name @param {string} label */
function bodyLabel(schema, name, label) {
  if (alternativesOf(schema) !== undefined) return schema.oneOf === undefined ? `${label}: which` : 'equation';
  return isScalar(schema) || schema.type === 'array' ? `${label}: ${name}` : label;
}

/** Values that the next alternative can take over. @param {unknown} value @param {Schema} schema @returns {unknown} */
function keptOf(value, schema) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const inner = alternativesOf(schema);
  const known = new Set((inner ?? [schema]).flatMap((each) => Object.entries(each.properties ?? {})
    .filter(([, field]) => field.const === undefined && field.enum === undefined).map(([name]) => name)));
  const kept = Object.entries(value).filter(([name]) => known.has(name));
  return kept.length === 0 ? undefined : { ...Object.fromEntries(kept), ...constants(inner?.[0] ?? schema) };
}

/** @param {Schema} schema */
const constants = (schema) => Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([, field]) => field.const !== undefined)
  .map(([name, field]) => [name, field.const]));

/** Fields that are open from the beginning although they may be left out; the others are under "More". */
const shown = 3;

/** The fields of an object. @param {FieldProps} props */
export function Fields({ form, schema, draft, path, onChange }) {
  if (draft.kind !== 'fields') return null;
  const all = fieldsOf(schema).filter(([, field]) => field.const === undefined);
  const needed = all.filter(([, , isNeeded]) => isNeeded), optional = all.filter(([, , isNeeded]) => !isNeeded);
  /** @param {[string, Schema, boolean]} entry */
  const view = ([name, field, isNeeded]) => html`<${SchemaField} key=${name} form=${form} schema=${field} draft=${draft.fields[name]}
    path=${[...path, name]} label=${nameText(name)} isNeeded=${isNeeded}
    onChange=${(/** @type {Draft} */ changed) => onChange({ kind: 'fields', fields: { ...draft.fields, [name]: changed } })} />`;
  if (optional.length <= shown) return html`<div class="fields">${all.map(view)}</div>`;
  /** @param {[string, Schema, boolean]} entry */
  const isUsed = ([name, field, isNeeded]) => {
    const part = draft.fields[name];
    return (part !== undefined && valueOf(field, part, isNeeded, [], []) !== undefined) || hasIssues([...path, name], form.issues);
  };
  const open = optional.some(isUsed);
  return html`<div class="fields">${needed.map(view)}</div>
    <details open=${open}><summary>More fields (${optional.length})</summary><div class="fields">${optional.map(view)}</div></details>`;
}

/** A list of parts, each of which can be removed. @param {FieldProps & { names: boolean }} props */
function Parts({ form, schema, draft, path, label, onChange }) {
  if (draft.kind !== 'list' && draft.kind !== 'pairs') return null;
  const parts = draft.kind === 'list' ? draft.items.map((value) => ({ name: '', value })) : draft.pairs;
  /** @param {{ name: string, value: Draft }[]} next */
  const change = (next) =>
    onChange(draft.kind === 'list' ? { kind: 'list', items: next.map(({ value }) => value) } : { kind: 'pairs', pairs: next });
  /** @param {number} i @param {Partial<{ name: string, value: Draft }>} part */
  const replace = (i, part) => change(parts.map((each, k) => (k === i ? { ...each, ...part } : each)));
  const add = () => change([...parts, { name: '', value: draftOf(schemaAt(parts.length), undefined, true) }]);
  /** @param {number} i */
  const schemaAt = (i) => (draft.kind === 'list' ? itemOf(schema, i) : freeOf(schema));
  return html`<fieldset class="parts" id=${idOf(path)} tabindex="-1"><legend>${label}</legend>
    <${Notes} path=${path} schema=${schema} issues=${form.issues} />
    ${parts.map(({ name, value }, i) => html`<div class="part" key=${i}>
      ${draft.kind === 'pairs' && html`<div class="field"><label for=${`${idOf(path)}-name-${i}`}>name</label>
        <input type="text" id=${`${idOf(path)}-name-${i}`} value=${name}
          onInput=${(/** @type {any} */ event) => replace(i, { name: event.currentTarget.value })} /></div>`}
      <${SchemaField} form=${form} schema=${schemaAt(i)} draft=${value} isNeeded=${true} path=${[...path, draft.kind === 'list' ? i : name]}
        label=${draft.kind === 'list' ? `${label} ${i + 1}` : 'value'}
        onChange=${(/** @type {Draft} */ changed) => replace(i, { value: changed })} />
      <button type="button" onClick=${() => change(parts.filter((_, k) => k !== i))}
        aria-label=${`Remove ${name || `${label} ${i + 1}`}`}>Remove</button></div>`)}
    <button type="button" onClick=${add}>Add to ${label}</button>
  </fieldset>`;
}

/** Any field. @param {FieldProps} props @returns {any} */
export function SchemaField(props) {
  const { schema, draft, label, path, form, isInner = false } = props;
  if (draft === undefined || draft.kind === 'fixed') return null;
  switch (draft.kind) {
    case 'choice': return html`<${Union} ...${props} />`;
    case 'fields': return isInner ? html`<${Fields} ...${props} />`
      : html`<fieldset><legend>${label}</legend><${Notes} path=${path} schema=${schema} issues=${form.issues} />
        <${Fields} ...${props} /></fieldset>`;
    case 'list': case 'pairs': return html`<${Parts} ...${props} />`;
    default: return html`<${Scalar} ...${props} />`;
  }
}
