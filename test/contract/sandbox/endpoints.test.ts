import { describe, expect, it } from 'vitest';
import { SANDBOX_ENDPOINTS } from '../../../src/contract/sandbox/endpoints.ts';
import { SANDBOX_ERRORS } from '../../../src/contract/sandbox/errors.ts';
import type { EndpointDefinition } from '../../../src/contract/schema/endpoint.ts';
import { isErrorCode } from '../../../src/contract/service/errors.ts';

const endpoints: readonly EndpointDefinition[] = Object.values(SANDBOX_ENDPOINTS);

/** The call that reads what another call set or did; null for calls that change nothing. */
const READ_AT: Readonly<Record<string, string | null>> = {
  'POST /reset': '/info',
  'POST /clock/advance': '/clock',
  'POST /clock/freeze': '/clock',
  'POST /clock/run': '/clock',
  'PUT /timing': '/timing',
  'PUT /faults': '/faults',
  'POST /faults': '/faults',
  'DELETE /faults': '/faults',
  'DELETE /faults/{id}': '/faults',
  'POST /workspaces': '/workspaces',
  'POST /workspaces/{id}/api-keys': '/workspaces',
  'PATCH /api-keys/{id}': '/workspaces',
  'DELETE /api-keys/{id}': '/workspaces',
  'POST /api-keys/{id}/try': null,
  'POST /workspaces/{id}/connections': '/connections',
  'PUT /connections/{id}/licence': '/connections/{id}',
  'POST /connections/{id}/scan': '/connections/{id}',
  'POST /connections/{id}/enter-code': '/connections/{id}',
  // Whether an outage heals is shown by the timer that it set.
  'POST /connections/{id}/outage': '/clock/due',
  'POST /connections/{id}/recover': '/connections/{id}',
  'POST /connections/{id}/phone': '/connections/{id}',
  'PUT /contacts/{phone}': '/contacts/{phone}',
  'POST /contacts/{phone}/messages': '/messages',
  'POST /messages/{id}/status': '/messages',
  'POST /workspaces/{id}/user-codes': '/grants',
  'POST /oauth-apps': '/oauth-apps',
  'PUT /oauth-apps/{id}/webhook': '/webhooks',
  'PATCH /grants/{id}': '/grants',
  'DELETE /grants/{id}': '/grants',
  'POST /deliveries/{id}/resend': '/deliveries/{id}',
  'POST /deliveries/{id}/copies': '/deliveries',
  'POST /deliveries/{id}/explain-signature': null,
  'POST /deliveries/{id}/hold': '/deliveries/{id}',
  'POST /deliveries/{id}/release': '/deliveries/{id}',
  'PUT /hosts/{host}': '/hosts',
  'DELETE /hosts/{host}': '/hosts',
  'POST /snapshots': '/snapshots',
  'POST /snapshots/{id}/restore': '/info',
  'DELETE /snapshots/{id}': '/snapshots',
  'POST /wait': null,
  'POST /verify': null,
};

describe('the endpoints of the control API', () => {
  it('are complete, with their success status', () => {
    expect(
      endpoints.map(({ method, path, answers }) => `${method} ${path} ${answers[0]?.status}`).sort(),
    ).toEqual(
      [
        'GET /hosts 200',
        'GET /timing 200',
        'GET /info 200',
        'POST /reset 200',
        'POST /workspaces 201',
        'POST /workspaces/{id}/api-keys 201',
        'PATCH /api-keys/{id} 200',
        'DELETE /api-keys/{id} 200',
        'POST /api-keys/{id}/try 200',
        'POST /workspaces/{id}/connections 201',
        'PUT /connections/{id}/licence 200',
        'POST /connections/{id}/scan 200',
        'POST /connections/{id}/enter-code 200',
        'POST /connections/{id}/outage 200',
        'POST /connections/{id}/recover 200',
        'POST /connections/{id}/phone 200',
        'PUT /contacts/{phone} 200',
        'POST /contacts/{phone}/messages 201',
        'GET /contacts/{phone}/messages 200',
        'POST /messages/{id}/status 200',
        'GET /connections 200',
        'GET /clock 200',
        'POST /clock/advance 200',
        'POST /clock/freeze 200',
        'POST /clock/run 200',
        'GET /clock/due 200',
        'PUT /timing 200',
        'GET /faults 200',
        'PUT /faults 200',
        'DELETE /faults 200',
        'DELETE /faults/{id} 200',
        'GET /deliveries 200',
        'POST /deliveries/{id}/resend 200',
        'POST /faults 200',
        'POST /deliveries/{id}/copies 201',
        'POST /deliveries/{id}/explain-signature 200',
        'POST /deliveries/{id}/hold 200',
        'POST /deliveries/{id}/release 200',
        'GET /ledger 200',
        'PUT /hosts/{host} 200',
        'DELETE /hosts/{host} 200',
        'GET /calls 200',
        'GET /connections/{id} 200',
        'GET /contacts 200',
        'GET /messages 200',
        'GET /webhooks 200',
        'GET /workspaces 200',
        'GET /calls/{id} 200',
        'GET /deliveries/counts 200',
        'GET /deliveries/{id} 200',
        'POST /oauth-apps 201',
        'PUT /oauth-apps/{id}/webhook 200',
        'GET /oauth-apps 200',
        'GET /recording 200',
        'POST /workspaces/{id}/user-codes 201',
        'GET /grants 200',
        'PATCH /grants/{id} 200',
        'DELETE /grants/{id} 200',
        'GET /events 200',
        'GET /contacts/{phone} 200',
        'POST /wait 200',
        'POST /verify 200',
        'GET /snapshots 200',
        'POST /snapshots 201',
        'POST /snapshots/{id}/restore 200',
        'DELETE /snapshots/{id} 200',
      ].sort(),
    );
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
    const known = new Set(endpoints.map(({ method, path }) => `${method} ${path}`));
    expect([...known].filter((each) => !each.startsWith('GET ')).toSorted()).toEqual(
      Object.keys(READ_AT).toSorted(),
    );
    for (const read of Object.values(READ_AT)) if (read !== null) expect(known).toContain(`GET ${read}`);
  });

  it('refuse an old QR code with 409', () => {
    expect(SANDBOX_ENDPOINTS.scan.errors).toContain('qr_expired');
    expect(SANDBOX_ERRORS.qr_expired.status).toBe(409);
  });
});
