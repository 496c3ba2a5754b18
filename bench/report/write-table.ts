import type { ConsoleReport } from '../console/console-report.ts';
import type { EnginesReport } from '../engines/engines-report.ts';
import type { IsolationReport } from '../isolation/isolation-report.ts';
import type { PagesReport } from '../pages/pages-report.ts';
import type { ReconcileReport, WalkCost } from '../reconcile/reconcile-report.ts';
import type { SendsReport } from '../sends/sends-report.ts';
import type { Ratio } from './ratio.ts';
import type { BenchReport } from './report.ts';
import type { Spread } from './statistics.ts';

type Row = readonly string[];

/** Writes a report for people: ratios first, then the figures behind them. */
export function writeReport(report: BenchReport): string {
  const { machine, postgres, ingest, delivery, isolation, reconcile, sends, engines, pages } = report;
  const lines = [
    `${machine.cores} cores, ${machine.platform}, Node ${machine.node}, Postgres ${postgres.version}` +
      ` (fsync ${postgres.fsync}, synchronous_commit ${postgres.synchronousCommit})`,
    `median of the rounds, lowest to highest in brackets: ${describePaces(report.paces)}`,
  ];
  if (ingest !== undefined) {
    lines.push('', ...ratioTable('ingest', ingest.ratios), '');
    lines.push(
      ...table([
        ['receiver', 'events per second', 'p50 ms', 'p99 ms', 'acknowledged', 'rows'],
        ...ingest.contenders.map((one) => [
          one.title,
          spread(one.eventsPerSecond, 0),
          spread(one.p50Ms, 1),
          spread(one.p99Ms, 1),
          String(one.acknowledged),
          one.rows.length === 0 ? '' : one.broken.length === 0 ? 'as expected' : 'WRONG',
        ]),
      ]),
    );
    for (const [name, reason] of Object.entries(ingest.notMeasured))
      lines.push(`not measured: ${name} (${reason})`);
  }
  if (delivery !== undefined) {
    lines.push('', ...ratioTable('delivery', delivery.ratios), '');
    lines.push(
      ...table([
        ['sender', 'events per second', 'delivered', 'rows'],
        ...delivery.contenders.map((one) => [
          one.title,
          spread(one.eventsPerSecond, 0),
          String(one.delivered),
          one.rows.length === 0 ? '' : one.broken.length === 0 ? 'as expected' : 'WRONG',
        ]),
      ]),
    );
  }
  if (isolation !== undefined) lines.push(...writeIsolation(isolation));
  if (reconcile !== undefined) lines.push(...writeReconcile(reconcile));
  if (sends !== undefined) lines.push(...writeSends(sends));
  if (engines !== undefined) lines.push(...writeEngines(engines));
  if (pages !== undefined) lines.push(...writePages(pages));
  if (report.console !== undefined) lines.push(...writeConsole(report.console));
  if (report.broken.length > 0) lines.push('', ...report.broken.map((reason) => `BROKEN  ${reason}`));
  return `${lines.join('\n')}\n`;
}

function describePaces(paces: BenchReport['paces']): string {
  return Object.entries(paces)
    .map(([name, { rounds, seconds }]) => `${name} ${rounds}${seconds === 0 ? '' : ` of ${seconds} s`}`)
    .join(', ');
}

function writeReconcile({ messages, ratios, services }: ReconcileReport): string[] {
  return [
    '',
    ...ratioTable(`reconcile, ${messages} messages`, ratios),
    '',
    ...table([
      ['messages per second', 'connector', 'bare client'],
      ...services.map((one) => [one.title, spread(one.connector, 0), spread(one.bare, 0)]),
    ]),
    ...writeCosts(services),
  ];
}

function writeCosts(services: ReconcileReport['services']): string[] {
  const rows = services.flatMap(({ title, cost }) =>
    cost === undefined
      ? []
      : [
          describeCost(`connector, ${title}`, cost.connector),
          describeCost(`bare client, ${title}`, cost.bare),
        ],
  );
  if (rows.length === 0) return [];
  const heads = ['Node', 'Postgres', "service's Node", "service's Postgres"];
  return ['', ...table([['processor time, ms for 100 messages', ...heads], ...rows])];
}

function describeCost(title: string, cost: WalkCost): Row {
  const { node, postgres, serviceNode, servicePostgres } = cost;
  return [title, ...[node, postgres, serviceNode, servicePostgres].map((one) => spread(one, 1))];
}

function writeIsolation({ ratios, accounts, held }: IsolationReport): string[] {
  return [
    '',
    ...ratioTable('isolation', ratios),
    '',
    ...table([
      ['account', 'p50 ms', 'p99 ms'],
      ...accounts.map((one) => [one.title, spread(one.p50Ms, 1), spread(one.p99Ms, 1)]),
    ]),
    `connections held by the black hole: ${spread(held, 0)}`,
  ];
}

function writeSends({ ratios, contenders, notMeasured }: SendsReport): string[] {
  return [
    '',
    ...ratioTable('sends', ratios),
    '',
    ...table([
      [
        'from the request to the attempt in another process, by',
        'p50 ms',
        'p99 ms',
        'longest ms',
        'bare p50',
        'bare p99',
      ],
      ...contenders.map((one) => [
        one.title,
        ...[one.p50Ms, one.p99Ms, one.longestMs, one.bareP50Ms, one.bareP99Ms].map((each) => spread(each, 1)),
      ]),
    ]),
    ...(notMeasured === undefined ? [] : [`not measured: Redis (${notMeasured})`]),
  ];
}

function writeEngines({ ratios, engines, compiled, notMeasured }: EnginesReport): string[] {
  if (notMeasured !== undefined) return ['', `not measured: postgres (${notMeasured})`];
  return [
    '',
    ...ratioTable('postgres', ratios),
    '',
    ...table([
      ['Postgres', 'µs of it for an event', 'events per second'],
      ...engines.map((one) => [
        `${one.title}, ${one.version}`,
        spread(one.microseconds, 0),
        spread(one.eventsPerSecond, 0),
      ]),
    ]),
    `statements compiled: ${compiled}`,
  ];
}

function writePages({ rows, ratios, pages }: PagesReport): string[] {
  return [
    '',
    ...ratioTable(`${rows.large} messages stored / ${rows.small}`, ratios),
    '',
    ...table([
      [
        'page of 100',
        `buffers, ${rows.small}`,
        `buffers, ${rows.large}`,
        `ms, ${rows.small}`,
        `ms, ${rows.large}`,
      ],
      ...pages.map(({ name, buffers, ms }) => [
        name,
        String(buffers.small),
        String(buffers.large),
        spread(ms.small, 2),
        spread(ms.large, 2),
      ]),
    ]),
  ];
}

function writeConsole({
  deliveries,
  ratios,
  firstPaintMs,
  longestTaskMs,
  rowsHeld,
  events,
  liveTaskMs,
  heapMb,
}: ConsoleReport): string[] {
  return [
    '',
    ...ratioTable(`console, ${deliveries} deliveries, then ${events} events`, ratios),
    '',
    ...table([
      [
        'first paint ms',
        'bare page',
        'longest task ms',
        'bare page',
        'during the events',
        'rows held',
        'memory after each quarter, MB',
      ],
      [
        spread(firstPaintMs.ours, 0),
        spread(firstPaintMs.bare, 0),
        spread(longestTaskMs.ours, 0),
        spread(longestTaskMs.bare, 0),
        liveTaskMs.toFixed(0),
        String(rowsHeld),
        heapMb.map((mb) => mb.toFixed(1)).join(', '),
      ],
    ]),
  ];
}

function ratioTable(name: string, ratios: readonly Ratio[]): string[] {
  return table([
    [name, 'ratio', 'to reach', ''],
    ...ratios.map((ratio) => {
      const bound =
        'atLeast' in ratio.target ? `at least ${ratio.target.atLeast}` : `below ${ratio.target.below}`;
      return [ratio.what, spread(ratio, 2), bound, ratio.reached ? 'reached' : 'NOT REACHED'];
    }),
  ]);
}

function spread({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
}

function table(rows: readonly Row[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
