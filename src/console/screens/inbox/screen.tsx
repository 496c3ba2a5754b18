import { EmptyState } from '../../ui/states.tsx';

export function InboxScreen() {
  return (
    <EmptyState title="Select a conversation" hint="Messages appear here as the connector stores them." />
  );
}
