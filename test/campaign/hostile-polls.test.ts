import { expect, onTestFinished, test } from 'vitest';
import { checkFeed, checkFinalStates } from '../support/check-invariants.ts';
import { exchangeMessages, readQrConnections } from '../support/exchange-messages.ts';
import { readFeed } from '../support/follow-feed.ts';
import { startTestLoop } from '../support/loop.ts';
import { readAllMessages } from '../support/read-lists.ts';
import { createShiftedClock } from '../support/shifted-clock.ts';

const MESSAGES = 600;
const LATER = 200;
const LONGEST_WAIT_MS = 10 * 60_000;
const TRIES = 24;

const list = { surface: 'api', method: 'GET', path: '/messages' };
const FAULTS = {
  seed: 7,
  rules: [
    { id: 'lost', match: { surface: 'webhook' }, action: { type: 'drop' }, per: 'event' },
    { id: 'broken', match: list, action: { type: 'status', code: 500 }, probability: 0.15 },
    {
      id: 'limited',
      match: list,
      action: { type: 'status', code: 429, error: 'rate_limited' },
      probability: 0.1,
    },
    { id: 'cut', match: list, action: { type: 'reset' }, probability: 0.1 },
  ],
};

interface Faults {
  readonly rules: readonly { readonly id: string; readonly hits: number }[];
}

test('polls alone store 1,600 messages with the same timestamp, despite errors and inserts during a walk', async () => {
  const clock = createShiftedClock();
  const loop = await startTestLoop({ clock, reconcileIntervalMs: 3_600_000 });
  onTestFinished(() => loop.close());
  const { sandbox, service } = loop;
  const people = {
    sandbox,
    service,
    connectionIds: await readQrConnections(service),
    phones: ['447700900201', '447700900202'],
  };
  await loop.connector('POST', '/v1/sync', {});
  await sandbox('POST', '/clock/freeze');
  await sandbox('PUT', '/faults', FAULTS);
  await exchangeMessages({ ...people, names: names('first', MESSAGES) });

  const later = exchangeMessages({ ...people, names: names('later', LATER) });
  let refused = 0;
  for (let tries = 0; tries < TRIES; tries += 1) {
    refused += await loop.connector('POST', '/v1/sync', {}).then(
      () => 0,
      () => 1,
    );
    // Skips every wait, whether the service requested it or the connector chose it.
    clock.shift(LONGEST_WAIT_MS);
  }
  await later;
  const { rules } = await sandbox<Faults>('GET', '/faults');
  for (const id of ['broken', 'limited', 'cut'])
    expect(rules.find((rule) => rule.id === id)?.hits).toBeGreaterThan(0);
  expect(refused).toBeGreaterThan(0);

  await sandbox('DELETE', '/faults');
  clock.shift(LONGEST_WAIT_MS);
  await loop.connector('POST', '/v1/sync', {});
  const truth = await readAllMessages(loop.service, '/messages?limit=100');
  expect(truth).toHaveLength(2 * (MESSAGES + LATER));
  const page = await service<{ messages: { createdAt: string }[] }>('GET', '/messages?limit=100');
  expect(new Set(page.messages.map(({ createdAt }) => createdAt)).size).toBe(1);
  expect(checkFinalStates(await readAllMessages(loop.connector, '/v1/messages?limit=1000'), truth)).toEqual(
    [],
  );
  expect(checkFeed(await readFeed(loop.connectorUrl, loop.connectorToken))).toEqual([]);
});

function names(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, number) => `${prefix} ${number}`);
}
