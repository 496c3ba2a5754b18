import { ERRORS, isErrorCode } from '../../../contract/service/errors.ts';
import { readAccount } from '../../accounts/account-store.ts';
import { isPollOverdue, type PollState, readPollState } from '../../accounts/poll-state.ts';
import { readProgress } from '../../reconcile/progress.ts';
import { findDatedAfter } from '../../state/messages.ts';
import { ago, count, span } from '../../state/wording.ts';
import type { AccountCheckInput } from '../check-input.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { howToConsent } from '../places.ts';

/** If this many periods had no successful poll, it is not a coincidence. */
const PERIODS = 4;
const LONG_BEHIND_MS = 30 * 60_000;
/** Clocks differ by less. */
const AHEAD_MS = 60_000;

/** The account is polled successfully. */
export const pollsCheck: Check<AccountCheckInput> = {
  id: 'polls',
  title: 'polling of the account',
  async run(input) {
    const { account, database, clock, settings } = input;
    const now = clock.now();
    const state = await readPollState(database, account.id);
    const stored = await readAccount(database, account.id);
    if (stored?.hasCredential === false)
      return notChecked('The account has no credential, so it is not polled.');
    if (stored?.awaitsConsent === true) {
      return problem('The grant of this account has ended: polls and sends wait for a new consent.', {
        evidence: [`Last successful poll: ${ago(state.lastGoodAt, now)}.`],
        advice: [howToConsent(account.id)],
      });
    }
    if (
      state.refusedCredentialVersion !== null &&
      state.refusedCredentialVersion === stored?.credentialVersion
    ) {
      return problem('The service refused this credential, so it is not used again.', {
        evidence: [
          'Polls and sends of the account wait; nothing is lost.',
          `The last poll ended with ${state.lastErrorCode ?? 'a refusal'}. Last successful poll: ${ago(state.lastGoodAt, now)}.`,
        ],
        advice: [
          'Set SERVICE_API_KEY to a valid key and restart the processes one by one, or remove the account and add it with a valid key.',
        ],
      });
    }
    if (state.lastErrorCode !== null) return explainFailure(state, now);
    if (state.lastGoodAt === null && state.lastStartedAt === null) {
      return problem('The account has never been polled.', {
        advice: ['Start a connector with CONNECTOR_ROLE all or worker: a web process does not poll.'],
      });
    }
    const silentMs = now - Math.max(state.lastGoodAt ?? 0, state.lastStartedAt ?? 0);
    if (silentMs > PERIODS * settings.reconcileIntervalMs) {
      return problem(`No poll has started for ${span(silentMs)}.`, {
        evidence: [
          `A poll is due every ${span(settings.reconcileIntervalMs)}. Last successful poll: ${ago(state.lastGoodAt, now)}.`,
        ],
        advice: [
          'Start a connector with CONNECTOR_ROLE all or worker. If one runs, look for errors in its log.',
        ],
      });
    }
    if (isPollOverdue(state, now)) {
      return warning(`The next poll is ${span(now - (state.dueAt ?? now))} late.`, {
        evidence: [`Last successful poll: ${ago(state.lastGoodAt, now)}.`],
        advice: [
          'The processes are at their limit, or none of them polls. Start another one with CONNECTOR_ROLE worker. The metric connector_polls_oldest_due_seconds shows how late polls are.',
        ],
      });
    }
    return await judgeProgress(input, state, now);
  },
};

async function judgeProgress(
  { account, database }: AccountCheckInput,
  state: PollState,
  now: number,
): Promise<Finding> {
  const { coverage, visibility } = await readProgress(database, account.id);
  const open = coverage.gaps.length + visibility.length;
  const evidence = [
    `Last successful poll: ${ago(state.lastGoodAt, now)}. ${
      coverage.watermark === null
        ? whatIsUnread(state, open)
        : `Everything created until ${new Date(coverage.watermark).toISOString()} has been read`
    }${open === 0 ? '' : `; ${count(open, 'range is', 'ranges are')} still to be read`}.`,
  ];
  const behindMs = coverage.watermark === null ? Infinity : now - coverage.watermark;
  if (coverage.gaps.length > 0 && behindMs > LONG_BEHIND_MS) {
    return warning('Polling is catching up.', {
      evidence,
      advice: [
        'Wait: polling continues by itself, with the newest messages first. GET /v1/sync shows its progress.',
      ],
    });
  }
  const newest = await findDatedAfter(
    database,
    account.id,
    Math.max(now, serviceTime(state, now)) + AHEAD_MS,
  );
  if (newest !== undefined) {
    return warning(`The newest message is dated ${ago(newest.createdAt, now)}.`, {
      evidence: [`It is ${newest.id}.`, ...evidence],
      advice: [
        'Until then, each poll reads the newest messages again; nothing is lost. In a sandbox whose time was advanced, this is expected. Otherwise correct the clock of this machine, or tell the operators of the service.',
      ],
    });
  }
  return ok('Polls succeed.', { evidence });
}

/** The service's clock, as far as the last successful poll tells. */
function serviceTime({ lastGoodAt, lastGoodReference }: PollState, now: number): number {
  return lastGoodAt === null || lastGoodReference === null ? now : lastGoodReference + now - lastGoodAt;
}

function whatIsUnread({ lastGoodAt }: PollState, open: number): string {
  return lastGoodAt !== null && open === 0
    ? 'The list of messages is empty'
    : 'No list has been read completely yet';
}

function explainFailure(state: PollState, now: number): Finding {
  const code = state.lastErrorCode ?? 'unknown';
  const waits =
    state.notBefore === null || state.notBefore < now ? 'now' : `in ${span(state.notBefore - now)}`;
  const evidence = [
    `${count(state.failures, 'poll has', 'polls have')} failed in a row, the last with ${code}. Last successful poll: ${ago(state.lastGoodAt, now)}. The next is due ${waits}.`,
  ];
  const meaning = isErrorCode(code) ? `${code} means: ${ERRORS[code].meaning}` : (OWN_CODES[code] ?? '');
  const advice = [meaning, 'See the check service. Polling continues by itself as soon as it can.'];
  const details = { evidence, advice: advice.filter((line) => line !== '') };
  return state.failures >= 2 ? problem('Polls fail.', details) : warning('The last poll failed.', details);
}

/** Codes of failures for which the service gave no code. */
const OWN_CODES: Readonly<Record<string, string>> = {
  connect: 'The connection to the service could not be established.',
  network: 'The connection to the service broke during the call.',
  deadline: 'The service did not answer in time.',
  stalled_list:
    'The pages of GET /messages lead nowhere: a cursor is refused or given again, or many pages in a row contain nothing new. Each poll stores the newest page; older messages wait. Contact the operators of the service.',
  unreadable_answer:
    'The answer of the service does not match its specification. A proxy may have answered instead.',
};
