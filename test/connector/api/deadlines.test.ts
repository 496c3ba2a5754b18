import { createServer } from 'node:http';
import express from 'express';
import { expect, it, onTestFinished } from 'vitest';
import { answerError } from '../../../src/connector/api/api-error.ts';
import { routeOperations } from '../../../src/connector/api/api-router.ts';
import type { Operations } from '../../../src/connector/api/operations.ts';
import {
  CONNECTOR_ENDPOINTS,
  type ConnectorEndpointName,
} from '../../../src/contract/connector/endpoints.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { serve } from '../../support/serve.ts';
import { silentLogger } from '../support/event-fixtures.ts';

/** Calls that may take as long as the service does, and what they are asked with. */
const CALLS_OF_THE_SERVICE: Partial<Record<ConnectorEndpointName, object>> = {
  getFindings: {},
  addAccount: { baseUrl: 'https://service.example/api/v1', apiKey: 'key' },
  startGrant: {},
  removeAccount: {},
  rotateSecret: {},
  createConnection: {},
  restartConnection: {},
  logoutConnection: {},
  deleteConnection: {},
  requestPairingCode: { phoneNumber: '447700900201' },
  sendReadReceipt: { connectionId: 'c1', messageId: 'm1' },
  syncNow: {},
  erasePerson: {},
};
const OTHERS: Partial<Record<ConnectorEndpointName, object>> = { getConnection: {}, pauseConsumer: {} };

it('a call is answered within 8 s, one that calls the service or reads the whole feed within 150 s', async () => {
  const clock = new ManualClock();
  const calls = Object.entries({ ...OTHERS, ...CALLS_OF_THE_SERVICE });
  const begun = Promise.withResolvers<void>();
  let running = 0;
  const hang = () => {
    running += 1;
    if (running === calls.length) begun.resolve();
    return new Promise<never>(() => undefined);
  };
  const passOn = (_request: unknown, _response: unknown, next: () => void) => next();
  const app = express();
  app.use(
    routeOperations(Object.fromEntries(calls.map(([name]) => [name, hang])) as Operations, {
      clock,
      guard: { authenticate: passOn, allow: () => passOn },
      audit: { note: () => undefined, close: () => undefined },
    }),
  );
  app.use(answerError(silentLogger));
  const server = await serve(createServer(app));
  onTestFinished(server.close);
  const answered: string[] = [];
  const asked = calls.map(async ([name, body]) => {
    const { method, path } = CONNECTOR_ENDPOINTS[name as ConnectorEndpointName];
    const content = method === 'GET' ? {} : { body: JSON.stringify(body) };
    const { status } = await fetch(server.url + path.replace('{id}', 'id'), { method, ...content });
    answered.push(`${name} ${status}`);
  });
  await begun.promise;
  await clock.advance(8_000);
  await expect.poll(() => answered.length).toBeGreaterThanOrEqual(2);
  expect(answered.sort()).toEqual(Object.keys(OTHERS).map((name) => `${name} 503`));
  await clock.advance(142_000);
  await Promise.all(asked);
  expect(new Set(answered)).toEqual(new Set(calls.map(([name]) => `${name} 503`)));
});
