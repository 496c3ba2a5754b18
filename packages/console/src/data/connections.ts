import { useMemo } from 'react';
import type { ConnectorConnection } from '../../../../src/contract/connector/connections.ts';
import { connector, sandbox } from './client.ts';
import { mode } from './live.ts';
import { useRead } from './read.ts';

/** The connections of the connector by id, for their names and states. */
export function useConnections() {
  const { data } = useRead({
    queryKey: ['connector', 'connections'],
    queryFn: () => connector('GET', '/v1/connections', { query: { limit: '1000' } }),
  });
  return useMemo(() => new Map(data?.connections.map((each) => [each.id, each])), [data]);
}

/** The connections of the service. */
export const SERVICE_CONNECTIONS = {
  queryKey: ['connections', 'all'],
  queryFn: async () => (await sandbox('GET', '/connections', { query: { limit: '1000' } })).entries,
};

/** A connection of the service. */
export const connectionOf = (id: string) => ({
  queryKey: ['connections', id],
  queryFn: () => sandbox('GET', '/connections/{id}', { params: { id } }),
});

type Named = Pick<ConnectorConnection, 'label' | 'phoneNumber'>;

/** What a connection is called: its label, else its number, else its id. */
export function nameOf(connection: Named | undefined, id: string): string {
  const { label, phoneNumber } = connection ?? {};
  return label || (phoneNumber == null ? id : `+${phoneNumber}`);
}

/** All connections with their names: in a sandbox those of the service, else those of the connector. */
export async function listNamed(): Promise<readonly (Named & { readonly id: string })[]> {
  if (mode().mode === 'sandbox') return SERVICE_CONNECTIONS.queryFn();
  return (await connector('GET', '/v1/connections', { query: { limit: '1000' } })).connections;
}

/** What each connection is called, by its id. */
export function useNames(): (connectionId: string) => string {
  const list = mode().mode === 'sandbox' ? 'connections' : 'connector';
  const { data } = useRead({ queryKey: [list, 'names'], queryFn: listNamed });
  return useMemo(() => {
    const named = new Map(data?.map((each) => [each.id, each]));
    return (id) => nameOf(named.get(id), id);
  }, [data]);
}
