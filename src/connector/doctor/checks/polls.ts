import { ERRORS, isErrorCode } from '../../../contract/service/errors.ts';
import { readAccount } from '../../accounts/account-store.ts';
import { type PollState, readPollState } from '../../reconcile/poll-state.ts';
import { readProgress } from '../../reconcile/progress.ts';
import type { AccountFacts } from '../facts.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { ago, count, howToConsent, span } from '../wording.ts';

/** So many periods without a good poll are no accident. */
const PERIODS = 4;
const LONG_BEHIND_MS = 30 * 60_000;

/** The account is polled, and polls go well. */
export const polls: Check<AccountFacts> = {
  id: 'polls',
  title: 'polling of the account',
  async look(facts) {
    const { account, database, clock, settings } = facts;
    const now = clock.now();
    const state = await readPollState(database, account.id);
    const stored = await readAccount(database, account.id);
    if (stored?.hasCredential === false)
      return notChecked('The account has no credential, so it is not polled.');
    if (stored?.awaitsConsent === true) {
      return problem('The grant of this account has ended: polls and sends wait for a new consent.', {
        evidence: [`The last good poll was ${ago(state.lastGoodAt, now)}.`],
        advice: [howToConsent(account.id)],
      });
    }
    if (
      state.refusedCredentialVersion !== null &&
      state.refusedCredentialVersion === stored?.credentialVersion
    ) {
      return problem('The service refused this credential, and it is not tried again.', {
        evidence: [
          `The last poll ended with ${state.lastErrorCode ?? 'a refusal'}; the last good one was ${ago(state.lastGoodAt, now)}.`,
        ],
        advice: ['Put a good key into SERVICE_API_KEY, or add the account anew, and restart the connector.'],
      });
    }
    if (state.lastErrorCode !== null) return explainFailure(state, now);
    if (state.lastGoodAt === null && state.lastStartedAt === null) {
      return problem('The account was never polled.', {
        advice: ['Start a connector with CONNECTOR_ROLE all or worker: a web process does not poll.'],
      });
    }
    const silentMs = now - Math.max(state.lastGoodAt ?? 0, state.lastStartedAt ?? 0);
    if (silentMs > PERIODS * settings.reconcileIntervalMs) {
      return problem(`No poll was begun for ${span(silentMs)}.`, {
        evidence: [
          `One is due every ${span(settings.reconcileIntervalMs)}; the last good one was ${ago(state.lastGoodAt, now)}.`,
        ],
        advice: [
          'Start a connector with CONNECTOR_ROLE all or worker. If one runs, look for errors of its queues in its log, and at Redis.',
        ],
      });
    }
    return await judgeProgress(facts, state, now);
  },
};

async function judgeProgress(
  { account, database }: AccountFacts,
  state: PollState,
  now: number,
): Promise<Finding> {
  const { coverage, visibility } = await readProgress(database, account.id);
  const open = coverage.gaps.length + visibility.length;
  const evidence = [
    `The last good poll ended ${ago(state.lastGoodAt, now)}; everything created until ${
      coverage.watermark === null ? 'now is still to be read' : new Date(coverage.watermark).toISOString()
    } was seen${open === 0 ? '' : `, and ${count(open, 'stretch is', 'stretches are')} open`}.`,
  ];
  const behindMs = coverage.watermark === null ? Infinity : now - coverage.watermark;
  if (coverage.gaps.length > 0 && behindMs > LONG_BEHIND_MS) {
    return warning('Polling is catching up.', {
      evidence,
      advice: ['Wait: it goes on by itself, the newest messages first. GET /v1/sync shows how far it is.'],
    });
  }
  return ok('Polls go well.', { evidence });
}

function explainFailure(state: PollState, now: number): Finding {
  const code = state.lastErrorCode ?? 'unknown';
  const waits =
    state.notBefore === null || state.notBefore < now ? 'now' : `in ${span(state.notBefore - now)}`;
  const evidence = [
    `${count(state.failures, 'poll has', 'polls have')} failed in a row, the last with ${code}; the last good one was ${ago(state.lastGoodAt, now)}, the next is due ${waits}.`,
  ];
  const meaning = isErrorCode(code) ? `${code} means: ${ERRORS[code].meaning}` : (OWN_CODES[code] ?? '');
  const advice = [
    meaning,
    'See what is said about the service below. Polling goes on by itself once it can.',
  ];
  const told = { evidence, advice: advice.filter((line) => line !== '') };
  return state.failures >= 2 ? problem('Polls fail.', told) : warning('The last poll failed.', told);
}

/** Codes of failures that the service did not name. */
const OWN_CODES: Readonly<Record<string, string>> = {
  connect: 'No connection to the service could be made.',
  network: 'The connection to the service failed in the middle.',
  deadline: 'The service did not answer in time.',
  unreadable_answer:
    'What the service answered does not fit its specification: a proxy may answer in its place.',
};
