/*
 * A process that uses one grant many times at once, for tests that count what goes over the wire, and for tests that
 * kill it. It gets all it needs as one JSON argument, says `ready`, waits for a line, and prints what became of it.
 */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createAuthorizationServer } from '../../../src/connector/oauth/authorization-server.ts';
import { createGrantCredentials } from '../../../src/connector/oauth/grant-credentials.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';
import { createKeyRing } from '../../../src/runtime/sealing/key-ring.ts';

const { databaseUrl, sealingKey, accountId, app, uses } = JSON.parse(process.argv[2] ?? '{}');
const logger = createLogger({ level: 'silent', name: 'child' });
const database = openDatabase({ url: databaseUrl, name: 'child', poolSize: 3, clock: systemClock, logger });
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
process.stdout.write('ready\n');
await once(process.stdin, 'data');
const source = credentials.of(accountId);
const ends = await Promise.allSettled(Array.from({ length: uses }, () => source.authorization()));
const told = ends.map((end) => (end.status === 'fulfilled' ? end.value : String(end.reason.code)));
await database.close();
process.stdout.write(`${JSON.stringify([...new Set(told)])}\n`);
process.stdin.destroy();
