import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { portsFrom } from '../../src/cli/ports.ts';
import { runConnector } from '../../src/cli/run-connector.ts';
import { runService } from '../../src/cli/run-service.ts';
import type { Outbound } from '../../src/contract/connector/outbound.ts';
import { ERROR_CODES, ERRORS } from '../../src/contract/service/errors.ts';
import { ruleFor } from '../../src/patterns/send-policy.ts';
import { seededRandom } from '../../src/platform/seeded-random.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { generateSealingKey } from '../../src/runtime/sealing/key-ring.ts';
import { checkFeed } from '../support/check-invariants.ts';
import { createTestDatabase } from '../support/database.ts';
import { readFeed } from '../support/follow-feed.ts';
import { withSql } from '../support/read-connector.ts';
import { type Caller, createCaller, readAllMessages } from '../support/read-lists.ts';

/** The whole campaign takes minutes of a busy machine; what every change goes through is the same, smaller. */
const WHOLE = process.env['CAMPAIGN'] === 'whole';
const SENDS = WHOLE ? 1_000 : 200;
const KILLS = WHOLE ? 30 : 6;
const CONNECTIONS = 20;
const SENDERS = WHOLE ? 3 : 2;
const SEED = 20_260_115;
const TOKEN = 'token-of-a-campaign';
/** How long a lane waits for a process that was killed, and how often the others look. */
const PRESENCE_MS = 1_000;
const SWEEP_EVERY_MS = 200;
const BETWEEN_KILLS_MS = 300;
const script = new URL('../support/send-in-child.ts', import.meta.url).pathname;

const send = { surface: 'api', method: 'POST', path: '/messages' };

/** Every error code, lost answers, broken connections and messages that were not stored. */
function faults() {
  const codes = ERROR_CODES.map((error) => {
    const [code = 500] = ERRORS[error].statuses;
    // Final refusals are seldom, or few sends would be left.
    const probability = ruleFor(error, code).next === 'reject' ? 0.004 : 0.02;
    return { id: error, match: send, action: { type: 'status', code, error, retryAfter: 0 }, probability };
  });
  const others = [
    { type: 'lost_answer', probability: 0.05 },
    { type: 'reset', probability: 0.05 },
    { type: 'not_persisted', probability: 0.1 },
  ].map(({ type, probability }) => ({ id: type, match: send, action: { type }, probability }));
  return { seed: SEED, rules: [...others, ...codes] };
}

test('sends over 20 connections survive kills and every answer of the service', {
  timeout: 600_000,
}, async () => {
  const { service, workspaceId, sandbox, client, connector, url, databaseUrl, sealingKey } = await startAll();
  const lanes = await addLanes(workspaceId, sandbox, client);
  await connector('POST', '/v1/sync', {});
  await sandbox('PUT', '/faults', faults());

  const argument = { databaseUrl, sealingKey, presenceMs: PRESENCE_MS, sweepEveryMs: SWEEP_EVERY_MS };
  const compileCache = await mkdtemp(join(tmpdir(), 'messaging-connector-compiled-'));
  onTestFinished(() => rm(compileCache, { recursive: true, force: true }));
  const senders = keepSending(argument, compileCache);
  onTestFinished(() => senders.stop());
  const killing = senders.kill(KILLS);
  const queueing = lanes.map(async ({ connectionId, phone }, lane) => {
    for (let number = lane; number < SENDS; number += CONNECTIONS) {
      const body = { connectionId, to: phone, text: String(number), reference: `r-${number}` };
      await connector('POST', '/v1/messages', body);
    }
  });
  await Promise.all([killing, ...queueing]);
  await untilOver(databaseUrl);
  await sandbox('DELETE', '/faults');
  await service.settle();
  await connector('POST', '/v1/sync', {});

  const outbound = await readOutbound(connector);
  expect(outbound).toHaveLength(SENDS);
  const listed = new Map(
    (await readAllMessages(client, '/messages?limit=100')).map((each) => [each.id, each]),
  );
  const counts: Record<string, number> = {};
  for (const { connectionId, phone } of lanes) {
    const { entries } = await sandbox<{ entries: { text: string }[] }>('GET', `/contacts/${phone}/messages`);
    const received = entries.map(({ text }) => Number(text));
    // In the order in which the CRM queued them, and so none of them twice.
    expect(received).toEqual([...new Set(received)].sort((a, b) => a - b));
    for (const each of outbound.filter((one) => one.connectionId === connectionId)) {
      const arrived = received.includes(Number(each.text));
      counts[each.state] = (counts[each.state] ?? 0) + 1;
      if (each.state === 'sent') {
        expect(arrived).toBe(true);
        expect(listed.get(each.messageId ?? '')).toMatchObject({ text: each.text, connectionId });
      } else if (each.state === 'delivered_not_stored') expect(arrived).toBe(true);
      else if (each.state === 'rejected') expect(arrived).toBe(false);
      else expect(each.state).toBe('unknown');
    }
  }
  // Whether a refusal ever meets a send in doubt is chance; the other endings are not.
  expect(Object.keys(counts)).toEqual(expect.arrayContaining(['delivered_not_stored', 'rejected', 'sent']));
  expect(counts['sent']).toBeGreaterThan(SENDS * 0.6);
  expect(counts['unknown'] ?? 0).toBeLessThan(SENDS * 0.15);
  expect(senders.killed).toBe(KILLS);
  expect(checkFeed((await readFeed(url, TOKEN)).filter(({ messageId }) => messageId !== undefined))).toEqual(
    [],
  );
});

async function startAll() {
  const [connectorDatabase, platformDatabase] = await Promise.all([
    createTestDatabase({ connector: true }),
    createTestDatabase({ platform: true }),
  ]);
  onTestFinished(async () => void (await Promise.all([connectorDatabase.drop(), platformDatabase.drop()])));
  const logger = createLogger({ level: 'silent', name: 'test' });
  const service = await runService({
    databaseUrl: platformDatabase.url,
    ports: portsFrom(0),
    sendScale: 0,
    onTakenOver: () => undefined,
    clock: systemClock,
    logger,
  });
  onTestFinished(() => service.close());
  const { baseUrl, sandboxUrl } = service.sandbox.info();
  const sandbox = createCaller(`${sandboxUrl}/sandbox/v1`);
  const made = { kind: 'standalone', slots: CONNECTIONS };
  const { workspace } = await sandbox<{ workspace: { id: string } }>('POST', '/workspaces', made);
  const { key: apiKey } = await sandbox<{ key: string }>('POST', `/workspaces/${workspace.id}/api-keys`, {});
  const sealingKey = generateSealingKey();
  const web = await runConnector({
    databaseUrl: connectorDatabase.url,
    host: '127.0.0.1',
    port: 0,
    role: 'web',
    apiToken: TOKEN,
    sealingKeys: [sealingKey],
    service: { baseUrl, apiKey },
    webhookPublicUrl: service.webhookUrl,
    onListening: (listening) => service.attach(listening),
    reconcileIntervalMs: 3_600_000,
    inboxRetentionDays: 30,
    clock: systemClock,
    logger,
  });
  onTestFinished(() => web.close());
  return {
    service,
    workspaceId: workspace.id,
    sandbox,
    client: createCaller(baseUrl, apiKey),
    connector: createCaller(web.url, TOKEN),
    url: web.url,
    databaseUrl: connectorDatabase.url,
    sealingKey,
  };
}

interface Lane {
  readonly connectionId: string;
  readonly phone: string;
}

/** A connection for each lane, and a person of its own to write to. */
async function addLanes(workspaceId: string, sandbox: Caller, client: Caller): Promise<Lane[]> {
  const lanes: Lane[] = [];
  for (let number = 0; number < CONNECTIONS; number += 1) {
    const phone = String(447_700_901_000 + number);
    await sandbox('PUT', `/contacts/${phone}`, { onNetwork: true });
    const { connection } = await sandbox<{ connection: { id: string } }>(
      'POST',
      `/workspaces/${workspaceId}/connections`,
      { provider: 'qr', phoneNumber: String(4_915_112_346_000 + number) },
    );
    lanes.push({ connectionId: connection.id, phone });
  }
  const { connections } = await client<{ connections: { id: string }[] }>('GET', '/connections');
  const shown = new Set(connections.map(({ id }) => id));
  expect(lanes.filter(({ connectionId }) => !shown.has(connectionId))).toEqual([]);
  return lanes;
}

/** Keeps some sending processes alive, and kills one of those that have begun to send at each random moment. */
function keepSending(argument: object, compileCache: string) {
  const random = seededRandom(SEED);
  const sending: ChildProcess[] = [];
  const all = new Set<ChildProcess>();
  let killed = 0;
  let begun = Promise.withResolvers<void>();

  function begin(): void {
    const child = spawn(process.execPath, [script, JSON.stringify(argument)], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    });
    all.add(child);
    child.once('exit', () => all.delete(child));
    child.stdout.once('data', () => {
      sending.push(child);
      begun.resolve();
    });
  }

  for (let number = 0; number < SENDERS; number += 1) begin();
  return {
    get killed() {
      return killed;
    },
    async kill(times: number): Promise<void> {
      while (killed < times) {
        await systemClock.sleep(Math.round(BETWEEN_KILLS_MS * 2 * random()));
        while (sending.length === 0) {
          begun = Promise.withResolvers<void>();
          await begun.promise;
        }
        const [child] = sending.splice(Math.floor(random() * sending.length), 1);
        if (child === undefined) continue;
        const dead = once(child, 'exit');
        child.kill('SIGKILL');
        expect((await dead)[1]).toBe('SIGKILL');
        killed += 1;
        begin();
      }
    },
    async stop(): Promise<void> {
      const ends = [...all].map((child) => once(child, 'exit'));
      for (const child of all) child.kill('SIGKILL');
      await Promise.all(ends);
    },
  };
}

/** Resolves when no send is left to be done. */
async function untilOver(databaseUrl: string): Promise<void> {
  await withSql(databaseUrl, async (sql) => {
    for (;;) {
      const [row] = await sql`
        select count(*)::int4 as open from connector.outbound where state in ('queued', 'sending')`;
      if (row?.['open'] === 0) return;
      await systemClock.sleep(SWEEP_EVERY_MS);
    }
  });
}

async function readOutbound(connector: Caller): Promise<Outbound[]> {
  const found: Outbound[] = [];
  for (let cursor = ''; ; ) {
    const page = await connector<{ outbound: Outbound[]; nextCursor: string | null }>(
      'GET',
      `/v1/outbound?limit=300${cursor}`,
    );
    found.push(...page.outbound);
    if (page.nextCursor === null) return found;
    cursor = `&cursor=${encodeURIComponent(page.nextCursor)}`;
  }
}
