import type { OutageCause } from '../../../contract/sandbox/connections.ts';
import { ASSUMPTIONS } from '../../kernel/assumptions.ts';
import { newIdentifier } from '../../kernel/identifiers.ts';
import { PlatformError } from '../../kernel/platform-error.ts';
import type { NetworkSessions, OwnerPhone } from '../../network/network.ts';
import type { ChangeState, StateChange } from '../../time/state-change.ts';
import { applyTransition } from '../apply-transition.ts';
import { type Health, lockHealth } from './lock-health.ts';
import { planDiscovery } from './outage-timers.ts';

/** How an outage begins. */
export interface NewOutage {
  readonly cause: OutageCause;
  /** An automatic heal is tried first and succeeds. Default: it is not, or in vain. */
  readonly heals?: boolean;
}

/**
 * What happens to sessions on the network. The service shows a broken one as live until its status probe finds
 * out. Each call throws `not_found` for an unknown connection, `not_supported_for_provider` for a `cloud_api` one.
 * [choice.outage.hidden]
 */
export interface Outages {
  /** Breaks the session of a connection. False: it has no working session. */
  begin(connectionId: string, outage: NewOutage): Promise<boolean>;
  /** Ends the outage of a connection, found or not. False: there is none. */
  recover(connectionId: string): Promise<boolean>;
  /** Switches the owner's phone and sets whom it blocks; what is absent stays. Answers how it stands. */
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

  /** The connected event follows by the table of transitions: once, and only if the break was told. */
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
