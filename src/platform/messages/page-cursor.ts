import { createHmac, timingSafeEqual } from 'node:crypto';
import { PlatformError } from '../kernel/platform-error.ts';

const POSITION_BYTES = 8;
const SEAL_BYTES = 16;
const CURSOR = /^[A-Za-z0-9_-]{32}$/;

/** The list that a cursor belongs to. It is invalid for any other. */
export interface PageScope {
  readonly workspaceId: string;
  /** The connection that the list was limited to, or null. */
  readonly connectionId: string | null;
}

/** Opaque cursors: a position, with a MAC of position, workspace and filter. [messages.list.cursor] */
export interface PageCursors {
  write(scope: PageScope, position: number): string;
  /** Throws `invalid_request` for a forged or foreign cursor. */
  read(scope: PageScope, cursor: string): number;
}

/** `key` is stored in the database, so that cursors remain valid after a restart. */
export function createPageCursors(key: Uint8Array): PageCursors {
  const seal = (scope: PageScope, position: Buffer): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([scope.workspaceId, scope.connectionId]))
      .update(position)
      .digest()
      .subarray(0, SEAL_BYTES);

  return {
    write(scope, position) {
      const bytes = Buffer.alloc(POSITION_BYTES);
      bytes.writeBigInt64BE(BigInt(position));
      return Buffer.concat([bytes, seal(scope, bytes)]).toString('base64url');
    },
    read(scope, cursor) {
      const bytes = Buffer.from(CURSOR.test(cursor) ? cursor : '', 'base64url');
      const position = bytes.subarray(0, POSITION_BYTES);
      const given = bytes.subarray(POSITION_BYTES);
      // [choice.cursor.refused] [choice.cursor.bound]
      if (given.length !== SEAL_BYTES || !timingSafeEqual(given, seal(scope, position))) {
        throw new PlatformError('invalid_request', {
          field: 'cursor',
          hint: 'use `nextCursor` of the previous page',
        });
      }
      return Number(position.readBigInt64BE());
    },
  };
}
