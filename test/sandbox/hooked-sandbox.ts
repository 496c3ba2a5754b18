import { beforeEach } from 'vitest';
import { ofFile } from '../support/of-file.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { WatchedClock } from '../support/watched-clock.ts';
import { type SandboxAnswer, startTestSandbox, type TestSandbox } from './fixture.ts';

/** A sandbox whose seeded workspace has a webhook that leads to a receiver. */
export interface HookedSandbox extends Pick<TestSandbox, 'api' | 'call' | 'service' | 'sandbox' | 'port'> {
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
  let receiver: Receiver;
  let secret = '';
  let connectionId = '';

  const call: TestSandbox['call'] = (...args) => test.call(...args);
  const api: TestSandbox['api'] = (...args) => test.api(...args);

  beforeEach(async () => {
    await call('POST', '/reset');
    clock.forget();
    receiver = await startReceiver();
    await call('PUT', `/hosts/${HOST}`, { target: receiver.origin });
    ({ secret } = (await api('PUT', '/webhook', { url: `https://${HOST}/` })).body);
    connectionId = await test.qrConnection();
    return () => receiver.close();
  });

  return {
    clock,
    call,
    api,
    write: (text = 'hello') => call('POST', '/contacts/491700000009/messages', { connectionId, text }),
    get service() {
      return test.service;
    },
    get sandbox() {
      return test.sandbox;
    },
    get port() {
      return test.port;
    },
    get receiver() {
      return receiver;
    },
    get secret() {
      return secret;
    },
    get connectionId() {
      return connectionId;
    },
  };
}
