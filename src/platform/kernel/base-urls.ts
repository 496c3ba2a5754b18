/** Where the service is reached; read on each use, since a free port is known only after listening. */
export interface BaseUrls {
  /** `{base_url}`, with `/api/v1`. */
  readonly api: string;
  readonly legacyApi: string;
  readonly auth: string;
}
