import { describe, expect, it } from 'vitest';
import { SERVICE_ENDPOINTS, type ServiceEndpoint } from '../../../src/contract/service/endpoints.ts';
import { ERROR_CODES } from '../../../src/contract/service/errors.ts';
import { proves } from '../../support/proves.ts';

const endpoints: readonly ServiceEndpoint[] = Object.values(SERVICE_ENDPOINTS);

describe('the endpoint table', () => {
  it('has the 14 endpoints with method, path, scope and success status', () => {
    proves('service.resources', 'endpoints.base', 'webhook.config.no-delete');
    const rows = endpoints.map(
      ({ number, method, path, scope, answers }) =>
        `${number} ${method} ${path} ${scope} ${answers.map((answer) => answer.status).join(' ')}`,
    );
    expect(rows).toEqual([
      '1 GET /connections messaging.read 200',
      '2 POST /connections messaging.manage 201 200',
      '3 GET /connections/{id} messaging.manage 200',
      '4 DELETE /connections/{id} messaging.manage 200',
      '5 POST /connections/{id}/restart messaging.manage 200',
      '6 POST /connections/{id}/logout messaging.manage 200',
      '7 POST /connections/{id}/pairing-code messaging.manage 200',
      '8 GET /account messaging.read 200',
      '9 GET /messages messaging.read 200',
      '10 POST /messages messaging.send 200',
      '11 POST /messages/read messaging.send 200',
      '12 GET /webhook messaging.events 200',
      '13 PUT /webhook messaging.events 200',
      '14 POST /webhook/rotate messaging.events 200',
    ]);
  });

  it('lets every endpoint refuse the credential, the address and the scope', () => {
    for (const { path, errors } of endpoints) {
      expect(errors, path).toEqual(
        expect.arrayContaining(['invalid_key', 'invalid_token', 'ip_not_allowed', 'insufficient_scope']),
      );
    }
  });

  it('lists no error twice', () => {
    for (const { path, errors } of endpoints) expect(new Set(errors).size, path).toBe(errors.length);
  });

  it('uses every code except method_not_allowed', () => {
    const used = new Set(endpoints.flatMap(({ errors }) => errors));
    expect(ERROR_CODES.filter((code) => !used.has(code))).toEqual(['method_not_allowed']);
  });

  it('lists specific errors at the endpoints that the rules name', () => {
    const answering = (code: string) =>
      Object.entries(SERVICE_ENDPOINTS)
        .filter(([, { errors }]) => (errors as readonly string[]).includes(code))
        .map(([name]) => name);
    expect(answering('text_or_media')).toEqual(['sendMessage']);
    expect(answering('recipient_not_on_whatsapp')).toEqual(['sendMessage']);
    expect(answering('warmup_limited')).toEqual(['sendMessage']);
    expect(answering('in_progress')).toEqual(['sendMessage']);
    expect(answering('send_failed')).toEqual(['sendMessage']);
    expect(answering('addon_required')).toEqual(['sendMessage', 'markRead']);
    expect(answering('license_inactive')).toEqual(['sendMessage', 'markRead']);
    expect(answering('rate_limited')).toEqual(['requestPairingCode', 'sendMessage']);
    expect(answering('forbidden_portal_kind')).toEqual(['createConnection']);
    expect(answering('idempotency_in_progress')).toEqual(['createConnection']);
    expect(answering('idempotency_key_invalid')).toEqual(['createConnection']);
    expect(answering('idempotency_key_reuse')).toEqual(['createConnection', 'sendMessage']);
    expect(answering('invalid_grant')).toEqual(['createConnection']);
    expect(answering('invalid_webhook')).toEqual(['putWebhook', 'rotateWebhook']);
    expect(answering('already_connected')).toEqual(['requestPairingCode']);
    expect(answering('pairing_code_unavailable')).toEqual(['requestPairingCode']);
    expect(answering('invalid_phone_number')).toEqual(['requestPairingCode']);
  });

  it('accepts the idempotency key of a create in a header, and marks a replay', () => {
    proves('connections.create.idempotency.only-here');
    const { requestHeaders, body, answers } = SERVICE_ENDPOINTS.createConnection;
    expect(requestHeaders.map((header) => header.name)).toEqual(['Idempotency-Key']);
    expect(body.required).toBe(false);
    expect(answers[1].headers.map((header) => header.name)).toEqual(['Idempotency-Replayed']);
  });
});
