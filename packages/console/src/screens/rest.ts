/** What the frame of the page and the flow of the overview do not need. One file, because many small ones compress badly. */

export { KeyOverlay } from '../ui/key-overlay.tsx';
export { AccessScreen } from './access/screen.tsx';
export { CallsScreen } from './calls/screen.tsx';
export { ConnectionsScreen } from './connections/screen.tsx';
export { ReceivedScreen } from './deliveries/received.tsx';
export { DeliveriesScreen } from './deliveries/screen.tsx';
export { FaultsPane } from './dock/faults.tsx';
export { StatePane } from './dock/state.tsx';
export { TimePane } from './dock/time.tsx';
export { InboxScreen } from './inbox/screen.tsx';
export { JourneyScreen } from './journey/screen.tsx';
export { Environment } from './overview/environment.tsx';
export { FirstSteps } from './overview/first-steps.tsx';
export { Trends } from './overview/trends.tsx';
export { PhoneScreen } from './phone/screen.tsx';
export { SearchDialog } from './search/dialog.tsx';
export { Findings } from './sync/findings.tsx';
export { SyncScreen } from './sync/screen.tsx';
export { Summary } from './sync/summary.tsx';
