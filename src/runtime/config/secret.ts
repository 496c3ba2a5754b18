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
