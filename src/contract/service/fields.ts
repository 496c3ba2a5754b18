import { z } from 'zod';

/** The latest time of a wire timestamp, in epoch milliseconds: the end of the year 9999 (UTC). */
export const TIMESTAMP_MAX_MS = 253_402_300_799_999;

/** A cuid assigned by the service. Opaque to clients. */
export const identifier = z.string().min(1).max(255);

/** International digits without a plus sign; 5 to 15 digits, the bounds of E.164. */
export const phoneDigits = z.string().regex(/^[1-9]\d{4,14}$/, 'must be international digits, without +');

/**
 * ISO 8601 date-time with `Z` or an offset; used for every timestamp of the REST API. [wire.timestamps.rest]
 */
export const dateTime = z.iso.datetime({ offset: true });

/** Epoch milliseconds; used for every timestamp of a webhook. [wire.timestamps.webhook] */
export const epochMs = z.int().min(0).max(TIMESTAMP_MAX_MS);

/** A PNG image as a data URI. */
export const qrDataUri = z.string().startsWith('data:image/png;base64,');
