/**
 * What a supervisor and its processes tell each other. A supervisor may be older than a process that it starts, so
 * what a message means stays as it is.
 */
export type FromProcess =
  | { readonly says: 'ready'; readonly url: string }
  /** Why this process cannot serve, in one sentence without secrets. */
  | { readonly says: 'cannot serve'; readonly why: string }
  /** Somebody asked this process for metrics: those of all processes are wanted. */
  | { readonly says: 'metrics wanted'; readonly request: number }
  | { readonly says: 'own metrics'; readonly request: number; readonly text: string };

export type FromSupervisor =
  | { readonly says: 'drain' }
  | { readonly says: 'own metrics wanted'; readonly request: number }
  | { readonly says: 'metrics'; readonly request: number; readonly text: string };

/** Tells our messages from others on the same channel. */
export function isMessage<Message extends FromProcess | FromSupervisor>(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'says' in value;
}

/** The environment variable by which a process learns its number. */
export const NUMBER_VARIABLE = 'SUPERVISED_AS';
