import { find, insertOnce, isHigher, otherRequests, type Row, setStatus, type Ways } from './receiver.ts';
import type { Wrong } from './wrong.ts';

type Insert = NonNullable<Ways['insert']>;

/** It stores something else than the message that arrived. */
const stores =
  (change: (row: Row) => Row | undefined): Insert =>
  (rows, row) => {
    const changed = change(row);
    if (changed !== undefined) insertOnce(rows, changed);
  };

/** It takes a message for a copy of another one. */
const dedupes =
  (isCopy: (before: Row, row: Row) => boolean): Insert =>
  (rows, row) => {
    if (!rows.some((before) => before.id !== row.id && isCopy(before, row))) insertOnce(rows, row);
  };

const withText = (change: (text: string) => string): Insert =>
  stores((row) => ({ ...row, text: row.text === undefined || row.text === null ? null : change(row.text) }));

/** It queues in memory, and a worker stores what is queued some time later. */
function queues(most: number): Insert {
  const waiting: Row[] = [];
  return (rows, row) => {
    if (waiting.length === most) return;
    if (waiting.push(row) > 1) return;
    void otherRequests().then(() => {
      for (const one of waiting.splice(0)) insertOnce(rows, one);
    });
  };
}

function sharesText(): Insert {
  let text: Row['text'];
  return async (rows, row) => {
    text = row.text;
    await otherRequests();
    insertOnce(rows, { ...row, text });
  };
}

/** It recognizes copies by what it has in memory, and appends. */
const remembers =
  (most: number): Insert =>
  (rows, row, memory) => {
    if (memory.has(row.id)) return;
    memory.add(row.id);
    const [oldest = ''] = memory;
    if (memory.size > most) memory.delete(oldest);
    if (find(rows, row.id)?.body === undefined) insertOnce(rows, row);
    else rows.push(row);
  };

/** Receivers whose answers are right, and that lose, change or double what they accept. */
export const WRONG_EFFECTS: Wrong<Ways> = {
  'It refuses a wrong signature after it has stored the event.': {
    ways: { storesBefore: 'verified' },
    told: /Verify before you store/,
    fails: ['effects.forged'],
  },
  'It answers, and stores the event afterwards from memory.': {
    ways: { storesLater: true },
    told: /only then answer/,
    fails: ['effects.killed'],
  },
  'It answers, and stores nothing.': {
    ways: { concerns: () => false },
    told: /only then answer/,
    fails: ['effects.stored'],
  },
  'It reads all messages, adds one, and writes them back.': {
    ways: {
      async insert(rows, row) {
        const all = [...rows];
        insertOnce(all, row);
        await otherRequests();
        rows.splice(0, rows.length, ...all);
      },
    },
    told: /do not read, change and write a shared list/,
    fails: ['effects.at-once'],
  },
  'It queues 23 events in memory, and drops others.': {
    ways: { insert: queues(23) },
    told: /do not drop what a full queue cannot take/,
    fails: ['effects.at-once'],
  },
  'It keeps the text of a message in a variable that the next request overwrites.': {
    ways: { insert: sharesText() },
    told: /do not share variables/,
    fails: ['effects.at-once'],
  },
  'It has no unique index and does not search for copies.': {
    ways: { insert: (rows, row) => void rows.push(row) },
    told: /unique index/,
    fails: [
      'effects.by-id',
      'effects.killed',
      'effects.once',
      'effects.once-at-once',
      'effects.once-later',
      'effects.text-kept',
    ],
  },
  'It searches for a copy, and inserts in a second step.': {
    ways: {
      async insert(rows, row) {
        const before = find(rows, row.id);
        await otherRequests();
        if (before === undefined) rows.push(row);
        else insertOnce(rows, row);
      },
    },
    told: /SELECT before the INSERT/,
    fails: ['effects.once-at-once'],
  },
  'It recognizes copies in memory, which is lost at a restart.': {
    ways: { insert: remembers(Number.POSITIVE_INFINITY) },
    told: /recognized only in memory/,
    fails: ['effects.killed'],
  },
  'It recognizes a copy if it is one of the last 100 messages.': {
    ways: { insert: remembers(100) },
    told: /recognized only in memory/,
    fails: ['effects.killed', 'effects.once-later'],
  },
  'It takes messages with the same wa_id for copies.': {
    ways: { insert: dedupes((before, row) => row.wa_id !== null && before.wa_id === row.wa_id) },
    told: /wa_id is for debugging/,
    fails: ['effects.by-id'],
  },
  'It takes messages with the same text and time for copies.': {
    ways: {
      insert: dedupes(
        ({ text, timestamp }, row) =>
          text === row.text && timestamp === row.timestamp && row.text !== null && row.text !== 'certify',
      ),
    },
    told: /texts repeat/,
    fails: ['effects.by-id'],
  },
  'It recognizes a copy by a hash of the body.': {
    ways: {
      insert(rows, row) {
        if (rows.some(({ body }) => body === row.body)) return;
        // Only a row that a status has created is filled.
        if (find(rows, row.id)?.body === undefined) insertOnce(rows, row);
        else rows.push(row);
      },
    },
    told: /a copy may have other bytes/,
    fails: ['effects.by-id'],
  },
  'It stores no message without text.': {
    ways: { insert: stores((row) => (row.text === null ? undefined : row)) },
    told: /text is null/,
    fails: ['effects.file'],
  },
  'It stores the text of a message, but not its file.': {
    ways: { insert: stores((row) => ({ ...row, media_url: null, media_type: null })) },
    told: /with media_url and media_type|fills the row/,
    fails: ['effects.file', 'effects.text-kept'],
  },
  'It stores the first 255 characters of a text.': {
    ways: { insert: withText((text) => text.slice(0, 255)) },
    told: /a column of type text/,
    fails: ['effects.text'],
  },
  'It reads the body as Latin-1, and stores that.': {
    ways: { insert: withText((text) => Buffer.from(text).toString('latin1')) },
    told: /Decode the body as UTF-8/,
    fails: ['effects.text'],
  },
  'It stores texts with HTML entities.': {
    ways: { insert: withText((text) => text.replaceAll('<', '&lt;')) },
    told: /Store the text as it is/,
    fails: ['effects.text'],
  },
  'It replaces the whole row when a status arrives, so that the text is null.': {
    ways: {
      update(rows, id, status) {
        setStatus(isHigher)(rows, id, status);
        const row = find(rows, id);
        if (row !== undefined) row.text = null;
      },
    },
    told: /A status changes only the status/,
    fails: ['effects.text-kept'],
  },
  'It takes a message whose status it has for a copy, and drops its text.': {
    ways: {
      insert(rows, row) {
        if (find(rows, row.id) === undefined) rows.push(row);
      },
    },
    told: /a message fills the row/,
    fails: ['effects.text-kept'],
  },
  'It dedupes all events by message.id, so that only the first of a message counts.': {
    ways: {
      insert(rows, row) {
        if (find(rows, row.id) === undefined) rows.push(row);
      },
      update(rows, id, status) {
        if (find(rows, id) === undefined) rows.push({ id, status });
      },
    },
    told: /Only the first event of a message counted|Do not take the status and the message of one id for copies/,
    fails: [
      'effects.status.failed',
      'effects.status.late',
      'effects.status.read',
      'effects.status.repeated',
      'effects.status.rises',
      'effects.text-kept',
    ],
  },
  'It stores the status that arrived last.': {
    ways: { update: setStatus(() => true) },
    told: /Give each status a rank/,
    fails: ['effects.status.failed', 'effects.status.late', 'effects.status.read', 'effects.status.repeated'],
  },
  'It stores a status if it comes later in the alphabet.': {
    ways: { update: setStatus((status, before) => before === null || status > before) },
    told: /compare ranks/,
    fails: [
      'effects.status.failed',
      'effects.status.late',
      'effects.status.read',
      'effects.status.repeated',
      'effects.status.rises',
    ],
  },
  'Its ladder has no place for failed, so that any other status replaces it.': {
    ways: { update: setStatus((status, before) => before === 'failed' || isHigher(status, before)) },
    told: /Failed may come first .* is final/,
    fails: ['effects.status.failed'],
  },
  'It gives failed the highest rank, so that it replaces read.': {
    ways: { update: setStatus((status, before) => status === 'failed' || isHigher(status, before)) },
    told: /Read is final/,
    fails: ['effects.status.read'],
  },
  'It accepts failed only after sent.': {
    ways: {
      update: setStatus(
        (status, before) => isHigher(status, before) && (status !== 'failed' || before === 'sent'),
      ),
    },
    told: /Failed may come first/,
    fails: ['effects.status.failed'],
  },
  'It accepts read only after delivered.': {
    ways: {
      update: setStatus(
        (status, before) => isHigher(status, before) && !(status === 'read' && before === 'sent'),
      ),
    },
    told: /demand no particular status/,
    fails: ['effects.status.late', 'effects.status.read', 'effects.status.rises'],
  },
  'It answers 200 to the status of an unknown message, and forgets it.': {
    ways: {
      update(rows, id, status) {
        if (find(rows, id) !== undefined) setStatus(isHigher)(rows, id, status);
      },
    },
    told: /Keep the status of a message that is not known yet/,
    fails: ['effects.status.first'],
  },
};
