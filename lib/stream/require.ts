// Checks of the arguments of public functions: invalid ones are rejected by name.
import { describeValue } from '../core/arrays.ts';
import { requireCount, requireText } from '../core/checks.ts';
import { refusal } from '../core/errors.ts';
import type { StreamGraph } from './graph.ts';
import type { SdfGraph } from './sdf.ts';

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** Refuses what is no object, or lacks one of these fields that must be arrays. */
export function requireFields(argument: string, value: unknown, expected: string, arrays: readonly string[] = []): void {
  const isFit = isObject(value) && arrays.every((field) => Array.isArray(value[field]));
  if (!isFit) throw refusal(argument, expected, describeValue(value));
}

/** Refuses what is no list. */
export function requireList(argument: string, value: unknown, expected: string): void {
  if (!Array.isArray(value) && !ArrayBuffer.isView(value)) throw refusal(argument, expected, describeValue(value));
}

/** Refuses a list that does not hold, for each of `count` things, an integer of at least `low`. */
export function requireCounts(argument: string, value: unknown, count: number, low = 0): void {
  requireList(argument, value, `${count} integers`);
  const list = value as ArrayLike<unknown>;
  if (list.length !== count) throw refusal(argument, `${count} integers`, `${list.length} values`);
  for (let i = 0; i < count; ++i) requireCount(list[i], `${argument}[${i}]`, low);
}

/** Refuses a list in which something is no finite number of at least 0, or that has not `count` of them. */
export function requireSizes(argument: string, value: unknown, count?: number): void {
  requireList(argument, value, 'numbers of at least 0');
  if (count !== undefined && (value as ArrayLike<unknown>).length !== count) throw refusal(argument, `${count} numbers`,
    describeValue(value));
  Array.from(value as ArrayLike<unknown>, (size, i) => {
    if (typeof size !== 'number' || !(size >= 0 && size < Infinity)) throw refusal(`${argument}[${i}]`, 'a number of at least 0',
      describeValue(size));
  });
}

/** Graphs that the library made itself; they are frozen, so that nobody changes them afterwards. */
const own = new WeakSet<object>();

/** Marks a graph of the library's own making, which needs no check. */
export function trusted<T extends StreamGraph | SdfGraph>(graph: T): T {
  const parts = 'nodes' in graph ? [graph.nodes, graph.portals, ...graph.nodes, ...graph.portals] : [graph.actors, ...graph.actors];
  for (const part of [graph, graph.channels, ...graph.channels, ...parts]) Object.freeze(part);
  own.add(graph);
  return graph;
}

/** Whether the library made a graph itself, so that it never changes. */
export function isTrusted(graph: StreamGraph): boolean {
  return own.has(graph);
}

// What a whole graph of a program is: ids, ends, rates, weights and types fit. What stands in the code of filters is looked at as far as
// schedules and sizes depend on it.

/** Says what is wrong with a part. */
type Refuse = (path: string, expected: string, value: unknown) => never;

const scalars = new Set(['bit', 'boolean', 'int', 'float', 'double']);
const vectors = new Set(['complex', 'float2', 'float3', 'float4']);
const kinds = new Set(['filter', 'identity', 'duplicate', 'splitter', 'joiner', 'reader', 'writer']);
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

class Checker {
  readonly #graph: Fields;
  readonly #refuse: Refuse;

  constructor(graph: Fields, refuse: Refuse) {
    this.#graph = graph;
    this.#refuse = refuse;
  }

  #list(path: string, value: unknown): readonly unknown[] {
    return Array.isArray(value) ? value : this.#refuse(path, 'a list', value);
  }

  #object(path: string, value: unknown): Fields {
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
      const { role, initial } = field as Fields;
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
function checkProgramGraph(graph: StreamGraph, expected: string): void {
  new Checker(graph as unknown as Fields, (path, part, value) => {
    throw refusal(path, `${part} (in ${expected})`, describeValue(value));
  }).graph();
}

/** Refuses what is no elaborated program. */
export function requireProgramGraph(graph: unknown): void {
  const expected = 'the graph of a program, as returned by stream.elaborate';
  if (isObject(graph) && own.has(graph)) return;
  requireFields('graph', graph, expected, ['nodes', 'channels', 'portals']);
  checkProgramGraph(graph as StreamGraph, expected);
}

/**
 * Runs `make`; where the graph is not of the library's own making and something in it is not what it should be, that is said.
 * `signal`: what may end it with a reason of its own.
 */
export function withGraph<T>(graph: StreamGraph, make: () => T, signal?: AbortSignal): T {
  requireProgramGraph(graph);
  if (own.has(graph)) return make();
  const retold = (error: unknown): never => {
    if (!(error instanceof Error) || (signal?.aborted === true && error === signal.reason)) throw error;
    // By its code: where the library is loaded twice, classes differ.
    const { code } = error as { code?: unknown };
    if (typeof code === 'string' && code.startsWith('ERR_WARPLOOM_') && code !== 'ERR_WARPLOOM_INTERNAL') throw error;
    throw refusal(
      'graph', 'the graph of a program, as returned by stream.elaborate', `one whose code is broken: ${error.message}`, { cause: error });
  };
  try {
    const made = make();
    return made instanceof Promise ? made.catch(retold) as T : made;
  } catch (error) {
    return retold(error);
  }
}

/** Refuses a list of steps of a schedule in which something is no actor of the graph with a count. */
export function requireSteps(argument: string, steps: readonly { readonly actor: number; readonly count: number }[], actors: number): void {
  requireList(argument, steps, 'steps with actor and count');
  for (const [i, step] of steps.entries()) {
    requireFields(`${argument}[${i}]`, step, 'an actor and a count');
    requireCount(step.actor, `${argument}[${i}].actor`, 0);
    if (step.actor >= actors) throw refusal(`${argument}[${i}].actor`, `an actor below ${actors}`, String(step.actor));
    requireCount(step.count, `${argument}[${i}].count`, 0, 1e8);
  }
}

const rates = ['push', 'pop', 'peek', 'tokens'] as const;
const firstRates = ['firstPush', 'firstPop', 'firstPeek'] as const;

/** Refuses what is no graph of rates. What its rates mean is checked by `checkGraph`. */
export function requireRateGraph(graph: unknown): void {
  if (isObject(graph) && own.has(graph)) return;
  requireFields('graph', graph, 'a graph of rates, as returned by stream.toSdf', ['actors', 'channels']);
  const { actors, channels } = graph as SdfGraph;
  for (const [i, actor] of actors.entries()) {
    requireFields(`graph.actors[${i}]`, actor, 'an actor with id and name');
    requireCount(actor.id, `graph.actors[${i}].id`, 0);
    requireText(actor.name, `graph.actors[${i}].name`);
  }
  for (const [i, channel] of channels.entries()) {
    requireFields(`graph.channels[${i}]`, channel, 'a channel with ends and rates');
    const at = `graph.channels[${i}]`;
    requireCount(channel.id, `${at}.id`, 0);
    for (const end of ['from', 'to'] as const) requireCount(channel[end], `${at}.${end}`, 0, Math.max(actors.length - 1, 0));
    const bytes: unknown = channel.bytesPerItem;
    if (bytes !== undefined && typeof bytes !== 'number') throw refusal(`${at}.bytesPerItem`, 'a number of bytes', describeValue(bytes));
    for (const name of rates) if (typeof channel[name] !== 'number') throw refusal(`${at}.${name}`,
      'a number of items', describeValue(channel[name]));
    for (const name of firstRates) if (channel[name] !== undefined && typeof channel[name] !== 'number') throw refusal(`${at}.${name}`,
      'a number of items, or nothing', describeValue(channel[name]));
  }
}

/** Refuses what is no steady state of a graph. */
export function requireSteady(graph: SdfGraph, steady: unknown): void {
  requireFields('steady', steady, 'a steady state, as returned by stream.steadyState', ['repetitions', 'initFirings', 'residual', 'order',
    'init']);
  const { repetitions, initFirings, residual, order, init } = steady as Record<string, unknown[]>;
  const [actors, channels] = [graph.actors.length, graph.channels.length];
  requireCounts('steady.repetitions', repetitions, actors, 1);
  requireCounts('steady.initFirings', initFirings, actors);
  requireCounts('steady.residual', residual, channels);
  requireCounts('steady.order', order, actors);
  for (const [name, list] of [['repetitions', repetitions], ['initFirings', initFirings]] as const) {
    const sum = (list as number[]).reduce((total, each) => total + each, 0);
    if (sum > 1e8) throw refusal(`steady.${name}`, 'at most 100 million firings in total', String(sum));
  }
  if (new Set(order).size !== actors || !(order as number[]).every((actor) => actor < actors)) {
    throw refusal('steady.order', 'each actor once', describeValue(order));
  }
  requireSteps('steady.init', init as { actor: number; count: number }[], actors);
}
