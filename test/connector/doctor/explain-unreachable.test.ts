import { describe, expect, it } from 'vitest';
import { explainUnreachable } from '../../../src/connector/doctor/explain-unreachable.ts';
import { ServiceUnreachable } from '../../../src/connector/service-client/service-errors.ts';

const failing = (code: string): Error =>
  new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) });

describe('the reason why an address cannot be reached', () => {
  it.each([
    ['ENOTFOUND', 'name'],
    ['EAI_AGAIN', 'name'],
    ['ECONNREFUSED', 'refused'],
    ['EHOSTUNREACH', 'route'],
    ['UND_ERR_CONNECT_TIMEOUT', 'deadline'],
    ['CERT_HAS_EXPIRED', 'tls'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
    ['ECONNRESET', 'cut_off'],
  ])('of %s is %s', (code, kind) => {
    expect(explainUnreachable(new ServiceUnreachable('network', failing(code)), 'service.example').kind).toBe(
      kind,
    );
  });

  it('is a time-out if our own deadline has passed', () => {
    const explained = explainUnreachable(new ServiceUnreachable('deadline'), 'service.example');
    expect(explained).toMatchObject({
      kind: 'deadline',
      says: 'service.example does not answer in time (time-out).',
    });
  });

  it('is found in the errors of several addresses', () => {
    const all = new AggregateError([Object.assign(new Error(), { code: 'ECONNREFUSED' })]);
    expect(explainUnreachable(new TypeError('fetch failed', { cause: all }), 'service.example').kind).toBe(
      'refused',
    );
  });

  it('is a closed connection if the error has no code', () => {
    expect(explainUnreachable(new Error('?'), 'service.example').kind).toBe('cut_off');
  });
});
