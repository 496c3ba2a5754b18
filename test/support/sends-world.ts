import { expect } from 'vitest';
import { createTestDatabase } from './database.ts';
import { type Caller, createCaller } from './read-lists.ts';
import { startTestService, type TestService } from './service.ts';
import { createShiftedClock, type ShiftedClock } from './shifted-clock.ts';

/** A connection and its own contacts. */
export interface SendQueue {
  readonly connectionId: string;
  readonly phones: readonly string[];
}

const PEOPLE = 3;

/** The service with its phones, and databases for both halves. */
export interface SendsWorld {
  readonly clock: ShiftedClock;
  readonly service: TestService['service'];
  readonly sandbox: Caller;
  readonly client: Caller;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly databaseUrl: string;
  readonly queues: readonly SendQueue[];
  close(): Promise<void>;
}

/** Opens a world; close it. */
export async function openSendsWorld(connections: number): Promise<SendsWorld> {
  const clock = createShiftedClock();
  const [test, database] = await Promise.all([
    startTestService({ clock }),
    createTestDatabase({ connector: true }),
  ]);
  const { service, sandbox, info } = test;
  const { baseUrl } = info;
  const made = { kind: 'standalone', slots: connections };
  const { workspace } = await sandbox<{ workspace: { id: string } }>('POST', '/workspaces', made);
  const { key: apiKey } = await sandbox<{ key: string }>('POST', `/workspaces/${workspace.id}/api-keys`, {});
  const queues: SendQueue[] = [];
  for (let number = 0; number < connections; number += 1) {
    const phones = Array.from({ length: PEOPLE }, (_, index) =>
      String(447_700_901_000 + PEOPLE * number + index),
    );
    for (const phone of phones) await sandbox('PUT', `/contacts/${phone}`, { onNetwork: true });
    const paired = { provider: 'qr', phoneNumber: String(4_915_112_346_000 + number) };
    const { connection } = await sandbox<{ connection: { id: string } }>(
      'POST',
      `/workspaces/${workspace.id}/connections`,
      paired,
    );
    queues.push({ connectionId: connection.id, phones });
  }
  const client = createCaller(baseUrl, apiKey);
  const { connections: shown } = await client<{ connections: { id: string }[] }>('GET', '/connections');
  expect(shown.map(({ id }) => id).sort()).toEqual(queues.map(({ connectionId }) => connectionId).sort());
  return {
    clock,
    service,
    sandbox,
    client,
    baseUrl,
    apiKey,
    databaseUrl: database.url,
    queues,
    async close() {
      await test.close();
      await database.drop();
    },
  };
}
