import { describe, expect, it } from 'vitest';
import { CONNECTOR_ENDPOINTS } from '../../../src/contract/connector/endpoints.ts';
import { CONNECTOR_ERRORS } from '../../../src/contract/connector/errors.ts';
import type { EndpointDefinition } from '../../../src/contract/schema/endpoint.ts';
import { isErrorCode } from '../../../src/contract/service/errors.ts';

const endpoints: readonly EndpointDefinition[] = Object.values(CONNECTOR_ENDPOINTS);

describe('the endpoints of the connector', () => {
  it('demand a token under /v1 and of /metrics, and nowhere else', () => {
    for (const { path, credential } of endpoints) {
      expect(credential !== false, path).toBe(path.startsWith('/v1/') || path === '/metrics');
    }
  });

  it('each name the permission that a token needs: to read, unless something is changed or a QR code is shown', () => {
    const withRight = (right: string) =>
      endpoints
        .filter((endpoint) => 'right' in endpoint && endpoint.right === right)
        .map(({ method, path }) => `${method} ${path}`)
        .sort();
    const shown = endpoints.filter(({ method, path }) => method === 'GET' && path.startsWith('/v1/'));
    expect(withRight('read')).toEqual(
      shown
        .map(({ path }) => `GET ${path}`)
        .filter((each) => !each.endsWith('/pairing'))
        .sort(),
    );
    expect({
      write: withRight('write'),
      operate: withRight('operate'),
      metrics: withRight('metrics'),
    }).toEqual({
      write: [
        'DELETE /v1/connections/{id}',
        'DELETE /v1/outbound/{id}',
        'GET /v1/connections/{id}/pairing',
        'POST /v1/accounts/oauth',
        'POST /v1/connections',
        'POST /v1/connections/{id}/logout',
        'POST /v1/connections/{id}/pairing-code',
        'POST /v1/connections/{id}/restart',
        'POST /v1/messages',
        'POST /v1/messages/{id}/media',
        'POST /v1/read-receipts',
        'PUT /v1/connections/{id}/customer',
        'PUT /v1/messages/{id}/peer',
      ],
      operate: [
        'DELETE /v1/accounts/{id}',
        'DELETE /v1/consumers/{id}',
        'DELETE /v1/dead-letters/{id}',
        'DELETE /v1/people/{id}',
        'PATCH /v1/consumers/{id}',
        'POST /v1/accounts',
        'POST /v1/consumers',
        'POST /v1/consumers/{id}/pause',
        'POST /v1/consumers/{id}/replay',
        'POST /v1/consumers/{id}/resume',
        'POST /v1/consumers/{id}/rotate-secret',
        'POST /v1/dead-letters/{id}/replay',
        'POST /v1/outbound/{id}/retry',
        'POST /v1/sync',
        'POST /v1/webhook/rotate',
      ],
      metrics: ['GET /metrics'],
    });
  });

  it('can each answer unauthorized if they demand a token', () => {
    for (const { path, errors } of endpoints) {
      expect(errors.includes('unauthorized'), path).toBe(path.startsWith('/v1/') || path === '/metrics');
    }
  });

  it('answer only codes from a table, each listed once', () => {
    for (const { path, errors } of endpoints) {
      expect(new Set(errors).size, path).toBe(errors.length);
      expect(
        errors.filter((code) => !Object.hasOwn(CONNECTOR_ERRORS, code) && !isErrorCode(code)),
        path,
      ).toEqual([]);
    }
  });

  it('answer the receiver with the documented statuses', () => {
    for (const name of ['receiveWebhook', 'receiveSubscriptionWebhook'] as const) {
      const { errors, answers } = CONNECTOR_ENDPOINTS[name];
      expect(answers.map(({ status }) => status)).toEqual([200]);
      expect(errors.map((code) => CONNECTOR_ERRORS[code].status)).toEqual([404, 413, 408, 401, 400, 503]);
    }
  });
});
