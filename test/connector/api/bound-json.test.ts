import { expect, it } from 'vitest';
import { ofFile } from '../../support/of-file.ts';
import { parsedTexts } from '../../support/parsed-texts.ts';
import { runTestConnector } from '../../support/run-test-connector.ts';

const MIB = 1024 * 1024;

const connector = ofFile(runTestConnector);

it('a send whose text is not in UTF-8 is refused, and does not reach a contact with other characters', async () => {
  const { url, token } = connector;
  const answer = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: Buffer.from('{"connectionId":"c1","to":"447700900201","reference":"1","text":"Grüße"}', 'latin1'),
  });
  expect(await answer.json()).toEqual({ error: 'invalid_request', message: 'body: must be JSON in UTF-8.' });
  expect(answer.status).toBe(400);
});

it.each([
  ['a few levels too many', `${'['.repeat(40)}${']'.repeat(40)}`],
  ['numbers', `[${'1,'.repeat(8 * MIB - 2)}1]`],
])('a send whose body consists of %s is refused with 400 and the reason', async (_, body) => {
  const { url, token } = connector;
  const parsed = parsedTexts();
  const answer = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
  });
  expect(answer.status).toBe(400);
  expect(parsed()).not.toContain(body);
  expect(await answer.json()).toMatchObject({
    error: 'invalid_request',
    message: expect.stringContaining('too many levels, or too much data outside its strings'),
  });
});
