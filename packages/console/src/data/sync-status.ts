import { connector } from './client.ts';

/** The query for what the connector reports about its synchronization. */
export const syncStatus = () =>
  ({ queryKey: ['sync', 'status'], queryFn: () => connector('GET', '/v1/sync') }) as const;
