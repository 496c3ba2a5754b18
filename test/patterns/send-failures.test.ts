import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { classifyFailure, readRetryAfter } from '../../src/patterns/send-policy.ts';
import { findFreePort } from '../support/find-free-port.ts';
import { TEST_CERTIFICATE } from '../support/tls-certificate.ts';

const now = Date.UTC(2026, 0, 15, 12);

function read(values: Record<string, string>): number | null {
  return readRetryAfter(new Headers(values), now);
}

describe('Retry-After', () => {
  it.each([
    ['1', 1_000],
    ['0', 0],
    [' 120 ', 120_000],
  ])('reads %j as seconds', (value, expected) => {
    expect(read({ 'retry-after': value })).toBe(expected);
  });

  it.each([
    ['Thu, 15 Jan 2026 12:00:30 GMT', 30_000],
    ['Thursday, 15-Jan-26 12:00:30 GMT', 30_000],
    ['Thu Jan 15 12:00:30 2026', 30_000],
    ['Thu, 15 Jan 2026 11:00:00 GMT', 0],
  ])('reads the date %j', (value, expected) => {
    expect(read({ 'retry-after': value })).toBe(expected);
  });

  it('takes a date relative to the date of the answer, whatever this clock says', () => {
    const headers = { 'retry-after': 'Thu, 15 Jan 2026 18:00:30 GMT', date: 'Thu, 15 Jan 2026 18:00:00 GMT' };
    expect(read(headers)).toBe(30_000);
  });

  it('believes no wait beyond a day', () => {
    expect(read({ 'retry-after': '999999999' })).toBe(86_400_000);
    expect(read({ 'retry-after': 'Thu, 15 Jan 2099 12:00:00 GMT' })).toBe(86_400_000);
  });

  it.each(['', '-1', '1.5', '1e3', '0x10', 'soon', '2026-01-15', '10000000000'])('ignores %j', (value) => {
    expect(read({ 'retry-after': value })).toBeNull();
  });

  it('is null when the header is absent', () => {
    expect(read({})).toBeNull();
  });
});

describe('a failed call', () => {
  const failed = (fields: object): Error => Object.assign(new Error('failed'), fields);

  it.each([
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'UND_ERR_CONNECT_TIMEOUT',
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ])('with %s was never sent, however deep fetch wraps it', (code) => {
    expect(classifyFailure(failed({ code }))).toEqual({ kind: 'not_sent' });
    expect(classifyFailure(new TypeError('fetch failed', { cause: failed({ code }) }))).toEqual({
      kind: 'not_sent',
    });
  });

  it('while it was still being connected was never sent, whatever the operating system calls it', () => {
    expect(classifyFailure(failed({ code: 'ETIMEDOUT', syscall: 'connect' }))).toEqual({ kind: 'not_sent' });
  });

  it.each([
    ['a reset', failed({ code: 'ECONNRESET' })],
    ['a closed socket', failed({ code: 'UND_ERR_SOCKET' })],
    ['no answer in time', failed({ code: 'UND_ERR_HEADERS_TIMEOUT' })],
    ['a caller that gave up', new DOMException('aborted', 'AbortError')],
    ['a route that was lost after the request began', failed({ code: 'EHOSTUNREACH', syscall: 'write' })],
    ['a route that was lost before the answer came', failed({ code: 'ENETUNREACH', syscall: 'read' })],
    ['what is not even an error', 'failed'],
  ])('because of %s may have been sent', (_what, error) => {
    expect(classifyFailure(error)).toEqual({ kind: 'lost' });
    expect(classifyFailure(new TypeError('fetch failed', { cause: error }))).toEqual({ kind: 'lost' });
  });

  it('is told apart for real: nobody listens', async () => {
    const refused = await fetch(`http://127.0.0.1:${await findFreePort()}/`).catch((error: unknown) => error);
    expect(classifyFailure(refused)).toEqual({ kind: 'not_sent' });
  });

  it('is told apart for real: nobody trusts the certificate', async () => {
    let requests = 0;
    const server = createServer(TEST_CERTIFICATE, () => {
      requests += 1;
    });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const refused = await fetch(`https://127.0.0.1:${port}/`, { method: 'POST', body: 'x' }).catch(
      (error: unknown) => error,
    );
    server.close();
    expect(classifyFailure(refused)).toEqual({ kind: 'not_sent' });
    expect(requests).toBe(0);
  });
});
