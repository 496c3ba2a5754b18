import { randomBytes } from 'node:crypto';

/** An id as the network gives it: a fixed head and 16 upper-case hex digits. For debugging only. */
export function newNetworkId(): string {
  return `3EB0${randomBytes(8).toString('hex').toUpperCase()}`;
}
