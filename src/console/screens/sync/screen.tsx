import { EmptyState } from '../../ui/states.tsx';

export function SyncScreen() {
  return <EmptyState title="Sync" hint="How far the connector has caught up with the service." />;
}
