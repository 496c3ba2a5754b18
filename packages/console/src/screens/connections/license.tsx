import { useState } from 'react';
import type { ShownConnection } from '../../../../../src/contract/sandbox/connections.ts';
import { sandbox } from '../../data/client.ts';
import { useVirtualNow } from '../../data/clock.ts';
import { useAction } from '../../data/use-action.ts';
import { Button } from '../../ui/button.tsx';
import { Failure } from '../../ui/states.tsx';
import { showDateTime, showSpan } from '../../ui/times.tsx';
import { DueList } from '../dock/due-list.tsx';

const DAY_MS = 24 * 3_600_000;
const SOON_MS = 3 * DAY_MS;
/** For a later end, the remaining time is not shown. */
const FAR_MS = 100 * DAY_MS;

/** A license and how long it lasts, as virtual time passes; the end itself on hover. */
export function LicenseEnd({
  status,
  expires,
}: {
  readonly status: string;
  readonly expires: string | null;
}) {
  const time = useVirtualNow();
  if (expires === null || time === undefined) return <span className="soft">{status}</span>;
  const left = Date.parse(expires) - time.now;
  const title = `${showDateTime(expires)}, virtual time`;
  if (left <= 0) {
    return (
      <span className="bad" title={title}>
        expired
      </span>
    );
  }
  return (
    <span className={left < SOON_MS ? 'warn' : 'soft'} title={title}>
      {status} {left > FAR_MS ? '' : showSpan(left)}
    </span>
  );
}

/** The license of a connection, and its end: at a time, with a preview of the timers that this fires, or now. */
export function License({ connection }: { readonly connection: ShownConnection }) {
  const { id, license, hasSlot } = connection;
  const [isAsking, ask] = useState(false);
  const isValid = license.status === 'trial' || license.status === 'active';
  const set = useAction({
    mutationFn: async (status?: 'active') => {
      const body = status === undefined ? { expiresAt: (await sandbox('GET', '/clock')).now } : { status };
      return await sandbox('PUT', '/connections/{id}/licence', { params: { id }, body });
    },
    onSuccess: () => ask(false),
  });
  return (
    <section aria-label="License">
      <h2>License</h2>
      <div className="line">
        <LicenseEnd status={license.status} expires={license.expiresAt} />
        <span className="faint">
          {license.expiresAt === null ? '' : `Until ${showDateTime(license.expiresAt)}. `}
          {hasSlot ? 'It occupies a slot.' : 'It occupies no slot.'}
        </span>
      </div>
      <div className="line">
        {isValid ? (
          <Button aria-expanded={isAsking} onClick={() => ask(!isAsking)}>
            Let it end …
          </Button>
        ) : hasSlot ? (
          <Button action={set} input={'active'}>
            Renew
          </Button>
        ) : null}
      </div>
      {isAsking && isValid && license.expiresAt !== null ? (
        <EndPreview until={license.expiresAt} onDone={() => ask(false)}>
          <Button action={set} input={undefined}>
            End it now, keep the time
          </Button>
        </EndPreview>
      ) : null}
      <Failure error={set.error} />
    </section>
  );
}

/** What happens on the way if virtual time moves to the end of a license. */
function EndPreview({
  until,
  onDone,
  children,
}: {
  readonly until: string;
  readonly onDone: () => void;
  readonly children: React.ReactNode;
}) {
  const time = useVirtualNow();
  const advance = useAction({
    mutationFn: () => sandbox('POST', '/clock/advance', { body: { to: until } }),
    onSuccess: onDone,
  });
  const at = Date.parse(until);
  return (
    <div className="preview">
      <p>Moving virtual time to {showDateTime(at)} concerns everything in the sandbox:</p>
      {time === undefined ? null : <DueList until={at} now={time.now} />}
      <div className="line">
        <Button kind="main" action={advance}>
          Move the time
        </Button>
        {children}
      </div>
      <Failure error={advance.error} />
    </div>
  );
}
