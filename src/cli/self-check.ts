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

const wrote = z.object({ messageId: z.string() });
const connections = z.object({
  connections: z.array(z.object({ id: z.string(), provider: z.string() })),
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

/** Has a contact write, and waits until the CRM's feed shows it. */
async function sendThrough(
  info: SandboxInfo,
  connectionId: string,
  lane: { readonly name: 'webhook' | 'poll'; readonly repair?: () => Promise<unknown> },
  clock: Clock,
): Promise<number> {
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
  if (seenBy !== lane.name) {
    throw new SelfCheckFailed(`a message came by ${seenBy}, but should have come by ${lane.name}`);
  }
  return Math.round(clock.elapsed() - beganAt);
}

/**
 * Sends two messages around the loop: one by its webhook, one whose webhook is dropped on purpose and which
 * polling has to repair. For a loop that has just started: it ends with no fault armed.
 * @throws SelfCheckFailed
 */
export async function checkLoop(info: SandboxInfo, clock: Clock): Promise<SelfCheck> {
  const token = info.connectorToken ?? '';
  const sync = (): Promise<unknown> =>
    call(`${info.connectorUrl}/v1/sync`, z.unknown(), { method: 'POST', token, body: {} });
  // The first poll brings the connections.
  await sync();
  const mirrored = await call(`${info.connectorUrl}/v1/connections`, connections, { token });
  const connectionId = mirrored.connections.find(({ provider }) => provider === 'qr')?.id;
  if (connectionId === undefined)
    throw new SelfCheckFailed('the connector knows no connection that sends events');
  const webhookMs = await sendThrough(info, connectionId, { name: 'webhook' }, clock);

  const faultsUrl = `${info.sandboxUrl}/sandbox/v1/faults`;
  const drop = {
    id: RULE,
    match: { surface: 'webhook', connectionId },
    action: { type: 'drop' },
    per: 'event',
  };
  await call(faultsUrl, faults, { method: 'PUT', body: { rules: [drop] } });
  try {
    const repairMs = await sendThrough(info, connectionId, { name: 'poll', repair: sync }, clock);
    return { webhookMs, repairMs };
  } finally {
    await call(faultsUrl, faults, { method: 'DELETE' });
  }
}
