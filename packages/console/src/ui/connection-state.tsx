import type { ListedConnection } from '../../../../src/contract/sandbox/connections.ts';
import { Chip, type Tone } from './chip.tsx';

function readState({ status, outage, needsReconnect }: ListedConnection): readonly [word: string, Tone] {
  if (status === 'disconnected') return [needsReconnect ? 'reconnect' : 'disconnected', 'bad'];
  if (outage !== null) return ['broken', 'warn'];
  return status === 'connecting' ? ['connecting', 'plain'] : ['connected', 'good'];
}

/** The state of a connection in one word. An outage that the service has not found yet is no `connected`. */
export function ConnectionState({ connection }: { readonly connection: ListedConnection }) {
  const [word, tone] = readState(connection);
  return <Chip tone={tone}>{word}</Chip>;
}
