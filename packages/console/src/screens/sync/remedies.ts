import type { OutboundState } from '../../../../../src/contract/connector/outbound.ts';

/** The sections of the Sync screen that an address can name after `#`. */
export type SyncSection = 'pair-again' | 'consumers' | 'letters' | 'sends';

/** Where the page itself does what a finding of the doctor asks for. */
export interface Remedy {
  readonly label: string;
  readonly section: SyncSection;
  /** Which sends the section lists. */
  readonly state?: OutboundState;
  /** In place of the advice of the doctor, which names the calls of the API. Default: that advice. */
  readonly advice?: string;
}

/** By the code of the finding. */
export const REMEDIES: Readonly<Record<string, Remedy>> = {
  must_pair: {
    label: 'Pair again',
    section: 'pair-again',
    advice: 'Until then its sends fail. They are retried where that is safe.',
  },
  dead_letters: {
    label: 'Replay them',
    section: 'letters',
    advice: 'Fix the consumer first: a change that fails again is set aside again.',
  },
  consumer_late: {
    label: 'Show its last error',
    section: 'consumers',
    advice: 'The changes of a connection wait until a call succeeds or the change is set aside.',
  },
  sends_unknown: {
    label: 'Show and retry them',
    section: 'sends',
    state: 'unknown',
    advice: 'Look in the chat or ask the contact, and retry only those that did not arrive.',
  },
  sends_rejected: {
    label: 'Show their reasons',
    section: 'sends',
    state: 'rejected',
    advice: 'Nothing was sent. Retry them once the reason is gone.',
  },
  sends_delayed: { label: 'Show the queue', section: 'sends', state: 'queued' },
  sends_late: { label: 'Show the queue', section: 'sends', state: 'queued' },
};
