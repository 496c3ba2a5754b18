import type { StateChange } from '../time/state-change.ts';
import type { InboundMessage, Receipt } from './network.ts';

/** A report that could not reach the service, as it will be told later. */
export type HeldReport =
  | { readonly kind: 'message'; readonly message: InboundMessage }
  | { readonly kind: 'receipt'; readonly receipt: Omit<Receipt, 'reportedAt'> };

/** Keeps reports for a connection, behind what is kept already. */
export async function holdReports(
  { tx }: StateChange,
  connectionId: string,
  reports: readonly HeldReport[],
): Promise<void> {
  await tx.query(
    `INSERT INTO platform.held_reports (connection_id, report)
     SELECT $1, r.report FROM unnest($2::text[]) WITH ORDINALITY AS r (report, place)
     ORDER BY r.place`,
    [connectionId, reports.map((report) => JSON.stringify(report))],
  );
}

/** Takes out what is kept for a connection, in its order. */
export async function takeHeld({ tx }: StateChange, connectionId: string): Promise<HeldReport[]> {
  const rows = await tx.query<{ report: string; position: number }>(
    `WITH taken AS (
       DELETE FROM platform.held_reports WHERE connection_id = $1 RETURNING position, report)
     SELECT report, position FROM taken ORDER BY position`,
    [connectionId],
  );
  return rows.map((row): HeldReport => JSON.parse(row.report));
}
