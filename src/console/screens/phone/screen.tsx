import { EmptyState } from '../../ui/states.tsx';

export function PhoneScreen() {
  return <EmptyState title="Select a phone" hint="The phone of a connection, or of a contact." />;
}
