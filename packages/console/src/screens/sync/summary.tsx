import type { SyncStatus } from '../../../../../src/contract/connector/sync.ts';
import type { Figure } from '../../data/reading.ts';
import { completeUntil } from '../../data/sync-status.ts';
import { Facts } from '../../ui/about.tsx';
import { ReadSection } from '../../ui/as-of.tsx';
import { Chip } from '../../ui/chip.tsx';
import { Ago, HEALTH, LastPoll } from './parts.tsx';

/** Whether the connector keeps up, account by account. */
export function Summary({
  status: { accounts, sends, dispatch },
  figure,
}: {
  readonly status: SyncStatus;
  readonly figure: Figure;
}) {
  return (
    <ReadSection label="Connector" figures={[figure]}>
      <Facts
        facts={[
          ['Sends', `${sends.waiting} waiting`],
          // Null says nothing of consumers other than a handler.
          ['Changes for the CRM', dispatch === null ? undefined : `${dispatch.waiting} waiting`],
        ]}
      />
      {accounts.map((account) => (
        <section key={account.accountId} aria-label={`Account ${account.accountId}`}>
          <div className="line">
            <h3>
              Account <bdi className="mono">{account.accountId}</bdi>
            </h3>
            <Chip tone={HEALTH[account.webhookHealth]}>webhooks {account.webhookHealth}</Chip>
          </div>
          <Facts
            facts={[
              [
                'Nothing missing until',
                <Ago key="c" iso={completeUntil(account)} none="no message polled yet" />,
              ],
              ['Last poll', <LastPoll key="p" {...account} />],
              ['Last webhook', <Ago key="w" iso={account.lastWebhookAt} none="none yet" />],
            ]}
          />
        </section>
      ))}
    </ReadSection>
  );
}
