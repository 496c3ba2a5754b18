/** A stored file. */
export interface MediaFile {
  /** Random: it is the secret part of the file's address. */
  readonly id: string;
  /** Size of the file. */
  readonly bytes: number;
  readonly sha256: Uint8Array;
  readonly filename: string;
  readonly mimetype: string;
}

/** The fields of a message that refer to its file. */
export interface MediaReference {
  readonly id: string;
  readonly mimetype: string;
}
