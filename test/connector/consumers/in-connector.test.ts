import { expect, it, onTestFinished } from 'vitest';
import { ConnectorWorld } from '../support/running-connector.ts';

it('a connector that closes waits for the handler, then aborts its call', async () => {
  const world = await ConnectorWorld.open();
  onTestFinished(() => world.close());
  const begun = Promise.withResolvers<AbortSignal>();
  const running = await world.start({
    handlers: {
      onChange: (_, { signal }) => {
        begun.resolve(signal);
        return new Promise(() => undefined);
      },
    },
  });
  const rest = { wa_id: null, from: '447700900201', text: 'Hello', media_url: null, media_type: null };
  const event = {
    event: 'message.received',
    connection_id: 'c1',
    message: { id: 'm1', timestamp: 1, ...rest },
  };
  expect((await running.deliver(event, world.secret)).status).toBe(200);
  running.connector.settle().catch(() => undefined);
  const signal = await begun.promise;
  const closed = running.stop();
  await world.clock.timerSet(8_000);
  expect(signal.aborted).toBe(false);
  await world.clock.advance(8_000);
  expect(signal.aborted).toBe(true);
  await closed;
});
