import type { Caller } from './read-lists.ts';

export interface Exchange {
  readonly sandbox: Caller;
  readonly service: Caller;
  readonly connectionIds: readonly string[];
  readonly phones: readonly string[];
  /** One message in each direction for each of them. */
  readonly names: Iterable<string>;
}

const AT_ONCE = 16;

/** Sends messages from contacts to connections, and answers them through the service's API. */
export async function exchangeMessages(exchange: Exchange): Promise<void> {
  const { sandbox, service, connectionIds, phones } = exchange;
  const names = [...exchange.names].entries();
  const queue = async (): Promise<void> => {
    for (const [number, name] of names) {
      const connectionId = connectionIds[number % connectionIds.length];
      const phone = phones[number % phones.length];
      await sandbox('POST', `/contacts/${phone}/messages`, { connectionId, text: `Hallo ${name} 👋` });
      await service('POST', '/messages', { connectionId, to: phone, text: `Answer ${name}` });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, queue));
}

/** The connections that send events: those linked by QR code. */
export async function readQrConnections(service: Caller): Promise<string[]> {
  const { connections } = await service<{ connections: { id: string; provider: string }[] }>(
    'GET',
    '/connections',
  );
  return connections.filter(({ provider }) => provider === 'qr').map(({ id }) => id);
}
