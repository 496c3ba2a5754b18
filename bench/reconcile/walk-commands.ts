/** A service that serves its pages, in a process of its own. */
export type ServiceCommands = {
  /** Makes the messages, listens on a free port and answers where, and with which key. */
  listen(input: ServiceSetup): Promise<ServiceAddress>;
};

export interface ServiceSetup {
  readonly messages: number;
  readonly connections: number;
  /** What each answer waits, for a service that costs nothing itself. */
  readonly delayMs: number;
  /** For a service that keeps its messages in a database; empty for another. */
  readonly databaseUrl: string;
}

export interface ServiceAddress {
  /** `{base_url}`, the `/api/v1` prefix included. */
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** One that walks all pages of a service, in a process of its own. */
export type WalkerCommands = {
  /** Gets ready; nothing of it is measured. */
  prepare(input: WalkSetup): Promise<void>;
  /** Walks once. */
  walk(input: Record<string, never>): Promise<WalkResult>;
};

export interface WalkSetup extends ServiceAddress {
  /** Empty; for a walker that stores what it reads. */
  readonly databaseUrl: string;
}

export interface WalkResult {
  /** Messages that were read, or that are stored. */
  readonly messages: number;
  /** From the first request to the end: the last page read, or all of it committed. */
  readonly elapsedMs: number;
}
