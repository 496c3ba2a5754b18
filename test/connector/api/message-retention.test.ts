import { afterAll, beforeAll, expect, it } from 'vitest';
import { startLoop } from '../../../src/commands/loop.ts';
import type { ConnectorMessageList } from '../../../src/contract/connector/messages.ts';
import type { Clock } from '../../../src/runtime/clock/clock.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { loopOptions } from '../../../src/testing/loop-options.ts';
import { createTestDatabase } from '../../support/database.ts';
import { dumpDatabase } from '../../support/dump-stores.ts';
import { createLoopClient } from '../../support/loop-client.ts';
import { createCaller } from '../../support/read-lists.ts';

const CONTACT = '447700900201';
const YOUNG = '447700900202';
/** In every text and reference. */
const MARK = 'canary-of-retention';
const DAY = 86_400_000;

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let secrets: ReturnType<typeof loopOptions>['secrets'];

beforeAll(async () => {
  database = await createTestDatabase({ connector: true, platform: true });
  ({ secrets } = loopOptions(database.url));
});
afterAll(() => database.drop());

/** The loop of a day, on the data of the days before. */
async function onDay(day: number) {
  const clock: Clock = Object.create(systemClock, {
    now: { value: () => systemClock.now() + (day - 10) * DAY },
  });
  const loop = await startLoop(
    loopOptions(database.url, {
      secrets,
      clock,
      messageRetentionDays: 7,
      handlers: {
        attempts: 1,
        onChange(change) {
          if (change.type === 'message.created' && change.data.text?.includes('fails'))
            throw new Error(`cannot store ${change.data.text}`);
        },
      },
    }),
  );
  const { sandboxUrl, connectorUrl, connectorToken } = loop.info();
  const connector = createCaller(connectorUrl ?? '', connectorToken ?? '');
  const poll = async () => {
    await connector('POST', '/v1/sync', {});
    await loop.settle();
  };
  return {
    close: () => loop.close(),
    settle: () => loop.settle(),
    connector,
    connectionId: await createLoopClient(loop.info()).qrConnection(),
    poll,
    async write(phone: string, text: string) {
      const { connectionId } = this;
      await createCaller(`${sandboxUrl}/sandbox/v1`)('POST', `/contacts/${phone}/messages`, {
        connectionId,
        text,
      });
      await loop.settle();
    },
    texts: async () =>
      (await connector<ConnectorMessageList>('GET', '/v1/messages')).messages.map(({ text }) => text),
  };
}

/** The tables of the connector that contain the number or a text of the contact. */
async function found(): Promise<string[]> {
  const tables = (await dumpDatabase(database.url)).split('\n== ');
  const own = tables.filter((text) => text.startsWith('connector.'));
  expect(own.length).toBeGreaterThan(20);
  return own
    .filter((text) => text.includes(MARK) || text.includes(CONTACT))
    .map((text) => text.split(/\s/, 1)[0]?.replace(/_\d+$/, '') ?? '');
}

it('after its days, a message stands in no table of the connector, and polling brings nothing back', async () => {
  const first = await onDay(1);
  for (const text of [`${MARK} one`, `${MARK} fails`]) await first.write(CONTACT, text);
  const { connectionId } = first;
  const send = { connectionId, to: CONTACT, text: `${MARK} answer`, reference: `${MARK}-1` };
  await first.connector('POST', '/v1/messages', send);
  await first.settle();
  await first.poll();
  await first.close();
  const everywhere = ['changes', 'dead_letters', 'inbox', 'messages', 'outbound'];
  expect(await found()).toEqual(everywhere.map((name) => `connector.${name}`));
  // A period that can be dropped as a whole.
  expect(await dumpDatabase(database.url)).toMatch(/^== connector\.messages_\d{13}$/m);

  // Ages count from the last good poll.
  const tenth = await onDay(10);
  await tenth.write(YOUNG, 'young');
  await tenth.poll();
  await tenth.close();
  const again = await onDay(10);
  await expect.poll(found).toEqual([]);
  await again.poll();
  expect(await found()).toEqual([]);
  expect(await again.texts()).toEqual(['young']);
  await again.close();
});
