import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { RegisteredWebhook } from '../../../contract/sandbox/deliveries.ts';
import { sandbox } from '../../data/client.ts';
import { mode } from '../../data/live.ts';
import { syncStatus } from '../../data/sync-status.ts';

const isSandbox = (): boolean => mode().mode === 'sandbox';

export const counts = () =>
  ({ queryKey: ['deliveries', 'counts'], queryFn: () => sandbox('GET', '/deliveries/counts') }) as const;
export const webhooks = () =>
  ({
    queryKey: ['webhooks'],
    queryFn: async () => (await sandbox('GET', '/webhooks', { query: { limit: '100' } })).entries,
  }) as const;

/** How webhooks fare: what was delivered, what was lost, and what polling repaired. */
export function Lane() {
  const { data: total } = useQuery({ ...counts(), enabled: isSandbox() });
  const { data: registered = [] } = useQuery({ ...webhooks(), enabled: isSandbox() });
  const { data: synced } = useQuery({ ...syncStatus(), enabled: mode().connector });
  const repaired = synced?.accounts.reduce(
    (sum, { repaired: { messages, statuses } }) => sum + messages + statuses,
    0,
  );
  if (total === undefined && repaired === undefined) return null;
  return (
    <section aria-label="Webhooks">
      <h2>Webhooks</h2>
      <ul className="figures">
        {total === undefined
          ? null
          : (['delivered', 'dropped', 'pending'] as const).map((outcome) => (
              <li key={outcome}>
                <Link to="/deliveries" search={{ q: `status:${outcome}` }} data-count={total[outcome]}>
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
