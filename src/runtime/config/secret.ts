import { inspect } from 'node:util';

const SHOWN = '[secret]';

/**
 * The value of a secret setting. Printing, logging or serializing it shows `[secret]`; only `reveal` returns
 * the value.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the secret. Call it where the secret is used, and do not store the result in objects. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [inspect.custom](): string {
    return SHOWN;
  }
}

/**
 * Minimum number of different characters in a random secret: 24 random hex digits have fewer only once in
 * many millions.
 */
const MIN_VARIETY = 6;

/**
 * What makes a secret easy to guess, as a phrase that never contains it; undefined if nothing does. It is
 * shorter than `least` characters, or consists of the same few characters.
 */
export function findWeakness(secret: string, least: number): string | undefined {
  if (secret.length < least) return `only ${secret.length} characters`;
  if (new Set(secret).size < MIN_VARIETY) return 'the same few characters over and over';
  return undefined;
}
