import { useMemo } from 'react';
import type { ConnectorConnection } from '../../../contract/connector/connections.ts';
import { connector } from '../../data/client.ts';
import { useRead } from '../../data/read.ts';

/** The connections of the connector by id, for their names and states. */
export function useConnections() {
  const { data } = useRead({
    queryKey: ['connector', 'connections'],
    queryFn: () => connector('GET', '/v1/connections', { query: { limit: '1000' } }),
  });
  return useMemo(() => new Map(data?.connections.map((each) => [each.id, each])), [data]);
}

/** What a connection is called: its label, else its number, else its id. */
export function nameOf(connection: ConnectorConnection | undefined, id: string): string {
  const { label, phoneNumber } = connection ?? {};
  return label || (phoneNumber == null ? id : `+${phoneNumber}`);
}
