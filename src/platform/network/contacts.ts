import type { Queryable } from '../../runtime/database/database.ts';
import { ASSUMPTIONS } from '../kernel/assumptions.ts';
import type { ChangeState } from '../time/state-change.ts';

/** How a person on the network behaves. Times count from the send, in virtual ms; null means never. */
export interface ContactBehaviour {
  readonly onNetwork: boolean;
  readonly deliverAfterMs: number | null;
  readonly readAfterMs: number | null;
  readonly failAfterMs: number | null;
  /** Text the person answers with, a moment after having got a message. */
  readonly autoReply: string | null;
}

/** A file as a phone got it. */
export interface ReceivedMedia {
  readonly filename: string;
  readonly mimetype: string;
  readonly caption: string | null;
  /** Size of the file. */
  readonly bytes: number;
  /** Hex digest of the file. */
  readonly sha256: string;
  /** The phone plays it as something said, not as a file. */
  readonly voiceNote: boolean;
}

/** What the network took over for a phone. */
export interface PhoneMessage {
  readonly messageId: string;
  readonly connectionId: string;
  /** Digits of the sender. */
  readonly from: string;
  /** Null for a file; its caption stands with it. */
  readonly text: string | null;
  readonly media?: ReceivedMedia;
  /** Virtual epoch ms. */
  readonly at: number;
}

/** The people behind the network. A number never put behaves by the assumed defaults. */
export interface Contacts {
  /** Absent fields keep what they are. */
  put(phone: string, behaviour: Partial<ContactBehaviour>): Promise<ContactBehaviour>;
  get(phone: string): Promise<ContactBehaviour>;
  /** What the network took over for that phone, oldest first: a double send shows as two. All, or a part. */
  received(phone: string, part?: { readonly skip: number; readonly limit: number }): Promise<PhoneMessage[]>;
}

interface ContactRow {
  on_network: boolean;
  deliver_after_ms: number | null;
  read_after_ms: number | null;
  fail_after_ms: number | null;
  auto_reply: string | null;
}

interface PhoneMessageRow {
  message_id: string;
  connection_id: string;
  sender: string;
  text: string | null;
  at: number;
  filename: string | null;
  mimetype: string;
  bytes: number;
  sha256: Buffer;
}

/** [media.voice-note] */
function isVoiceNote(filename: string, mimetype: string): boolean {
  return /^voice-.*\.ogg$/.test(filename) && /^audio\/ogg\s*(;|$)/i.test(mimetype);
}

function toPhoneMessage(row: PhoneMessageRow): PhoneMessage {
  const { message_id: messageId, connection_id: connectionId, sender: from, text, at } = row;
  const { filename, mimetype, bytes, sha256 } = row;
  if (filename === null) return { messageId, connectionId, from, text, at };
  const voiceNote = isVoiceNote(filename, mimetype);
  const media = { filename, mimetype, caption: text, bytes, sha256: sha256.toString('hex'), voiceNote };
  return { messageId, connectionId, from, text: null, media, at };
}

/** How the person behind a number behaves now. */
export async function readBehaviour(db: Queryable, phone: string): Promise<ContactBehaviour> {
  const [row] = await db.query<ContactRow>(
    `SELECT on_network, deliver_after_ms, read_after_ms, fail_after_ms, auto_reply
     FROM platform.contacts WHERE phone = $1`,
    [phone],
  );
  if (row === undefined) return ASSUMPTIONS.unknownNumber.value;
  return {
    onNetwork: row.on_network,
    deliverAfterMs: row.deliver_after_ms,
    readAfterMs: row.read_after_ms,
    failAfterMs: row.fail_after_ms,
    autoReply: row.auto_reply,
  };
}

async function writeBehaviour(tx: Queryable, phone: string, behaviour: ContactBehaviour): Promise<void> {
  await tx.query(
    `INSERT INTO platform.contacts
       (phone, on_network, deliver_after_ms, read_after_ms, fail_after_ms, auto_reply)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (phone) DO UPDATE SET on_network = excluded.on_network,
       deliver_after_ms = excluded.deliver_after_ms, read_after_ms = excluded.read_after_ms,
       fail_after_ms = excluded.fail_after_ms, auto_reply = excluded.auto_reply`,
    [
      phone,
      behaviour.onNetwork,
      behaviour.deliverAfterMs,
      behaviour.readAfterMs,
      behaviour.failAfterMs,
      behaviour.autoReply,
    ],
  );
}

export function createContacts(database: Queryable, changeState: ChangeState): Contacts {
  return {
    get: (phone) => readBehaviour(database, phone),

    put: (phone, behaviour) =>
      changeState(async ({ tx }) => {
        const next = { ...(await readBehaviour(tx, phone)), ...behaviour };
        await writeBehaviour(tx, phone, next);
        return next;
      }),

    async received(phone, part) {
      const rows = await database.query<PhoneMessageRow>(
        `SELECT p.message_id, p.connection_id, p.sender, p.text, p.at, f.filename, f.mimetype, f.bytes, f.sha256
         FROM platform.phone_messages p LEFT JOIN platform.media f ON f.id = p.media_id
         WHERE p.phone = $1 ORDER BY p.position OFFSET $2 LIMIT $3`,
        [phone, part?.skip ?? 0, part?.limit ?? null],
      );
      return rows.map(toPhoneMessage);
    },
  };
}
