import type { Change } from '../../contract/connector/changes.ts';
import type { parked } from '../db/consumer-tables.ts';

/** A change in memory that is not done, or is done above the place. */
export interface ItemOf<Owner> {
  readonly seq: number;
  /** As it was read, without what was erased since. */
  change: Change;
  key: KeyOf<Owner>;
  /** Calls that failed. */
  attempts: number;
  /** Those before it became an entry: of a dead letter that is replayed, all. */
  before: number;
  /** The previous owner died and may have been calling it: its next attempt is written before the call. */
  suspect: boolean;
  readonly bytes: number;
  done: boolean;
  /** It is in `parked_entries`, or the write in progress puts it there. */
  passed: boolean;
}

/** A row of `parked`. `revision` is 0 until it was written. */
export type ParkedRow = Omit<typeof parked.$inferSelect, 'consumer'>;

/** What is called one after the other: the changes of a connection. */
export interface KeyOf<Owner> {
  readonly name: string;
  readonly connectionId: string;
  readonly partition: Owner;
  /** It is called only when nothing else waits: the history of a connection. */
  readonly quiet: boolean;
  /** Not done, in order: first entries, then what the place has not passed. */
  items: ItemOf<Owner>[];
  /** Number of its first items that are being called. */
  calling: number;
  callingSince: number;
  /** Somebody is about to ask what is next. */
  listed: boolean;
  /** Its row, as it is in the database or is to be. */
  parked: ParkedRow | null;
  /** A parked key can be called. */
  due: boolean;
  /** Entries above this number may be only in the database; infinite if none is. */
  readTo: number;
  /** Number of entries that were read. */
  loaded: number;
}

/** A change without its text. */
const BYTES = 1_000;

/** Entries of this number and above leave the memory, except the first change of the key and what is being called. */
export function unload<Owner>(key: KeyOf<Owner>, from = 0): void {
  const kept = Math.max(1, key.calling);
  const leaves = ({ passed, seq }: ItemOf<Owner>, index: number): boolean =>
    index >= kept && passed && seq >= from;
  const first = key.items.find(leaves);
  if (first === undefined) return;
  key.readTo = Math.min(key.readTo, first.seq - 1);
  key.items = key.items.filter((item, index) => !leaves(item, index));
}

/** True for a change of a message that was there before its connection. */
export function isHistoric({ data }: Change): boolean {
  return 'historic' in data && data.historic;
}

/** The key of the history of a connection, for a consumer that receives it after everything else. */
export function historyName(connectionId: string): string {
  return `${connectionId}/history`;
}

/** The key of one change of a consumer that is not ordered. */
export function separateName(connectionId: string, seq: number): string {
  return `${connectionId}/${seq}`;
}

export function itemOf<Owner>(key: KeyOf<Owner>, change: Change, suspect: boolean): ItemOf<Owner> {
  const { seq, data } = change;
  const bytes = BYTES + 2 * ('text' in data ? (data.text?.length ?? 0) : 0);
  const attempts = key.parked?.seq === seq ? key.parked.attempts : 0;
  return { seq, change, key, attempts, before: 0, bytes, suspect, done: false, passed: false };
}
