/** A stored file without a name and type. */
export interface StoredBytes {
  /** Random: it is the secret part of the file's address. */
  readonly id: string;
  /** Size of the file. */
  readonly bytes: number;
  readonly sha256: Uint8Array;
}

/** A file of a message. */
export interface MediaFile extends StoredBytes {
  readonly filename: string;
  readonly mimetype: string;
}

/** The fields of a message that refer to its file. */
export interface MediaReference {
  readonly id: string;
  readonly mimetype: string;
}
