import { beforeEach } from 'vitest';
import { ofFile } from '../support/of-file.ts';
import type { ApiAnswer } from '../support/platform.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { WatchedClock } from '../support/watched-clock.ts';
import { type SandboxAnswer, startTestSandbox, type TestSandbox } from './fixture.ts';

/** A sandbox whose seeded workspace has a webhook that leads to a receiver. */
export interface HookedSandbox extends Pick<TestSandbox, 'call' | 'service' | 'sandbox' | 'port'> {
  readonly clock: WatchedClock;
  readonly receiver: Receiver;
  readonly secret: string;
  /** A `qr` connection of the workspace. */
  readonly connectionId: string;
  /** Calls the service with the seeded key; `faulted` for an answer that a fault makes up. */
  api(method: string, path: string, body?: unknown, options?: { faulted?: boolean }): Promise<ApiAnswer>;
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
  const api: HookedSandbox['api'] = (method, path, body, options = {}) =>
    test.service.call(method, path, {
      key: test.sandbox.seed.apiKey,
      ...options,
      ...(body === undefined ? {} : { body }),
    });

  beforeEach(async () => {
    await call('POST', '/reset');
    clock.forget();
    receiver = await startReceiver();
    await call('PUT', `/hosts/${HOST}`, { target: receiver.origin });
    const { body: put } = await api('PUT', '/webhook', { url: `https://${HOST}/` });
    ({ secret } = put as { secret: string });
    const { body: list } = await api('GET', '/connections');
    const { connections } = list as { connections: { id: string; provider: string }[] };
    connectionId = connections.find(({ provider }) => provider === 'qr')?.id ?? '';
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
