import { backOffMs } from '../../runtime/clock/back-off.ts';
import { repeat } from '../../runtime/clock/repeat.ts';
import type { ServiceClient } from '../service-client/service-client.ts';
import { ServiceError } from '../service-client/service-errors.ts';
import { type RegisterOptions, registerWebhook, rotateSecret } from './register-webhook.ts';
import { LeaseLost, type Replaced } from './replace-secret.ts';

const RETRY = { firstMs: 5_000, longestMs: 5 * 60_000, spread: 0.5 };
/** Another process holds the lease: look again when it should be through. */
const BUSY_RETRY_MS = 5_000;

/** How the registration of a webhook stands, for operators. */
export interface RegistrationState {
  readonly state: 'pending' | 'registered' | 'failed';
  /** The code of the last failure. */
  readonly errorCode: string | null;
}

/** `registered`: with an address, or to end a doubt. `rotated`: because somebody asked for it. */
export type SecretIssue = 'registered' | 'rotated';

export interface Registrar {
  readonly state: RegistrationState;
  /** Registers, or joins the attempt under way. Resolves after one attempt, whatever became of it. */
  attempt(): Promise<void>;
  /** The same, unless an attempt was made within the last seconds. For whoever asks often. */
  nudge(): void;
  /** Rotates the secret, see `rotateSecret`. When it fails in doubt, it is settled in the background. */
  rotate(compromised: boolean): Promise<Replaced | null>;
  close(): Promise<void>;
}

export interface RegistrarOptions extends Omit<RegisterOptions, 'signal' | 'client'> {
  /** Asked before each attempt, for the credential may have changed. */
  readonly client: () => ServiceClient;
  /** Told when the service issued a new secret, and how, before the attempt ends. A failure of it is logged. */
  readonly onIssued: (how: SecretIssue) => Promise<void>;
  /** Between 0 and 1; spreads the retries of several processes. */
  readonly random: () => number;
}

/**
 * Keeps trying to register the webhook until it is in place. A failure stops nothing else: deliveries signed
 * with the stored secret are taken meanwhile.
 */
export function createRegistrar(options: RegistrarOptions): Registrar {
  const { clock, logger } = options.keeper;
  const closing = new AbortController();
  let state: RegistrationState = { state: 'pending', errorCode: null };
  let failures = 0;
  let running: Promise<void> | null = null;
  let rotating: Promise<unknown> | null = null;
  let attemptedAt = Number.NEGATIVE_INFINITY;
  /** Null: no further attempt is made by itself. */
  let retryMs: number | null = null;

  const attemptOptions = (): RegisterOptions => ({
    ...options,
    client: options.client(),
    signal: closing.signal,
  });

  const attempts = repeat({
    clock,
    everyMs: () => retryMs,
    run() {
      const attempt = attemptOnce();
      running ??= attempt.finally(endAttempt);
      return attempt;
    },
    onError: (err) => logger.error({ err }, 'an attempt to register the webhook broke'),
  });
  attempts.start();

  function endAttempt(): void {
    running = null;
  }

  async function attemptOnce(): Promise<void> {
    retryMs = null;
    try {
      const outcome = await registerWebhook(attemptOptions());
      if (outcome === 'busy') {
        retryMs = BUSY_RETRY_MS;
        return;
      }
      failures = 0;
      state = { state: 'registered', errorCode: null };
      const { subscriptionId, url } = options;
      if (url !== null) logger.info({ subscriptionId, outcome, url }, 'webhook in place');
      if (outcome === 'registered') await announce('registered');
    } catch (error) {
      if (closing.signal.aborted) return;
      fail(error);
    } finally {
      attemptedAt = clock.elapsed();
    }
  }

  async function announce(how: SecretIssue): Promise<void> {
    try {
      await options.onIssued(how);
    } catch (error) {
      logger.warn(
        { err: error, subscriptionId: options.subscriptionId },
        'a new secret could not be announced',
      );
    }
  }

  function fail(error: unknown): void {
    failures += 1;
    state = { state: 'failed', errorCode: errorCode(error) };
    logger.error(
      { err: error, subscriptionId: options.subscriptionId, errorCode: state.errorCode, attempts: failures },
      'the webhook could not be registered',
    );
    // A key that is refused stays refused until a person changes the configuration, which takes a restart.
    if (state.errorCode !== 'invalid_key') retryMs = backOffMs(failures, RETRY, options.random());
  }

  function attempt(): Promise<void> {
    running ??= attempts.runNow().finally(endAttempt);
    return running;
  }

  async function rotate(compromised: boolean): Promise<Replaced | null> {
    try {
      const replaced = await rotateSecret(attemptOptions(), compromised);
      if (replaced !== null) await announce('rotated');
      return replaced;
    } catch (error) {
      const inDoubt = error instanceof LeaseLost || (error instanceof ServiceError && error.mayHaveActed);
      if (inDoubt) {
        retryMs = RETRY.firstMs;
        attempts.start();
      }
      throw error;
    }
  }

  return {
    get state() {
      return state;
    },
    attempt,
    nudge() {
      if (clock.elapsed() - attemptedAt >= BUSY_RETRY_MS) void attempt();
    },
    rotate(compromised) {
      const work = rotate(compromised);
      rotating = Promise.allSettled([rotating, work]);
      return work;
    },
    async close() {
      closing.abort();
      await Promise.all([attempts.stop(), rotating]);
    },
  };
}

function errorCode(error: unknown): string {
  if (error instanceof ServiceError) return error.code;
  if (error instanceof LeaseLost) return 'lease_lost';
  return error instanceof Error ? error.name : 'unknown';
}
