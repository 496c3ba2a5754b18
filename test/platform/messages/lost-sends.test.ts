import { beforeAll, expect, test } from 'vitest';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

const clock = new WatchedClock();
const service = ofFile(() => startTestPlatform({ clock, ports: { random: () => 0 } }));
let seeded: Awaited<ReturnType<typeof seedWorkspace>>;
const to = '4915300000001';
beforeAll(async () => {
  seeded = await seedWorkspace(service);
});

const keys = () => service.database.query('SELECT 1 FROM platform.sends');
const send = (idempotencyKey: string) =>
  service.call('POST', '/messages', {
    key: seeded.key,
    body: { connectionId: seeded.connectionId, to, text: '0123456789', idempotencyKey },
  });

test('a key is stored with its message, so that a crash before that frees it', async () => {
  proves('choice.send-key.remembers');
  service.platform.timing.setSendScale(1);
  clock.forget();
  const sending = send('slow');
  await clock.timerSet(1_300);
  expect(await keys()).toEqual([]);
  await clock.advance(1_300);
  expect((await sending).status).toBe(200);
  expect(await keys()).toHaveLength(1);
  service.platform.timing.reset();
});

test('answers with expired keys are deleted by a later send, so that they do not accumulate', async () => {
  await send('today');
  await service.platform.time.advance({ ms: 86_400_000 });
  await send('tomorrow');
  expect(await keys()).toHaveLength(1);
});
