import { sandbox } from './client.ts';
import { queries } from './live.ts';

/**
 * The workspace of the self-check, which is left out: it loses a webhook at each start, on purpose. It stays the same
 * until a reset.
 */
export const readSelfCheck = (): Promise<string | null> =>
  queries.fetchQuery({
    queryKey: ['self-check'],
    queryFn: async () => (await sandbox('GET', '/info')).selfCheckWorkspaceId,
    staleTime: 60_000,
  });

/** The filter of all that is not of the self-check. */
export async function readOwn(): Promise<string> {
  const id = await readSelfCheck();
  return id === null ? '' : `!workspace:${id}`;
}

export const WEBHOOKS = {
  queryKey: ['webhooks'],
  async queryFn() {
    const id = await readSelfCheck();
    const { entries } = await sandbox('GET', '/webhooks', { query: { limit: '1000' } });
    return entries.filter(({ subscription }) => subscription.id !== id);
  },
};

/** What became of all deliveries, and the filter that finds them. */
export const COUNTS = {
  queryKey: ['deliveries', 'counts'],
  async queryFn() {
    const q = await readOwn();
    return { ...(await sandbox('GET', '/deliveries/counts', { query: { q } })), q };
  },
};

export const FAULTS = { queryKey: ['faults'], queryFn: () => sandbox('GET', '/faults') };
