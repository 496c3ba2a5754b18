import type { Queryable } from '../../runtime/database/database.ts';

/** A consent that was begun. Times in epoch milliseconds. */
export interface NewFlow {
  readonly id: string;
  readonly startId: string;
  readonly accountId: string | null;
  readonly label: string | null;
  readonly reference: string | null;
  readonly returnUrl: string | null;
  readonly sealedVerifier: string;
  readonly sealedAuthorizationUrl: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** A consent as it stands. */
export interface Flow extends Omit<NewFlow, 'startId' | 'sealedAuthorizationUrl' | 'createdAt'> {
  /** Null: begun by a version that handed out the address of the service itself. */
  readonly sealedAuthorizationUrl: string | null;
  /** Under what the cookie of its browser is kept; null: it has none yet. It is set once. */
  readonly browser: string | null;
  readonly usedAt: number | null;
  /** `connected`, or the code of a failure; null: not used, or a process died over it. */
  readonly outcome: string | null;
}

/** Keeps a flow, and forgets those whose time was over `forgetMs` ago. */
export async function insertFlow(db: Queryable, flow: NewFlow, forgetMs: number): Promise<void> {
  await db.query(
    `with forgotten as (delete from connector.oauth_flows where expires_at < $11::bigint)
     insert into connector.oauth_flows
       (id, start_id, account_id, label, reference, return_url, sealed_verifier, sealed_authorization_url,
        created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      flow.id,
      flow.startId,
      flow.accountId,
      flow.label,
      flow.reference,
      flow.returnUrl,
      flow.sealedVerifier,
      flow.sealedAuthorizationUrl,
      flow.createdAt,
      flow.expiresAt,
      flow.createdAt - forgetMs,
    ],
  );
}

const SELECT = `select id, account_id as "accountId", label, reference, return_url as "returnUrl",
  sealed_verifier as "sealedVerifier", sealed_authorization_url as "sealedAuthorizationUrl", browser,
  expires_at as "expiresAt", used_at as "usedAt", outcome from connector.oauth_flows`;

/** The flow with this id; null: there is none such. */
export async function readFlow(db: Queryable, id: string): Promise<Flow | null> {
  const [flow] = await db.query<Flow>(`${SELECT} where id = $1`, [id]);
  return flow ?? null;
}

/** The flow with this start token; null: there is none such. */
export async function readStartedFlow(db: Queryable, startId: string): Promise<Flow | null> {
  const [flow] = await db.query<Flow>(`${SELECT} where start_id = $1`, [startId]);
  return flow ?? null;
}

/** Gives a flow to the browser with this cookie, unless one has it already. */
export async function bindFlow(db: Queryable, id: string, browser: string, now: number): Promise<void> {
  await db.query(
    `update connector.oauth_flows set browser = $2
      where id = $1 and browser is null and used_at is null and expires_at > $3::bigint`,
    [id, browser, now],
  );
}

/** Uses a flow up: true for one callback, in whichever process. False: it was used, or its time is over. */
export async function takeFlow(db: Queryable, id: string, now: number): Promise<boolean> {
  const rows = await db.query(
    `update connector.oauth_flows set used_at = $2::bigint
      where id = $1 and used_at is null and expires_at > $2::bigint returning id`,
    [id, now],
  );
  return rows.length > 0;
}

/** Says that a flow has brought no grant, for whoever comes with it again. */
export async function noteFailure(db: Queryable, id: string, code: string): Promise<void> {
  await db.query('update connector.oauth_flows set outcome = $2 where id = $1', [id, code]);
}

/** Says which account a flow has given a grant. */
export async function noteConnected(db: Queryable, id: string, accountId: string): Promise<void> {
  await db.query(`update connector.oauth_flows set outcome = 'connected', account_id = $2 where id = $1`, [
    id,
    accountId,
  ]);
}
