import { readConnectionList, readMessagePage } from '../../contract/service/read-answers.ts';
import { type MessageStatus, messageStatus } from '../../contract/service/statuses.ts';

/** A message as polling uses it; `createdAt` in epoch milliseconds. */
export interface PolledMessage {
  readonly id: string;
  readonly connectionId: string;
  readonly direction: 'incoming' | 'outgoing';
  readonly text: string | null;
  readonly mediaUrl: string | null;
  readonly mediaType: string | null;
  /** Null for a status that this version does not know. */
  readonly status: MessageStatus | null;
  readonly errorMessage: string | null;
  readonly waMessageId: string | null;
  readonly createdAt: number;
}

/** A page of messages, newest first. */
export interface PolledPage {
  readonly items: readonly PolledMessage[];
  readonly nextCursor: string | null;
  readonly hasMore: boolean;
  /** One reason for each element that could not be read and was omitted. */
  readonly invalid: readonly string[];
}

/** A connection as polling uses it; `licenseExpires` in epoch milliseconds. */
export interface PolledConnection {
  readonly id: string;
  readonly phoneNumber: string | null;
  readonly label: string | null;
  readonly status: string | null;
  readonly isDefault: boolean | null;
  readonly provider: string | null;
  readonly tier: string | null;
  readonly profilePicUrl: string | null;
  readonly licenseValid: boolean | null;
  readonly licenseStatus: string | null;
  readonly licenseExpires: number | null;
}

export interface PolledConnections {
  readonly items: readonly PolledConnection[];
  /** The `Date` of the response in epoch milliseconds, whole seconds; null if it had none. */
  readonly date: number | null;
  readonly invalid: readonly string[];
}

/** Reads a page of `GET /messages`. Throws a `ZodError` if the value is not a page. */
export function readPolledPage(body: unknown): PolledPage {
  const page = readMessagePage(body);
  const items = page.items.map((item) => ({
    ...item,
    status: messageStatus.safeParse(item.status).data ?? null,
    createdAt: Date.parse(item.createdAt),
  }));
  return { ...page, items };
}

/** Reads the response of `GET /connections`. Throws a `ZodError` if the value is not a list. */
export function readPolledConnections(body: unknown): Omit<PolledConnections, 'date'> {
  const list = readConnectionList(body);
  const items = list.items.map((item) => ({
    ...item,
    licenseExpires: item.licenseExpires === null ? null : Date.parse(item.licenseExpires),
  }));
  return { ...list, items };
}
