import { createHash } from 'node:crypto';
import type { Queryable } from '../../runtime/database/database.ts';

/** A consent that was begun. */
export interface NewFlow {
  readonly id: string;
  readonly accountId: string | null;
  readonly label: string | null;
  readonly returnUrl: string | null;
  readonly sealedVerifier: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** What the callback of a consent needs. */
export type OpenFlow = Pick<NewFlow, 'id' | 'accountId' | 'label' | 'returnUrl' | 'sealedVerifier'>;

/** The id under which a `state` is kept. It is long and random, so its plain hash gives nothing away. */
export function flowId(state: string): string {
  return createHash('sha256').update(state, 'utf8').digest('base64url');
}

/** What a sealed verifier is bound to. */
export function verifierContext(id: string): string {
  return `oauth-flow:${id}:verifier`;
}

/** Keeps a flow, and forgets those whose time was over `forgetMs` ago. */
export async function insertFlow(db: Queryable, flow: NewFlow, forgetMs: number): Promise<void> {
  await db.query(
    `with forgotten as (delete from connector.oauth_flows where expires_at < $8::bigint)
     insert into connector.oauth_flows (id, account_id, label, return_url, sealed_verifier, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [
      flow.id,
      flow.accountId,
      flow.label,
      flow.returnUrl,
      flow.sealedVerifier,
      flow.createdAt,
      flow.expiresAt,
      flow.createdAt - forgetMs,
    ],
  );
}

/** Uses a flow up: one callback gets it, by whichever process. Null: unknown, used, or its time is over. */
export async function takeFlow(db: Queryable, id: string, now: number): Promise<OpenFlow | null> {
  const [flow] = await db.query<OpenFlow>(
    `update connector.oauth_flows set used_at = $2::bigint
      where id = $1 and used_at is null and expires_at > $2::bigint
      returning id, account_id as "accountId", label, return_url as "returnUrl",
                sealed_verifier as "sealedVerifier"`,
    [id, now],
  );
  return flow ?? null;
}

/** How a flow stands that could not be taken. */
export interface ClosedFlow extends Pick<NewFlow, 'accountId' | 'returnUrl'> {
  readonly usedAt: number | null;
  readonly outcome: string | null;
}

/** Null: there is none such. */
export async function readFlow(db: Queryable, id: string): Promise<ClosedFlow | null> {
  const [flow] = await db.query<ClosedFlow>(
    `select account_id as "accountId", return_url as "returnUrl", used_at as "usedAt", outcome
       from connector.oauth_flows where id = $1`,
    [id],
  );
  return flow ?? null;
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
