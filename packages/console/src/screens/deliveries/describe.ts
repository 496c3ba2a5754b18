import type { Delivery } from '../../../../../src/contract/sandbox/deliveries.ts';
import type { EventType } from '../../../../../src/contract/service/events.ts';
import type { Tone } from '../../ui/chip.tsx';

/** The types of events, the most common first. */
export const EVENTS = Object.keys({
  'message.received': 0,
  'message.status': 0,
  'connection.disconnected': 0,
  'connection.connected': 0,
} satisfies Record<EventType, 0>) as readonly EventType[];

/** The outcome in one word, and what it means. */
export function outcomeOf({ outcome, held }: Delivery): { readonly word: string; readonly tone: Tone } {
  if (held === true) return { word: 'held', tone: 'warn' };
  return { word: outcome, tone: ({ pending: 'plain', delivered: 'good', dropped: 'bad' } as const)[outcome] };
}

/** What the event says, in a few words. The body is a stranger's text: it is only ever shown as text. */
export function summaryOf({ body }: Delivery): string {
  try {
    const { message, connection } = JSON.parse(body) as {
      message?: { from?: string; text?: string | null; status?: string; media_type?: string | null };
      connection?: { phone_number?: string; label?: string; reason?: string | null };
    };
    if (message?.status !== undefined) return message.status;
    if (message !== undefined) return `+${message.from}  ${message.text ?? message.media_type ?? ''}`;
    if (connection === undefined) return '';
    return [`+${connection.phone_number}`, connection.label, connection.reason].filter(Boolean).join('  ');
  } catch {
    return body.slice(0, 200);
  }
}

/** Why an event was dropped before all attempts were made. */
export const REASONS: Readonly<Record<NonNullable<Delivery['reason']>, string>> = {
  no_webhook: 'No webhook was set when the event happened. Set one with PUT /webhook.',
  interrupted: 'The service stopped before the last attempt.',
};
