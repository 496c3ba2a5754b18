import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:https';
import { connect as openTcp } from 'node:net';
import { connect as openTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Sockets } from '../../../src/runtime/public-network/connect-public.ts';
import { type Served, serve } from '../../support/serve.ts';
import { TEST_CERTIFICATE } from '../../support/tls-certificate.ts';
import {
  createWebhookFixture,
  receivedEvent,
  shareDatabase,
  type WebhookFixture,
  WORKSPACE,
} from './fixture.ts';

shareDatabase();

const PUBLIC: LookupAddress[] = [{ address: '93.184.216.34', family: 4 }];

describe('delivery without a tunnel', () => {
  let served: Served;
  let paths: (string | undefined)[];
  let fixture: WebhookFixture;
  let addresses: LookupAddress[];
  let trusted: boolean;

  beforeEach(async () => {
    paths = [];
    addresses = PUBLIC;
    trusted = true;
    const server = createServer(TEST_CERTIFICATE, (request, response) => {
      paths.push(request.url);
      response.writeHead(200).end();
    });
    served = await serve(server);
    // The checked address is on the internet; what is dialled in its place is the server above.
    const sockets: Sockets = {
      tcp: (options) => openTcp(options),
      tls: ({ servername, ALPNProtocols }) =>
        openTls({
          host: '127.0.0.1',
          port: served.port,
          ALPNProtocols,
          ...(servername === undefined ? {} : { servername }),
          ...(trusted ? { ca: TEST_CERTIFICATE.cert } : {}),
        }),
    };
    fixture = await createWebhookFixture({ sockets, lookup: async () => addresses });
  });

  afterEach(async () => {
    await fixture.close();
    await served.close();
  });

  const deliverTo = async (url: string) => {
    await fixture.configuration.put(WORKSPACE, url);
    await fixture.emit(receivedEvent('cmessage1'));
  };
  const failThreeTimes = async () => {
    await fixture.clock.timerSet(500);
    await fixture.clock.advance(500);
    await fixture.clock.timerSet(1_000);
    await fixture.clock.advance(1_000);
    await fixture.delivery.settle();
    const [delivery] = await fixture.delivery.list({ limit: 1 });
    return [...new Set(delivery?.attempts.map(({ error }) => error))];
  };

  it('uses TLS and checks the host name', async () => {
    await deliverTo('https://hooks.example.com/here');
    await fixture.delivery.settle();
    expect(paths).toEqual(['/here']);
    expect((await fixture.delivery.list({ limit: 1 }))[0]?.attempts).toMatchObject([{ status: 200 }]);
  });

  it('sends nothing to a host whose certificate is for a different name', async () => {
    await deliverTo('https://other.example.com/here');
    expect(await failThreeTimes()).toEqual(['err_tls_cert_altname_invalid']);
    expect(paths).toEqual([]);
  });

  it('sends nothing to a host whose certificate is not trusted', async () => {
    trusted = false;
    await deliverTo('https://hooks.example.com/here');
    expect(await failThreeTimes()).toEqual(['depth_zero_self_signed_cert']);
    expect(paths).toEqual([]);
  });
});
