import { createHmac, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { closeServer } from '../../conformance/test/graded-service.ts';
import { PROFILES, type Profile } from '../src/receiver/profile.ts';
import { runReceiverSuite } from '../src/receiver/run-receiver-suite.ts';

function profileOf(name: string): Profile {
  const profile = PROFILES[name];
  if (profile === undefined) throw new Error(`there is no profile ${name}`);
  return profile;
}

describe('the profile messaging', () => {
  it('signs like the vectors of the specification', () => {
    const body = Buffer.from('{}');
    const sent = { secret: 'whsec_7f3a9c1e5b2d4860a1f0', body, at: 1_763_700_000_000, deliveryId: 'any' };
    expect(profileOf('messaging').sign(sent)).toEqual([
      ['X-Service-Timestamp', '1763700000000'],
      ['X-Service-Signature', 'sha256=8d3efd0058e1c421e1500808884528ec15e64905121a9d1f3684be1a4ab4cb0a'],
    ]);
  });
});

describe('the profile standard-webhooks', () => {
  // The example of the Standard Webhooks specification.
  const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

  it('signs like the example in its specification', () => {
    const body = Buffer.from('{"test": 2432232314}');
    const deliveryId = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
    const sent = { secret: SECRET, body, at: 1_614_265_330_000, deliveryId };
    expect(profileOf('standard-webhooks').sign(sent)).toEqual([
      ['webhook-id', 'msg_p5jXN8AQM9LWM0D4loKWxJek'],
      ['webhook-timestamp', '1614265330'],
      ['webhook-signature', 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='],
    ]);
  });

  it.each([
    [SECRET, undefined],
    ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'must be whsec_ and the key in base64'],
    ['whsec_not base64', 'must be whsec_ and the key in base64'],
  ])('reports for the secret %s: %s', (secret, problem) => {
    expect(profileOf('standard-webhooks').refuseSecret(secret)).toBe(problem);
  });

  it('is passed by a correct receiver', async () => {
    const key = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64');
    const isGenuine = ({ headersDistinct: headers }: IncomingMessage, body: Buffer): boolean => {
      const [id] = headers['webhook-id'] ?? [];
      const [timestamp = ''] = headers['webhook-timestamp'] ?? [];
      const [signature = '', another] = headers['webhook-signature'] ?? [];
      const age = Math.abs(systemClock.now() / 1000 - Number(timestamp));
      if (another !== undefined || !/^\d+$/.test(timestamp) || age > 300) return false;
      const [, given] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(signature) ?? [];
      const right = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
      return given !== undefined && timingSafeEqual(Buffer.from(given, 'base64'), right);
    };
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const status = request.method !== 'POST' ? 405 : isGenuine(request, Buffer.concat(chunks)) ? 204 : 401;
      response.writeHead(status).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { results, verdict } = await runReceiverSuite({
      inputs: {
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
        secret: SECRET,
        profile: profileOf('standard-webhooks'),
      },
      tiers: ['W'],
      clock: systemClock,
      signal: new AbortController().signal,
    });
    await closeServer(server);
    expect(results.filter(({ result, unlock }) => result !== 'pass' && unlock === undefined)).toEqual([]);
    expect(verdict).toBe('conforms');
  });
});
