import { scrubText } from '../../../runtime/logger/scrub-text.ts';
import { listLetterErrors, oldestWaitMs, readDispatch } from '../../state/figures.ts';
import type { StoreCheckInput } from '../check-input.ts';
import { type Check, type Finding, notChecked, ok, problem, warning } from '../finding.ts';
import { count, some, span } from '../wording.ts';

const LATE_MS = 5 * 60_000;
const SHOWN = 100;

/** The handler of the CRM keeps up with the changes, and none was set aside. */
export const handlerCheck: Check<StoreCheckInput> = {
  id: 'handler',
  title: 'dispatch to the handler',
  async look({ database, clock, settings }) {
    const lag = await readDispatch(database);
    if (lag === null) {
      return settings.handlersModule === undefined
        ? notChecked('CONNECTOR_HANDLERS is not set: the CRM reads the feed by itself.')
        : warning('CONNECTOR_HANDLERS is set, but no handler has ever run on this database.', {
            advice: ['Restart the connector with it; role all or worker, since web calls no handler.'],
          });
    }
    const lateMs = oldestWaitMs(lag, clock.now());
    const waiting = `${count(lag.waiting, 'change waits', 'changes wait')} for the handler${lag.oldestAt === null ? '' : `, the oldest for ${span(lateMs)}`}.`;
    const findings: Finding[] = [];
    if (lag.waiting > 0 && lateMs > LATE_MS) {
      findings.push(
        problem('The handler does not take changes in time.', {
          evidence: [waiting],
          advice: [
            'Read why in the log of the worker: a call that fails is told with its error. The connection waits until it succeeds or is set aside.',
            settings.handlersModule === undefined
              ? 'CONNECTOR_HANDLERS is not set here: if no process has it any more, nobody takes them.'
              : 'If calls are slow, connector_handler_seconds shows it; connections do not hold up each other.',
          ],
        }),
      );
    }
    if (lag.deadLetters > 0) {
      const newest = await listLetterErrors(database, SHOWN);
      const errors = [...new Set(newest.map(({ error }) => scrubText(error, 120)))];
      findings.push(
        warning(
          `${count(lag.deadLetters, 'change was', 'changes were')} set aside: the handler failed on ${lag.deadLetters === 1 ? 'it' : 'them'} too often.`,
          {
            evidence: [`Last set aside ${span(clock.now() - (newest[0]?.at ?? 0))} ago: ${some(errors, 3)}.`],
            advice: [
              'Mend the handler, then POST /v1/dead-letters/{id}/replay for each; GET /v1/dead-letters lists them.',
            ],
          },
        ),
      );
    }
    return findings.length > 0 ? findings : ok('The handler takes what comes.', { evidence: [waiting] });
  },
};
