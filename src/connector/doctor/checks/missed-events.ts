import { JUDGED_AFTER_MS } from '../../reconcile/store-page.ts';
import { readRepairedAt } from '../../state/deliveries.ts';
import { listNumbers } from '../../state/figures.ts';
import { countNameless } from '../../state/messages.ts';
import { listNumbersOf } from '../../state/read-health.ts';
import { reportSync } from '../../state/sync-report.ts';
import { ago, count, span } from '../../state/wording.ts';
import type { AccountCheckInput } from '../check-input.ts';
import { type Check, notChecked, ok, problem, warning } from '../finding.ts';

/** If webhooks have arrived since, a repair this long ago no longer matters. */
const OVER_MS = 3_600_000;
const DAY_MS = 24 * 3_600_000;

/** Webhooks deliver what polling finds: `webhookHealth` as in `GET /v1/sync`. */
export const missedEventsCheck: Check<AccountCheckInput> = {
  id: 'missed-events',
  title: 'events that only polling found',
  async run({ account, database, clock }) {
    const [report] = (await reportSync({ database, clock }, account.id)) ?? [];
    if (report === undefined) return notChecked('The account no longer exists.');
    const now = clock.now();
    const { webhookHealth, repaired } = report;
    const lastWebhookAt = report.lastWebhookAt === null ? null : Date.parse(report.lastWebhookAt);
    const repairedAt = await readRepairedAt(database, account.id);
    const evidence = [
      `In total, polling found ${count(repaired.messages, 'message')} and ${count(repaired.statuses, 'status', 'statuses')} that no webhook delivered within ${span(JUDGED_AFTER_MS)}${repairedAt === null ? '' : `, the last ${ago(repairedAt, now)}`}.`,
      `Last webhook: ${ago(lastWebhookAt, now)}.`,
    ];
    const nameless = await countNameless(database, account.id, now - DAY_MS);
    if (nameless > 0) {
      evidence.push(
        `The sender of ${count(nameless, 'incoming message')} of the last 24 h is unknown, because the service's message list does not contain it.`,
      );
    }
    const health = new Map(report.connections.map((each) => [each.connectionId, each.webhookHealth]));
    const which = async (): Promise<string> => {
      const numbers = await listNumbers(database, account.id, now);
      return `Connections: ${listNumbersOf(numbers, ({ connectionId }) => health.get(connectionId) === webhookHealth && '')}`;
    };
    const advice = [
      'Polling finds what webhooks miss, but later, and without the sender of an incoming message (peer is null). The checks webhook, webhook-address and signatures show the cause.',
      'If those checks are ok, events are lost on the way: look for answers other than 2xx in the log of the proxy, and for restarts.',
    ];
    switch (webhookHealth) {
      case 'silent':
        return problem('No webhook arrives, although polls find messages.', {
          evidence: [...evidence, await which()],
          advice,
        });
      case 'lossy':
        if (
          repairedAt !== null &&
          now - repairedAt > OVER_MS &&
          lastWebhookAt !== null &&
          lastWebhookAt > repairedAt
        ) {
          return ok('Some events never arrived, but webhooks have arrived since.', { evidence });
        }
        return warning('Some events of the last 24 h never arrived.', {
          evidence: [...evidence, await which()],
          advice,
        });
      case 'healthy':
        return ok('Webhooks deliver what polling finds.', { evidence });
      case 'unknown':
        return notChecked('No webhook has arrived yet, and polling has repaired nothing.');
    }
  },
};
