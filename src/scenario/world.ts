import type { z } from 'zod';
import { type Change, changeList } from '../contract/connector/changes.ts';
import { type ConnectorMessage, connectorMessageList } from '../contract/connector/messages.ts';
import { workspaceList } from '../contract/sandbox/access.ts';
import { connectionList, type ListedConnection } from '../contract/sandbox/connections.ts';
import { type Delivery, deliveryList } from '../contract/sandbox/deliveries.ts';
import { sandboxInfo } from '../contract/sandbox/info.ts';
import { type StoredMessage, storedMessageList } from '../contract/sandbox/messages.ts';

/** Makes a call of the sandbox's port. @throws Error with the reason for a refusal */
export type CallPort = (request: {
  readonly method: string;
  readonly path: string;
  /** JSON. */
  readonly body?: string;
  readonly workspaceId?: string;
}) => Promise<unknown>;

/** What exists in the service at one moment. Lists are ordered from the oldest to the newest. */
export interface World {
  readonly workspaceId: string;
  readonly hasConnector: boolean;
  readonly connections: readonly ListedConnection[];
  readonly messages: readonly StoredMessage[];
  /** To webhooks of workspaces, without copies. */
  readonly deliveries: readonly Delivery[];
  /** Ids of the API keys of the seeded workspace. */
  readonly apiKeys: readonly string[];
}

/** What a connector has stored. */
export interface ConnectorState {
  readonly messages: readonly ConnectorMessage[];
  readonly changes: readonly Change[];
}

const PAGE = 1000;

async function get<Shape extends z.ZodType>(
  call: CallPort,
  path: string,
  shape: Shape,
): Promise<z.output<Shape>> {
  return shape.parse(await call({ method: 'GET', path }));
}

/** Every entry of a list of the sandbox. */
async function readAll<Entry>(
  call: CallPort,
  path: string,
  shape: z.ZodType<{ readonly entries: readonly Entry[]; readonly nextCursor?: string | undefined }>,
): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await get(call, `/sandbox/v1${path}?limit=${PAGE}${from}`, shape);
    all.push(...page.entries);
    cursor = page.nextCursor;
  }
  return all;
}

/** Reads what exists, except in workspaces that are hidden from users. */
export async function readWorld(call: CallPort, hiddenWorkspaceIds: readonly string[] = []): Promise<World> {
  const info = await get(call, '/sandbox/v1/info', sandboxInfo);
  const isShown = ({ workspaceId }: { readonly workspaceId: string }): boolean =>
    !hiddenWorkspaceIds.includes(workspaceId);
  const workspaces = await readAll(call, '/workspaces', workspaceList);
  const deliveries = await readAll(call, '/deliveries', deliveryList);
  const isOwn = ({ copyOf, subscription }: Delivery): boolean =>
    copyOf === undefined && subscription.kind === 'workspace';
  return {
    workspaceId: info.workspaceId,
    hasConnector: info.connectorUrl !== null,
    connections: (await readAll(call, '/connections', connectionList)).filter(isShown),
    messages: (await readAll(call, '/messages', storedMessageList)).reverse().filter(isShown),
    deliveries: deliveries.reverse().filter((one) => isShown(one) && isOwn(one)),
    apiKeys: workspaces.find(({ id }) => id === info.workspaceId)?.apiKeys.map(({ id }) => id) ?? [],
  };
}

/** Reads what the attached connector has stored. */
export async function readConnector(call: CallPort): Promise<ConnectorState> {
  const messages: ConnectorMessage[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const from: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await get(call, `/connector/v1/messages?limit=${PAGE}${from}`, connectorMessageList);
    messages.push(...page.messages);
    cursor = page.nextCursor;
  }
  const changes: Change[] = [];
  for (let after = 0, more = true; more; ) {
    const page = await get(call, `/connector/v1/changes?limit=${PAGE}&after=${after}`, changeList);
    changes.push(...page.changes);
    after = Number(page.nextCursor);
    more = page.hasMore;
  }
  return { messages, changes };
}
