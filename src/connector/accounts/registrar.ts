import { ServiceRefusal } from '../service-client/service-errors.ts';
import { LeaseLost, type RegisterOptions, registerWebhook } from './register-webhook.ts';

const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 5 * 60_000;
/** Another process holds the lease: look again when it should be through. */
const BUSY_RETRY_MS = 5_000;

/** How the registration of a webhook stands, for operators. */
export interface RegistrationState {
  readonly state: 'pending' | 'registered' | 'failed';
  /** The code of the last failure. */
  readonly errorCode: string | null;
}

export interface Registrar {
  readonly state: RegistrationState;
  /** Registers, or joins the attempt under way. Resolves after one attempt, whatever became of it. */
  attempt(): Promise<void>;
  close(): Promise<void>;
}

export interface RegistrarOptions extends Omit<RegisterOptions, 'signal'> {
  /** Told when the service issued a new secret, before the attempt ends. A failure of it is logged. */
  readonly onIssued: () => Promise<void>;
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
  let cancelRetry = (): void => {};

  function retryIn(ms: number): void {
    cancelRetry();
    if (!closing.signal.aborted) cancelRetry = clock.after(ms, () => void attempt());
  }

  async function run(): Promise<void> {
    try {
      const outcome = await registerWebhook({ ...options, signal: closing.signal });
      if (outcome === 'busy') return retryIn(BUSY_RETRY_MS);
      failures = 0;
      state = { state: 'registered', errorCode: null };
      logger.info({ subscriptionId: options.subscriptionId, outcome, url: options.url }, 'webhook in place');
      if (outcome === 'registered') await announce();
    } catch (error) {
      if (closing.signal.aborted) return;
      fail(error);
    }
  }

  async function announce(): Promise<void> {
    try {
      await options.onIssued();
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
    const longest = Math.min(FIRST_RETRY_MS * 2 ** (failures - 1), LONGEST_RETRY_MS);
    logger.error(
      { err: error, subscriptionId: options.subscriptionId, errorCode: state.errorCode, attempts: failures },
      'the webhook could not be registered',
    );
    // A key that is refused stays refused until a person changes the configuration, which takes a restart.
    if (state.errorCode !== 'invalid_key') retryIn(longest * (0.5 + options.random() / 2));
  }

  function attempt(): Promise<void> {
    cancelRetry();
    running ??= run().finally(() => {
      running = null;
    });
    return running;
  }

  return {
    get state() {
      return state;
    },
    attempt,
    async close() {
      closing.abort();
      cancelRetry();
      await running;
    },
  };
}

function errorCode(error: unknown): string {
  if (error instanceof ServiceRefusal) return error.code;
  if (error instanceof LeaseLost) return 'lease_lost';
  return error instanceof Error ? error.name : 'unknown';
}
