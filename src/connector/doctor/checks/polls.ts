import { ERRORS, isErrorCode } from '../../../contract/service/errors.ts';
import { readAccount } from '../../accounts/account-store.ts';
import { type PollState, readPollState } from '../../accounts/poll-state.ts';
import { readProgress } from '../../reconcile/progress.ts';
import { listDatedAfter, listDatedBefore } from '../../state/messages.ts';
import type { AccountCheckInput } from '../check-input.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { ago, count, howToConsent, span } from '../wording.ts';

/** If this many periods had no successful poll, it is not a coincidence. */
const PERIODS = 4;
const LONG_BEHIND_MS = 30 * 60_000;

/** The account is polled successfully. */
export const pollsCheck: Check<AccountCheckInput> = {
  id: 'polls',
  title: 'polling of the account',
  async look(input) {
    const { account, database, clock, settings } = input;
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
          'Polls and sends of the account wait; nothing is lost.',
          `The last poll ended with ${state.lastErrorCode ?? 'a refusal'}; the last good one was ${ago(state.lastGoodAt, now)}.`,
        ],
        advice: [
          'Put a good key into SERVICE_API_KEY and restart one process after another; or remove the account and add it with a good key.',
        ],
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
          'Start a connector with CONNECTOR_ROLE all or worker. If one runs, look for errors in its log.',
        ],
      });
    }
    const dates = [...(await judgeDates(input, now)), ...(await judgeOldDates(input))];
    return [await judgeProgress(input, state, now), ...dates];
  },
};

/** The check of the clock reports smaller differences. */
const AHEAD_MS = 5 * 60_000;

/** Messages dated in the future: single ones, or because of the service's clock. */
async function judgeDates(
  { account, database }: AccountCheckInput,
  now: number,
): Promise<readonly Finding[]> {
  const dated = await listDatedAfter(database, account.id, now + AHEAD_MS);
  const [last] = dated;
  if (last === undefined) return [];
  const evidence = dated
    .slice(0, 3)
    .map(
      ({ id, connectionId, createdAt }) =>
        `Message ${id} of connection ${connectionId} is dated ${new Date(createdAt).toISOString()}, ${span(createdAt - now)} ahead of our clock.`,
    );
  const harm =
    'Nothing is lost: they are stored, and their times move nothing. Each poll reads past them, so many of them cost requests.';
  if (last.contradicted) {
    return [
      warning(`The service dates ${count(dated.length, 'message')} in the future.`, {
        evidence: [...evidence, 'What came after them has a time that can be true, so it is not its clock.'],
        advice: [harm, 'Tell the operators of the service their ids.'],
      }),
    ];
  }
  return [
    warning(
      `The service's clock is ${span(last.createdAt - last.firstSeenAt)} ahead of ours, by the newest message.`,
      {
        evidence: [...evidence, `${count(dated.length, 'message is', 'messages are')} dated in the future.`],
        advice: [
          harm,
          'Compare the clocks and set this machine by NTP; if it is right, tell the operators of the service. In a sandbox whose time was moved this is as it should be.',
        ],
      },
    ),
  ];
}

/** The network is younger, so an older time is wrong, such as 1970, or seconds that were read as milliseconds. */
const NO_TIME_BEFORE_MS = Date.UTC(2000, 0, 1);

/** Messages with an impossible time. */
async function judgeOldDates({ account, database }: AccountCheckInput): Promise<readonly Finding[]> {
  const dated = await listDatedBefore(database, account.id, NO_TIME_BEFORE_MS);
  if (dated.length === 0) return [];
  return [
    warning(`The service dates ${count(dated.length, 'message')} before 2000.`, {
      evidence: dated
        .slice(0, 3)
        .map(
          ({ id, connectionId, createdAt }) =>
            `Message ${id} of connection ${connectionId} is dated ${new Date(createdAt).toISOString()}.`,
        ),
      advice: [
        'Nothing is lost: they lie behind the end of the list, where every other poll looks. In your lists they come last.',
        'Tell the operators of the service their ids.',
      ],
    }),
  ];
}

async function judgeProgress(
  { account, database }: AccountCheckInput,
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

/** Codes of failures for which the service gave no code. */
const OWN_CODES: Readonly<Record<string, string>> = {
  connect: 'No connection to the service could be made.',
  network: 'The connection to the service failed in the middle.',
  deadline: 'The service did not answer in time.',
  StalledWalk:
    'The service refuses the cursors of GET /messages that it has just given: each poll stores the newest page, and what lies below waits. Tell its operators.',
  unreadable_answer:
    'What the service answered does not fit its specification: a proxy may answer in its place.',
};
