import { Link } from '@tanstack/react-router';
import WebhookIcon from 'lucide-react/icons/webhook';
import type { RegisteredWebhook } from '../../../../../src/contract/sandbox/deliveries.ts';
import { useRead } from '../../data/read.ts';
import { COUNTS, WEBHOOKS } from '../../data/webhooks.ts';
import { AsOf } from '../../ui/as-of.tsx';

/** The webhooks with their last deliveries, and what became of all deliveries. */
export function Lane() {
  const { data: total, ...ofTotal } = useRead(COUNTS);
  const { data: registered = [], ...ofRegistered } = useRead(WEBHOOKS);
  if (total === undefined) return null;
  return (
    <section aria-label="Webhooks">
      <header className="line">
        <h2>Webhooks</h2>
        <AsOf figures={[ofTotal, ofRegistered]} />
        <span className="totals line">
          {(['delivered', 'dropped', 'pending'] as const).map((outcome) => (
            <Link
              key={outcome}
              to="/deliveries"
              search={{ q: `status:${outcome} ${total.q}`.trim() }}
              className="chip"
              data-count={total[outcome]}
            >
              {total[outcome].toLocaleString('en')} {outcome}
            </Link>
          ))}
        </span>
      </header>
      {registered.length === 0 ? null : (
        <ul className="card rows webhooks">
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
      <WebhookIcon />
      <div>
        <p>{subscription.kind === 'app' ? 'OAuth app' : 'Workspace'}</p>
        <Link
          to="/deliveries"
          search={{ q: `webhook:${subscription.id}` }}
          className="mono url cut"
          title={url}
        >
          {url}
        </Link>
      </div>
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
