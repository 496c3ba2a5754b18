/*
 * A process that uses one grant many times at once, for tests that count what goes over the wire, and for tests that
 * kill it. It gets all it needs as one JSON argument and says `ready`. For each line with an app and a number of uses
 * it uses the grant as a process that has just started, and prints what became of it, until its input ends.
 */

import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { createAuthorizationServer } from '../../../src/connector/oauth/authorization-server.ts';
import { createGrantCredentials } from '../../../src/connector/oauth/grants.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { createKeyRing } from '../../../src/runtime/sealing/key-ring.ts';

const { databaseUrl, sealingKey, accountId } = JSON.parse(process.argv[2] ?? '{}');
const logger = createLogger({ level: 'silent', name: 'child' });
const database = openDatabase({ url: databaseUrl, name: 'child', poolSize: 3, clock: systemClock, logger });
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const { app, uses } = JSON.parse(line);
  const credentials = createGrantCredentials({
    database,
    keyRing: createKeyRing([sealingKey]),
    clock: systemClock,
    logger,
    server: createAuthorizationServer(app, systemClock),
    owner: randomUUID(),
    closing: new AbortController().signal,
    onEnd: () => undefined,
  });
  const source = credentials.of(accountId);
  const ends = await Promise.allSettled(Array.from({ length: uses }, () => source.token()));
  const told = ends.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason.code)));
  process.stdout.write(`${JSON.stringify([...new Set(told)])}\n`);
}
await database.close();
