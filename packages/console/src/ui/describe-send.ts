import type { Outbound, OutboundState } from '../../../../src/contract/connector/outbound.ts';
import type { Tone } from './tone.ts';

/** A send in words: what is certain, and what to do. */
export interface SendWords {
  readonly word: string;
  readonly tone: Tone;
  /** What is known for certain. */
  readonly certain: string;
  /** What to do about the last error; empty if there is none, or it no longer matters. */
  readonly remedy: string;
  readonly canCancel: boolean;
  readonly canRetry: boolean;
}

const WORDS: Readonly<Record<OutboundState, Pick<SendWords, 'word' | 'tone' | 'certain'>>> = {
  queued: { word: 'queued', tone: 'plain', certain: 'Not sent yet.' },
  sending: { word: 'sending', tone: 'plain', certain: 'An attempt is running.' },
  sent: { word: 'sent', tone: 'good', certain: 'The service accepted it.' },
  rejected: { word: 'rejected', tone: 'bad', certain: 'Certain: nothing was sent.' },
  unknown: {
    word: 'unknown',
    tone: 'warn',
    certain:
      'Uncertain: it may have been sent. Ask the contact, or look for it in the chat, before you retry it.',
  },
  delivered_not_stored: {
    word: 'delivered',
    tone: 'warn',
    certain: 'It was delivered, but the service kept no record of it. Do not send it again.',
  },
  cancelled: { word: 'cancelled', tone: 'plain', certain: 'It was cancelled before it was sent.' },
};

/** The states of a send, in the order of its life. */
export const SEND_STATES = Object.keys(WORDS) as readonly OutboundState[];

/** What to do about an error of the service. Other codes are shown as they are. */
const REMEDIES: Readonly<Record<string, string>> = {
  recipient_not_on_whatsapp: 'The number has no account on the network. Check it.',
  warmup_limited: 'A new number may send only so many messages an hour. It is sent when the cap permits it.',
  rate_limited: 'Too many requests. It is sent later.',
  license_inactive: 'The license of the connection has ended. Renew it, then retry.',
  addon_required: 'The connection has no API add-on. Buy it, then retry.',
  send_failed: 'The connection could not send. Check whether it is connected.',
  invalid_key: 'The API key was revoked. Sends wait until the account has a new one.',
  insufficient_scope: 'The key may not send. Give it the scope; sends continue by themselves.',
  ip_not_allowed: 'The address of the connector is not on the allowlist of the key.',
  not_found: 'The connection does not exist at the service, or the key does not reach it.',
  payload_too_large: 'The file is larger than the service accepts.',
};

/** What is known of a send, and what to do. */
export function describeSend({ state, lastError }: Pick<Outbound, 'state' | 'lastError'>): SendWords {
  const isOver = state === 'sent' || state === 'delivered_not_stored' || state === 'cancelled';
  const hasError = lastError !== null && !isOver;
  return {
    ...WORDS[state],
    remedy: hasError ? (REMEDIES[lastError] ?? 'See the list of error codes of the service.') : '',
    canCancel: state === 'queued',
    canRetry: state === 'rejected' || state === 'unknown',
  };
}
