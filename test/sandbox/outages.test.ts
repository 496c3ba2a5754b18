import { describe, expect, test } from 'vitest';
import { ofFile } from '../support/of-file.ts';
import { startTestSandbox } from './fixture.ts';

describe('phones and outages over the control API', () => {
  const bed = ofFile(startTestSandbox);

  let added = 0;
  async function addConnection(provider: 'qr' | 'cloud_api' = 'qr') {
    const { workspaceId } = bed.sandbox.seed;
    added += 1;
    const body = { provider, phoneNumber: `44770090019${added}` };
    const answer = await bed.call('POST', `/workspaces/${workspaceId}/connections`, body);
    return answer.body.connection.id as string;
  }

  /** Timers of one connection. */
  const timersOf = (wanted: string, timers: { id: string; at: string }[]) =>
    timers.filter(({ id }) => id === wanted);
  const brief = ({ status, body }: { status: number; body: { error?: string } }) => [status, body.error];

  test('a recovery is shown among the due timers, and then takes effect', async () => {
    const id = await addConnection();
    await bed.call('POST', `/connections/${id}/outage`, { cause: 'zombie', heals: true });
    const { body } = await bed.call('GET', '/clock/due');
    const due = timersOf(id, body.entries);
    expect(due).toMatchObject([{ what: 'outage.healed', id }]);
    await bed.call('POST', '/clock/advance', { to: due[0]?.at });
    expect(brief(await bed.call('POST', `/connections/${id}/recover`))).toEqual([409, 'wrong_state']);
  });

  test('the phone of the owner can be turned off and on, and can block people', async () => {
    const id = await addConnection();
    const phone = (body: object) => bed.call('POST', `/connections/${id}/phone`, body);
    expect((await phone({})).body).toEqual({ on: true, blocked: [] });
    expect((await phone({ blocked: ['447700900201'] })).body).toEqual({
      on: true,
      blocked: ['447700900201'],
    });
    expect((await phone({ on: false })).body).toEqual({ on: false, blocked: ['447700900201'] });
    expect(brief(await bed.call('POST', `/connections/${id}/outage`, { cause: 'zombie' }))).toEqual([
      409,
      'wrong_state',
    ]);
    expect((await phone({ on: true, blocked: [] })).body).toEqual({ on: true, blocked: [] });
    expect(brief(await phone({ blocked: ['+44'] }))).toEqual([400, 'invalid_request']);
  });

  test('impossible requests are refused', async () => {
    const [id, official] = [await addConnection(), await addConnection('cloud_api')];
    const call = async (path: string, body?: object) => brief(await bed.call('POST', path, body));
    const cause = 'session_lost';
    expect(await call(`/connections/${id}/recover`)).toEqual([409, 'wrong_state']);
    expect(await call(`/connections/${id}/outage`, { cause: 'rain' })).toEqual([400, 'invalid_request']);
    expect(await call('/connections/unknown/outage', { cause })).toEqual([404, 'not_found']);
    expect(await call('/connections/unknown/recover')).toEqual([404, 'not_found']);
    expect(await call('/connections/unknown/phone', { on: false })).toEqual([404, 'not_found']);
    const unsupported = [409, 'not_supported_for_provider'];
    expect(await call(`/connections/${official}/outage`, { cause })).toEqual(unsupported);
    expect(await call(`/connections/${official}/recover`)).toEqual(unsupported);
    expect(await call(`/connections/${official}/phone`, { on: false })).toEqual(unsupported);
  });
});
