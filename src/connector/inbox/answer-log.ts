import { desc, isNotNull, isNull } from 'drizzle-orm';
import { CONNECTOR_ERRORS } from '../../contract/connector/errors.ts';
import type { ReceivedDelivery } from '../../contract/connector/received.ts';
import type { Clock } from '../../runtime/clock/clock.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { Queryable } from '../../runtime/database/database.ts';
import { orm } from '../../runtime/database/orm.ts';
import type { Logger } from '../../runtime/logger/logger.ts';
import type { RawDelivery } from '../db/facts.ts';
import { answers } from '../db/schema.ts';
import { REFUSALS, type Refusal } from './answers.ts';

type Answer = Omit<typeof answers.$inferInsert, 'id'>;

/** Keeps the newest answers of the receiver for people. */
export type AnswerLog = ReturnType<typeof createAnswerLog>;

const EVERY_MS = 2_000;
const LONGEST_QUERY_MS = 2_000;
/** Of the accepted and of the refused requests of these 2 s, each. */
const MOST_NEW = 25;
/** Of the accepted and of the refused requests, each: a flood of one kind leaves the other in place. */
const MOST_KEPT = 500;

const ADD = `
WITH pruned AS (
  DELETE FROM connector.answers a
   USING (SELECT id, row_number() OVER (PARTITION BY refusal IS NULL ORDER BY id DESC) AS place
            FROM connector.answers) old
   WHERE old.id = a.id AND old.place > ${MOST_KEPT}
)
INSERT INTO connector.answers (at, ms, subscription_id, refusal, event, connection_id, message_id)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])`;

/**
 * Keeps the newest answers in memory and adds them to the table every 2 s, in one statement. Under load it is a sample:
 * the newest 25 accepted and 25 refused requests of each process and 2 s. What a killed process had not added is lost.
 */
export function createAnswerLog({
  database,
  clock,
  logger,
}: {
  readonly database: Queryable;
  readonly clock: Clock;
  readonly logger: Logger;
}) {
  let accepted: Answer[] = [];
  let refused: Answer[] = [];

  async function add(): Promise<void> {
    const rows = [...accepted, ...refused].toSorted((a, b) => a.at - b.at);
    if (rows.length === 0) return;
    [accepted, refused] = [[], []];
    const column = (key: keyof Answer) => rows.map((row) => row[key] ?? null);
    const columns = ['at', 'ms', 'subscriptionId', 'refusal', 'event', 'connectionId', 'messageId'] as const;
    await database.query(ADD, columns.map(column), { deadlineMs: LONGEST_QUERY_MS });
  }

  const adding = repeat({
    clock,
    everyMs: EVERY_MS,
    run: add,
    onError: (err) =>
      logger.debug({ err }, 'the answers of the receiver could not be written; they are not kept'),
  });
  return {
    /** Costs no more than a few assignments. */
    note(
      { subscriptionId, refusal, ms }: Pick<Answer, 'subscriptionId' | 'refusal' | 'ms'>,
      delivery?: RawDelivery,
    ): void {
      const { event = null, message, connection, names } = delivery ?? {};
      const { connectionId = null } = message ?? connection ?? names ?? {};
      const list = refusal === null ? accepted : refused;
      list.push({
        at: clock.now(),
        ms: Math.round(ms),
        subscriptionId,
        refusal,
        event,
        connectionId,
        messageId: message?.messageId ?? names?.messageId ?? null,
      });
      if (list.length > MOST_NEW) list.shift();
    },
    start: adding.start,
    /** Writes what remains. Never rejects. */
    async close(): Promise<void> {
      await adding.stop();
      await add().catch(() => undefined);
    },
  };
}

/** The newest answers, newest first, for `GET /v1/deliveries`. Throws as `query` does. */
export async function readAnswers(
  db: Queryable,
  { limit, result }: { readonly limit: number; readonly result?: 'accepted' | 'refused' | undefined },
): Promise<ReceivedDelivery[]> {
  const kind = { accepted: isNull(answers.refusal), refused: isNotNull(answers.refusal) };
  const rows = await orm(db)
    .select()
    .from(answers)
    .where(result && kind[result])
    .orderBy(desc(answers.id))
    .limit(limit);
  return rows.map(({ id, at, refusal, ...row }) => {
    const known = refusal === null ? null : REFUSALS[refusal as Refusal];
    return {
      ...row,
      id: String(id),
      at: toIso(at),
      // The sender of an aborted request got no answer.
      status: known === null ? 200 : refusal === 'aborted' ? null : CONNECTOR_ERRORS[known.code].status,
      reason: refusal,
      says: known?.message ?? null,
    };
  });
}
