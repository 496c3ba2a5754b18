import type { ApiCall, ChangedList } from '../../contract/sandbox/calls.ts';
import type { SandboxEndpointName } from '../../contract/sandbox/endpoints.ts';

/** The lists that each write of the control API changes. Endpoints that only read are omitted. */
const BY_ENDPOINT: Readonly<Partial<Record<SandboxEndpointName, readonly ChangedList[]>>> = {
  reset: ['everything'],
  createWorkspace: ['workspaces'],
  createApiKey: ['workspaces'],
  changeApiKey: ['workspaces'],
  revokeApiKey: ['workspaces'],
  createOauthApp: ['apps', 'webhooks'],
  setAppWebhook: ['apps', 'webhooks'],
  narrowGrant: ['grants'],
  revokeGrant: ['grants'],
  addConnection: ['connections', 'timers'],
  setLicense: ['connections', 'timers'],
  scan: ['connections', 'timers'],
  enterCode: ['connections', 'timers'],
  causeOutage: ['connections', 'timers'],
  recover: ['connections', 'timers'],
  setOwnerPhone: ['connections', 'timers'],
  putContact: ['contacts'],
  contactWrites: ['messages', 'contacts', 'timers'],
  moveStatus: ['messages'],
  // Licenses expire without any event.
  advanceClock: ['timers', 'connections'],
  freezeClock: ['timers'],
  runClock: ['timers'],
  setTiming: ['timing'],
  putFaults: ['faults'],
  deleteFaults: ['faults'],
  addFault: ['faults'],
  removeFault: ['faults'],
  putHost: ['hosts'],
  deleteHost: ['hosts'],
  takeSnapshot: ['snapshots'],
  restoreSnapshot: ['everything'],
  removeSnapshot: ['snapshots'],
};

/** The lists that a successful call of the control API has changed. */
export function changedByEndpoint(name: SandboxEndpointName): readonly ChangedList[] {
  return BY_ENDPOINT[name] ?? [];
}

/** The lists that a call to the service may have changed: none after a read or a refusal. */
export function changedByCall({ method, path, status }: ApiCall): readonly ChangedList[] {
  // A refusal may have ended a grant, and a visit may have made one.
  if (path.startsWith('/oauth/')) return ['grants'];
  // A call without an answer may have been handled.
  if (method === 'GET' || (status !== null && status >= 300)) return [];
  if (path.startsWith('/connections')) return ['connections', 'timers'];
  if (path.startsWith('/messages')) return ['messages', 'contacts', 'timers'];
  return path.startsWith('/webhook') ? ['webhooks'] : [];
}

/** The lists that a timer of a kind has changed. */
export function changedByTimer(kind: string): readonly ChangedList[] {
  return /^(receipt|contact)\./.test(kind) ? ['messages', 'timers'] : ['connections', 'messages', 'timers'];
}
