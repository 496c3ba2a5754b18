import type { ReactNode } from 'react';
import type { Tone } from './tone.ts';

export type { Tone };

/** A state in one word. The colour repeats what the word says. */
export function Chip({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return <span className={`chip ${tone}`}>{children}</span>;
}

const TICKS = { sent: '✓', delivered: '✓✓', read: '✓✓', failed: '!' } as const;

export type TickStatus = keyof typeof TICKS;

/** The ticks of an outgoing message. */
export function Ticks({ status }: { readonly status: TickStatus }) {
  return (
    <span className="ticks" data-status={status} role="img" aria-label={status} title={status}>
      {TICKS[status]}
    </span>
  );
}
