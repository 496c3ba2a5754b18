import type { LookupAddress } from 'node:dns';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readAddressVectors } from '../../support/address-vectors.ts';
import { ofFile } from '../../support/of-file.ts';
import { seedWorkspace, startTestPlatform } from '../../support/platform.ts';
import { proves } from '../../support/proves.ts';
import { WatchedClock } from '../../support/watched-clock.ts';

const vectors = readAddressVectors();
const clock = new WatchedClock();
/** What every name leads to, and the names that were asked for. */
let addresses: readonly LookupAddress[] = [];
let asked: string[] = [];
const tunnels = new Map<string, string>();

function leadsTo(...found: readonly string[]): void {
  addresses = found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

/** Counts connections on every address of this machine, loopback of both families included. */
const listener = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
let connections = 0;
let port = 0;
let seeded: Awaited<ReturnType<typeof seedWorkspace>>;

const service = ofFile(() =>
  startTestPlatform({
    clock,
    ports: {
      hosts: { target: (host) => tunnels.get(host) },
      lookup: async (host) => {
        asked.push(host);
        return addresses;
      },
    },
  }),
);

beforeAll(async () => {
  await new Promise<void>((resolve) => listener.listen(0, resolve));
  ({ port } = listener.address() as AddressInfo);
  seeded = await seedWorkspace(service);
});

afterAll(() => new Promise((resolve) => listener.close(resolve)));

beforeEach(() => {
  asked = [];
  connections = 0;
  tunnels.clear();
  leadsTo('127.0.0.1');
});

const put = (url: string) =>
  service.call('PUT', '/webhook', { key: seeded.key, body: { url: url.replace('{port}', String(port)) } });

/** Lets all three attempts of an event pass; answers how they ended. */
const tellOnce = async (): Promise<(string | undefined)[]> => {
  await service.platform.messages.receive(seeded.connectionId, { from: '491700000009', text: 'hello' });
  for (const ms of [500, 1_000]) await clock.pass(ms);
  await service.platform.delivery.settle();
  const [delivery] = await service.platform.delivery.list({ limit: 1 });
  return delivery?.attempts.map(({ error }) => error) ?? [];
};

const isInvalid = { status: 400, body: { error: 'invalid_webhook' } };

describe('PUT /webhook', () => {
  afterEach(() => expect(connections).toBe(0));

  it('refuses a name that resolves to a private address, also among others', async () => {
    proves('choice.webhook.unresolved');
    for (const { what, addresses: found } of vectors.refused_when_it_leads_to) {
      leadsTo(...found);
      const { status, body } = await put('https://crm.example.com:{port}/');
      expect({ status, body }, what).toEqual(isInvalid);
    }
    expect(asked).toHaveLength(vectors.refused_when_it_leads_to.length);
  });
});

describe('a webhook that was public when it was set', () => {
  it('receives nothing once its name resolves to a private address', async () => {
    leadsTo('93.184.216.34');
    await put('https://crm.example.com:{port}/');
    leadsTo('127.0.0.1');
    expect(await tellOnce()).toEqual(['address_refused', 'address_refused', 'address_refused']);
    leadsTo('93.184.216.34', '::1');
    expect(await tellOnce()).toEqual(['address_refused', 'address_refused', 'address_refused']);
    expect(connections).toBe(0);
  });
});
