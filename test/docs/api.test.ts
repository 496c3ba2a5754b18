import { expect, it } from 'vitest';
import { CONNECTOR_ENDPOINTS } from '../../src/contract/connector/endpoints.ts';
import { readProjectFile } from '../support/markdown.ts';

it('docs/api.md names every call of the contract that a program of the CRM makes', () => {
  const rows = readProjectFile('docs/api.md').matchAll(/^\| ((?:`(?:[A-Z]+ )?\/[^`]+`(?:, )?)+) \|/gm);
  const named = [...rows].flatMap(([, calls = '']) => {
    let method = '';
    return [...calls.matchAll(/`(?:([A-Z]+) )?([^`]+)`/g)].map(([, own, path]) => {
      method = own ?? method;
      return `${method} ${path}`;
    });
  });
  // Webhooks come from the service, and the pages of a consent are opened in a browser.
  const calls = Object.values(CONNECTOR_ENDPOINTS).filter(
    ({ path }) => !/^\/(?:webhooks|oauth)\//.test(path),
  );
  expect(named.toSorted()).toEqual(calls.map(({ method, path }) => `${method} ${path}`).sort());
});
