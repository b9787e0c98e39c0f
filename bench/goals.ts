// Compares a report with the project's goals (bench/goals.json).
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { timesAsFast, type Report } from './report.ts';

const goalSchema = z.strictObject({
  domain: z.string(),
  /** Row id. */
  id: z.string(),
  /** Report folder the goal is for. */
  device: z.string(),
  /** Smallest share of the limit. */
  minFraction: z.number().optional(),
  /** Largest value. */
  maxValue: z.number().optional(),
  /** Smallest value, of figures that should be large. */
  minValue: z.number().optional(),
  /** Largest figures of the row, by name. */
  maxFigures: z.record(z.string(), z.number()).optional(),
  /** How many times as fast as each named peer at least. */
  minSpeedup: z.record(z.string(), z.number()).optional(),
});
const goalsSchema = z.strictObject({ goals: z.array(goalSchema) });

export type Goal = z.infer<typeof goalSchema>;

/** Outcome of one goal; `missing` rows are neither reached nor missed. */
export interface Verdict {
  readonly goal: Goal;
  readonly state: 'reached' | 'missed' | 'missing';
  readonly text: string;
}

export async function readGoals(path: string): Promise<Goal[]> {
  return goalsSchema.parse(JSON.parse(await readFile(path, 'utf8'))).goals;
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

function judge(goal: Goal, report: Report): Verdict {
  const row = report.rows.find(({ id }) => id === goal.id);
  if (row === undefined) return { goal, state: 'missing', text: 'not measured' };
  const parts: string[] = [];
  let reached = true;
  const add = (text: string, ok: boolean) => {
    parts.push(text);
    reached &&= ok;
  };
  if (goal.minFraction !== undefined) {
    const fraction = row.fraction ?? 0;
    add(`${percent(fraction)} of the limit, goal ${percent(goal.minFraction)}`, fraction >= goal.minFraction);
  }
  if (goal.maxValue !== undefined) {
    add(`${row.value.toPrecision(3)} ${row.unit}, goal at most ${goal.maxValue}`, row.value <= goal.maxValue);
  }
  if (goal.minValue !== undefined) {
    add(`${row.value.toPrecision(5)} ${row.unit}, goal at least ${goal.minValue}`, row.value >= goal.minValue);
  }
  for (const [name, most] of Object.entries(goal.maxFigures ?? {})) {
    const figure = row.figures?.[name];
    if (figure === undefined) return { goal, state: 'missing', text: `${name} was not measured` };
    add(`${name} ${figure.toPrecision(3)} ${row.unit}, goal at most ${most}`, figure <= most);
  }
  for (const [peer, least] of Object.entries(goal.minSpeedup ?? {})) {
    const figure = row.peers?.[peer];
    if (figure === undefined) return { goal, state: 'missing', text: `peer ${peer} was not measured` };
    const times = timesAsFast(row, figure);
    add(`${times.toFixed(2)} times as fast as ${peer}, goal ${least}`, times >= least);
  }
  return { goal, state: reached ? 'reached' : 'missed', text: parts.join('; ') };
}

/** One verdict per goal of the report's domain and device. */
export function compare(report: Report, goals: readonly Goal[]): Verdict[] {
  return goals.filter(({ domain, device }) => domain === report.domain && device === report.device).map((goal) => judge(goal, report));
}
