import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type ConnectorClient, createConnectorClient } from '../client/index.ts';
import type { Clock } from '../runtime/clock/clock.ts';
import { openDatabase } from '../runtime/database/database.ts';
import { withDatabase } from '../runtime/database/database-url.ts';
import { createEventParser } from '../runtime/http-server/event-parser.ts';
import type { Logger } from '../runtime/logger/logger.ts';
import { generateSealingKey } from '../runtime/sealing/key-ring.ts';
import { callSandboxAt } from './call-sandbox.ts';
import { type RunConnectorOptions, runConnector } from './run-connector.ts';

/** How long each path through the loop took, in milliseconds. */
export interface SelfCheck {
  /** Contact → service → signed webhook → connector → feed. */
  readonly webhookMs: number;
  /** The same with the webhook dropped: contact → service → poll → feed. */
  readonly repairMs: number;
}

const CONTACT = '447700900299';
const DEADLINE_MS = 10_000;
const RULE = 'self-check';
/** The first polls run at the same time, and one of them may be faster than a webhook. */
const WEBHOOK_ATTEMPTS = 3;
const POLL_MS = 45_000;

const created = z.object({
  type: z.string(),
  messageId: z.string().optional(),
  data: z.object({ firstSeenBy: z.string().optional() }),
});
/** The target of the messages of a check: a number, and the connector that receives its events. */
export interface CheckedLoop {
  readonly sandboxUrl: string;
  readonly connectionId: string;
  readonly connectorUrl: string;
  readonly connectorToken: string;
}

function connectorOf({ connectorUrl: url, connectorToken: token }: CheckedLoop): ConnectorClient {
  return createConnectorClient({ url, token, timeoutMs: DEADLINE_MS });
}

/** Reads the feed until a message appears in it; returns the source that reported it. */
async function awaitInFeed(loop: CheckedLoop, after: string, messageId: string): Promise<string | undefined> {
  const response = await fetch(`${loop.connectorUrl}/v1/changes/stream`, {
    headers: { authorization: `Bearer ${loop.connectorToken}`, 'last-event-id': after },
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  if (!response.ok || response.body === null) {
    throw new Error(`the feed returned ${response.status}`);
  }
  const parse = createEventParser();
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    for (const { data } of parse(chunk)) {
      if (data === undefined) continue;
      const change = created.safeParse(JSON.parse(data));
      if (change.success && change.data.type === 'message.created' && change.data.messageId === messageId) {
        return change.data.data.firstSeenBy;
      }
    }
  }
  throw new Error('the feed ended before the message appeared');
}

interface Queue {
  readonly name: 'webhook' | 'poll';
  readonly attempts: number;
  readonly repair?: () => Promise<unknown>;
}

/** Sends messages until one has arrived through the expected source; returns how long it took. */
async function timeQueue(loop: CheckedLoop, queue: Queue, clock: Clock): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const { seenBy, ms } = await sendThrough(loop, queue, clock);
    if (seenBy === queue.name) return ms;
    if (attempt < queue.attempts) continue;
    throw new Error(`a message arrived by ${seenBy} instead of ${queue.name}`);
  }
}

/** Lets a contact write a message, and waits until the feed contains it. */
async function sendThrough(
  loop: CheckedLoop,
  queue: Queue,
  clock: Clock,
): Promise<{ readonly seenBy: string | undefined; readonly ms: number }> {
  const { connectionId, sandboxUrl } = loop;
  const head = await connectorOf(loop).listChanges({ query: { after: 'latest' } });
  const beganAt = clock.elapsed();
  const { messageId } = await callSandboxAt(sandboxUrl)('contactWrites', {
    params: { phone: CONTACT },
    body: { connectionId, text: `Self-check by ${queue.name}` },
  });
  const [seenBy] = await Promise.all([awaitInFeed(loop, head.nextCursor, messageId), queue.repair?.()]).catch(
    (error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      throw new Error(`a message did not arrive by ${queue.name}: ${why}`);
    },
  );
  return { seenBy, ms: Math.round(clock.elapsed() - beganAt) };
}

/**
 * Sends two messages through a loop: one by its webhook, and one whose webhook is dropped on purpose, so that
 * polling must repair it. For a loop that has just started: no faults are active afterwards.
 * @throws Error that says where a message was lost.
 */
export async function timeQueues(loop: CheckedLoop, clock: Clock): Promise<SelfCheck> {
  const byWebhook: Queue = { name: 'webhook', attempts: WEBHOOK_ATTEMPTS };
  const webhookMs = await timeQueue(loop, byWebhook, clock);

  const drop = {
    id: RULE,
    match: { surface: 'webhook', connectionId: loop.connectionId },
    action: { type: 'drop' },
    per: 'event',
  };
  const callSandbox = callSandboxAt(loop.sandboxUrl);
  await callSandbox('putFaults', { body: { rules: [drop] } });
  try {
    const repair = (): Promise<unknown> => connectorOf(loop).syncNow({ body: {} });
    return { webhookMs, repairMs: await timeQueue(loop, { name: 'poll', attempts: 1, repair }, clock) };
  } finally {
    await callSandbox('deleteFaults');
  }
}

/** The requirements for checking a running service. */
export interface CheckLoopOptions {
  readonly sandboxUrl: string;
  readonly baseUrl: string;
  /** A number used only by the check, and the key that can access it. */
  readonly number: { readonly connectionId: string; readonly apiKey: string };
  /** Where the events of that key are delivered. */
  readonly webhookUrl: string;
  /** Called with the URL that must receive the events from now on. */
  readonly tunnel: (url: string) => void;
  /** The server on which the check creates its own database, and drops it afterwards. */
  readonly databaseUrl: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Why a check could not run; this says nothing about the loop. */
export interface LeftOut {
  readonly leftOut: string;
}

/**
 * Checks the running service with a temporary connector on its own database: the feed, metrics and handlers
 * of the attached connector are not affected.
 * @throws Error that says where a message was lost.
 */
export async function checkLoop(options: CheckLoopOptions): Promise<SelfCheck | LeftOut> {
  const { clock, logger, sandboxUrl, number } = options;
  const server = openDatabase({
    url: options.databaseUrl,
    name: 'self-check',
    poolSize: 1,
    clock,
    logger,
  });
  const name = `messaging_self_check_${createHash('sha256').update(options.databaseUrl).digest('hex').slice(0, 12)}`;
  const drop = (): Promise<unknown> => server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  try {
    try {
      // A database left behind by a killed process.
      await drop();
      await server.query(`CREATE DATABASE ${name} TEMPLATE template0`);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { leftOut: `it needs a temporary database and could not create one: ${why}` };
    }
    const databaseUrl = withDatabase(options.databaseUrl, name);
    const connectorToken = randomBytes(24).toString('base64url');
    const connector = await runConnector(twinOptions(options, databaseUrl, connectorToken));
    try {
      const { connectionId } = number;
      return await timeQueues(
        { sandboxUrl, connectionId, connectorUrl: connector.url, connectorToken },
        clock,
      );
    } finally {
      await connector.close();
      await drop();
    }
  } finally {
    await server.close();
  }
}

function twinOptions(
  { baseUrl, number, webhookUrl, tunnel, clock, logger }: CheckLoopOptions,
  databaseUrl: string,
  apiToken: string,
): RunConnectorOptions {
  return {
    databaseUrl,
    host: '127.0.0.1',
    port: 0,
    role: 'all',
    apiToken,
    sealingKeys: [generateSealingKey()],
    service: { baseUrl, apiKey: number.apiKey },
    webhookPublicUrl: webhookUrl,
    reconcileIntervalMs: POLL_MS,
    inboxRetentionDays: 1,
    onListening: tunnel,
    clock,
    logger,
  };
}
