import type { Platform } from '../../platform/platform.ts';
import type { TimerEntry } from '../../platform/time/virtual-time.ts';
import { toIso } from '../../runtime/clock/iso-time.ts';
import type { Handlers } from '../control/serve-endpoint.ts';

function presentTimer({ at, what, id }: TimerEntry): { at: string; what: string; id: string } {
  return { at: toIso(at), what, id };
}

/** Virtual time, and the scale of send latency. */
export function clockEndpoints({ time, timing }: Platform) {
  const read = (): { now: string; frozen: boolean } => ({ now: toIso(time.now()), frozen: time.frozen });
  return {
    getClock: () => read(),
    async advanceClock({ body: { ms, to } }) {
      const { now, fired } = await time.advance(to === undefined ? { ms: ms ?? 0 } : { to: Date.parse(to) });
      return { now: toIso(now), fired: fired.map(presentTimer) };
    },
    async freezeClock() {
      await time.freeze();
      return read();
    },
    async runClock() {
      await time.run();
      return read();
    },
    async listDue({ query: { limit, until } }) {
      const by = until === undefined ? undefined : Date.parse(until);
      const [timers, total] = await Promise.all([time.due(limit, by), time.countDue(by)]);
      return { entries: timers.map(presentTimer), total };
    },
    getTiming: () => ({ sendScale: timing.sendScale }),
    setTiming({ body: { sendScale } }) {
      timing.setSendScale(sendScale);
      return { sendScale: timing.sendScale };
    },
  } satisfies Handlers;
}
