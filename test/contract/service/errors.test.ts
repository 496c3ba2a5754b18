import { describe, expect, it } from 'vitest';
import {
  ERROR_CODES,
  ERRORS,
  errorBody,
  isErrorCode,
  readErrorBody,
} from '../../../src/contract/service/errors.ts';
import { proves } from '../../support/proves.ts';

const specified: readonly (readonly [status: number, code: string])[] = [
  [400, 'invalid_request'],
  [400, 'invalid_phone_number'],
  [400, 'invalid_webhook'],
  [400, 'text_or_media'],
  [400, 'idempotency_key_reuse'],
  [400, 'idempotency_key_invalid'],
  [401, 'invalid_key'],
  [402, 'addon_required'],
  [402, 'license_inactive'],
  [403, 'ip_not_allowed'],
  [403, 'insufficient_scope'],
  [403, 'forbidden_portal_kind'],
  [403, 'invalid_grant'],
  [409, 'already_connected'],
  [409, 'not_supported_for_provider'],
  [409, 'idempotency_in_progress'],
  [409, 'in_progress'],
  [422, 'recipient_not_on_whatsapp'],
  [429, 'warmup_limited'],
  [429, 'rate_limited'],
  [502, 'send_failed'],
  [502, 'pairing_code_unavailable'],
];

const chosen: typeof specified = [
  [401, 'invalid_token'],
  [404, 'not_found'],
  [405, 'method_not_allowed'],
  [413, 'payload_too_large'],
  [500, 'internal_error'],
];

describe('the error table', () => {
  it('contains exactly the specified codes, then the chosen ones, with their statuses', () => {
    const table = Object.entries(ERRORS).map(([code, { statuses }]) => [...statuses, code]);
    expect(table).toEqual([...specified, ...chosen]);
    expect(ERROR_CODES).toEqual([...specified, ...chosen].map(([, code]) => code));
  });

  it('explains each code', () => {
    for (const [code, { meaning }] of Object.entries(ERRORS)) expect(meaning, code).toMatch(/^[A-Z`].+\.$/);
  });

  it('distinguishes its codes from others, and from property names of every object', () => {
    expect(isErrorCode('send_failed')).toBe(true);
    expect(['teapot', 'toString', '__proto__', 'constructor', null, 7].filter(isErrorCode)).toEqual([]);
  });
});

describe('an error body', () => {
  it('has the code, and for invalid_request a field and a hint', () => {
    proves('errors.body.hint');
    expect(Object.keys(errorBody.shape)).toEqual(['error', 'field', 'hint']);
    expect(errorBody.safeParse({ error: 'not_found' }).success).toBe(true);
    expect(errorBody.safeParse({ error: 'invalid_request', field: 'limit', hint: 'x' }).success).toBe(true);
    expect(errorBody.safeParse({ error: 'teapot' }).success).toBe(false);
    expect(errorBody.safeParse({}).success).toBe(false);
  });

  it('is read with an unknown code, and with fields of another type', () => {
    proves('versioning.client.unknown-fields');
    expect(readErrorBody({ error: 'quota_of_tomorrow', field: 7, docs: 'x' })).toEqual({
      error: 'quota_of_tomorrow',
    });
  });

  it('is null if the body is no error body', () => {
    for (const body of ['<html>', null, undefined, [], {}, { error: 7 }, { error: '' }]) {
      expect(readErrorBody(body)).toBeNull();
    }
  });
});
