import { Skip, Violation } from '../../../certify/src/runner/check.ts';
import type { Exchange } from '../../../certify/src/runner/exchange.ts';

/** True for a JSON object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Describes a value without revealing private ones. */
export function nameValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object') return `an object with ${Object.keys(value).join(', ') || 'no fields'}`;
  if (typeof value !== 'string') return typeof value;
  return value.length <= 40 ? JSON.stringify(value) : `a string of ${value.length} characters`;
}

/** The fields of a body; none if it is not an object. */
export function fieldsOf({ json }: Pick<Exchange, 'json'>): Readonly<Record<string, unknown>> {
  return isObject(json) ? json : {};
}

/** The code of an error; undefined if the body has none. */
export function codeOf({ json }: Exchange): string | undefined {
  return isObject(json) && typeof json['error'] === 'string' ? json['error'] : undefined;
}

/** A response in a few words: its status and its code or kind. */
export function nameAnswer(exchange: Exchange): string {
  const { status, json, text } = exchange;
  const code = codeOf(exchange);
  if (code === undefined) return `${status} with ${json === undefined ? nameText(text) : nameValue(json)}`;
  const field = isObject(json) && typeof json['field'] === 'string' ? ` for ${json['field']}` : '';
  return `${status} ${code}${field}`;
}

function nameText(text: string): string {
  return text === '' ? 'no body' : `a body that is not JSON (${text.length} characters)`;
}

/** @throws Violation unless the response has one of these statuses */
export function expectStatus(exchange: Exchange, ...statuses: readonly number[]): void {
  if (!statuses.includes(exchange.status)) {
    throw new Violation(`status ${statuses.join(' or ')}`, nameAnswer(exchange), exchange);
  }
}

/** What an error must contain. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly field?: string;
}

/** @throws Violation unless the response is this error */
export function expectRefusal(exchange: Exchange, { status, code, field }: Refusal): void {
  const found = fieldsOf(exchange)['field'];
  const right = exchange.status === status && codeOf(exchange) === code;
  if (right && (field === undefined || field === found)) return;
  const wanted = `${status} ${code}${field === undefined ? '' : ` for ${field}`}`;
  throw new Violation(wanted, nameAnswer(exchange), exchange);
}

/** @throws Violation unless the response rejects the client's input: a 4xx */
export function expectRefused(exchange: Exchange, what: string): void {
  if (exchange.status < 400 || exchange.status > 499) {
    throw new Violation(`${what} is rejected with a 4xx`, nameAnswer(exchange), exchange);
  }
}

/** @throws Skip if the response says that this connection cannot be used now, which is not a violation */
export function skipUnusable(exchange: Exchange): void {
  const code = codeOf(exchange) ?? '';
  if ([402, 429].includes(exchange.status) || ['ip_not_allowed', 'send_failed'].includes(code)) {
    throw new Skip(`the service returned ${nameAnswer(exchange)}`);
  }
}

/** @throws Violation if two values differ */
export function expectEqual(what: string, expected: unknown, actual: unknown, exchange?: Exchange): void {
  if (JSON.stringify(expected) !== JSON.stringify(actual)) {
    throw new Violation(`${what}: ${nameValue(expected)}`, `${what}: ${nameValue(actual)}`, exchange);
  }
}
