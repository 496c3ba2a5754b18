import { once } from 'node:events';
import type { Server } from 'node:http';
import type { ServiceInputs } from '../../src/conformance/service/inputs.ts';
import {
  type StartedListener,
  startWebhookListener,
} from '../../src/conformance/service/start-webhook-listener.ts';
import { systemClock } from '../../src/runtime/clock/system-clock.ts';
import { callJson } from '../support/loop-client.ts';
import type { TestService } from '../support/service.ts';

/** A workspace with everything that the suite can look at, and a listener for its deliveries. */
export interface GradedWorkspace {
  readonly inputs: ServiceInputs;
  readonly listener: StartedListener;
  /** The live connection that sends events. */
  readonly connectionId: string;
  close(): Promise<void>;
}

const RECIPIENT = '447700900301';
const ABSENT = '447700900302';
const MESSAGES = 9;
let workspaces = 0;

/** Makes one through the sandbox, as people and portals would. `between` may put something before the listener. */
export async function makeGradedWorkspace(
  service: TestService,
  between: (target: string) => Promise<string> = async (target) => target,
): Promise<GradedWorkspace> {
  workspaces += 1;
  const number = String(workspaces).padStart(3, '0');
  const sandbox = <Answer>(method: string, path: string, body?: unknown): Promise<Answer> =>
    callJson<Answer>(`${service.info.sandboxUrl}/sandbox/v1${path}`, { method, body });
  const makeWorkspace = async (kind = 'standalone') =>
    (await sandbox<{ workspace: { id: string } }>('POST', '/workspaces', { kind, slots: 9 })).workspace.id;
  const makeKey = async (id: string, body: unknown = {}) =>
    (await sandbox<{ key: string }>('POST', `/workspaces/${id}/api-keys`, body)).key;
  const pair = async (id: string, provider: string, phoneNumber: string) =>
    (
      await sandbox<{ connection: { id: string } }>('POST', `/workspaces/${id}/connections`, {
        provider,
        phoneNumber,
        label: 'Front desk',
      })
    ).connection.id;

  const [own, other] = [await makeWorkspace(), await makeWorkspace()];
  const connectionId = await pair(own, 'qr', `49151000${number}`);
  await pair(own, 'cloud_api', `49152000${number}`);
  await pair(other, 'qr', `49153000${number}`);
  const lapsedConnectionId = await pair(own, 'qr', `49154000${number}`);
  await sandbox('PUT', `/connections/${lapsedConnectionId}/licence`, { status: 'expired' });
  for (let index = 0; index < MESSAGES; index++) {
    const body = { connectionId, text: `Message ${index}` };
    await sandbox('POST', `/contacts/${RECIPIENT}/messages`, body);
  }
  await sandbox('PUT', `/contacts/${RECIPIENT}`, {
    deliverAfterMs: 50,
    readAfterMs: 100,
    autoReply: 'Thanks',
  });
  await sandbox('PUT', `/contacts/${ABSENT}`, { onNetwork: false });
  const listener = await startWebhookListener({ host: '127.0.0.1', port: 0, clock: systemClock });
  const host = `graded-${number}.example.com`;
  await sandbox('PUT', `/hosts/${host}`, { target: await between(`http://127.0.0.1:${listener.port}`) });
  return {
    connectionId,
    listener,
    inputs: {
      baseUrl: service.info.baseUrl,
      apiKey: await makeKey(own),
      profile: 'full',
      secondApiKey: await makeKey(other),
      narrowApiKey: await makeKey(own, { scopes: ['messaging.read'] }),
      narrowScopes: ['messaging.read'],
      barredApiKey: await makeKey(own, { ipAllowlist: ['203.0.113.7'] }),
      portalApiKey: await makeKey(await makeWorkspace('crm_portal')),
      lapsedConnectionId,
      legacyBaseUrl: service.info.legacyBaseUrl,
      recipient: RECIPIENT,
      absentRecipient: ABSENT,
      pairingPhone: '447700900303',
      webhookUrl: `https://${host}/deliveries?of=${number}`,
      awaitReplyMs: 20_000,
    },
    close: () => listener.close(),
  };
}

/** Closes a server with all its connections. */
export async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
