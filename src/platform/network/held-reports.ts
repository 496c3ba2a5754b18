import type { StateChange } from '../state-change.ts';
import type { InboundMessage, Receipt } from './network.ts';

/** A report that could not reach the service, as it will be told later. */
export type HeldReport =
  | { readonly kind: 'message'; readonly message: InboundMessage }
  | { readonly kind: 'receipt'; readonly receipt: Omit<Receipt, 'reportedAt'> };

/** Keeps reports for the number of a connection, behind what is kept already. */
export async function holdReports(
  { tx, now }: StateChange,
  connectionId: string,
  reports: readonly HeldReport[],
): Promise<void> {
  await tx.query(
    `INSERT INTO platform.held_reports (connection_id, phone_number, report, at)
     SELECT c.id, c.phone_number, r.report, $3
     FROM platform.connections c
     CROSS JOIN unnest($2::text[]) WITH ORDINALITY AS r (report, place)
     WHERE c.id = $1 AND c.phone_number IS NOT NULL
     ORDER BY r.place`,
    [connectionId, reports.map((report) => JSON.stringify(report)), now],
  );
}

/**
 * Takes out what is kept for a connection, in its order. What was meant for another number than the one it
 * has now is thrown away: it belongs to somebody else.
 */
export async function takeHeld({ tx }: StateChange, connectionId: string): Promise<HeldReport[]> {
  const rows = await tx.query<{ report: string; position: number; meant: boolean }>(
    `WITH taken AS (
       DELETE FROM platform.held_reports WHERE connection_id = $1 RETURNING position, phone_number, report)
     SELECT t.report, t.position, t.phone_number = c.phone_number AS meant
     FROM taken t JOIN platform.connections c ON c.id = $1 ORDER BY t.position`,
    [connectionId],
  );
  return rows.filter((row) => row.meant).map((row): HeldReport => JSON.parse(row.report));
}
