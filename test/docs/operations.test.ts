import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { type RunningConnector, runConnector } from '../../src/commands/run-connector.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { createMetrics, type Metrics } from '../../src/runtime/metrics/metrics.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { ScriptedService } from '../connector/support/scripted-service.ts';
import { createTestDatabase, openPool, type TestDatabase } from '../support/database.ts';
import { readBlocks, readProjectFile } from '../support/markdown.ts';
import { silentLogger } from '../support/platform.ts';
import { ROOT } from '../support/root.ts';
import { spawnCommand } from '../support/spawn-command.ts';
import { METRICS_PAGE } from './appendix/pages.ts';

const PAGE = readProjectFile('docs/operations.md');
const METRICS = readProjectFile(METRICS_PAGE);
const BLOCKS = readBlocks(PAGE);
const SLOW_MS = 60_000;

interface Described {
  readonly type: string;
  readonly labels: readonly string[];
}

/** Metrics that record what is registered. */
function noteMetrics(noted: Map<string, Described>): Metrics {
  const metrics = createMetrics({ processMetrics: true });
  const note = (type: string, name: string, labels: readonly string[] = []): void => {
    noted.set(name, { type, labels: [...labels].sort() });
  };
  return {
    ...metrics,
    counter(name, help, label) {
      note('counter', name, label === undefined ? [] : [label.name]);
      return metrics.counter(name, help, label);
    },
    counters(name, help, of, label) {
      note('counter', name, [of, label.name]);
      return metrics.counters(name, help, of, label);
    },
    histograms(name, help, buckets, of) {
      note('histogram', name, [of]);
      return metrics.histograms(name, help, buckets, of);
    },
    gauge(name, help, labels, collect) {
      note('gauge', name, labels);
      return metrics.gauge(name, help, labels, collect);
    },
    histogram(name, help, buckets, label) {
      note('histogram', name, label === undefined ? [] : [label.name]);
      return metrics.histogram(name, help, buckets, label);
    },
  };
}

/** The appendix's table of metrics. */
function readTable(): Map<string, Described> {
  const rows = [...METRICS.matchAll(/^\| `(connector_\w+)` \| (\w+) \|([^|]*)\| [^|]+ \| [^|]+ \|$/gm)];
  return new Map(
    rows.map(([, name = '', type = '', labels = '']) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label).sort() },
    ]),
  );
}

const OWN_LABELS = ['le', 'job', 'instance', 'process'];
/** Unknown names in a query: metrics that do not exist, and labels that a metric does not have. */
function findUnknown(
  query: string,
  known: ReadonlyMap<string, Described>,
  others: readonly string[],
): string[] {
  const unknown: string[] = [];
  const allowed = new Set(OWN_LABELS);
  for (const [, name = ''] of query.matchAll(/\b([a-z]+(?:_[a-z0-9]+)+|up)\b(?=[{[\s)]|$)(?!\s*\()/g)) {
    if (name.startsWith('histogram_') || others.includes(name) || known.has(name)) {
      for (const label of known.get(name)?.labels ?? []) allowed.add(label);
      continue;
    }
    const base = name.replace(/_(?:bucket|sum|count)$/, '');
    if (known.get(base)?.type !== 'histogram' || base === name) unknown.push(name);
    for (const label of known.get(base)?.labels ?? []) allowed.add(label);
  }
  const used = [
    ...[...query.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label = '']) => label),
    ...[...query.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(',').map((label) => label.trim()),
    ),
  ];
  return [...unknown, ...used.filter((label) => !allowed.has(label)).map((label) => `label ${label}`)];
}

/** Metrics that a query selects without the job, which would mix staging and production. */
function findUnfiltered(query: string, job: string): string[] {
  const selectors = [...query.matchAll(/\b((?:connector|nodejs|process)_\w+|up)\b(\{[^}]*\})?/g)];
  return selectors.filter(([, , labels = '']) => !labels.includes(job)).map(([, name = '']) => name);
}

let database: TestDatabase;
let service: ScriptedService;
let connector: RunningConnector;
let env: Record<string, string>;
let served: string;
const registered = new Map<string, Described>();

beforeAll(async () => {
  database = await createTestDatabase({ connector: true });
  service = await ScriptedService.start();
  const apiToken = 'token-of-a-test-0123456789';
  const sealingKey = generateSealingKey();
  connector = await runConnector({
    databaseUrl: database.url,
    host: '127.0.0.1',
    port: 0,
    role: 'all',
    apiToken,
    sealingKeys: [sealingKey],
    service: { baseUrl: service.baseUrl, apiKey: 'key-1' },
    reconcileIntervalMs: 3_600_000,
    inboxRetentionDays: 30,
    metrics: noteMetrics(registered),
    clock: systemClock,
    logger: silentLogger,
  });
  served = await (
    await fetch(`${connector.url}/metrics`, { headers: { authorization: `Bearer ${apiToken}` } })
  ).text();
  env = {
    DATABASE_URL: database.url,
    CONNECTOR_PORT: new URL(connector.url).port,
    CONNECTOR_API_TOKEN: apiToken,
    CONNECTOR_SEALING_KEYS: sealingKey,
    SERVICE_BASE_URL: service.baseUrl,
    SERVICE_API_KEY: 'key-1',
  };
}, SLOW_MS);

afterAll(async () => {
  await connector.close();
  await service.close();
  await database.drop();
});

describe('docs/operations.md and docs/appendix/metrics.md', () => {
  it('lists exactly the metrics of a connector, with type and labels', () => {
    const own = [...registered].filter(([name]) => name.startsWith('connector_'));
    expect(Object.fromEntries(readTable())).toEqual(Object.fromEntries(own));
    expect(own.length).toBeGreaterThan(30);
  });

  it('mentions only metrics that are served', () => {
    const families = [...served.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type]);
    const types = new Map(families as [string, string][]);
    for (const [name, { type }] of readTable()) expect([name, types.get(name)]).toEqual([name, type]);
    for (const [, name = ''] of PAGE.matchAll(/`((?:process|nodejs)_\w+)`/g))
      expect(types.has(name)).toBe(true);
  });

  it(
    'contains commands that run',
    async () => {
      const commands = BLOCKS.filter(({ language }) => language === 'sh').map(({ text }) => text);
      expect(commands[0]).toBe('npm run doctor');
      expect(commands).toHaveLength(3);
      const list = String(commands[1]).replace('https://connector.example.com', connector.url);
      const listed = await spawnCommand('sh', ['-c', list], { cwd: ROOT, env }).ended;
      expect(listed).toMatchObject({ code: 0, stdout: expect.stringMatching(/no consumers\n$/) });
      const made = await spawnCommand('sh', ['-c', String(commands[2])], { cwd: ROOT, env }).ended;
      expect(made.stdout).toMatch(/^[\w-]{32}\n$/);
      const ran = await spawnCommand('sh', ['-c', String(commands[0])], { cwd: ROOT, env }).ended;
      // The service has no webhook for this account, and no setting asks for one: a warning.
      expect(ran.code, ran.stderr).toBe(0);
      expect(ran.stdout).toContain('Start with webhook:');
      const named = [...PAGE.matchAll(/^\| [^|`]+ \| ((?:`[a-z-]+`(?:, )?)+) \|/gm)];
      const checks = named.flatMap(([, list = '']) =>
        [...list.matchAll(/`([a-z-]+)`/g)].map(([, check]) => check),
      );
      expect(checks.length).toBeGreaterThan(15);
      for (const check of checks)
        expect(ran.stdout).toMatch(new RegExp(`^[\\w-]+ +(?:[\\w-]+, )*${check}[:,]`, 'm'));
    },
    SLOW_MS,
  );

  it('contains only SQL that Postgres accepts', async () => {
    const statements = BLOCKS.filter(({ language }) => language === 'sql').flatMap(({ text }) =>
      text.split(';').filter((statement) => statement.trim() !== ''),
    );
    expect(statements).toHaveLength(6);
    const handle = openPool(database.url);
    await handle.query(
      `insert into connector.outbound (id, account_id, connection_id, reference, fingerprint, recipient, text,
         idempotency_key, state, created_at, updated_at)
       values ('o1', 'nobody', 'c1', 'r1', 'f', '447700900201', 'Hello', 'k', 'queued', 1, 1)`,
    );
    for (const statement of statements) await handle.query(statement);
    expect(await handle.query(`select state from connector.outbound`)).toEqual([{ state: 'unknown' }]);
    const left = `select from connector.accounts where sealed_credential is not null
                  union all select from connector.subscriptions where sealed_secret is not null`;
    expect(await handle.query(left)).toEqual([]);
    await handle.close();
  });
});

describe('alert rules and dashboard', () => {
  const others = (): string[] => [
    'up',
    ...[...served.matchAll(/^# TYPE ((?:process|nodejs)_\w+)/gm)].map(([, name = '']) => name),
  ];

  it('use only metrics and labels that exist', () => {
    const { groups } = parse(readProjectFile('docs/prometheus-alerts.yml')) as {
      groups: {
        rules: {
          alert: string;
          expr: string;
          labels: { severity: string };
          annotations: { summary: string };
        }[];
      }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(15);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, expr, labels, annotations } of rules) {
      expect([alert, findUnknown(expr, registered, others())]).toEqual([alert, []]);
      expect([alert, findUnfiltered(expr, 'job="messaging-connector"')]).toEqual([alert, []]);
      expect(['critical', 'warning', 'info']).toContain(labels.severity);
      expect(annotations.summary).toMatch(/\.$/);
    }
  });

  it('show only metrics and labels that exist, in rows', () => {
    const dashboard = JSON.parse(readProjectFile('docs/grafana-dashboard.json')) as {
      panels: {
        id: number;
        type: string;
        title: string;
        targets?: { expr: string; legendFormat: string }[];
      }[];
    };
    const rows = dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title);
    expect(rows).toEqual(['Overview', 'Receiver', 'Polls', 'Sends', 'Dispatch', 'Accounts', 'Processes']);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const targets = dashboard.panels.flatMap((panel) => panel.targets ?? []);
    expect(targets.length).toBeGreaterThan(40);
    for (const { expr, legendFormat } of targets) {
      expect([expr, findUnknown(expr, registered, others())]).toEqual([expr, []]);
      expect([expr, findUnfiltered(expr, 'job="$job"')]).toEqual([expr, []]);
      for (const [, label = ''] of legendFormat.matchAll(/{{(\w+)}}/g))
        expect([expr, expr.includes(label)]).toEqual([expr, true]);
    }
  });
});
