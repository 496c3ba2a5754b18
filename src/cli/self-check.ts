import { z } from 'zod';
import type { SandboxInfo } from '../contract/sandbox/info.ts';
import type { Clock } from '../runtime/clock/clock.ts';

/** How long each way through the loop took, in milliseconds. */
export interface SelfCheck {
  /** Contact → service → signed webhook → connector → feed. */
  readonly webhookMs: number;
  /** The same with the webhook dropped: contact → service → poll → feed. */
  readonly repairMs: number;
}

/** The loop does not carry a message; the message says where it was lost. */
export class SelfCheckFailed extends Error {
  override readonly name = 'SelfCheckFailed';
}

const CONTACT = '447700900299';
const DEADLINE_MS = 10_000;
const RULE = 'self-check';
/** The polls of the start run at the same time, and one of them may be quicker than a webhook. */
const WEBHOOK_ATTEMPTS = 3;

const wrote = z.object({ messageId: z.string() });
const connections = z.object({
  connections: z.array(z.object({ id: z.string(), provider: z.string(), health: z.string() })),
});
const page = z.object({ nextCursor: z.string().nullable() });
const created = z.object({
  type: z.string(),
  messageId: z.string().optional(),
  data: z.object({ firstSeenBy: z.string().optional() }),
});
const faults = z.object({ rules: z.array(z.object({ id: z.string() }).loose()) });

/** Calls one JSON API. @throws SelfCheckFailed for any answer but a 2xx. */
async function call<Shape extends z.ZodType>(
  url: string,
  shape: Shape,
  init: { method?: string; token?: string; body?: unknown } = {},
): Promise<z.infer<Shape>> {
  const response = await fetch(url, {
    method: init.method ?? 'GET',
    headers: {
      ...(init.token === undefined ? {} : { authorization: `Bearer ${init.token}` }),
      ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await response.text();
  if (!response.ok)
    throw new SelfCheckFailed(`${init.method ?? 'GET'} ${url} answered ${response.status}: ${text}`);
  return shape.parse(JSON.parse(text));
}

/** Reads the feed until a message appears in it; tells which lane brought it. */
async function awaitInFeed(info: SandboxInfo, after: string, messageId: string): Promise<string | undefined> {
  const response = await fetch(`${info.connectorUrl}/v1/changes/stream`, {
    headers: { authorization: `Bearer ${info.connectorToken}`, 'last-event-id': after },
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  if (!response.ok || response.body === null) {
    throw new SelfCheckFailed(`the feed answered ${response.status}`);
  }
  let pending = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = `${pending}${chunk}`.split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      if (!line.startsWith('data:')) continue;
      const change = created.safeParse(JSON.parse(line.slice('data:'.length)));
      if (change.success && change.data.type === 'message.created' && change.data.messageId === messageId) {
        return change.data.data.firstSeenBy;
      }
    }
  }
  throw new SelfCheckFailed('the feed ended before the message appeared in it');
}

interface Lane {
  readonly name: 'webhook' | 'poll';
  readonly attempts: number;
  readonly repair?: () => Promise<unknown>;
}

/** Sends messages until one has come by its lane; tells how long that one took. */
async function timeLane(info: SandboxInfo, connectionId: string, lane: Lane, clock: Clock): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const { seenBy, ms } = await sendThrough(info, connectionId, lane, clock);
    if (seenBy === lane.name) return ms;
    if (attempt < lane.attempts) continue;
    throw new SelfCheckFailed(`a message came by ${seenBy}, but should have come by ${lane.name}`);
  }
}

/** Has a contact write, and waits until the CRM's feed shows it. */
async function sendThrough(
  info: SandboxInfo,
  connectionId: string,
  lane: Lane,
  clock: Clock,
): Promise<{ readonly seenBy: string | undefined; readonly ms: number }> {
  const token = info.connectorToken ?? '';
  const head = await call(`${info.connectorUrl}/v1/changes?after=latest`, page, { token });
  const beganAt = clock.elapsed();
  const { messageId } = await call(`${info.sandboxUrl}/sandbox/v1/contacts/${CONTACT}/messages`, wrote, {
    method: 'POST',
    body: { connectionId, text: `Self-check, ${lane.name} lane` },
  });
  const [seenBy] = await Promise.all([
    awaitInFeed(info, head.nextCursor ?? '0', messageId),
    lane.repair?.(),
  ]).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new SelfCheckFailed(`a message did not come through the ${lane.name} lane: ${why}`);
  });
  return { seenBy, ms: Math.round(clock.elapsed() - beganAt) };
}

/**
 * Sends two messages around the loop: one by its webhook, one whose webhook is dropped on purpose and which
 * polling has to repair. For a loop that has just started: it ends with no fault armed.
 * Null when no number is there that a message could come to: all were deleted, or wait for a scan.
 * @throws SelfCheckFailed
 */
export async function checkLoop(info: SandboxInfo, clock: Clock): Promise<SelfCheck | null> {
  const token = info.connectorToken ?? '';
  const sync = (): Promise<unknown> =>
    call(`${info.connectorUrl}/v1/sync`, z.unknown(), { method: 'POST', token, body: {} });
  // The first poll brings the connections.
  await sync();
  const mirrored = await call(`${info.connectorUrl}/v1/connections`, connections, { token });
  const usable = mirrored.connections.find(
    ({ provider, health }) => provider === 'qr' && health === 'working',
  );
  if (usable === undefined) return null;
  const connectionId = usable.id;
  const byWebhook: Lane = { name: 'webhook', attempts: WEBHOOK_ATTEMPTS };
  const webhookMs = await timeLane(info, connectionId, byWebhook, clock);

  const faultsUrl = `${info.sandboxUrl}/sandbox/v1/faults`;
  const drop = {
    id: RULE,
    match: { surface: 'webhook', connectionId },
    action: { type: 'drop' },
    per: 'event',
  };
  await call(faultsUrl, faults, { method: 'PUT', body: { rules: [drop] } });
  try {
    const byPoll: Lane = { name: 'poll', attempts: 1, repair: sync };
    return { webhookMs, repairMs: await timeLane(info, connectionId, byPoll, clock) };
  } finally {
    await call(faultsUrl, faults, { method: 'DELETE' });
  }
}
