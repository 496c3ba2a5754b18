import { describe, expect, it } from 'vitest';
import { SERVICE_ENDPOINTS } from '../../../src/contract/service/endpoints.ts';
import { SCOPES as CONTRACT_SCOPES } from '../../../src/contract/service/scopes.ts';
import { HARMLESS, SCOPES, UNKNOWN_ID } from '../src/service/requests.ts';

describe('the harmless requests', () => {
  it('include one for each endpoint, with its scope', () => {
    const requests = HARMLESS.map(
      ({ method, path, scope }) =>
        `${method} ${path.replace(/\?.*/, '').replace(UNKNOWN_ID, '{id}')} ${scope}`,
    );
    const endpoints = Object.values(SERVICE_ENDPOINTS);
    expect(requests.sort()).toEqual(
      endpoints.map(({ method, path, scope }) => `${method} ${path} ${scope}`).sort(),
    );
  });

  it('cover every scope', () => {
    expect(SCOPES).toEqual([...CONTRACT_SCOPES]);
  });
});
