import { inspect } from 'node:util';

const SHOWN = '[secret]';

/** A secret setting. Whatever prints, logs or serializes it shows `[secret]`; only `reveal` gives the value. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The secret itself. Call it where it is used, and keep the result out of objects. */
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

/** Characters of a random secret: 24 hex digits show fewer different ones than this once in many millions. */
const LEAST_VARIETY = 6;

/**
 * What makes a secret easy to guess, as a phrase that never holds it; undefined where nothing does: it is shorter than
 * `least` characters, or hardly anything but the same few characters.
 */
export function findWeakness(secret: string, least: number): string | undefined {
  if (secret.length < least) return `only ${secret.length} characters`;
  if (new Set(secret).size < LEAST_VARIETY) return 'the same few characters over and over';
  return undefined;
}
