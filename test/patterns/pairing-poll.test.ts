import fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { PairingEnd, PairingWait } from '../../src/contract/connector/pairing.ts';
import {
  judgePairing,
  nextReadAfter,
  type PairingPause,
  type PairingRead,
  type PairingStep,
  type PairingStop,
  pollPairing,
} from '../../src/patterns/pairing-poll.ts';

const detail = (status: string | null, qr: string | null = null, provider = 'qr'): PairingRead => ({
  kind: 'detail',
  provider,
  status,
  qr,
});
const refused = (status: number, code = '', retryAfterMs: number | null = null): PairingRead => ({
  kind: 'refused',
  status,
  code,
  retryAfterMs,
});
const lost: PairingRead = { kind: 'lost' };

describe('the step after a read', () => {
  it.each<[string, PairingRead, PairingStep]>([
    ['a picture', detail('connecting', 'A'), { next: 'show', qr: 'A', status: 'connecting' }],
    [
      'a picture and the status pairing',
      detail('pairing', 'A'),
      { next: 'show', qr: 'A', status: 'pairing' },
    ],
    [
      'a broken session that pairs',
      detail('disconnected', 'A'),
      { next: 'show', qr: 'A', status: 'disconnected' },
    ],
    ['no picture yet', detail('connecting'), { next: 'wait', reason: 'no_picture' }],
    [
      'an answer of JSON without the field',
      { kind: 'detail', provider: 'qr', status: 'connecting' },
      { next: 'wait', reason: 'no_picture' },
    ],
    ['an empty picture', detail('connecting', ''), { next: 'wait', reason: 'no_picture' }],
    ['connected', detail('connected'), { next: 'connected', status: 'connected' }],
    ['open, as the list says', detail('open'), { next: 'connected', status: 'open' }],
    ['connected, with a last picture', detail('connected', 'A'), { next: 'connected', status: 'connected' }],
    ['logged out', detail('disconnected'), { next: 'stop', reason: 'disconnected' }],
    [
      'the business platform',
      detail('connected', null, 'cloud_api'),
      { next: 'stop', reason: 'not_supported_for_provider' },
    ],
    ['no such connection', refused(404, 'not_found'), { next: 'stop', reason: 'not_found' }],
    ['a revoked key', refused(401, 'invalid_key'), { next: 'stop', reason: 'refused' }],
    ['the page of a proxy', refused(404), { next: 'wait', reason: 'service_unreachable' }],
    ['a redirect to a login', refused(302), { next: 'wait', reason: 'service_unreachable' }],
    ['a proxy that asks for a password', refused(401), { next: 'wait', reason: 'service_unreachable' }],
    ['a new code', refused(409, 'a_new_code'), { next: 'wait', reason: 'service_unreachable' }],
    ['a missing scope', refused(403, 'insufficient_scope'), { next: 'stop', reason: 'refused' }],
    ['too many requests', refused(429), { next: 'wait', reason: 'rate_limited' }],
    ['a service that failed', refused(500), { next: 'wait', reason: 'service_unreachable' }],
    ['a proxy that gave up', refused(504), { next: 'wait', reason: 'service_unreachable' }],
    ['no answer', lost, { next: 'wait', reason: 'service_unreachable' }],
  ])('%s', (_what, read, step) => {
    expect(judgePairing(read)).toEqual(step);
  });

  it('has the values of the contract', () => {
    expectTypeOf<PairingPause>().toEqualTypeOf<PairingWait>();
    // A stopping process is a reason only of the connector; the file to copy does not have it.
    expectTypeOf<PairingStop>().toEqualTypeOf<Exclude<PairingEnd, 'closing'>>();
  });
});

describe('the wait for the next read', () => {
  it('is 3 to 5 s after an answer', () => {
    expect(nextReadAfter(detail('connecting', 'A'), 0, 0)).toBe(3_000);
    expect(nextReadAfter(detail('connecting', 'A'), 0, 1)).toBe(5_000);
  });

  it('grows to up to 30 s while there is no answer', () => {
    expect([1, 2, 3, 4, 5, 50].map((failures) => nextReadAfter(lost, failures, 0))).toEqual([
      3_000, 6_000, 12_000, 24_000, 30_000, 30_000,
    ]);
  });

  it('respects Retry-After up to a minute', () => {
    expect(nextReadAfter(refused(429, 'rate_limited', 45_000), 1, 0)).toBe(45_000);
    expect(nextReadAfter(refused(429, 'rate_limited', 3_600_000), 1, 0)).toBe(60_000);
    expect(nextReadAfter(refused(429, 'rate_limited', 0), 1, 0)).toBe(3_000);
  });

  it('is never shorter than 3 s and never longer than a minute', () => {
    const read = fc.oneof(
      fc.constant(lost),
      fc.constant(detail('connecting', 'A')),
      fc
        .tuple(
          fc.integer({ min: 400, max: 599 }),
          fc.constantFrom('', 'not_found', 'invalid_key'),
          fc.option(fc.oneof(fc.nat(), fc.constant(Number.NaN))),
        )
        .map(([s, c, r]) => refused(s, c, r)),
    );
    fc.assert(
      fc.property(
        read,
        fc.nat(10_000),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (each, failures, random) => {
          const wait = nextReadAfter(each, failures, random);
          expect(wait).toBeGreaterThanOrEqual(3_000);
          expect(wait).toBeLessThanOrEqual(60_000);
        },
      ),
    );
  });
});

/** Plays these reads, then repeats the last one; time passes only by sleeping. */
async function play(reads: readonly PairingRead[], forMs = 900_000) {
  const seen: string[] = [];
  const waits: number[] = [];
  let elapsed = 1_000_000;
  let place = 0;
  const result = await pollPairing(
    {
      read: () => Promise.resolve(reads[Math.min(place++, reads.length - 1)] ?? lost),
      show: (step) => seen.push(step.next === 'show' ? step.qr : step.reason),
      sleep: (ms) => {
        waits.push(ms);
        elapsed += ms;
        return Promise.resolve();
      },
      elapsed: () => elapsed,
      random: () => 0.5,
    },
    forMs,
  );
  return { result, seen, waits, reads: place };
}

describe('polling for a pairing', () => {
  it('shows each QR code until the number is connected', async () => {
    const played = await play([detail('connecting', 'A'), detail('connecting', 'B'), detail('connected')]);
    expect(played).toEqual({
      result: { next: 'connected', status: 'connected' },
      seen: ['A', 'B'],
      waits: [4_000, 4_000],
      reads: 3,
    });
  });

  it('continues through an outage, and then waits as before', async () => {
    const { seen, waits } = await play([lost, lost, detail('connecting', 'A'), lost, detail('connected')]);
    expect(seen).toEqual(['service_unreachable', 'service_unreachable', 'A', 'service_unreachable']);
    expect(waits).toEqual([4_000, 8_000, 4_000, 4_000]);
  });

  it('ends if the connection is logged out or deleted meanwhile', async () => {
    const loggedOut = await play([detail('connecting', 'A'), detail('disconnected')]);
    expect(loggedOut.result).toEqual({ next: 'stop', reason: 'disconnected' });
    const deleted = await play([detail('connecting', 'A'), refused(404, 'not_found')]);
    expect(deleted.result).toEqual({ next: 'stop', reason: 'not_found' });
  });

  it('ends by itself if nobody pairs', async () => {
    const played = await play([detail('connecting', 'A')], 60_000);
    expect(played.result).toEqual({ next: 'stop', reason: 'expired' });
    expect(played.waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(60_000);
    expect(played.reads).toBe(16);
  });

  it('reports each time that there is no QR code, and stops after three minutes without one', async () => {
    const played = await play([detail('connecting', 'A'), detail('connecting')]);
    expect(played.result).toEqual({ next: 'stop', reason: 'no_picture' });
    expect(played.seen).toEqual(['A', ...Array.from({ length: 45 }, () => 'no_picture')]);
    // From the first answer without a QR code to the last one: 45 waits of 4 s.
    expect(played.waits.slice(1).reduce((sum, ms) => sum + ms, 0)).toBe(180_000);
  });

  it('restarts the three minutes after a QR code and after a lost answer', async () => {
    const without = Array.from({ length: 40 }, () => detail('connecting'));
    const played = await play([
      ...without,
      detail('connecting', 'A'),
      ...without,
      lost,
      ...without,
      detail('connected'),
    ]);
    expect(played.result).toEqual({ next: 'connected', status: 'connected' });
  });

  it('rejects with the error of an aborted wait', async () => {
    const io = {
      read: () => Promise.resolve(detail('connecting', 'A')),
      show: () => undefined,
      sleep: () => Promise.reject(new Error('given up')),
      elapsed: () => 0,
      random: () => 0,
    };
    await expect(pollPairing(io, 60_000)).rejects.toThrow('given up');
  });
});
