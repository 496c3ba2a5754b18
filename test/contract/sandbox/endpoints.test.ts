import { describe, expect, it } from 'vitest';
import { SANDBOX_ENDPOINTS } from '../../../src/contract/sandbox/endpoints.ts';
import { SANDBOX_ERRORS } from '../../../src/contract/sandbox/errors.ts';
import type { EndpointDefinition } from '../../../src/contract/schema/endpoint.ts';
import { isErrorCode } from '../../../src/contract/service/errors.ts';

const endpoints: readonly EndpointDefinition[] = Object.values(SANDBOX_ENDPOINTS);

/** The call that reads what another call set or did; null for calls that change nothing. */
const READ_AT: Readonly<Record<string, string | null>> = {
  'POST /reset 200': '/info',
  'POST /clock/advance 200': '/clock',
  'POST /clock/freeze 200': '/clock',
  'POST /clock/run 200': '/clock',
  'PUT /timing 200': '/timing',
  'PUT /faults 200': '/faults',
  'POST /faults 200': '/faults',
  'DELETE /faults 200': '/faults',
  'DELETE /faults/{id} 200': '/faults',
  'POST /workspaces 201': '/workspaces',
  'POST /workspaces/{id}/api-keys 201': '/workspaces',
  'PATCH /api-keys/{id} 200': '/workspaces',
  'DELETE /api-keys/{id} 200': '/workspaces',
  'POST /api-keys/{id}/try 200': null,
  'POST /workspaces/{id}/connections 201': '/connections',
  'PUT /connections/{id}/licence 200': '/connections/{id}',
  'POST /connections/{id}/scan 200': '/connections/{id}',
  'POST /connections/{id}/enter-code 200': '/connections/{id}',
  // Whether an outage heals is shown by the timer that it set.
  'POST /connections/{id}/outage 200': '/clock/due',
  'POST /connections/{id}/recover 200': '/connections/{id}',
  'POST /connections/{id}/phone 200': '/connections/{id}',
  'PUT /contacts/{phone} 200': '/contacts/{phone}',
  'POST /contacts/{phone}/messages 201': '/messages',
  'POST /messages/{id}/status 200': '/messages',
  'POST /workspaces/{id}/user-codes 201': '/grants',
  'POST /oauth-apps 201': '/oauth-apps',
  'PUT /oauth-apps/{id}/webhook 200': '/webhooks',
  'PATCH /grants/{id} 200': '/grants',
  'DELETE /grants/{id} 200': '/grants',
  'POST /deliveries/{id}/resend 200': '/deliveries/{id}',
  'POST /deliveries/{id}/copies 201': '/deliveries',
  'POST /deliveries/{id}/explain-signature 200': null,
  'POST /deliveries/{id}/hold 200': '/deliveries/{id}',
  'POST /deliveries/{id}/release 200': '/deliveries/{id}',
  'PUT /hosts/{host} 200': '/hosts',
  'DELETE /hosts/{host} 200': '/hosts',
  'POST /snapshots 201': '/snapshots',
  'POST /snapshots/{id}/restore 200': '/info',
  'DELETE /snapshots/{id} 200': '/snapshots',
  'POST /wait 200': null,
  'POST /verify 200': null,
};

describe('the endpoints of the control API', () => {
  const paths = (ofMethod: (method: string) => boolean) =>
    endpoints
      .filter(({ method }) => ofMethod(method))
      .map(({ method, path, answers }) => `${method} ${path} ${answers[0]?.status}`)
      .toSorted();

  it('are complete, with their success status', () => {
    expect(paths((method) => method !== 'GET')).toEqual(Object.keys(READ_AT).toSorted());
    expect(paths((method) => method === 'GET')).toEqual([
      'GET /calls 200',
      'GET /calls/{id} 200',
      'GET /clock 200',
      'GET /clock/due 200',
      'GET /connections 200',
      'GET /connections/{id} 200',
      'GET /contacts 200',
      'GET /contacts/{phone} 200',
      'GET /contacts/{phone}/messages 200',
      'GET /deliveries 200',
      'GET /deliveries/counts 200',
      'GET /deliveries/{id} 200',
      'GET /events 200',
      'GET /faults 200',
      'GET /grants 200',
      'GET /hosts 200',
      'GET /info 200',
      'GET /ledger 200',
      'GET /messages 200',
      'GET /oauth-apps 200',
      'GET /recording 200',
      'GET /snapshots 200',
      'GET /timing 200',
      'GET /webhooks 200',
      'GET /workspaces 200',
    ]);
  });

  it('can refuse a foreign origin, and another media type if they have a body', () => {
    for (const { method, path, errors } of endpoints) {
      expect(errors, path).toContain('foreign_origin');
      if (method !== 'GET' && method !== 'DELETE') expect(errors, path).toContain('unsupported_media_type');
    }
  });

  it('answer only codes from a table, each listed once', () => {
    for (const { path, errors } of endpoints) {
      expect(new Set(errors).size, path).toBe(errors.length);
      expect(
        errors.filter((code) => !Object.hasOwn(SANDBOX_ERRORS, code) && !isErrorCode(code)),
        path,
      ).toEqual([]);
    }
  });

  it('can read everything that they set', () => {
    const known = paths((method) => method === 'GET');
    for (const read of Object.values(READ_AT)) if (read !== null) expect(known).toContain(`GET ${read} 200`);
  });

  it('refuse an old QR code with 409', () => {
    expect(SANDBOX_ENDPOINTS.scan.errors).toContain('qr_expired');
    expect(SANDBOX_ERRORS.qr_expired.status).toBe(409);
  });
});
