import { CompactEncrypt, compactDecrypt, decodeProtectedHeader, errors } from 'jose';
import { digest } from './digest.ts';
import { equalSecrets } from './equal-secrets.ts';
import { readSealingKey, type SealingKey } from './sealing-key.ts';

export { findKeyProblem, generateSealingKey, MAKE_SEALING_KEY } from './sealing-key.ts';

/** Why a sealed value could not be opened. */
export type SealingFailure = 'malformed' | 'unknown_key' | 'wrong_context' | 'tampered';

const FAILURES: Record<SealingFailure, string> = {
  malformed: 'The sealed value is malformed or truncated.',
  unknown_key:
    'CONNECTOR_SEALING_KEYS: a stored secret was sealed with a key that is not in the list. Add the old key again, after the first one. It is in the settings (.env or a vault) of the processes that used this database before.',
  wrong_context: 'The sealed value was read from a different place than the one it was sealed for.',
  tampered: 'The sealed value was altered after it was sealed.',
};

/** Thrown if a sealed value cannot be opened. Contains neither the value nor a key. */
export class SealingError extends Error {
  override readonly name = 'SealingError';
  readonly code: SealingFailure;

  constructor(code: SealingFailure) {
    super(FAILURES[code]);
    this.code = code;
  }
}

const ALGORITHM = 'dir';
const ENCRYPTION = 'A256GCM';

/** The unverified header: the key and the context that the value claims. */
function readHeader(sealed: string): { keyId: string; context: string } {
  let header: { readonly kid?: unknown; readonly ctx?: unknown };
  try {
    header = decodeProtectedHeader(sealed);
  } catch {
    throw new SealingError('malformed');
  }
  const { kid, ctx } = header;
  if (typeof kid !== 'string' || typeof ctx !== 'string') throw new SealingError('malformed');
  return { keyId: kid, context: ctx };
}

async function decrypt(sealed: string, key: SealingKey): Promise<string> {
  try {
    const { plaintext } = await compactDecrypt(sealed, key.bytes, {
      keyManagementAlgorithms: [ALGORITHM],
      contentEncryptionAlgorithms: [ENCRYPTION],
    });
    return new TextDecoder().decode(plaintext);
  } catch (error) {
    throw new SealingError(error instanceof errors.JWEDecryptionFailed ? 'tampered' : 'malformed');
  }
}

export type KeyRing = ReturnType<typeof createKeyRing>;

/**
 * Seals secrets that are stored in a database, with 32-byte keys written as base64url. The first key seals, all of
 * them open: to rotate, put a new key first and remove the old one when nothing sealed with it is left. Values are
 * JWEs in compact form (`dir`, `A256GCM`). The digest of the context is in the protected header, which is the
 * associated data of the encryption.
 * @throws {TypeError} for an empty ring, an invalid key or a duplicate key.
 */
export function createKeyRing(keys: readonly string[]) {
  const ring = keys.map((text, index) => readSealingKey(text, index + 1));
  const [first] = ring;
  if (first === undefined)
    throw new TypeError('The key ring is empty: at least one sealing key is required.');
  const byId = new Map(ring.map((key) => [key.id, key]));
  if (byId.size !== ring.length) throw new TypeError('The key ring contains the same sealing key twice.');

  return {
    /**
     * Encrypts `plain` with the first key. `context` names the place where it is stored, such as
     * `subscription:42:secret`; the value cannot be opened anywhere else.
     */
    seal(plain: string, context: string): Promise<string> {
      return new CompactEncrypt(new TextEncoder().encode(plain))
        .setProtectedHeader({ alg: ALGORITHM, enc: ENCRYPTION, kid: first.id, ctx: digest(context) })
        .encrypt(first.bytes);
    },

    /** Opens a value sealed with any key of the ring. @throws {SealingError} */
    async open(sealed: string, context: string): Promise<string> {
      const header = readHeader(sealed);
      const key = byId.get(header.keyId);
      if (key === undefined) throw new SealingError('unknown_key');
      const plain = await decrypt(sealed, key);
      // After decryption, so that the header compared here is authenticated by the key.
      if (!equalSecrets(header.context, digest(context))) throw new SealingError('wrong_context');
      return plain;
    },

    /** False if the value should be sealed again, because it was not sealed with the first key. */
    isCurrent(sealed: string): boolean {
      try {
        return readHeader(sealed).keyId === first.id;
      } catch {
        return false;
      }
    },
  };
}
