import { expect, it } from 'vitest';
import { logTo } from '../../support/log-to.ts';
import { exchangeRaw } from '../../support/raw-exchange.ts';
import { connectorOfFile, TOKEN } from '../support/running-connector.ts';

const PHONE = '447700900999';
let log = '';
const { world, running } = connectorOfFile(({ database }) => ({
  database,
  logger: logTo('trace', (line) => {
    log += line;
  }),
}));

it.each([
  ['is answered', `/v1/messages?peer=${PHONE}`, 200],
  ['is refused', `/v1/messages?peer=${PHONE}&peer=${PHONE}`, 400],
  ['has another field', `/v1/messages?phone=${PHONE}`, 400],
  ['asks at no address', `/v1/message?peer=${PHONE}`, 404],
  ['asks for no message', `/v1/messages/${PHONE}?peer=${PHONE}`, 404],
])('the log does not contain a phone number of a query that %s', async (_, path, status) => {
  expect((await running.ask('GET', path)).status).toBe(status);
  expect((await running.ask('GET', path, { token: null })).status).toBe(401);
  expect((await running.ask('GET', path, { token: 'a-wrong-token' })).status).toBe(401);
  expect(log).not.toContain(PHONE);
});

it('the log does not contain it either if the query fails or is invalid', async () => {
  const rename = (from: string, to: string) =>
    world.database.query(`alter table connector.${from} rename to ${to}`);
  await rename('messages', 'away');
  expect((await running.ask('GET', `/v1/messages?peer=${PHONE}`)).status).toBe(500);
  await rename('away', 'messages');
  const { statuses } = await exchangeRaw(
    Number(new URL(running.url).port),
    `GET /v1/messages?peer=${PHONE}%zz%00 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`,
  );
  expect(statuses).toEqual([400]);
  expect(log).toContain('a request failed');
  expect(log).toContain('token.refused');
  expect(log).not.toContain(PHONE);
});
