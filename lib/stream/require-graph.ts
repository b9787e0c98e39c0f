// Whether a program's graph is consistent: ids, ends, rates, weights and types fit. The code of filters is examined as far as
// schedules and sizes depend on it.
import { describeValue } from '../core/arrays.ts';
import { refusal } from '../core/errors.ts';
import type { StreamGraph } from './graph.ts';

type Value = Readonly<Record<string, unknown>>;
/** Says what is wrong with a part. */
type Refuse = (path: string, expected: string, value: unknown) => never;

const scalars = new Set(['bit', 'boolean', 'int', 'float', 'double']);
const vectors = new Set(['complex', 'float2', 'float3', 'float4']);
const kinds = new Set(['filter', 'identity', 'duplicate', 'splitter', 'joiner', 'reader', 'writer']);
const isObject = (value: unknown): value is Value => typeof value === 'object' && value !== null;
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

class Checker {
  readonly #graph: Value;
  readonly #refuse: Refuse;

  constructor(graph: Value, refuse: Refuse) {
    this.#graph = graph;
    this.#refuse = refuse;
  }

  #list(path: string, value: unknown): readonly unknown[] {
    return Array.isArray(value) ? value : this.#refuse(path, 'a list', value);
  }

  #object(path: string, value: unknown): Value {
    return isObject(value) ? value : this.#refuse(path, 'an object', value);
  }

  #text(path: string, value: unknown): void {
    if (typeof value !== 'string') this.#refuse(path, 'a text', value);
  }

  #type(path: string, given: unknown, depth = 0): void {
    const type = this.#object(path, given);
    if (depth > 64) this.#refuse(path, 'a type of finite depth', given);
    if (type['kind'] === 'void') return;
    if (type['kind'] === 'scalar' && scalars.has(type['name'] as string)) return;
    if (type['kind'] === 'vector' && vectors.has(type['name'] as string)) return;
    if (type['kind'] === 'array' && isCount(type['length'])) return this.#type(`${path}.element`, type['element'], depth + 1);
    if (type['kind'] !== 'struct') this.#refuse(path, 'a type', given);
    this.#text(`${path}.name`, type['name']);
    this.#list(`${path}.fields`, type['fields']).forEach((field, i) => {
      const part = this.#object(`${path}.fields[${i}]`, field);
      this.#text(`${path}.fields[${i}].name`, part['name']);
      this.#type(`${path}.fields[${i}].type`, part['type'], depth + 1);
    });
  }

  #constant(path: string, given: unknown): void {
    const data = this.#object(path, given);
    this.#type(`${path}.type`, data['type']);
    const { numbers } = data;
    const fits = (Array.isArray(numbers) || ArrayBuffer.isView(numbers))
      && Array.prototype.every.call(numbers, (x) => typeof x === 'number');
    if (!fits) this.#refuse(`${path}.numbers`, 'numbers', numbers);
  }

  #variable(path: string, given: unknown): void {
    const variable = this.#object(path, given);
    this.#text(`${path}.name`, variable['name']);
    this.#type(`${path}.type`, variable['type']);
  }

  #body(path: string, given: unknown): void {
    const body = this.#object(path, given);
    if (body['kind'] !== 'block') this.#refuse(path, 'a block', given);
    this.#list(`${path}.statements`, body['statements']).forEach((statement, i) => this.#object(`${path}.statements[${i}]`, statement));
  }

  #work(path: string, given: unknown): void {
    const work = this.#object(path, given);
    const rates = this.#object(`${path}.rates`, work['rates']);
    for (const name of ['push', 'pop', 'peek']) if (!isCount(rates[name])) this.#refuse(`${path}.rates.${name}`, 'a number of items',
      rates[name]);
    if (rates['dynamic'] !== undefined) {
      for (const [name, range] of Object.entries(this.#object(`${path}.rates.dynamic`, rates['dynamic']))) {
        const fits = range === undefined || (Array.isArray(range) && range.length === 2 && range.every((x) => x === Infinity
          || isCount(x)));
        if (!fits) this.#refuse(`${path}.rates.dynamic.${name}`, 'two bounds', range);
      }
    }
    this.#body(`${path}.body`, work['body']);
  }

  #code(path: string, given: unknown): void {
    const code = this.#object(path, given);
    this.#text(`${path}.name`, code['name']);
    for (const end of ['input', 'output']) this.#type(`${path}.${end}`, code[end]);
    this.#list(`${path}.state`, code['state']).forEach((field, i) => {
      this.#variable(`${path}.state[${i}]`, field);
      const { role, initial } = field as Value;
      if (!['constant', 'scratch', 'state'].includes(role as string)) this.#refuse(`${path}.state[${i}].role`,
        'constant, scratch or state', role);
      this.#constant(`${path}.state[${i}].initial`, initial);
    });
    for (const list of ['functions', 'handlers']) {
      this.#list(`${path}.${list}`, code[list]).forEach((each, i) => {
        const at = `${path}.${list}[${i}]`;
        const made = this.#object(at, each);
        this.#text(`${at}.name`, made['name']);
        this.#type(`${at}.result`, made['result']);
        this.#list(`${at}.parameters`, made['parameters']).forEach((parameter, at2) => this.#variable(`${at}.parameters[${at2}]`,
          parameter));
        this.#body(`${at}.body`, made['body']);
      });
    }
    this.#work(`${path}.work`, code['work']);
    if (code['prework'] !== undefined) this.#work(`${path}.prework`, code['prework']);
  }

  #node(id: number, given: unknown): void {
    const path = `graph.nodes[${id}]`;
    const node = this.#object(path, given);
    if (node['id'] !== id) this.#refuse(`${path}.id`, String(id), node['id']);
    this.#text(`${path}.name`, node['name']);
    const { kind } = node;
    if (!kinds.has(kind as string)) this.#refuse(`${path}.kind`, [...kinds].join(', '), kind);
    const channels = this.#graph['channels'] as readonly unknown[];
    for (const [side, end, port] of [['inputs', 'to', 'toPort'], ['outputs', 'from', 'fromPort']] as const) {
      this.#list(`${path}.${side}`, node[side]).forEach((channel, at) => {
        if (channel === undefined) return;
        const found = isCount(channel) ? channels[channel] : undefined;
        const fits = isObject(found) && found[end] === id && found[port] === at;
        if (!fits) this.#refuse(`${path}.${side}[${at}]`, 'the channel that ends here', channel);
      });
    }
    if (kind === 'filter') this.#code(`${path}.code`, node['code']);
    else if (kind === 'reader' || kind === 'writer') this.#text(`${path}.file.path`, this.#object(`${path}.file`, node['file'])['path']);
    else if (kind === 'splitter' || kind === 'joiner') {
      const ports = (node[kind === 'splitter' ? 'outputs' : 'inputs'] as readonly unknown[]).length;
      const weights = this.#list(`${path}.weights`, node['weights']);
      if (weights.length !== ports || !weights.every(isCount)) this.#refuse(`${path}.weights`, `${ports} weights`, weights);
    }
  }

  #channel(id: number, given: unknown): void {
    const path = `graph.channels[${id}]`;
    const channel = this.#object(path, given);
    if (channel['id'] !== id) this.#refuse(`${path}.id`, String(id), channel['id']);
    this.#type(`${path}.type`, channel['type']);
    const nodes = this.#graph['nodes'] as readonly unknown[];
    for (const [end, port, side] of [['from', 'fromPort', 'outputs'], ['to', 'toPort', 'inputs']] as const) {
      const node = isCount(channel[end]) ? nodes[channel[end]] : undefined;
      const ports = isObject(node) ? node[side] : undefined;
      if (!Array.isArray(ports)) this.#refuse(`${path}.${end}`, 'the id of a node', channel[end]);
      if (!isCount(channel[port]) || (ports as unknown[])[channel[port]] !== id) this.#refuse(`${path}.${port}`, 'the port it stands at',
        channel[port]);
    }
    this.#list(`${path}.initial`, channel['initial']).forEach((item, i) => this.#constant(`${path}.initial[${i}]`, item));
  }

  #tree(path: string, given: unknown, depth: number): void {
    const tree = this.#object(path, given);
    const count = (this.#graph['nodes'] as readonly unknown[]).length;
    const isNode = (value: unknown): boolean => isCount(value) && value < count;
    if (depth > 5000) this.#refuse(path, 'a hierarchy of finite depth', given);
    if (tree['kind'] === 'node') {
      if (!isNode(tree['node'])) this.#refuse(`${path}.node`, 'the id of a node', tree['node']);
      return;
    }
    if (!['pipeline', 'splitjoin', 'feedbackloop'].includes(tree['kind'] as string)) this.#refuse(`${path}.kind`, 'a kind of stream',
      tree['kind']);
    this.#text(`${path}.name`, tree['name']);
    for (const end of ['splitter', 'joiner']) if (tree[end] !== undefined && !isNode(tree[end])) this.#refuse(`${path}.${end}`,
      'the id of a node', tree[end]);
    this.#list(`${path}.children`, tree['children']).forEach((child, i) => this.#tree(`${path}.children[${i}]`, child, depth + 1));
  }

  graph(): void {
    const graph = this.#graph;
    const nodes = graph['nodes'] as readonly unknown[];
    nodes.forEach((node, id) => this.#node(id, node));
    (graph['channels'] as readonly unknown[]).forEach((channel, id) => this.#channel(id, channel));
    this.#tree('graph.tree', graph['tree'], 0);
    for (const end of ['input', 'output']) {
      if (graph[end] === undefined) continue;
      const { node, type } = this.#object(`graph.${end}`, graph[end]);
      if (!isCount(node) || node >= nodes.length) this.#refuse(`graph.${end}.node`, 'the id of a node', node);
      this.#type(`graph.${end}.type`, type);
    }
    (graph['portals'] as readonly unknown[]).forEach((portal, i) => {
      const { name, receivers } = this.#object(`graph.portals[${i}]`, portal);
      this.#text(`graph.portals[${i}].name`, name);
      const fits = this.#list(`graph.portals[${i}].receivers`, receivers).every((node) => isCount(node) && node < nodes.length);
      if (!fits) this.#refuse(`graph.portals[${i}].receivers`, 'ids of nodes', receivers);
    });
    if (graph['missing'] !== undefined) this.#list('graph.missing', graph['missing']).forEach((path,
      i) => this.#text(`graph.missing[${i}]`, path));
    if (graph['files'] !== undefined) this.#list('graph.files', graph['files']).forEach((file, i) => {
      const { name, text } = this.#object(`graph.files[${i}]`, file);
      this.#text(`graph.files[${i}].name`, name);
      this.#text(`graph.files[${i}].text`, text);
    });
  }
}

/** Throws ArgumentError, with the part that is wrong, unless the graph is whole. */
export function checkProgramGraph(graph: StreamGraph, expected: string): void {
  new Checker(graph as unknown as Value, (path, part, value) => {
    throw refusal(path, `${part} (in ${expected})`, describeValue(value));
  }).graph();
}
