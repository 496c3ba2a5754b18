import { describeError } from '../../runtime/logger/describe-error.ts';
import { describeFault } from '../../runtime/logger/describe-fault.ts';
import { toStorableText } from '../db/storable-text.ts';

const HIDDEN = '…';
/** A common substring of this length shows that a message quotes a customer's text. */
const GRAM = 8;
/** Maximum length of a text of the change that is compared. */
const LONGEST_TEXT = 20_000;
/** Anything that may be a phone number, in any notation. */
const DIGITS = /\p{Nd}(?:[ ()./-]{0,2}\p{Nd}){6,}/gu;

/**
 * What a dead letter stores about an error of the handler: class, code, message, and the line of the CRM's own
 * code. The message is stored without secrets, quoted texts, data of the change, and runs of seven or more
 * digits. Never throws.
 */
export function describeFailure(thrown: unknown, change: unknown = null): string {
  const { errorType, errorCode, location } = describeFault(thrown);
  const { message } = describeError(thrown);
  const head = errorCode === undefined ? errorType : `${errorType} ${errorCode}`;
  const shown = hideTexts(message.replace(DIGITS, HIDDEN), textsOf(change)) || 'no message';
  return toStorableText(`${head}: ${shown}${location === undefined ? '' : ` (${location})`}`);
}

/** Fields that contain protocol words and ids, which are useful in a message. */
const NOT_A_PERSONS = new Set([
  'accountId',
  'changed',
  'connectionId',
  'createdAt',
  'direction',
  'firstSeenBy',
  'id',
  'licenseStatus',
  'mediaType',
  'messageId',
  'outboundId',
  'previous',
  'provider',
  'state',
  'status',
  'tier',
  'type',
  'updatedAt',
]);

/** All personal texts in the data of a change: messages, names, numbers, addresses. */
function textsOf(change: unknown): string[] {
  const data: unknown = typeof change === 'object' && change !== null ? Reflect.get(change, 'data') : null;
  const texts: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value.slice(0, LONGEST_TEXT));
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) if (!NOT_A_PERSONS.has(key)) visit(inner);
  };
  visit(data);
  return texts;
}

/**
 * Masks every substring of eight characters that occurs in one of the texts, and shorter texts where they occur
 * as a word.
 */
function hideTexts(message: string, texts: readonly string[]): string {
  const plain = message.toLowerCase();
  // Lower case may be longer in some scripts; positions in the two texts would then differ.
  if (plain.length !== message.length) return texts.length === 0 ? message : HIDDEN;
  const hidden = new Array<boolean>(message.length).fill(false);
  const grams = new Set<string>();
  for (const text of texts.map((each) => each.toLowerCase().trim())) {
    if (text.length < GRAM) hideWords(plain, text, hidden);
    for (let at = 0; at + GRAM <= text.length; at += 1) grams.add(text.slice(at, at + GRAM));
  }
  for (let at = 0; at + GRAM <= plain.length; at += 1) {
    if (grams.has(plain.slice(at, at + GRAM))) hidden.fill(true, at, at + GRAM);
  }
  return [...hidden.keys()].map((at) => (!hidden[at] ? message[at] : hidden[at - 1] ? '' : HIDDEN)).join('');
}

function hideWords(plain: string, text: string, hidden: boolean[]): void {
  if (text === '') return;
  for (let at = plain.indexOf(text); at >= 0; at = plain.indexOf(text, at + text.length)) {
    const isWord = !/[\p{L}\p{N}]/u.test((plain[at - 1] ?? '') + (plain[at + text.length] ?? ''));
    if (isWord) hidden.fill(true, at, at + text.length);
  }
}
