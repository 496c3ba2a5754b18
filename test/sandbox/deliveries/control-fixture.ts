import type { Delivery } from '../../../src/platform/webhooks/delivery.ts';
import type { DeliveryRecord } from '../../../src/platform/webhooks/delivery-record.ts';
import {
  controlDeliveries,
  type DeliveryControl,
} from '../../../src/sandbox/deliveries/control-deliveries.ts';
import { IssuedSecrets } from '../../../src/sandbox/deliveries/issued-secrets.ts';
import { type Hooked, useHook } from '../../platform/webhooks/fixture.ts';

/** A webhook, and the control over its deliveries. */
export interface Controlled {
  readonly hook: Hooked;
  readonly control: DeliveryControl;
  /** The same, which can read a delivery only before it changes it. */
  readonly halfBlind: DeliveryControl;
  /** Every delivery that was reported as changed. */
  readonly changes: readonly DeliveryRecord[];
  /** The newest delivery. */
  newest(): Promise<DeliveryRecord>;
}

/** Makes one for each test of a file or block, on the file's database. */
export function useControl(options: { readonly attemptsAtOnce?: number } = {}): Controlled {
  let changes: DeliveryRecord[] = [];
  const hook = useHook(() => {
    changes = [];
    return options;
  });
  const controlOver = (delivery: Delivery): DeliveryControl => {
    const { database, configuration: webhooks, clock } = hook.fixture;
    return controlDeliveries({
      database,
      delivery,
      webhooks,
      secrets: new IssuedSecrets(),
      clock,
      onChange: (one) => void changes.push(one),
    });
  };
  return {
    hook,
    get control() {
      return controlOver(hook.fixture.delivery);
    },
    get halfBlind() {
      const { delivery } = hook.fixture;
      const finds = [delivery.find, () => Promise.reject(new Error('the connection ended'))];
      return controlOver({ ...delivery, find: (id) => (finds.shift() ?? delivery.find)(id) });
    },
    get changes() {
      return changes;
    },
    async newest() {
      const [record] = await hook.fixture.delivery.list({ limit: 1 });
      if (record === undefined) throw new Error('there is no delivery');
      return record;
    },
  };
}
