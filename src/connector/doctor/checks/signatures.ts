import { readSubscription } from '../../accounts/subscription-store.ts';
import type { TallyKind } from '../../inbox/receiver-tally.ts';
import { readMissedAt, readTallies, type Tallied } from '../../state/deliveries.ts';
import type { AccountCheckInput, DoctorSettings } from '../check-input.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { ago, count, reachableHost, span } from '../wording.ts';

const LATELY_MS = 24 * 3_600_000;

type Tallies = ReadonlyMap<TallyKind, Tallied>;

/**
 * Deliveries have valid signatures. Anybody can post to the webhook, so a refused request proves nothing by
 * itself: it counts as the service's own only if polling had to find what was due since. Then the check
 * distinguishes a wrong secret from a wrong clock.
 */
export const signaturesCheck: Check<AccountCheckInput> = {
  id: 'signatures',
  title: 'signatures of deliveries',
  async look({ account, database, clock, settings }) {
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
      const tell = wanted ? problem : warning;
      return tell('There is no signing secret, so every delivery is refused, and all comes by polling.', {
        evidence: describeAll(tallies, now),
        advice: [
          'Set WEBHOOK_PUBLIC_URL, so that the connector registers its webhook, or WEBHOOK_SECRET. Without webhooks messages come as late as polls.',
        ],
      });
    }
    const taken = tallies.get('taken');
    const evidence = describeAll(tallies, now);
    const going = newest(tallies, taken);
    const missedAt = await readMissedAt(database, account.id, now);
    const isMissed = missedAt !== null && missedAt > Math.max(taken?.lastAt ?? 0, now - LATELY_MS);
    if (going !== null && !isMissed) {
      return warning('Requests are refused for their signatures, but nothing that was due is missing.', {
        evidence: [...evidence, 'Since the last delivery that was taken, polling had nothing to repair.'],
        advice: [
          `Strangers post to the webhook, or deliveries have just begun to fail: ask again after the next poll, which is due within ${span(settings.reconcileIntervalMs)}.`,
        ],
      });
    }
    if (going === 'wrong_signature') return explainWrongSecret(evidence, account, settings);
    if (going !== null) return explainClock(evidence, going, tallies.get(going));
    const failed = [...FAILURES].filter((kind) => tallies.has(kind));
    if (taken === undefined && failed.length === 0) return notChecked('Nothing was delivered in 24 h.');
    if (taken === undefined || failed.length === 0) {
      return taken === undefined
        ? warning('Strangers post to the webhook, and the service does not.', {
            evidence,
            advice: [STRANGERS],
          })
        : ok('Every delivery was signed well.', { evidence });
    }
    return ok(
      'The last deliveries were signed well; what was refused before is no longer so, or is not the service.',
      {
        evidence,
      },
    );
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
  missing_header: 'without signature headers (scanners do so, and this command)',
  malformed_timestamp: 'with a malformed timestamp',
  malformed_signature: 'with a malformed signature',
};

const STRANGERS =
  'Requests without signature headers come from scanners, tests and this command; the service always signs.';

/** Kinds that the service itself can cause. */
const TELLING = ['wrong_signature', 'stale_timestamp', 'future_timestamp'] as const;

/** The current failure: the newest one, if no delivery was accepted since. */
function newest(tallies: Tallies, taken: Tallied | undefined): (typeof TELLING)[number] | null {
  const lastAt = (kind: TallyKind): number => tallies.get(kind)?.lastAt ?? 0;
  const [last] = [...TELLING].sort((a, b) => lastAt(b) - lastAt(a));
  return last !== undefined && lastAt(last) > (taken?.lastAt ?? 0) ? last : null;
}

const NO_APP_SECRET =
  "The signing secret of the OAuth app's webhook is not known, so every delivery is refused, and all comes by polling.";
const SET_APP_SECRET =
  "Write the account's webhook path into the app's registration, set SERVICE_CLIENT_WEBHOOK_SECRET to the secret that is shown there, and restart the connector.";
const RESTART_FOR_SECRET =
  'SERVICE_CLIENT_WEBHOOK_SECRET is set: restart the connector, which takes it up at start.';

function explainWrongSecret(
  evidence: string[],
  { id: accountId, kind }: AccountCheckInput['account'],
  settings: DoctorSettings,
): Finding {
  const { host, port, namesWebhookSecret = false } = settings;
  const rotate = `curl -X POST http://${reachableHost(host)}:${port}/v1/webhook/rotate -H "authorization: Bearer $CONNECTOR_API_TOKEN" -H 'content-type: application/json' -d '{"accountId":"${accountId}"}'`;
  const ofApp =
    'Put the secret into SERVICE_CLIENT_WEBHOOK_SECRET that the registration of the app shows now, and restart the connector.';
  const ofKey = namesWebhookSecret
    ? 'Put the secret into WEBHOOK_SECRET that the service showed last, and restart the connector.'
    : `Somebody registered or rotated the webhook elsewhere, which voids our secret. If the webhook above is still ours, get a new one: ${rotate}`;
  return problem('Deliveries are refused: they are signed with another secret than the stored one.', {
    evidence,
    advice: [
      kind === 'oauth' ? ofApp : ofKey,
      'Polling brings what was refused, but not who sent it: the list of messages names no sender.',
    ],
  });
}

function explainClock(
  evidence: string[],
  kind: 'stale_timestamp' | 'future_timestamp',
  tallied: Tallied | undefined,
): Finding {
  const off =
    tallied === undefined
      ? ''
      : ` by about ${span(kind === 'stale_timestamp' ? tallied.minMs : -tallied.maxMs)}`;
  return problem(
    kind === 'stale_timestamp'
      ? `Deliveries are refused as ${off === '' ? 'too old' : `signed ${off.replace(' by about ', '')} ago`}: our clock is ahead, or old deliveries are sent again.`
      : `Deliveries are refused as being ahead of our clock${off}.`,
    {
      evidence,
      advice: [
        'Compare the clocks (see the clock below) and set this machine by NTP: timedatectl set-ntp true.',
        'If the clocks agree, somebody sends old deliveries again: a proxy that retries, or an attacker. They are refused rightly.',
      ],
    },
  );
}

function describeAll(tallies: Tallies, now: number): string[] {
  const lines: string[] = [];
  const taken = tallies.get('taken');
  lines.push(
    taken === undefined
      ? 'In 24 h no delivery was taken.'
      : `In 24 h ${count(taken.count, 'delivery was', 'deliveries were')} taken, the last ${ago(taken.lastAt, now)}.`,
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
