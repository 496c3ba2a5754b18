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
  async run({ database, clock, settings }) {
    const lag = await readDispatch(database);
    if (lag === null) {
      return settings.handlersModule === undefined
        ? notChecked('CONNECTOR_HANDLERS is not set: the CRM reads the feed.')
        : warning('CONNECTOR_HANDLERS is set, but no handler has ever run on this database.', {
            advice: [
              'Restart the connector with CONNECTOR_ROLE all or worker: a web process calls no handler.',
            ],
          });
    }
    const lateMs = oldestWaitMs(lag, clock.now());
    const waiting = `${count(lag.waiting, 'change waits', 'changes wait')} for the handler${lag.oldestAt === null ? '' : `, the oldest for ${span(lateMs)}`}.`;
    const findings: Finding[] = [];
    if (lag.waiting > 0 && lateMs > LATE_MS) {
      findings.push(
        problem('The handler does not accept changes in time.', {
          evidence: [waiting],
          advice: [
            'The log of the worker contains the error of each failed call. The changes of a connection wait until the call succeeds or the change is set aside.',
            settings.handlersModule === undefined
              ? 'CONNECTOR_HANDLERS is not set here. If it is not set for any process, no handler is called.'
              : 'connector_consumer_seconds shows how long calls take. Connections do not delay each other.',
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
            evidence: [
              `The last one ${span(clock.now() - (newest[0]?.at ?? 0))} ago. Errors: ${some(errors, 3)}.`,
            ],
            advice: [
              'Fix the handler, then call POST /v1/dead-letters/{id}/replay for each. GET /v1/dead-letters lists them.',
            ],
          },
        ),
      );
    }
    return findings.length > 0
      ? findings
      : ok('The handler keeps up with the changes.', { evidence: [waiting] });
  },
};
