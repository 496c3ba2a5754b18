import { EmptyState } from '../../ui/states.tsx';

export function OverviewScreen() {
  return <EmptyState title="Overview" hint="Select a screen." />;
}
