import type { Report } from '../report/report.ts';
import { Violation } from '../runner/check.ts';
import type { Exchange } from '../runner/exchange.ts';
import { runSuite, type SuiteRun, selectById } from '../suite/run-suite.ts';
import { CONSUMER_CHECKS } from './checks/consumer.ts';
import { deliveryChecks, limitChecks } from './checks/delivery.ts';
import { effectChecks } from './checks/effects.ts';
import { payloadChecks } from './checks/payload.ts';
import { signatureChecks } from './checks/signature.ts';
import { createContext, type Delivery, type ReceiverContext, type ReceiverInputs } from './context.ts';
import { findCause } from './find-cause.ts';
import type { Profile } from './profile.ts';
import { findLock, type ReceiverCheck, type Tier } from './receiver-check.ts';

/** Every check of a receiver, in the order in which they run. */
export const RECEIVER_CHECKS: readonly ReceiverCheck[] = [
  ...payloadChecks,
  ...signatureChecks,
  ...deliveryChecks,
  ...effectChecks,
  ...limitChecks,
];

export interface ReceiverSuiteOptions extends SuiteRun {
  readonly inputs: ReceiverInputs;
  readonly tiers: readonly Tier[];
}

/** The checks of what a profile delivers to. */
export const checksOf = ({ name }: Profile): readonly ReceiverCheck[] =>
  name === 'standard-webhooks' ? CONSUMER_CHECKS : RECEIVER_CHECKS;

/** The checks of these levels that `only` selects. */
export function selectChecks(
  profile: Profile,
  tiers: readonly Tier[],
  only?: readonly string[],
): readonly ReceiverCheck[] {
  return selectById(checksOf(profile), only).filter(({ tier }) => tiers.includes(tier));
}

/** There is no receiver at the address; nothing was checked. */
export class NoReceiver extends Error {
  override readonly name = 'NoReceiver';
}

/**
 * A receiver may ignore what is no delivery: then one is made.
 * @throws NoReceiver if neither is answered
 */
async function demandReceiver({ attempt, events, inputs: { url } }: ReceiverContext): Promise<void> {
  const whyNot = (delivery: Delivery): Promise<string | undefined> =>
    attempt(delivery).then(
      () => undefined,
      (error: unknown) => (error instanceof Violation ? error.actual : String(error)),
    );
  const toGet = await whyNot({ body: '', method: 'GET', headers: () => [], as: 'GET' });
  if (toGet === undefined) return;
  const toDelivery = await whyNot({ body: events.received() });
  if (toDelivery === undefined) return;
  throw new NoReceiver(
    /ECONNRESET|hang up|closed/i.test(toGet)
      ? `${url} closes the connection of a GET without a body (${toGet}), and does not answer a delivery (${toDelivery}). Has its process ended? Look at its log.`
      : `${url} does not answer (${toDelivery}). Is the receiver running, and is this its address?`,
  );
}

/**
 * Checks a receiver by what it answers and, if it is observed, by what it makes of it.
 * @throws NoReceiver if nothing answers at the address
 */
export async function runReceiverSuite(options: ReceiverSuiteOptions): Promise<Report> {
  const { inputs, clock, signal, tiers, only } = options;
  const { profile } = inputs;
  const context = createContext(inputs, clock);
  context.journal.begin(signal, () => undefined);
  await demandReceiver(context);
  return await runSuite(options, {
    about: { suite: 'receiver', target: inputs.url, profile: profile.name },
    checks: selectChecks(profile, tiers, only),
    context,
    timeoutMs: 1.5 * profile.answersWithinMs,
    unexpected: 'harness',
    findCause: (violation) => findCause(context, violation),
    showsBytes: true,
    repeat: (id, exchange) =>
      exchange === undefined ? `the same command with --only ${id}` : writeCurl(inputs.url, exchange),
    findLock: (check) => findLock(check as ReceiverCheck, inputs),
    conclusion: { demandsAll: true },
  });
}

/** A text as one word of a shell. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A `curl` that repeats a request; its signature is valid for 5 minutes. */
export function writeCurl(url: string, { method, requestHeaders, requestBody = '' }: Exchange): string {
  const headers = Object.entries(requestHeaders).flatMap(([name, value]) =>
    value.split(' | ').map((one) => `-H ${quote(`${name}: ${one}`)}`),
  );
  const [, left] = /… \((\d+) bytes\)$/.exec(requestBody) ?? [];
  return [
    'curl -i',
    method === 'HEAD' ? '-I' : `-X ${method}`,
    ...headers,
    ...(requestBody === '' || left !== undefined ? [] : [`--data-binary ${quote(requestBody)}`]),
    quote(url),
    ...(left === undefined ? [] : [`# its body of ${left} bytes is left out`]),
  ].join(' ');
}
