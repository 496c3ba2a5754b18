import postgres from 'postgres';
import { portsFrom } from '../../src/commands/ports.ts';
import { type RunningService, runService } from '../../src/commands/run-service.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { logger } from '../context.ts';
import { serveParent } from '../process/serve-parent.ts';
import { BETWEEN_MS, makeMessage } from './make-pages.ts';
import type { ServiceCommands } from './measure-reconcile.ts';

/** Rows of one INSERT. */
const CHUNK = 5_000;

let service: RunningService | undefined;

const commands: ServiceCommands = {
  /** The service of this package: the same messages as the other one has, in Postgres. */
  async listen({ databaseUrl, messages, connections }) {
    const ports = portsFrom(0);
    const onTakenOver = () => undefined;
    service = await runService({ databaseUrl, ports, sendScale: 0, onTakenOver, clock: systemClock, logger });
    const { baseUrl, sandboxUrl } = service.sandbox.info();
    const post = async <T>(path: string, body: object): Promise<T> => {
      const response = await fetch(`${sandboxUrl}/sandbox/v1/workspaces${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
      return (await response.json()) as T;
    };
    const owner = { kind: 'standalone', slots: connections };
    const { workspace } = await post<{ workspace: { id: string } }>('', owner);
    const { key: apiKey } = await post<{ key: string }>(`/${workspace.id}/api-keys`, {});
    const ids: string[] = [];
    for (let index = 0; index < connections; index += 1) {
      const paired = { provider: 'qr', phoneNumber: String(491_500_000_000 + index) };
      ids.push(
        (await post<{ connection: { id: string } }>(`/${workspace.id}/connections`, paired)).connection.id,
      );
    }
    await fill(databaseUrl, workspace.id, ids, messages);
    return { baseUrl, apiKey };
  },
};

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
        const { id, direction, text, status, waMessageId } = makeMessage(number, connectionIds.length);
        return {
          ...{
            id,
            workspace_id: workspaceId,
            connection_id: connectionIds[number % connectionIds.length] ?? '',
          },
          ...{
            direction,
            peer: String(491_700_000_000 + (number % 5_000)),
            text: text ?? 'A picture',
            status,
          },
          ...{ receipts: 7, wa_message_id: waMessageId, created_at: newest - number * BETWEEN_MS },
        };
      });
      await sql`INSERT INTO platform.messages ${sql(rows)}`;
    }
    await sql`VACUUM (ANALYZE) platform.messages`;
  } finally {
    await sql.end({ timeout: 5 });
  }
}

serveParent(commands, async () => service?.close());
