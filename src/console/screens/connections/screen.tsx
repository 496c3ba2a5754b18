import { EmptyState } from '../../ui/states.tsx';

export function ConnectionsScreen() {
  return <EmptyState title="Select a connection" hint="A connection is a phone number of yours." />;
}
