import postgres from 'postgres';
import { portsFrom } from '../../src/commands/ports.ts';
import { type RunningService, runService } from '../../src/commands/run-service.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { createLogger } from '../../src/runtime/logger/logger.ts';
import { serveParent } from '../process/serve-parent.ts';
import { BETWEEN_MS, makeMessage } from './make-pages.ts';
import type { ServiceAddress, ServiceCommands, ServiceSetup } from './walk-commands.ts';

/* The service of this package: the same messages as the other one has, in Postgres. */

const logger = createLogger({ level: 'warn', name: 'bench', destination: 'stderr' });
/** Rows of one INSERT. */
const CHUNK = 5_000;

let service: RunningService | undefined;

async function start({ databaseUrl, messages, connections }: ServiceSetup): Promise<ServiceAddress> {
  service = await runService({
    databaseUrl,
    ports: portsFrom(0),
    sendScale: 0,
    onTakenOver: () => undefined,
    clock: systemClock,
    logger,
  });
  const { baseUrl, sandboxUrl } = service.sandbox.info();
  const post = async <T>(path: string, body: object): Promise<T> => {
    const response = await fetch(`${sandboxUrl}/sandbox/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
    return (await response.json()) as T;
  };
  const { workspace } = await post<{ workspace: { id: string } }>('/workspaces', {
    kind: 'standalone',
    slots: connections,
  });
  const { key: apiKey } = await post<{ key: string }>(`/workspaces/${workspace.id}/api-keys`, {});
  const ids: string[] = [];
  for (let index = 0; index < connections; index += 1) {
    const paired = { provider: 'qr', phoneNumber: String(491_500_000_000 + index) };
    const made = await post<{ connection: { id: string } }>(
      `/workspaces/${workspace.id}/connections`,
      paired,
    );
    ids.push(made.connection.id);
  }
  await fill(databaseUrl, workspace.id, ids, messages);
  return { baseUrl, apiKey };
}

/** Oldest first, as they would have come in. */
async function fill(
  databaseUrl: string,
  workspaceId: string,
  connectionIds: readonly string[],
  messages: number,
): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  const newest = systemClock.now() - BETWEEN_MS;
  try {
    for (let left = messages; left > 0; left -= CHUNK) {
      const rows = Array.from({ length: Math.min(CHUNK, left) }, (_, index) => {
        const number = left - 1 - index;
        const message = makeMessage(number, connectionIds.length);
        return {
          id: message.id,
          workspace_id: workspaceId,
          connection_id: connectionIds[number % connectionIds.length] ?? '',
          direction: message.direction,
          peer: String(491_700_000_000 + (number % 5_000)),
          text: message.text ?? 'A picture',
          status: message.status,
          receipts: 7,
          wa_message_id: message.waMessageId,
          created_at: newest - number * BETWEEN_MS,
        };
      });
      await sql`INSERT INTO platform.messages ${sql(rows)}`;
    }
    await sql`VACUUM (ANALYZE) platform.messages`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

const commands: ServiceCommands = { listen: start };

serveParent(commands, async () => service?.close());
