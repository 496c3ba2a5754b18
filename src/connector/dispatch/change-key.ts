/**
 * The key of a change: its number in the feed, behind the id of the feed. Numbers begin anew in another database;
 * a CRM that remembers keys must not take the first changes there for ones that it knows.
 */
export function changeKey(feedId: string, seq: number): string {
  return `${feedId}-${seq}`;
}

/** The number in a key; null for what is no key. */
export function readSeq(key: string): { readonly feedId: string; readonly seq: number } | null {
  const [, feedId = '', seq = ''] = /^([0-9a-f]{12})-(\d{1,15})$/.exec(key) ?? [];
  return feedId === '' ? null : { feedId, seq: Number(seq) };
}
