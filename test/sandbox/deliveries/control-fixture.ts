import type { QueueLimits } from '../../../src/platform/webhooks/account-queue.ts';
import {
  controlDeliveries,
  type DeliveryControl,
} from '../../../src/sandbox/deliveries/control-deliveries.ts';
import { HeldDeliveries, type HoldableRecord } from '../../../src/sandbox/deliveries/held-deliveries.ts';
import { IssuedSecrets } from '../../../src/sandbox/deliveries/issued-secrets.ts';
import { type Hooked, useHook } from '../../platform/webhooks/fixture.ts';

/** A webhook, and the control over its deliveries. */
export interface Controlled {
  readonly hook: Hooked;
  readonly control: DeliveryControl;
  /** Every delivery that was reported as changed. */
  readonly changes: readonly HoldableRecord[];
  /** The newest delivery. */
  newest(): Promise<HoldableRecord>;
}

/** Makes one for each test of a file or block, on the file's database. */
export function useControl(limits: Partial<QueueLimits> = {}): Controlled {
  let held = new HeldDeliveries();
  let changes: HoldableRecord[] = [];
  const hook = useHook(() => {
    held = new HeldDeliveries();
    changes = [];
    return { limits, mayBegin: held.mayBegin };
  });
  return {
    hook,
    get control() {
      const { delivery, configuration: webhooks, clock } = hook.fixture;
      return controlDeliveries({
        delivery,
        webhooks,
        held,
        secrets: new IssuedSecrets(),
        clock,
        onChange: (one) => void changes.push(one),
      });
    },
    get changes() {
      return changes;
    },
    async newest() {
      const [record] = await hook.fixture.delivery.list({ limit: 1 });
      if (record === undefined) throw new Error('there is no delivery');
      return held.view(record);
    },
  };
}
