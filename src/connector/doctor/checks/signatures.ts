import { readSubscription } from '../../accounts/subscription-store.ts';
import type { TallyKind } from '../../inbox/receiver-tally.ts';
import { type ReceiverCount, readMissedAt, readTallies } from '../../state/deliveries.ts';
import { ago, count, span } from '../../state/wording.ts';
import type { AccountCheckInput, DoctorSettings } from '../check-input.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { reachableHost } from '../places.ts';

const LATELY_MS = 24 * 3_600_000;

type Tallies = ReadonlyMap<TallyKind, ReceiverCount>;

/**
 * Deliveries have valid signatures. Anybody can post to the webhook, so a refused request proves nothing by
 * itself: it counts as the service's own only if polling had to find what was due since. Then the check
 * distinguishes a wrong secret from a wrong clock.
 */
export const signaturesCheck: Check<AccountCheckInput> = {
  id: 'signatures',
  title: 'signatures of deliveries',
  async run({ account, database, clock, settings }) {
    const now = clock.now();
    const tallies = await readTallies(database, now - LATELY_MS, account.subscriptionId);
    const subscription = await readSubscription(database, account.subscriptionId);
    const hasSecret = subscription?.hasSecret === true;
    if (!hasSecret && account.kind === 'oauth') {
      return warning(NO_APP_SECRET, {
        evidence: describeAll(tallies, now),
        advice: [settings.namesAppWebhookSecret === true ? RESTART_FOR_SECRET : SET_APP_SECRET],
      });
    }
    if (!hasSecret) {
      // Without either setting, no webhooks are expected.
      const wanted = account.webhookUrl !== null || settings.namesWebhookSecret === true;
      const report = wanted ? problem : warning;
      return report(
        'There is no signing secret, so every delivery is refused and only polling finds events.',
        {
          evidence: describeAll(tallies, now),
          advice: [
            'Set WEBHOOK_PUBLIC_URL, so that the connector registers its webhook, or set WEBHOOK_SECRET. Without webhooks, messages arrive only with the next poll.',
          ],
        },
      );
    }
    const accepted = tallies.get('accepted');
    const evidence = describeAll(tallies, now);
    const going = newest(tallies, accepted);
    const missedAt = await readMissedAt(database, account.id, now);
    const isMissed = missedAt !== null && missedAt > Math.max(accepted?.lastAt ?? 0, now - LATELY_MS);
    if (going !== null && !isMissed) {
      return warning('Requests are refused because of their signatures, but no event is missing.', {
        evidence: [...evidence, 'Since the last accepted delivery, polling has repaired nothing.'],
        advice: [
          `Other clients post to the webhook, or deliveries have just started to fail. Run the doctor again after the next poll, which is due within ${span(settings.reconcileIntervalMs)}.`,
        ],
      });
    }
    if (going === 'wrong_signature') return explainWrongSecret(evidence, account, settings);
    if (going !== null) return explainClock(evidence, going, tallies.get(going));
    const isRefusing = FAILURES.some((kind) => tallies.has(kind));
    if (accepted !== undefined) return ok(isRefusing ? LAST_ARE_VALID : ALL_ARE_VALID, { evidence });
    if (!isRefusing) return notChecked('No delivery arrived in the last 24 h.');
    return warning('Requests arrive at the webhook, but none of them is from the service.', {
      evidence,
      advice: [UNSIGNED_REQUESTS],
    });
  },
};

const FAILURES = [
  'wrong_signature',
  'stale_timestamp',
  'future_timestamp',
  'missing_header',
  'malformed_timestamp',
  'malformed_signature',
] as const;

const NAMES: Readonly<Record<(typeof FAILURES)[number], string>> = {
  wrong_signature: 'with a wrong signature',
  stale_timestamp: 'with a timestamp more than 5 min old',
  future_timestamp: 'with a timestamp more than 5 min ahead',
  missing_header: 'without signature headers (as sent by scanners and by this command)',
  malformed_timestamp: 'with a malformed timestamp',
  malformed_signature: 'with a malformed signature',
};

const ALL_ARE_VALID = 'Every delivery had a valid signature.';
const LAST_ARE_VALID =
  'The last deliveries had valid signatures. The requests that were refused before were not from the service, or their cause is gone.';
const UNSIGNED_REQUESTS =
  'Requests without signature headers come from scanners, tests and this command; the service always signs.';

/** Kinds that the service itself can cause. */
const OF_SERVICE = ['wrong_signature', 'stale_timestamp', 'future_timestamp'] as const;

/** The current failure: the newest one, if no delivery was accepted since. */
function newest(tallies: Tallies, accepted: ReceiverCount | undefined): (typeof OF_SERVICE)[number] | null {
  const lastAt = (kind: TallyKind): number => tallies.get(kind)?.lastAt ?? 0;
  const [last] = [...OF_SERVICE].sort((a, b) => lastAt(b) - lastAt(a));
  return last !== undefined && lastAt(last) > (accepted?.lastAt ?? 0) ? last : null;
}

const NO_APP_SECRET =
  "The signing secret of the OAuth app's webhook is not known, so every delivery is refused and only polling finds events.";
const SET_APP_SECRET =
  "Enter the account's webhook path in the app's registration, set SERVICE_CLIENT_WEBHOOK_SECRET to the secret that is shown there, and restart the connector.";
const RESTART_FOR_SECRET =
  'SERVICE_CLIENT_WEBHOOK_SECRET is set. Restart the connector: it reads the secret at start.';

function explainWrongSecret(
  evidence: string[],
  { id: accountId, kind }: AccountCheckInput['account'],
  settings: DoctorSettings,
): Finding {
  const { host, port, namesWebhookSecret = false } = settings;
  const rotate = `curl -X POST http://${reachableHost(host)}:${port}/v1/webhook/rotate -H "authorization: Bearer $CONNECTOR_API_TOKEN" -H 'content-type: application/json' -d '{"accountId":"${accountId}"}'`;
  const ofApp =
    "Set SERVICE_CLIENT_WEBHOOK_SECRET to the secret that the app's registration shows now, and restart the connector.";
  const ofKey = namesWebhookSecret
    ? 'Set WEBHOOK_SECRET to the secret that the service showed last, and restart the connector.'
    : `The webhook was registered elsewhere, or its secret was rotated elsewhere, so the stored secret is no longer valid. If the check webhook is ok, create a new secret: ${rotate}`;
  return problem('Deliveries are refused: they are signed with a different secret than the stored one.', {
    evidence,
    advice: [
      kind === 'oauth' ? ofApp : ofKey,
      'Polling finds what was refused, but not the sender of a message: the message list of the service does not contain it.',
    ],
  });
}

function explainClock(
  evidence: string[],
  kind: 'stale_timestamp' | 'future_timestamp',
  counted: ReceiverCount | undefined,
): Finding {
  const isOld = kind === 'stale_timestamp';
  const off = counted && span(isOld ? counted.minMs : -counted.maxMs);
  return problem(
    isOld
      ? `Deliveries are refused because they were signed ${off ?? 'too long'} ago: our clock is ahead, or old deliveries are sent again.`
      : `Deliveries are refused because their timestamps are ahead of our clock${off === undefined ? '' : ` by about ${off}`}.`,
    {
      evidence,
      advice: [
        'Compare the clocks (see the check clock) and synchronize this machine with NTP: timedatectl set-ntp true.',
        'If the clocks agree, old deliveries are sent again, by a proxy that retries or by an attacker. Refusing them is correct.',
      ],
    },
  );
}

function describeAll(tallies: Tallies, now: number): string[] {
  const lines: string[] = [];
  const accepted = tallies.get('accepted');
  lines.push(
    accepted === undefined
      ? 'No delivery was accepted in the last 24 h.'
      : `In the last 24 h, ${count(accepted.count, 'delivery was', 'deliveries were')} accepted, the last ${ago(accepted.lastAt, now)}.`,
  );
  for (const kind of FAILURES) {
    const failed = tallies.get(kind);
    if (failed === undefined) continue;
    lines.push(
      `${count(failed.count, 'was', 'were')} refused ${NAMES[kind]}, the last ${ago(failed.lastAt, now)}.`,
    );
  }
  return lines;
}
