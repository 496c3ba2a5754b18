import type { Clock } from '../../src/runtime/clock/clock.ts';
import { LocalDelivery } from '../../src/runtime/notifier/local-delivery.ts';
import type { Notifier } from '../../src/runtime/notifier/notifier.ts';

/** Notifications of one process to itself, on a clock that a test moves. */
export function createClockNotifier(clock: Clock): Notifier {
  const local = new LocalDelivery(clock);
  return {
    receives: true,
    notify(topic, key, delayMs = 0) {
      local.after(delayMs, topic, key, () => void local.deliver(topic, key));
    },
    subscribe: (topic, onNotified) => local.subscribe(topic, onNotified),
    tell: (topic, key) => void local.deliver(topic, key),
    hear: (topic, onTold) => local.subscribe(topic, async (key) => onTold(key)),
    async close() {
      local.close();
    },
  };
}
