import { createHash } from 'node:crypto';

/**
 * A number in [0, 1) that depends on its parts alone: the same seed, rule, event and attempt always draw the
 * same, in whatever order and however often they are asked.
 */
export function draw(seed: number, ruleId: string, subject: number, attempt: number): number {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, ruleId, subject, attempt]))
    .digest();
  return digest.readUIntBE(0, 6) / 2 ** 48;
}
