import { Link } from '@tanstack/react-router';
import type { RegisteredWebhook } from '../../../contract/sandbox/deliveries.ts';
import { sandbox } from '../../data/client.ts';
import { mode } from '../../data/live.ts';
import { useRead } from '../../data/read.ts';
import { syncStatus } from '../../data/sync-status.ts';
import { ReadHeading } from '../../ui/as-of.tsx';

const isSandbox = (): boolean => mode().mode === 'sandbox';

/** The workspace of the self-check, which is left out: it loses a webhook at each start, on purpose. */
const readSelfCheck = async (): Promise<string | null> =>
  (await sandbox('GET', '/info')).selfCheckWorkspaceId;

/** The filter of all deliveries but those of the self-check. */
export async function readOwn(): Promise<string> {
  const id = await readSelfCheck();
  return id === null ? '' : `!workspace:${id}`;
}

export const counts = () =>
  ({
    queryKey: ['deliveries', 'counts'],
    async queryFn() {
      const q = await readOwn();
      return { ...(await sandbox('GET', '/deliveries/counts', { query: { q } })), q };
    },
  }) as const;
export const webhooks = () =>
  ({
    queryKey: ['webhooks'],
    async queryFn() {
      const id = await readSelfCheck();
      const { entries } = await sandbox('GET', '/webhooks', { query: { limit: '100' } });
      return entries.filter(({ subscription }) => subscription.id !== id);
    },
  }) as const;

/** How webhooks fare: what was delivered, what was lost, and what polling repaired. */
export function Lane() {
  const { data: total, ...ofTotal } = useRead({ ...counts(), enabled: isSandbox() });
  const { data: registered = [], ...ofRegistered } = useRead({ ...webhooks(), enabled: isSandbox() });
  const { data: synced, ...ofSync } = useRead({ ...syncStatus(), enabled: mode().connector });
  const repaired = synced?.accounts.reduce(
    (sum, { repaired: { messages, statuses }, undecidedRepairs }) =>
      sum + messages + statuses + undecidedRepairs,
    0,
  );
  if (total === undefined && repaired === undefined) return null;
  return (
    <section aria-label="Webhooks">
      <ReadHeading
        title="Webhooks"
        figures={[...(isSandbox() ? [ofTotal, ofRegistered] : []), ...(mode().connector ? [ofSync] : [])]}
      />
      <ul className="figures">
        {total === undefined
          ? null
          : (['delivered', 'dropped', 'pending'] as const).map((outcome) => (
              <li key={outcome}>
                <Link
                  to="/deliveries"
                  search={{ q: `status:${outcome} ${total.q}`.trim() }}
                  data-count={total[outcome]}
                >
                  <b className={outcome}>{total[outcome].toLocaleString('en')}</b> {outcome}
                </Link>
              </li>
            ))}
        {repaired === undefined ? null : (
          <li>
            <Link to="/sync" data-count={repaired}>
              <b>{repaired.toLocaleString('en')}</b> repaired by polling
            </Link>
          </li>
        )}
      </ul>
      {total === undefined ? null : (
        <div className="share" aria-hidden="true">
          {(['delivered', 'dropped', 'pending'] as const).map((outcome) => (
            <span key={outcome} className={outcome} style={{ flexGrow: total[outcome] }} />
          ))}
        </div>
      )}
      {registered.length === 0 ? null : (
        <ul className="webhooks">
          {registered.map((webhook) => (
            <WebhookRow key={webhook.subscription.id} webhook={webhook} />
          ))}
        </ul>
      )}
    </section>
  );
}

/** A webhook and its last deliveries, the newest on the right. */
function WebhookRow({
  webhook: { subscription, url, lastDeliveries },
}: {
  readonly webhook: RegisteredWebhook;
}) {
  return (
    <li>
      <Link to="/deliveries" search={{ q: `webhook:${subscription.id}` }} className="mono url">
        {url}
      </Link>
      <span className="faint">{subscription.kind}</span>
      <span className="marks">
        {lastDeliveries.toReversed().map(({ id, event, outcome, status, error }) => (
          <Link
            key={id}
            to="/deliveries/$id"
            params={{ id }}
            className={outcome}
            aria-label={`${event} ${outcome}`}
            title={`${event}, ${outcome}: ${error ?? status ?? 'no attempt yet'}`}
          />
        ))}
      </span>
    </li>
  );
}
