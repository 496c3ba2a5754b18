import { Link } from '@tanstack/react-router';
import type { Scope } from '../../../../../src/contract/service/scopes.ts';
import { sandbox } from '../../data/client.ts';
import { queries } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { useAction } from '../../data/use-action.ts';
import { About } from '../../ui/about.tsx';
import { Field, Form, Submit, Ticked } from '../../ui/form.tsx';
import { EmptyState, Unread } from '../../ui/states.tsx';
import { takeFocus } from '../../ui/take-focus.ts';
import { showDateTime } from '../../ui/times.tsx';
import { APPS, GRANTS, readEntries, SCOPES, WORKSPACES } from './lists.ts';
import { Secrets } from './secrets.tsx';

/** An OAuth app, its webhook, and its grants. */
export function AppDetail({ clientId }: { readonly clientId: string }) {
  const { data, error } = useRead(APPS);
  const grants = useRead(GRANTS).data?.filter((grant) => grant.clientId === clientId) ?? [];
  const set = useAction({
    mutationFn: (url: string) =>
      sandbox('PUT', '/oauth-apps/{id}/webhook', { params: { id: clientId }, body: { url } }),
    onSuccess: () => queries.invalidateQueries(APPS),
  });
  if (data === undefined) return <Unread error={error} label="Loading the app" />;
  const app = data.find((each) => each.clientId === clientId);
  if (app === undefined)
    return <EmptyState title="There is no such app" hint="Press Esc to return to the list." />;
  return (
    <div className="detail">
      <header>
        <h1>
          <bdi>{app.name}</bdi>
        </h1>
        <p className="soft">registered {showDateTime(app.createdAt)} virtual time</p>
        <Link to="/calls" search={{ q: `credential:${clientId}` }}>
          Calls of this app
        </Link>
      </header>
      <About
        facts={[
          ['client_id', app.clientId],
          ['Redirect URIs', <Lines key="r" lines={app.redirectUris} />],
          ['Scopes', <Lines key="s" lines={app.scopes} />],
          ['Owner', app.ownerWorkspaceId ?? 'no workspace: a page always asks for consent'],
          ['Webhook', app.webhookUrl ?? 'none'],
          ['Events', app.legacySubscription ? 'message.received only' : undefined],
        ]}
      />
      <Form label="Webhook" action={set} onSubmit={(fields) => set.mutate(String(fields.get('url')))}>
        <Field
          name="url"
          label="Set the webhook"
          hint="The app gets a new signing secret."
          placeholder="https://app.example.com/webhook"
          required
          beside={<Submit>Set</Submit>}
        />
        {set.data === undefined ? null : <Secrets secrets={[['Signing secret', set.data.webhookSecret]]} />}
      </Form>
      <section aria-label="Grants">
        <h2>Grants</h2>
        {grants.length === 0 ? <p className="soft">Nobody has granted access to this app.</p> : null}
        {grants.map(({ id, workspaceId, revokedAt }) => (
          <p key={id}>
            <Link to="/access/$id" params={{ id: `grant-${id}` }} className="mono">
              {id}
            </Link>{' '}
            <span className="soft">
              of {workspaceId}
              {revokedAt === null ? '' : ', revoked'}
            </span>
          </p>
        ))}
      </section>
    </div>
  );
}

function Lines({ lines }: { readonly lines: readonly string[] }) {
  return <span className="lines">{lines.join('\n')}</span>;
}

/** Registers an app; its secrets are shown once. */
export function RegisterApp() {
  const workspaces = useRead(WORKSPACES).data ?? [];
  const register = useAction({
    mutationFn: (form: FormData) => {
      const text = (name: string): string => String(form.get(name));
      const [webhookUrl, ownerWorkspaceId] = [text('webhookUrl'), text('ownerWorkspaceId')];
      return sandbox('POST', '/oauth-apps', {
        body: {
          name: text('name'),
          redirectUris: readEntries(text('redirectUris')) ?? [],
          scopes: form.getAll('scopes').map(String) as Scope[],
          ...(webhookUrl === '' ? {} : { webhookUrl }),
          ...(ownerWorkspaceId === '' ? {} : { ownerWorkspaceId }),
        },
      });
    },
    onSuccess: () => queries.invalidateQueries(APPS),
  });
  const { data } = register;
  if (data !== undefined) {
    const { clientId, clientSecret, webhookSecret } = data;
    return (
      <div className="detail">
        <h1>Registered</h1>
        <Secrets
          secrets={[
            ['client_id', clientId],
            ['client_secret', clientSecret],
            ...(webhookSecret === null ? [] : [['Signing secret', webhookSecret] as const]),
          ]}
        />
        <Link to="/access/$id" params={{ id: `app-${clientId}` }}>
          Open the app
        </Link>
      </div>
    );
  }
  return (
    <div className="detail">
      <h1>New OAuth app</h1>
      <Form ref={takeFocus} label="New OAuth app" action={register} onSubmit={register.mutate}>
        <Field name="name" label="Name" hint="Shown on the consent page." className="field wide" required />
        <Field
          name="redirectUris"
          label="Redirect URIs"
          hint="One in a line."
          rows={2}
          placeholder="http://127.0.0.1:3000/callback"
          required
        />
        <Ticked name="scopes" label="Scopes" values={SCOPES} ticked={SCOPES} />
        <Field name="webhookUrl" label="Webhook" hint="An HTTPS URL. Empty: none." />
        <Field
          name="ownerWorkspaceId"
          label="Owner"
          hint="The consent of its owner may be automatic."
          className="field"
          options={[['', 'no workspace'], ...workspaces.map(({ id }) => [id, id] as const)]}
        />
        <div>
          <Submit kind="main">Register</Submit>
        </div>
      </Form>
    </div>
  );
}
