import type { SignatureSecrets } from './signature-mistakes.ts';

/** How many secrets of a webhook are remembered. */
const REMEMBERED = 10;

/** The secrets that the service has issued since its start, and those of before that were valid then. */
export class IssuedSecrets {
  /** By the owner of the webhook, newest first. */
  readonly #secrets = new Map<string, readonly string[]>();

  /** Remembers the secret of a webhook as its newest one. */
  add(owner: string, secret: string): void {
    const known = new Set([secret, ...(this.#secrets.get(owner) ?? [])]);
    this.#secrets.set(owner, [...known].slice(0, REMEMBERED));
  }

  /** What a receiver of the deliveries of one owner may have used. */
  of(owner: string): SignatureSecrets {
    const own = this.#secrets.get(owner) ?? [];
    const others = [...this.#secrets].flatMap(([other, secrets]) =>
      other === owner ? [] : secrets.map((secret) => ({ owner: other, secret })),
    );
    return { own, others };
  }

  /** The secrets by the owners of the webhooks, for `load`. */
  save(): readonly (readonly [owner: string, secrets: readonly string[]])[] {
    return [...this.#secrets];
  }

  load(saved: ReturnType<IssuedSecrets['save']>): void {
    for (const [owner, secrets] of saved) this.#secrets.set(owner, secrets);
  }

  clear(): void {
    this.#secrets.clear();
  }
}
