import { Violation } from '../../../certify/src/runner/check.ts';
import { connectionOf } from '../fixtures/connections.ts';
import { ownConnection, pollDetail, readDetail } from '../fixtures/own-connections.ts';
import type { ServiceContext } from '../service/context.ts';
import { expectEqual, expectRefusal, expectRefused, expectStatus } from '../service/judge.ts';
import { inSection } from '../service/service-check.ts';
import { shapeCheck } from '../service/shape-check.ts';
import { acknowledgement, restart } from '../service/spec-shapes.ts';

const FULL = ['full'] as const;

const act = async (context: ServiceContext, what: 'restart' | 'logout') =>
  context.api.request('POST', `/connections/${await ownConnection(context)}/${what}`);

const restarted = (context: ServiceContext) => context.once('a restart', () => act(context, 'restart'));

/** A logout of a connection that was restarted before. */
const loggedOut = (context: ServiceContext) =>
  context.once('a logout', async () => {
    await restarted(context);
    return act(context, 'logout');
  });

const restartedAfterLogout = (context: ServiceContext) =>
  context.once('a restart after the logout', async () => {
    await loggedOut(context);
    return act(context, 'restart');
  });

const deleted = (context: ServiceContext) =>
  context.once('a deletion', async () => {
    await restartedAfterLogout(context);
    return context.api.request('DELETE', `/connections/${await ownConnection(context)}`);
  });

async function demandPicture(context: ServiceContext): Promise<void> {
  const isAwaited = (connection: Readonly<Record<string, unknown>>): boolean =>
    connection['status'] === 'connecting' && typeof connection['qr'] === 'string';
  const exchange = await pollDetail(context, await ownConnection(context), isAwaited);
  if (isAwaited(connectionOf(exchange))) return;
  const status = String(connectionOf(exchange)['status']);
  throw new Violation('status connecting and a qr', `status ${status}`, exchange);
}

/** Restart, logout and deletion of a connection of the suite. Implements `Connection status`. */
export const lifecycleChecks = inSection({ section: 'Rules per endpoint, 5', needs: FULL }, [
  shapeCheck({
    id: 'restart.shape',
    rule: 'A restart returns 200 with the booleans ok and recreated.',
    ask: restarted,
    shape: restart,
  }),
  {
    id: 'restart.picture',
    rule: 'After a restart the record exists, and has a qr while it waits for its phone.',
    timeoutMs: 60_000,
    async run(context) {
      await restarted(context);
      await demandPicture(context);
    },
  },
  shapeCheck({
    id: 'logout.shape',
    section: 'Rules per endpoint, 6',
    rule: 'A logout returns 200 { ok: true }.',
    ask: loggedOut,
    shape: acknowledgement,
  }),
  {
    id: 'logout.record',
    section: 'Rules per endpoint, 6',
    rule: 'After a logout the record is kept.',
    async run(context) {
      await loggedOut(context);
      expectStatus(await readDetail(context, await ownConnection(context)), 200);
    },
  },
  {
    id: 'logout.status',
    section: 'Connection status',
    rule: 'After a logout the status is disconnected.',
    level: 'reading',
    async run(context) {
      await loggedOut(context);
      const exchange = await readDetail(context, await ownConnection(context));
      expectEqual('status', 'disconnected', connectionOf(exchange)['status'], exchange);
    },
  },
  {
    id: 'logout.return',
    section: 'Connection status',
    rule: 'A restart after a logout returns a new qr.',
    timeoutMs: 60_000,
    async run(context) {
      expectStatus(await restartedAfterLogout(context), 200);
      await demandPicture(context);
    },
  },
  shapeCheck({
    id: 'delete.shape',
    section: 'Rules per endpoint, 4',
    rule: 'A deletion returns 200 { ok: true }.',
    ask: deleted,
    shape: acknowledgement,
  }),
  {
    id: 'delete.gone',
    section: 'Rules per endpoint, 4',
    rule: 'A deleted connection no longer exists for any endpoint: its id is retired.',
    async run(context) {
      await deleted(context);
      const path = `/connections/${await ownConnection(context)}`;
      expectRefused(await context.api.request('GET', path), 'a deleted id');
      for (const what of ['restart', 'logout']) {
        expectRefused(await context.api.request('POST', `${path}/${what}`), 'a deleted id');
      }
    },
  },
  {
    id: 'delete.twice',
    section: 'Errors',
    rule: 'A deleted connection returns 404 not_found, also to a second deletion.',
    level: 'reading',
    async run(context) {
      await deleted(context);
      const path = `/connections/${await ownConnection(context)}`;
      for (const method of ['GET', 'DELETE']) {
        const exchange = await context.api.request(method, path);
        expectRefusal(exchange, { status: 404, code: 'not_found' });
      }
    },
  },
]);
