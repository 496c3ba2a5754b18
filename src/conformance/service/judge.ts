import { Skip, Violation } from '../runner/check.ts';
import type { Exchange } from '../runner/exchange.ts';
import { isObject, nameValue } from './shape.ts';

/** The code of a refusal; undefined when the body has none. */
export function codeOf({ json }: Exchange): string | undefined {
  return isObject(json) && typeof json['error'] === 'string' ? json['error'] : undefined;
}

/** An answer in a few words: its status and its code or kind. */
export function nameAnswer(exchange: Exchange): string {
  const { status, json, text } = exchange;
  const code = codeOf(exchange);
  if (code === undefined) return `${status} with ${json === undefined ? nameText(text) : nameValue(json)}`;
  const field = isObject(json) && typeof json['field'] === 'string' ? ` for ${json['field']}` : '';
  return `${status} ${code}${field}`;
}

function nameText(text: string): string {
  return text === '' ? 'no body' : `a body that is no JSON (${text.length} characters)`;
}

/** @throws Violation unless the answer has one of these statuses */
export function expectStatus(exchange: Exchange, ...statuses: readonly number[]): void {
  if (!statuses.includes(exchange.status)) {
    throw new Violation(`status ${statuses.join(' or ')}`, nameAnswer(exchange), exchange);
  }
}

/** What a refusal must say. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly field?: string;
}

/** @throws Violation unless the answer is this refusal */
export function expectRefusal(exchange: Exchange, { status, code, field }: Refusal): void {
  const found = isObject(exchange.json) ? exchange.json['field'] : undefined;
  const right = exchange.status === status && codeOf(exchange) === code;
  if (right && (field === undefined || field === found)) return;
  const wanted = `${status} ${code}${field === undefined ? '' : ` for ${field}`}`;
  throw new Violation(wanted, nameAnswer(exchange), exchange);
}

/** @throws Violation unless the answer is a refusal of the client's input: a 4xx */
export function expectRefused(exchange: Exchange, what: string): void {
  if (exchange.status < 400 || exchange.status > 499) {
    throw new Violation(`${what} is refused with a 4xx`, nameAnswer(exchange), exchange);
  }
}

/** @throws Skip when the answer says that this connection cannot be used now, which is no fault */
export function skipUnusable(exchange: Exchange): void {
  const code = codeOf(exchange) ?? '';
  if ([402, 429].includes(exchange.status) || ['ip_not_allowed', 'send_failed'].includes(code)) {
    throw new Skip(`the service answered ${nameAnswer(exchange)}`);
  }
}

/** @throws Violation where two values differ */
export function expectEqual(what: string, expected: unknown, actual: unknown, exchange?: Exchange): void {
  if (JSON.stringify(expected) !== JSON.stringify(actual)) {
    throw new Violation(`${what}: ${nameValue(expected)}`, `${what}: ${nameValue(actual)}`, exchange);
  }
}
