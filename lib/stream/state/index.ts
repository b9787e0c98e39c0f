// State of programs for devices: which nodes keep something between firings, and how each of them can fire on many threads at once.
import { elementAt } from '../../core/known.ts';
import { lowerProgram } from '../lower/program.ts';
import type { ProgramPlan } from '../plan/plan.ts';
import { startMatters } from '../plan/start.ts';
import { UnsupportedProgram } from '../plan/unsupported.ts';
import { NodeState } from './elements.ts';
import { Lost } from './follow.ts';
import { planNode, type NodePlan } from './stages.ts';

/** By node of the plan's graph, those that keep something or ask for the number of the firing. */
export type ProgramState = ReadonlyMap<number, NodePlan>;

/** Nodes whose firings depend on earlier ones or on their number. */
export function nodesWithState({ graph, analyses }: ProgramPlan): number[] {
  return graph.nodes.flatMap((node) =>
    (node.kind === 'filter' && (node.code.stateful || analyses.get(node.code)?.usesIteration === true) ? [node.id] : []));
}

/** Throws UnsupportedProgram if a node can only fire in order: its reason names the node, the line and the fields. */
export function stateOf(plan: ProgramPlan): ProgramState {
  const nodes = nodesWithState(plan);
  if (nodes.length === 0) return new Map();
  const lowered = lowerProgram(plan, { placed: true, nodes, together: () => 1 });
  return new Map(nodes.map((id) => [id, planOf(plan, lowered, id)]));
}

const starts = new WeakMap<ProgramPlan, { readonly matters: number | undefined }>();

/** `startMatters` for devices, which find the state of many programs before any firing. */
export function startMattersOnDevice(plan: ProgramPlan): number | undefined {
  let found = starts.get(plan);
  if (found === undefined) {
    const handled = new Map(nodesWithState(plan).map((node) => [node, 'free'] as const));
    const matters = startMatters({ ...plan, options: { ...plan.options, handled } });
    starts.set(plan, found = { matters: matters === undefined || !isFound(plan) ? undefined : matters });
  }
  return found.matters;
}

function isFound(plan: ProgramPlan): boolean {
  try {
    stateOf(plan);
    return true;
  } catch (error) {
    if (error instanceof UnsupportedProgram) return false;
    throw error;
  }
}

function planOf(plan: ProgramPlan, lowered: ReturnType<typeof lowerProgram>, id: number): NodePlan {
  const node = elementAt(plan.graph.nodes, id);
  if (node.kind !== 'filter') throw new Error(`node ${id} is no filter`);
  const refuse = (what: string): never => {
    throw new UnsupportedProgram(`${node.name}${lineOf(plan, id)} ${what}`, node.code.span);
  };
  if (node.code.handlers.length > 0) return refuse('takes messages');
  try {
    const state = new NodeState(lowered, id);
    const made = planNode(state, node.code.prework !== undefined, plan.graph.reorders === true);
    if (!('failing' in made)) return made;
    return refuse(`keeps ${state.fieldsOf(made.failing)}, which only a firing after the other can find`);
  } catch (error) {
    if (!(error instanceof Lost)) throw error;
    return refuse(`has state, and ${error.message}`);
  }
}

/** Where a filter stands in the source, for messages. */
function lineOf({ graph }: ProgramPlan, id: number): string {
  const node = elementAt(graph.nodes, id);
  const span = node.kind === 'filter' ? node.code.span : undefined;
  const file = span && graph.files?.[span.file];
  return span === undefined || file === undefined ? '' : ` (line ${file.text.slice(0, span.start).split('\n').length})`;
}
