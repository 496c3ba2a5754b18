/** Addresses of the service. They are read on each use, because a free port is known only after listening. */
export interface BaseUrls {
  /** `{base_url}`, including `/api/v1`. */
  readonly api: string;
  readonly legacyApi: string;
  readonly auth: string;
}
