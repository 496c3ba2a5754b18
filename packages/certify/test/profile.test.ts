import { describe, expect, it } from 'vitest';
import { signRequest } from '../../../src/connector/consumers/sinks/sign-request.ts';
import { CHANGE_TYPES as TYPES_OF_CONNECTOR } from '../../../src/contract/connector/changes.ts';
import { consumerBatchRequest, consumerRequest } from '../../../src/contract/connector/consumer-requests.ts';
import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { CHANGE_TYPES, createConsumerEvents, listOf } from '../src/receiver/consumer-events.ts';
import { otherSecret } from '../src/receiver/context.ts';
import { PROFILES } from '../src/receiver/profile.ts';

describe('the profile messaging', () => {
  it('signs like the vectors of the specification', () => {
    const body = Buffer.from('{}');
    const sent = { secret: 'whsec_7f3a9c1e5b2d4860a1f0', body, at: 1_763_700_000_000, deliveryId: 'any' };
    expect(PROFILES.messaging.sign(sent)).toEqual([
      ['X-Service-Timestamp', '1763700000000'],
      ['X-Service-Signature', 'sha256=8d3efd0058e1c421e1500808884528ec15e64905121a9d1f3684be1a4ab4cb0a'],
    ]);
  });
});

describe('a secret to sign wrongly with', () => {
  it.each(['whsec_7f3a9c1e5b2d4860a1f0', '——', '密钥', 'A', '!?'])('is another one than %s', (secret) => {
    expect(otherSecret(secret)).not.toBe(secret);
  });
});

describe('the profile standard-webhooks', () => {
  // The example of the Standard Webhooks specification.
  const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

  it('signs like the example in its specification', () => {
    const body = Buffer.from('{"test": 2432232314}');
    const deliveryId = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
    const sent = { secret: SECRET, body, at: 1_614_265_330_000, deliveryId };
    expect(PROFILES['standard-webhooks'].sign(sent)).toEqual([
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
    expect(PROFILES['standard-webhooks'].refuseSecret(secret)).toBe(problem);
  });

  it('signs like the connector, with each of two secrets', () => {
    const body = JSON.stringify(createConsumerEvents(systemClock).received());
    const { key } = JSON.parse(body) as { key: string };
    const at = 1_614_265_330_000;
    const [sent, bytes] = [PROFILES['standard-webhooks'], Buffer.from(body)];
    const other = 'whsec_c2VjcmV0LW9mLWEtY29uc3VtZXItMDAwMDAwMDAwMDE=';
    expect(
      Object.fromEntries(
        sent.sign({ secret: `${SECRET} ${other}`, body: bytes, at, deliveryId: sent.idOf(bytes) }),
      ),
    ).toEqual(signRequest({ id: key, now: at, body }, [SECRET, other]));
  });

  it('delivers what the connector does: every type of change, alone and in a list', () => {
    const { other, received, status, connection } = createConsumerEvents(systemClock, 'connection-1');
    const all = [...CHANGE_TYPES.map((type) => other(type)), received(), status('m1', 'read')];
    all.push(connection('connection.disconnected'));
    expect(CHANGE_TYPES.toSorted()).toEqual([...TYPES_OF_CONNECTOR].sort());
    // Parsing removes what the contract does not contain, and misses what is missing.
    for (const each of all) expect(consumerRequest.parse(each)).toEqual(each);
    expect(consumerBatchRequest.parse(listOf(all, 3))).toEqual(listOf(all, 3));
    const keys = all.map(({ key }) => key);
    expect(new Set(keys).size).toBe(all.length);
    expect(PROFILES['standard-webhooks'].idOf(Buffer.from(JSON.stringify(listOf(all))))).toBe(keys.at(-1));
  });
});
