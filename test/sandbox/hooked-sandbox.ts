import { ofFile, ofTest } from '../support/of-file.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { WatchedClock } from '../support/watched-clock.ts';
import { type SandboxAnswer, startTestSandbox, type TestSandbox } from './fixture.ts';

/** A sandbox whose seeded workspace has a webhook that leads to a receiver. */
export interface HookedSandbox extends Omit<TestSandbox, 'close'> {
  readonly clock: WatchedClock;
  readonly receiver: Receiver;
  readonly secret: string;
  /** A `qr` connection of the workspace. */
  readonly connectionId: string;
  /** A person writes to the connection. */
  write(text?: string): Promise<SandboxAnswer>;
}

const HOST = 'crm.example.com';

/** Makes one for a file; each test finds it reset. */
export function useHookedSandbox(): HookedSandbox {
  const clock = new WatchedClock();
  const test = ofFile(() => startTestSandbox({ clock }));
  return ofTest(async () => {
    const { call, api, service, sandbox, ports, port, qrConnection, again } = test;
    await call('POST', '/reset');
    clock.forget();
    const receiver = await startReceiver();
    await call('PUT', `/hosts/${HOST}`, { target: receiver.origin });
    const { secret } = (await api('PUT', '/webhook', { url: `https://${HOST}/` })).body;
    const connectionId = await qrConnection();
    return {
      ...{ clock, call, api, service, sandbox, ports, port, qrConnection, again },
      ...{ receiver, secret, connectionId },
      write: (text = 'hello') => call('POST', '/contacts/491700000009/messages', { connectionId, text }),
      close: () => receiver.close(),
    };
  });
}
