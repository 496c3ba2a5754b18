import { systemClock } from '../../../src/runtime/clock/system-clock.ts';
import { callJson } from '../../../test/support/loop-client.ts';
import { ofFile } from '../../../test/support/of-file.ts';
import { startTestService, type TestService } from '../../../test/support/service.ts';
import { runServiceSuite, type ServiceSuiteOptions } from '../src/run-service-suite.ts';
import type { OauthApp, ServiceInputs } from '../src/service/inputs.ts';
import { SCOPES } from '../src/service/requests.ts';
import { type StartedListener, startWebhookListener } from '../src/service/start-webhook-listener.ts';

/** A workspace with one live connection that sends events, and a listener for its deliveries. */
export interface GradedWorkspace {
  readonly inputs: ServiceInputs;
  readonly listener: StartedListener;
  readonly connectionId: string;
  close(): Promise<void>;
}

/** No check of a local service takes this long, and a busy machine must not make one fail. */
const TIMEOUT_MS = 60_000;
const RECIPIENT = '447700900301';
const ABSENT = '447700900302';
const MESSAGES = 9;
let workspaces = 0;

/** What people and the portal would do. */
function drive(service: TestService) {
  const sandbox = <Answer>(method: string, path: string, body: unknown): Promise<Answer> =>
    callJson<Answer>(`${service.info.sandboxUrl}/sandbox/v1${path}`, { method, body });
  return {
    sandbox,
    async makeWorkspace(kind = 'standalone'): Promise<string> {
      const body = { kind, slots: 9 };
      return (await sandbox<{ workspace: { id: string } }>('POST', '/workspaces', body)).workspace.id;
    },
    async makeKey(workspaceId: string, body: unknown = {}): Promise<string> {
      return (await sandbox<{ key: string }>('POST', `/workspaces/${workspaceId}/api-keys`, body)).key;
    },
    async makeApp(ownerWorkspaceId: string): Promise<OauthApp> {
      const redirectUri = 'https://crm.example.com/callback';
      const body = { name: 'Graded', redirectUris: [redirectUri], scopes: SCOPES, ownerWorkspaceId };
      return { ...(await sandbox<Omit<OauthApp, 'redirectUri'>>('POST', '/oauth-apps', body)), redirectUri };
    },
    async pair(workspaceId: string, provider: string, phoneNumber: string): Promise<string> {
      const path = `/workspaces/${workspaceId}/connections`;
      const body = { provider, phoneNumber, label: 'Front desk' };
      return (await sandbox<{ connection: { id: string } }>('POST', path, body)).connection.id;
    },
  };
}

/** Creates only what deliveries need. `between` can put something in front of the listener. */
export async function makeDeliveredWorkspace(
  service: TestService,
  between: (target: string) => Promise<string> = async (target) => target,
): Promise<GradedWorkspace & { readonly workspaceId: string; readonly number: string }> {
  workspaces += 1;
  const number = String(workspaces).padStart(3, '0');
  const { sandbox, makeWorkspace, makeKey, pair } = drive(service);
  const workspaceId = await makeWorkspace();
  const connectionId = await pair(workspaceId, 'qr', `49151000${number}`);
  const listener = await startWebhookListener({ host: '127.0.0.1', port: 0, clock: systemClock });
  const host = `graded-${number}.example.com`;
  await sandbox('PUT', `/hosts/${host}`, { target: await between(`http://127.0.0.1:${listener.port}`) });
  const manners = { deliverAfterMs: 50, readAfterMs: 100, autoReply: 'Thanks' };
  await sandbox('PUT', `/contacts/${RECIPIENT}`, manners);
  return {
    workspaceId,
    number,
    connectionId,
    listener,
    inputs: {
      baseUrl: service.info.baseUrl,
      apiKey: await makeKey(workspaceId),
      profile: 'full',
      recipient: RECIPIENT,
      webhookUrl: `https://${host}/deliveries?of=${number}`,
      awaitReplyMs: 60_000,
      patient: true,
    },
    close: () => listener.close(),
  };
}

/** Creates one with everything that the suite can examine. */
async function makeGradedWorkspace(service: TestService): Promise<GradedWorkspace> {
  const { sandbox, makeWorkspace, makeKey, makeApp, pair } = drive(service);
  const { workspaceId, number, ...made } = await makeDeliveredWorkspace(service);
  for (let index = 0; index < MESSAGES; index++) {
    const body = { connectionId: made.connectionId, text: `Message ${index}` };
    await sandbox('POST', `/contacts/${RECIPIENT}/messages`, body);
  }
  await pair(workspaceId, 'cloud_api', `49152000${number}`);
  const otherId = await makeWorkspace();
  await pair(otherId, 'qr', `49153000${number}`);
  const lapsedConnectionId = await pair(workspaceId, 'qr', `49154000${number}`);
  await sandbox('PUT', `/connections/${lapsedConnectionId}/licence`, { status: 'expired' });
  await sandbox('PUT', `/contacts/${ABSENT}`, { onNetwork: false });
  return {
    ...made,
    inputs: {
      ...made.inputs,
      secondApiKey: await makeKey(otherId),
      narrowApiKey: await makeKey(workspaceId, { scopes: ['messaging.read'] }),
      narrowScopes: ['messaging.read'],
      barredApiKey: await makeKey(workspaceId, { ipAllowlist: ['203.0.113.7'] }),
      portalApiKey: await makeKey(await makeWorkspace('crm_portal')),
      lapsedConnectionId,
      authUrl: service.info.authUrl,
      oauthApp: await makeApp(workspaceId),
      legacyBaseUrl: service.info.legacyBaseUrl,
      absentRecipient: ABSENT,
      pairingPhone: '447700900183',
    },
  };
}

/** A service for the tests of a file, and one of its workspaces. */
export function useGradedService() {
  const service = ofFile(startTestService);
  return { service, graded: ofFile(() => makeGradedWorkspace(service)) };
}

/** Runs the suite, or a part of it, in a workspace, optionally with other inputs. */
export function grade(
  { inputs, listener }: Pick<GradedWorkspace, 'inputs' | 'listener'>,
  options: Partial<ServiceSuiteOptions> = {},
  others: Partial<ServiceInputs> = {},
) {
  const { signal } = new AbortController();
  const fixed = { clock: systemClock, timeoutMs: TIMEOUT_MS, paceMs: 0, signal };
  return runServiceSuite({ inputs: { ...inputs, ...others }, listener, ...fixed, ...options });
}
