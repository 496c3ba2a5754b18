import { sandbox } from './client.ts';

/** The workspace of the self-check, which is left out: it loses a webhook at each start, on purpose. */
export const readSelfCheck = async (): Promise<string | null> =>
  (await sandbox('GET', '/info')).selfCheckWorkspaceId;

/** The filter of all that is not of the self-check. */
export async function readOwn(): Promise<string> {
  const id = await readSelfCheck();
  return id === null ? '' : `!workspace:${id}`;
}

export const webhooks = () =>
  ({
    queryKey: ['webhooks'],
    async queryFn() {
      const id = await readSelfCheck();
      const { entries } = await sandbox('GET', '/webhooks', { query: { limit: '100' } });
      return entries.filter(({ subscription }) => subscription.id !== id);
    },
  }) as const;
