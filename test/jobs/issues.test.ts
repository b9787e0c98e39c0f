// What is said of mistakes in job files: every union of the schema, wrong in every way.
import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { jobs } from '../../lib/index.ts';
import { issuesOf, pathText } from '../../lib/jobs/issues.ts';
import { jobSchema } from '../../lib/jobs/kinds/index.ts';
import { lineOf } from '../../lib/jobs/lines.ts';

type Any = z.core.$ZodTypes;
type Shape = Readonly<Record<string, Any>>;

const defOf = (schema: Any) => schema._zod.def;

/** All unions within a schema, by path. */
function* unions(schema: Any, path = 'job'): Generator<[string, Any]> {
  const def = defOf(schema);
  if (def.type === 'union') {
    yield [path, schema];
    for (const option of def.options) yield* unions(option as Any, path);
  } else if (def.type === 'object') {
    for (const [name, field] of Object.entries(def.shape)) yield* unions(field as Any, `${path}.${name}`);
  } else if (def.type === 'record') yield* unions(def.valueType as Any, `${path}.*`);
  else if (def.type === 'array') yield* unions(def.element as Any, `${path}[]`);
  else if ('innerType' in def) yield* unions(def.innerType as Any, path);
}

/** A value that a schema takes; objects with their required fields only. */
function sample(schema: Any): unknown {
  const def = defOf(schema);
  switch (def.type) {
    case 'union': return sample(def.options[0] as Any);
    case 'literal': return def.values[0];
    case 'enum': return Object.values(def.entries)[0];
    case 'number': return [1, 5, 0.5, 2].find((value) => (schema as unknown as z.ZodType).safeParse(value).success);
    case 'string': return 'a';
    case 'boolean': return true;
    case 'array': return [sample(def.element as Any)];
    case 'tuple': return def.items.map((item) => sample(item as Any));
    case 'record': return {};
    case 'object': return Object.fromEntries(Object.entries(def.shape)
      .filter(([, field]) => (field as Any)._zod.optin === undefined).map(([name, field]) => [name, sample(field as Any)]));
    default: return 'innerType' in def ? sample(def.innerType as Any) : 1;
  }
}

const optionsOf = (schema: Any): Any[] => {
  const def = defOf(schema);
  return def.type === 'union' ? def.options.flatMap((option) => optionsOf(option as Any)) : [schema];
};

/** What is said of a value that a schema refuses; undefined if it takes it. */
function said(schema: Any, value: unknown): string | undefined {
  const { error } = (schema as unknown as z.ZodType).safeParse(value);
  return error && issuesOf(error, schema, value).map(({ path, message }) => `${pathText(path)}: ${message}`).join('\n');
}

describe('issues of job files', () => {
  const all = [...unions(jobSchema as unknown as Any)];

  it('of every union, a wrong name and a wrong type say what is allowed', () => {
    ok(all.length > 30, `${all.length}`);
    for (const [path, union] of all) {
      const options = optionsOf(union);
      const names = options.flatMap((option) => {
        const def = defOf(option);
        return def.type === 'literal' ? def.values : def.type === 'enum' ? Object.values(def.entries) : [];
      });
      const none = said(union, null)!;
      for (const name of names) match(none, new RegExp(typeof name === 'string' ? `"${name}"` : `\\b${String(name)}\\b`), path);
      for (const name of names.filter((each) => typeof each === 'string' && each.length > 4)) {
        const text = said(union, `${String(name)}s`);
        // Other strings are the names of files, or texts of functions.
        if (text !== undefined) match(text, new RegExp(`did you mean ["']${String(name)}["']\\?`), path);
      }
    }
  });

  it('bounds, forms and what is no object are said in words', () => {
    const heat = { kind: 'stencil', name: 'x', equation: 'heat', shape: [8], dt: 0.1, until: { steps: 2 }, initial: { u: 1 }, parameters: { D: 1 } };
    for (const [change, text] of [
      [{ dt: -1 }, 'dt: expected a number above 0'], [{ shape: [0] }, 'shape[0]: expected a number of at least 1'],
      [{ shape: [] }, 'shape: expected a list of at least 1 value'], [{ snapshots: 1e6 }, 'snapshots: expected a number of at most 100000'],
      [{ equation: { file: '' } }, 'equation.file: expected a text of at least 1 character'],
      [{ name: '../x' }, 'name: expected a text of another form: names the results folder: up to 64 letters, digits'],
    ] as const) {
      const found = said(jobSchema as unknown as Any, { ...heat, ...change })!;
      strictEqual(found.slice(0, text.length), text);
    }
    for (const value of [[], 3, null, 'x']) strictEqual(said(jobSchema as unknown as Any, value), ': expected an object, such as { "kind": …, "name": …, … }');
  });

  it('of every object in a union, each missing field, each unknown field and each wrong kind is named', () => {
    let tried = 0;
    for (const [path, union] of all) {
      const objects = optionsOf(union).filter((option) => defOf(option).type === 'object');
      for (const option of objects) {
        const shape = (defOf(option) as unknown as { shape: Shape }).shape;
        const value = sample(option) as Record<string, unknown>;
        strictEqual(said(union, value), undefined, `${path}: ${JSON.stringify(value)}`);
        // A field with a wrong letter, beside the others.
        match(said(union, { ...value, xyzzy: 1 })!, /xyzzy: there is no such field|expected/, path);
        for (const name of Object.keys(shape).filter((each) => each.length > 4 && !each.startsWith('$'))) {
          const { [name]: own = 1, ...rest } = value;
          match(said(union, { ...rest, [`${name}x`]: own })!, new RegExp(`did you mean "${name}"|${name}\\b`), path);
        }
        for (const name of Object.keys(value)) {
          const { [name]: _left, ...rest } = value;
          const text = said(union, rest);
          if (text !== undefined) match(text, new RegExp(`(^|\\n)${name}: missing; expected|expected .*\\b${name}\\b`), `${path}: without ${name}`);
          const field = defOf(shape[name]!);
          const kinds = field.type === 'literal' ? field.values : field.type === 'enum' ? Object.values(field.entries) : [];
          for (const kind of kinds.filter((each) => typeof each === 'string' && each.length > 4)) {
            const wrong = said(union, { ...value, [name]: `${String(kind)}s` });
            if (wrong !== undefined) match(wrong, new RegExp(`"${String(kind)}"`), `${path}.${name}: ${String(kind)}`);
          }
          tried += 1;
        }
      }
    }
    ok(tried > 100, `${tried}`);
  });

  it('finds lines of fields, of places in lists, and of what is around them', () => {
    const text = '{ "a": 1,\n "b": [\n  {"c\\"d": "}"},\n  { "on-it": [1,\n 2] } ],\n "e": {}\n}';
    const lines: [(string | number)[], number][] = [
      [[], 1], [['a'], 1], [['b'], 2], [['b', 0], 3], [['b', 0, 'c"d'], 3], [['b', 1], 4], [['b', 1, 'onIt'], 4], [['b', 1, 'onIt', 1], 5],
      [['b', 1, 'none', 'deeper'], 4], [['b', 7], 2], [['e', 'f'], 6], [['none'], 1], [['a', 'b'], 1],
    ];
    for (const [path, line] of lines) strictEqual(lineOf(text, path), line, path.join('.'));
    strictEqual(lineOf(' \n5', ['a']), 2);
  });

  describe('in files', () => {
    let folder = '';
    before(async () => { folder = await mkdtemp(join(tmpdir(), 'warploom-issues-')); });
    after(() => rm(folder, { recursive: true, force: true }));

    it('are said with the line, and spelling of the command line is accepted', async () => {
      const file = join(folder, 'rod.json');
      const text = '{\n "kind": "simulate", "name": "rod", "equation": "heat", "n": 9,\n "fourier": 0.4,\n "initial": { "kind": "cosin", "mode": 3 },\n'
        + ' "until": { "steps": 2 }, "zarr-format": 2,\n "on-unstabel": "warn", "units": { "x-y": "m" },\n "sweep": { "on-unstable": ["warn", "refuse"] }\n}';
      await writeFile(file, text);
      await rejects(jobs.load(file), (error: { code: string; argument: string; message: string }) => {
        deepStrictEqual([error.code, error.argument], ['ERR_WARPLOOM_INVALID_ARGUMENT', file]);
        match(error.message, /line 4, initial\.kind: expected "parabola", "ramp" or "cosine"; did you mean "cosine"\?/);
        match(error.message, /line 6, on-unstabel: there is no such field; did you mean "onUnstable"\?/);
        return true;
      });
      await writeFile(file, text.replace('cosin', 'cosine').replace('"on-unstabel": "warn"', '"paper": false'));
      const { items } = await jobs.load(file);
      deepStrictEqual(items.map(({ name, job }) => [name, job.kind === 'simulate' && [job.zarrFormat, job.onUnstable, job.units]]),
        [['onUnstable=warn', [2, 'warn', { 'x-y': 'm' }]], ['onUnstable=refuse', [2, 'refuse', { 'x-y': 'm' }]]]);
      // Both spellings at once are no longer clear.
      await rejects(jobs.load({ ...JSON.parse(text.replace('cosin', 'cosine')) as object, zarrFormat: 3 } as never), /zarr-format: there is no such field/);
      await writeFile(file, '{\n "kind": "solve",\n "name" "a" }');
      await rejects(jobs.load(file), /line 3/);
    });
  });
});
