import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError, atField, connector, isOf, sandbox, service } from '../../data/client.ts';
import { writeAsContact } from '../../data/contact.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { WEBHOOKS } from '../../data/webhooks.ts';
import { Facts } from '../../ui/about.tsx';
import { Button } from '../../ui/button.tsx';
import { Field, Form, Submit } from '../../ui/form.tsx';
import { Confirmed } from '../../ui/menu.tsx';
import { EmptyState, Failure, ReadFailure, Unread } from '../../ui/states.tsx';
import { takeFocus } from '../../ui/take-focus.ts';
import { showDateTime } from '../../ui/times.tsx';
import { connectionsOf, WORKSPACES } from '../access/lists.ts';
import { Secrets } from '../access/secrets.tsx';
import { EVENTS } from './describe.ts';

/** The id of the page of the webhook, beside those of the deliveries. */
export const WEBHOOK = 'webhook';

const TUNNELS = {
  queryKey: ['hosts'],
  queryFn: async () => (await sandbox('GET', '/hosts')).entries,
};

/** Without the credentials, which the page does not keep. */
const OWN = {
  queryKey: ['info', 'webhook'],
  async queryFn() {
    const { workspaceId, selfCheckWorkspaceId, webhookUrl } = await sandbox('GET', '/info');
    return { workspaceId, selfCheckWorkspaceId, connectorAddress: webhookUrl };
  },
};

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '');

/** The service names only its code. Why it refused an address, the record of the call says. */
async function explainRefusal(error: unknown, workspaceId: string): Promise<never> {
  if (!(error instanceof ApiError) || error.code !== 'invalid_webhook') throw error;
  const q = `code:invalid_webhook workspace:${workspaceId}`;
  const { entries } = await sandbox('GET', '/calls', { query: { q, limit: '1' } });
  const why = entries[0]?.trace.at(-1)?.why ?? 'it must be HTTPS, on a public host';
  throw atField(error, 'url', `invalid_webhook: ${why}.`);
}

/** The webhook of a workspace: its address, its secret, and how a program of one's own receives the deliveries. */
export function WebhookDetail() {
  const own = useRead(OWN);
  const workspaces = useRead(WORKSPACES);
  const [chosen, choose] = useState<string>();
  const error = own.error ?? workspaces.error;
  if (own.data === undefined || workspaces.data === undefined)
    return <Unread error={error} label="Loading the webhook" />;
  const { workspaceId, selfCheckWorkspaceId, connectorAddress } = own.data;
  const ids = workspaces.data.map(({ id }) => id).filter((id) => id !== selfCheckWorkspaceId);
  const id = chosen ?? workspaceId;
  return (
    <div className="detail" ref={takeFocus}>
      <header>
        <h1>Webhook</h1>
        {ids.length < 2 ? null : (
          <label className="line">
            <span className="soft">of the workspace</span>
            <select className="field mono" value={id} onChange={({ target }) => choose(target.value)}>
              {ids.map((each) => (
                <option key={each} value={each}>
                  {each}
                  {each === workspaceId ? ' (your .env)' : ''}
                </option>
              ))}
            </select>
          </label>
        )}
        <p className="soft">
          The webhook of an OAuth app is set at the app, under <Link to="/access">Access</Link>.
        </p>
      </header>
      <Webhook key={id} workspaceId={id} connectorAddress={id === workspaceId ? connectorAddress : null} />
      <Tunnels />
    </div>
  );
}

function Webhook({
  workspaceId,
  connectorAddress,
}: {
  readonly workspaceId: string;
  /** What the attached connector registers here; null if it registers nothing. */
  readonly connectorAddress: string | null;
}) {
  const headers = { 'x-workspace-id': workspaceId };
  const registered = useRead(WEBHOOKS);
  const tunnels = useRead(TUNNELS);
  /** All changes share it. Those that the connector makes return no secret: only the connector knows it. */
  const change = useAction({
    mutationFn: (work: () => Promise<{ readonly secret?: string }>) => work(),
  });
  const put = (url: string) =>
    service('PUT', '/webhook', { headers, body: { url } }).catch((error) =>
      explainRefusal(error, workspaceId),
    );
  const set = (url: string, target: string) => async () => {
    const host = hostOf(url);
    if (host !== '' && target !== '')
      await sandbox('PUT', '/hosts/{host}', { params: { host }, body: { target } });
    return put(url);
  };
  const rotate = () => service('POST', '/webhook/rotate', { headers });
  const rotateByConnector = async (compromised: boolean) => {
    await connector('POST', '/v1/webhook/rotate', { body: { compromised } });
    return {};
  };
  const giveBack = (address: string) => () => put(address).then(() => rotateByConnector(true));
  const unread = registered.error ?? tunnels.error;
  if (registered.data === undefined || tunnels.data === undefined)
    return <Unread error={unread} label="Loading the address" />;
  const webhook = registered.data.find(({ subscription }) => subscription.id === workspaceId);
  const isConnectors = connectorAddress !== null && webhook?.url === connectorAddress;
  const tunnel = tunnels.data.find(({ host }) => host === hostOf(webhook?.url ?? ''));
  const { data: changed } = change;
  const error = isOf(change.error, 'host') ? atField(change.error, 'url') : change.error;
  return (
    <>
      {webhook === undefined ? (
        <EmptyState title="No webhook is set" hint="Its events are dropped, until an address is set." />
      ) : (
        <Facts
          valueClass="mono"
          facts={[
            ['Address', webhook.url],
            ['Leads to', tunnel?.target ?? 'the public host: no tunnel is open for it'],
            ['Receiver', isConnectors ? 'the attached connector' : 'your program'],
            ['Events', EVENTS.join(', ')],
            ['Secret', `set; last changed ${showDateTime(webhook.changedAt)}`],
          ]}
        />
      )}
      {changed?.secret === undefined ? null : (
        <Secrets key={changed.secret} secrets={[['Signing secret', changed.secret]]} />
      )}
      <div className="line">
        <TestMessage workspaceId={workspaceId} />
        {webhook === undefined ? null : (
          <Confirmed
            label="Rotate secret"
            question={
              isConnectors
                ? 'The attached connector gets a new secret and keeps it. No event is lost.'
                : 'The present secret becomes invalid at once: your program must refuse all deliveries until it has the new one.'
            }
            action={change}
            input={isConnectors ? () => rotateByConnector(false) : rotate}
          />
        )}
        {connectorAddress === null || isConnectors ? null : (
          <Button action={change} input={giveBack(connectorAddress)}>
            Return it to the connector
          </Button>
        )}
        <span className="soft" role="status">
          {changed !== undefined && changed.secret === undefined ? 'The connector has a new secret.' : ''}
        </span>
      </div>
      <Form
        label="Set the address"
        action={{ ...change, error }}
        onSubmit={(fields) => {
          const [url = '', target = ''] = ['url', 'target'].map((name) => String(fields.get(name)).trim());
          change.mutate(set(url, target));
        }}
      >
        <h2>Deliver to your own program</h2>
        <p className="soft">
          The service delivers only to public HTTPS hosts. A tunnel of this sandbox leads such a host to your
          program: take any public name, which need not exist, and say where your program listens.
          {isConnectors ? ' The attached connector then finds messages by polling only.' : ''}
        </p>
        <Field
          name="url"
          label="Address"
          hint="The present secret becomes invalid."
          placeholder="https://my-program.example.com/webhooks"
        />
        <Field
          name="target"
          label="Where your program listens"
          hint="Without a path. Empty: no tunnel is opened. Other machines only if PLATFORM_TUNNEL_TARGETS allows them at the start."
          placeholder="http://127.0.0.1:3000"
        />
        <Submit kind="main">Set the address</Submit>
      </Form>
    </>
  );
}

/** A contact writes to a number of the workspace, which sends an event to the webhook. */
function TestMessage({ workspaceId }: { readonly workspaceId: string }) {
  const { data: connections = [] } = useRead(connectionsOf(workspaceId));
  const number = connections.find(
    ({ provider, status, licenseStatus }) =>
      provider === 'qr' && status === 'connected' && licenseStatus !== 'expired',
  );
  const write = useAction({
    mutationFn: (connectionId: string) => writeAsContact(connectionId, 'A test of the webhook'),
  });
  if (number === undefined)
    return <span className="soft">No number of this workspace can receive a test message.</span>;
  return (
    <>
      <Button action={write} input={number.id}>
        Send a test message
      </Button>
      <span className="soft" role="status">
        {write.data === undefined ? null : (
          <>
            A contact wrote to <bdi>{number.label || number.phoneNumber}</bdi>.{' '}
            <Link
              to="/deliveries/$id"
              params={{ id: WEBHOOK }}
              search={{ q: `message:${write.data.messageId}` }}
            >
              Its deliveries
            </Link>
          </>
        )}
      </span>
      <Failure error={write.error} />
    </>
  );
}

function Tunnels() {
  const { data, error } = useRead(TUNNELS);
  const close = useAction({
    mutationFn: (host: string) => sandbox('DELETE', '/hosts/{host}', { params: { host } }),
  });
  if (error !== null) return <ReadFailure error={error} />;
  return (
    <section aria-label="Tunnels">
      <h2>Tunnels</h2>
      {data?.length === 0 ? <p className="soft">None is open.</p> : null}
      <Facts
        valueClass="mono"
        facts={(data ?? []).map(({ host, target }) => [
          host,
          <span key={host} className="line">
            {target}
            <Button kind="quiet" action={close} input={host}>
              Close<span className="visually-hidden"> the tunnel of {host}</span>
            </Button>
          </span>,
        ])}
      />
      <Failure error={close.error} />
    </section>
  );
}
