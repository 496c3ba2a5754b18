import type { OutageCause } from '../../../contract/sandbox/connections.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import { newIdentifier } from '../../kernel/identifiers.ts';
import { PlatformError } from '../../kernel/platform-error.ts';
import type { NetworkSessions, OwnerPhone } from '../../network/network.ts';
import type { ChangeState, StateChange } from '../../time/state-change.ts';
import { applyTransition } from '../apply-transition.ts';
import { type Health, lockHealth } from './lock-health.ts';
import { planDiscovery } from './outage-timers.ts';

/** An outage to begin. */
export interface NewOutage {
  readonly cause: OutageCause;
  /** True: an automatic heal succeeds. Default: no heal is tried, or it fails. */
  readonly heals?: boolean;
}

/**
 * Begins and ends outages of sessions. The service shows a broken session as live until its status probe finds the
 * outage. Each call throws `not_found` for an unknown connection and `not_supported_for_provider` for `cloud_api`.
 * [choice.outage.hidden]
 */
export interface Outages {
  /** Breaks the session of a connection. Returns false if it has no working session. */
  begin(connectionId: string, outage: NewOutage): Promise<boolean>;
  /** Ends the outage of a connection, found or not. Returns false if there is none. */
  recover(connectionId: string): Promise<boolean>;
  /** Turns the owner's phone on or off and sets its blocked contacts; absent fields are unchanged. */
  setPhone(connectionId: string, phone: Partial<OwnerPhone>): Promise<OwnerPhone>;
  /** The owner's phone as it stands. */
  phone(connectionId: string): Promise<OwnerPhone>;
  /** The causes of outages that go on, by connection, whether or not the service has found them. */
  causes(connectionIds: readonly string[]): Promise<Map<string, OutageCause>>;
}

interface Options {
  readonly changeState: ChangeState;
  readonly sessions: NetworkSessions;
  /** Draws in [0, 1). */
  readonly random: () => number;
}

export function createOutages({ changeState, sessions, random }: Options): Outages {
  /** Throws `not_found`, and `not_supported_for_provider`: a number of the business platform has no phone. */
  const requirePhone = async (change: StateChange, connectionId: string): Promise<Health> => {
    const health = await lockHealth(change, sessions, connectionId);
    if (health === null) throw new PlatformError('not_found');
    if (health.provider !== 'qr') throw new PlatformError('not_supported_for_provider');
    return health;
  };

  /** The table of transitions decides on the connected event: once, and only after a disconnected event. */
  const endOutage = async (change: StateChange, connectionId: string, { state }: Health): Promise<void> => {
    await sessions.open(change, connectionId);
    // [state.recovered.connected] [choice.outage.unfound]
    if (state === 'disconnected') await applyTransition(change, connectionId, 'recovered');
  };

  const start = async (change: StateChange, connectionId: string, outage: NewOutage): Promise<void> => {
    const { cause, heals = false } = outage;
    const outageId = newIdentifier();
    const keepsCredentials = heals || ASSUMPTIONS.outageCauses.value[cause].keepsCredentials;
    await sessions.break(change, connectionId, { cause, outageId, heals, keepsCredentials });
    const planned = { cause, heals, connectionId, outageId, at: change.now, draw: random() };
    await change.schedule([planDiscovery(planned)]);
  };

  return {
    begin: (connectionId, outage) =>
      changeState(async (change) => {
        const { session } = await requirePhone(change, connectionId);
        if (!session.alive) return false;
        await start(change, connectionId, outage);
        return true;
      }),

    recover: (connectionId) =>
      changeState(async (change) => {
        const health = await requirePhone(change, connectionId);
        if (health.session.cause === null) return false;
        await endOutage(change, connectionId, health);
        return true;
      }),

    phone: (connectionId) =>
      changeState(async ({ tx }) => {
        const { phoneOn: on, blocked } = await sessions.read(tx, connectionId);
        return { on, blocked };
      }),

    causes: (connectionIds) => changeState(({ tx }) => sessions.readCauses(tx, connectionIds)),

    setPhone: (connectionId, wanted) =>
      changeState(async (change) => {
        const health = await requirePhone(change, connectionId);
        const { session } = health;
        const phone = { on: wanted.on ?? session.phoneOn, blocked: wanted.blocked ?? session.blocked };
        const cause = ASSUMPTIONS.ownerPhoneOff.value;
        await sessions.setPhone(change, connectionId, phone);
        // [state.outage.phone-off]
        if (!phone.on && session.alive) await start(change, connectionId, { cause });
        if (phone.on && session.cause === cause) await endOutage(change, connectionId, health);
        return phone;
      }),
  };
}
