/**
 * The messages between a supervisor and its processes. A supervisor may be older than a process that it
 * starts, so the meaning of a message never changes.
 */
export type FromProcess =
  | { readonly says: 'ready'; readonly url: string }
  /** Why this process cannot serve, in one sentence without secrets. */
  | { readonly says: 'cannot serve'; readonly why: string }
  /** A client requested metrics from this process: those of all processes are needed. */
  | { readonly says: 'metrics wanted'; readonly request: number }
  | { readonly says: 'own metrics'; readonly request: number; readonly text: string };

export type FromSupervisor =
  | { readonly says: 'drain' }
  | { readonly says: 'own metrics wanted'; readonly request: number }
  | { readonly says: 'metrics'; readonly request: number; readonly text: string };

/** Distinguishes our messages from others on the same channel. */
export function isMessage<Message extends FromProcess | FromSupervisor>(value: unknown): value is Message {
  return typeof value === 'object' && value !== null && 'says' in value;
}

/** The environment variable with the number of a process. */
export const NUMBER_VARIABLE = 'SUPERVISED_AS';
