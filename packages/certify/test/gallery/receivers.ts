import type { ReceiverInputs } from '../../src/receiver/context.ts';
import { find, insertOnce, isHigher, type Row, setStatus, type Ways } from './receiver.ts';
import type { Wrong } from './wrong.ts';
import { WRONG_ANSWERS } from './wrong-answers.ts';
import { WRONG_EFFECTS } from './wrong-effects.ts';

export const WRONG_RECEIVERS: Wrong<Ways> = { ...WRONG_ANSWERS, ...WRONG_EFFECTS };

/** A receiver that does what is required, in its own way. */
export interface RightReceiver {
  readonly name: string;
  readonly ways: Ways;
  readonly inputs?: Partial<ReceiverInputs>;
  /** Results that are neither a pass nor a violation. */
  readonly remarks?: readonly string[];
}

const KNOWN = 'cknown00000000000000000000';

/** It has a table of statuses whose message has not arrived, which nobody observes. */
function keepPending(): Ways {
  const pending: Row[] = [];
  return {
    insert(rows, row) {
      const status = find(pending, row.id)?.status ?? null;
      insertOnce(rows, row);
      if (status !== null) setStatus(isHigher)(rows, row.id, status);
    },
    update: (rows, id, status) =>
      setStatus(isHigher)(find(rows, id) === undefined ? pending : rows, id, status),
  };
}

/** It stores messages at once, and statuses whenever a worker has run: less often than it is observed. */
function worksOnStatuses(every: number): Ways {
  let looks = 0;
  let queued: [id: string, status: string][] = [];
  return {
    update: (_, id, status) => void queued.push([id, status]),
    shows(rows) {
      looks += 1;
      if (looks % every > 0) return rows;
      for (const [id, status] of queued) setStatus(isHigher)(rows as Row[], id, status);
      queued = [];
      return rows;
    },
  };
}

export const RIGHT_RECEIVERS: readonly RightReceiver[] = [
  { name: 'stores each event before it answers', ways: {} },
  {
    name: 'ignores the events of unknown connections',
    ways: { concerns: ({ connection_id }) => connection_id === KNOWN },
    inputs: { connectionId: KNOWN },
  },
  { name: 'keeps early statuses in a table of their own', ways: keepPending() },
  { name: 'has a worker for statuses alone, which runs every 8 s', ways: worksOnStatuses(80) },
  { name: 'has a worker that runs every 8 s', ways: { storesLater: true, worksEvery: 80 } },
  {
    name: 'has a worker that takes what is queued in another order',
    ways: { storesLater: true, worksEvery: 7, reorders: true },
  },
  {
    name: 'has a worker that runs every 25 s, and is given 30 s',
    ways: { storesLater: true, worksEvery: 250 },
    inputs: { patienceMs: 30_000 },
  },
  {
    name: 'answers 429 to more than 100 requests in a minute',
    ways: { perMinute: 100 },
    remarks: ['delivery.limits fail'],
  },
  {
    name: 'closes the connection of a request that is no POST',
    ways: { otherMethod: 0 },
    remarks: ['method.get fail'],
  },
  {
    name: 'ignores statuses of incoming messages',
    ways: {
      update(rows, id, status) {
        if (find(rows, id)?.body === undefined) setStatus(isHigher)(rows, id, status);
      },
    },
  },
  {
    name: 'shows nothing but ids and statuses',
    ways: { shows: (rows) => rows.map(({ id, status }) => ({ id, status })) },
    remarks: ['effects.text skip'],
  },
];
