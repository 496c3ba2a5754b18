/*
 * A process that writes: `node writer-process.ts <url> <connection> <messages>`. It receives messages and their
 * statuses in small batches, numbers changes as a connector does, and ends.
 */
import { commitBatch } from '../../../src/connector/db/commit-batch.ts';
import type { MessageFacts } from '../../../src/connector/db/facts.ts';
import { createSequencer } from '../../../src/connector/feed/sequencer.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { openDatabase } from '../../../src/runtime/database/database.ts';
import { createLogger } from '../../../src/runtime/logger/logger.ts';

const [url = '', connectionId = '', messages = '0'] = process.argv.slice(2);
const logger = createLogger({ level: 'error', name: 'writer', destination: 'stderr' });
const database = openDatabase({ url, name: 'writer', poolSize: 3, clock: systemClock, logger });
const sequencer = createSequencer({ database, clock: systemClock, logger, onNumbered: () => undefined });

function told(messageId: string, step: number): MessageFacts {
  return {
    connectionId,
    messageId,
    accountId: 'account-1',
    source: 'webhook',
    direction: 'outgoing',
    peer: null,
    text: null,
    mediaUrl: null,
    mediaType: null,
    status: (['sent', 'delivered', 'read'] as const)[step] ?? 'sent',
    errorMessage: null,
    reference: null,
    waMessageId: null,
    createdAt: 1_768_478_400_000 + step,
    webhookSeen: 2 << step,
  };
}

async function write(index: number): Promise<void> {
  for (let step = 0; step < 3; step += 1) {
    const message = told(`${connectionId}-${index}`, step);
    await commitBatch(database, {
      now: systemClock.now(),
      deliveries: [
        {
          subscriptionId: 's',
          accountId: 'account-1',
          receivedAt: systemClock.now(),
          signedAt: systemClock.now(),
          body: Buffer.from('{}'),
          event: 'message.status',
          message,
        },
      ],
    });
    sequencer.notify();
  }
}

const count = Number(messages);
const queues = [0, 1, 2].map(async (queue) => {
  for (let index = queue; index < count; index += 3) await write(index);
});
await Promise.all(queues);
await sequencer.close();
await database.close();
