import { z } from 'zod';

/**
 * Known connection statuses. A live connection is `open` in the list and `connected` in the detail. The
 * service does not promise that there are no others, so readers accept any string. [state.values]
 */
export const CONNECTION_STATUSES = ['connecting', 'open', 'connected', 'disconnected'] as const;

/** Known license statuses; readers accept any string. [choice.license.values] */
export const LICENSE_STATUSES = ['trial', 'active', 'expired', 'none'] as const;
export type LicenseStatus = (typeof LICENSE_STATUSES)[number];

/** Known tiers; readers accept any string. [choice.tier.values] */
export const TIERS = ['basic', 'pro'] as const;
export type Tier = (typeof TIERS)[number];

/** The two kinds of connection. [service.provider.kinds] */
export const PROVIDERS = ['qr', 'cloud_api'] as const;
export const provider = z.enum(PROVIDERS);
export type Provider = z.infer<typeof provider>;

/** The two kinds of workspace. */
export const WORKSPACE_KINDS = ['standalone', 'crm_portal'] as const;
export const workspaceKind = z.enum(WORKSPACE_KINDS);
export type WorkspaceKind = z.infer<typeof workspaceKind>;

export const DIRECTIONS = ['incoming', 'outgoing'] as const;
export const direction = z.enum(DIRECTIONS);
export type Direction = z.infer<typeof direction>;

/** The statuses of a message. [status.values] */
export const MESSAGE_STATUSES = ['sent', 'delivered', 'read', 'failed'] as const;
export const messageStatus = z.enum(MESSAGE_STATUSES);
export type MessageStatus = z.infer<typeof messageStatus>;

/** Rank of a status. `failed` has none: it is terminal and does not follow `read`. */
export const MESSAGE_STATUS_RANKS: Readonly<Record<Exclude<MessageStatus, 'failed'>, number>> = {
  sent: 1,
  delivered: 2,
  read: 3,
};

/**
 * Known reasons in `connection.disconnected`. They are advisory: new ones may appear.
 * [events.disconnected.reason]
 */
export const DISCONNECT_REASONS = ['AUTH_LOST', 'NEEDS_RECONNECT', 'HEAL_GIVEUP'] as const;
