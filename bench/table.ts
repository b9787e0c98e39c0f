// A report as a table in Markdown: one line per batch, the share of the floor by algorithm and peer.
import type { Report, Row } from './report.ts';

const percent = (share: number | undefined): string => (share === undefined ? '' : `${(100 * share).toFixed(1)} %`);
const microseconds = (seconds: number): string => (seconds * 1e6).toPrecision(4);

/** Rows `batch/…/<method>` and `prefix/…/<method>` by what stands before the method, in the report's order. */
function groups(report: Report): Map<string, Map<string, Row>> {
  const found = new Map<string, Map<string, Row>>();
  for (const row of report.rows) {
    const cut = row.id.lastIndexOf('/');
    if (row.fraction === undefined || row.limit === undefined) continue;
    const batch = row.id.slice(0, cut);
    if (!found.has(batch)) found.set(batch, new Map());
    found.get(batch)!.set(row.id.slice(cut + 1), row);
  }
  return found;
}

/** The table of a report's timed rows: columns are the methods and peers that occur, in order of appearance. */
export function markdownTable(report: Report): string {
  const batches = groups(report);
  const elsewhere = new Set(report.rows.filter((row) => row.elsewhere !== undefined).map(({ id }) => id.slice(id.lastIndexOf('/') + 1)));
  const methods = [...new Set([...batches.values()].flatMap((rows) => [...rows.keys()]))];
  const peers = [...new Set(report.rows.flatMap(({ peers = {} }) => Object.keys(peers)))].filter((name) => name !== 'copy');
  const header = ['batch', 'floor µs', ...methods.map((name) => (elsewhere.has(name) ? `${name}*` : name)), ...peers];
  const lines = [...batches].map(([batch, rows]) => {
    const [first] = rows.values();
    const { limit, peers: times = {} } = first!;
    const share = (name: string) => (times[name] === undefined ? '' : percent(limit! / times[name]));
    const shares = methods.map((name) => percent(rows.get(name)?.fraction));
    return [batch.replace(/^batch\//, ''), microseconds(limit!), ...shares, ...peers.map(share)];
  });
  const table = [header, header.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  const sources = new Set(report.rows.flatMap(({ elsewhere: where }) => where ?? []));
  return [table, ...[...sources].map((source) => `\n\\* ${source}.`)].join('\n');
}
