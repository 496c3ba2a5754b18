import { describe, expect, it } from 'vitest';
import { callJson } from '../../../test/support/loop-client.ts';
import { type Breakage, gradeThrough, startBrokenProxy } from './broken-proxy.ts';
import { grade, makeDeliveredWorkspace, useGradedService } from './graded-service.ts';

const SLOW_MS = 180_000;
const FAILED = ['fail', 'differs'];

const { service, graded } = useGradedService();

describe('the suite', () => {
  it(
    'finds no violation in the service of this repository',
    async () => {
      // Checks that wait for a timeout have a test of their own, among the campaigns.
      const report = await grade(graded, {}, { patient: false });
      const failed = report.results.filter(({ result }) => FAILED.includes(result));
      expect(failed).toEqual([]);
      expect(report.leftBehind).toEqual([]);
      expect(report.verdict).toBe('conforms');
      const skipped = report.results.filter(({ result }) => result === 'skip').map(({ id }) => id);
      expect(skipped).toEqual([
        'scope.read.needed',
        'oauth.refresh.life',
        'delivery.timeout',
        'event.connection.disconnected',
        'event.connection.connected',
      ]);
    },
    SLOW_MS,
  );
});

it('a delivery of more than a megabyte is neither answered nor kept', async () => {
  const before = graded.listener.requests.length;
  const sent = fetch(`http://127.0.0.1:${graded.listener.port}`, {
    method: 'POST',
    body: 'x'.repeat(1_048_577),
  });
  await expect(sent).rejects.toThrow('fetch failed');
  expect(graded.listener.requests).toHaveLength(before);
});

it(
  'a connection whose deletion is refused is named as left behind, also one that should not have been created',
  async () => {
    const refusesDeletions: Breakage = {
      answer(answer, { method }) {
        if (answer.body?.error === 'forbidden_portal_kind')
          Object.assign(answer, { status: 201, body: { connection: { id: 'of-the-portal' } } });
        if (method === 'DELETE') Object.assign(answer, { status: 403, body: { error: 'ip_not_allowed' } });
      },
    };
    const only = ['create.shape', 'portal.create'];
    const { report } = await gradeThrough(graded, refusesDeletions, { only });
    expect(report.leftBehind.map((what) => what.replace(/ c[a-z0-9]{24} /, ' <cuid> ')).toSorted()).toEqual([
      'connection <cuid> still exists: 403 ip_not_allowed',
      'connection of-the-portal still exists: 403 ip_not_allowed',
    ]);
  },
  SLOW_MS,
);

it(
  'each grant whose revocation is refused is named as left behind',
  async () => {
    const refusesRevocations = await startBrokenProxy(service.info.authUrl, {
      answer(answer, { path }) {
        if (path === '/oauth/revoke') Object.assign(answer, { status: 503, body: { error: 'server_error' } });
      },
    });
    const only = ['oauth.token.type', 'oauth.code.reuse'];
    const report = await grade(graded, { only }, { authUrl: refusesRevocations.baseUrl });
    await refusesRevocations.close();
    expect(report.leftBehind).toEqual(Array(2).fill('an OAuth grant still exists: 503 server_error'));
  },
  SLOW_MS,
);

describe('the service of this repository', () => {
  it(
    'is not changed by the read-only profile',
    async () => {
      const { report, passed } = await gradeThrough(graded, {}, {}, { profile: 'read-only' });
      expect(report.counts).toMatchObject({ fail: 0, differs: 0 });
      const changed = passed.filter(({ request, status }) => request.method !== 'GET' && status < 400);
      expect(changed).toEqual([]);
      expect(report.counts.pass).toBeGreaterThan(80);
    },
    SLOW_MS,
  );

  it(
    'reports an outage and its end as specified',
    async () => {
      const own = await makeDeliveredWorkspace(service);
      const { connectionId, listener, inputs } = own;
      await callJson(`${inputs.baseUrl}/webhook`, {
        method: 'PUT',
        token: inputs.apiKey,
        body: { url: inputs.webhookUrl },
      });
      const sandbox = (path: string, body: unknown) =>
        callJson(`${service.info.sandboxUrl}/sandbox/v1${path}`, { method: 'POST', body });
      await sandbox(`/connections/${connectionId}/outage`, { cause: 'session_lost' });
      await sandbox('/clock/advance', { ms: 1_200_000 });
      await sandbox(`/connections/${connectionId}/recover`, {});
      await sandbox('/clock/advance', { ms: 600_000 });
      await service.service.settle();
      expect(listener.requests.map(({ json }) => (json as { event: string }).event)).toEqual([
        'connection.disconnected',
        'connection.connected',
      ]);
      const only = [
        'event.connection',
        'event.names',
        'event.no-further',
        'delivery.headers',
        'delivery.method',
      ];
      const report = await grade(own, { only });
      await own.close();
      expect(report.counts).toEqual({ pass: 6, fail: 0, differs: 0, skip: 0, harness: 0 });
    },
    SLOW_MS,
  );
});
