import { outageTimers } from './connections/health/outage-timers.ts';
import { catchUpTimers, throughSessions } from './network/hold-reports.ts';
import type { NetworkReports } from './network/network.ts';
import { createSimulatedNetwork, networkTimers } from './network/simulated-network.ts';
import type { PlatformOptions } from './platform-options.ts';
import { createDomainClock } from './time/domain-clock.ts';
import type { ServiceState } from './time/service-state.ts';
import { behindGate, createCommit } from './time/state-change.ts';
import { createTimerRunner } from './time/timer-runner.ts';
import { createWriteGate } from './time/write-gate.ts';
import { createWebhookConfiguration } from './webhooks/configuration.ts';
import { createDelivery } from './webhooks/delivery.ts';
import { recordEvents } from './webhooks/ledger.ts';
import { noTunnels } from './webhooks/tunnel-hosts.ts';

function composeWebhooks({ database, systemClock, logger, ports = {} }: PlatformOptions) {
  const { hosts = noTunnels, aroundAttempt, lookup, webhookSecrets: secrets, onDelivery: onChange } = ports;
  const clock = systemClock;
  const webhooks = createWebhookConfiguration({ database, hosts, clock, lookup, secrets });
  const delivery = createDelivery({
    database,
    clock,
    logger,
    configuration: webhooks,
    aroundAttempt,
    hosts,
    onChange,
    lookup,
  });
  return { webhooks, delivery };
}

/**
 * Time, events and state changes, on which all other parts of the service depend. Nothing runs until `runner.rearm` and
 * `delivery.start` are called.
 */
export function composeCore(
  options: PlatformOptions,
  state: ServiceState,
  reports: NetworkReports,
  random: () => number,
) {
  const { database, systemClock, logger, ports = {} } = options;
  const clock = createDomainClock(systemClock, state);
  const gate = createWriteGate();
  const { webhooks, delivery } = composeWebhooks(options);

  const commit = createCommit({
    database,
    clock,
    record: (tx, events) => recordEvents(tx, events, systemClock.now()),
    recordTransition: ports.recordTransition,
    deliver(subscriptionIds) {
      delivery.wake(subscriptionIds);
      ports.onEvents?.();
    },
    arm: (dueAt) => runner.arm(dueAt),
  });
  const network = createSimulatedNetwork({ database, random });
  const handlers = {
    ...networkTimers(throughSessions(reports)),
    ...catchUpTimers(reports),
    ...outageTimers(network.sessions),
  };
  const runner = createTimerRunner({
    database,
    clock,
    systemClock,
    gate,
    commit,
    logger,
    handlers,
    onFired: ports.onTimers,
  });

  return {
    clock,
    gate,
    changeState: behindGate(commit, gate),
    runner,
    network,
    webhooks,
    delivery,
  };
}
