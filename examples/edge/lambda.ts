/**
 * A receiver on AWS Lambda, behind a function URL or an HTTP API (payload version 2.0), with Postgres. It verifies the
 * raw bytes and stores the event, and only then answers: Lambda freezes the process after the answer.
 */
import postgres from 'postgres';
// In your project, copy the pattern from src/patterns.
import { checkSignatureHeaders, verifySignature } from '../../src/patterns/verify-signature.ts';
import { toStatement } from './store-event.ts';

const { DATABASE_URL = '', SIGNING_SECRET: secret = '' } = process.env;
/** One connection for each process, because Lambda starts a process for each concurrent request. */
const sql = postgres(DATABASE_URL, { max: 1 });

interface LambdaEvent {
  /** Names are in lower case; the values of a repeated header are joined by a comma, so it is refused. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body?: string | null;
  readonly isBase64Encoded: boolean;
}

const answer = (statusCode: number, body: string) => ({ statusCode, body });

export async function handler({ headers, body: text, isBase64Encoded }: LambdaEvent) {
  const signed = {
    timestampHeader: headers['x-service-timestamp'],
    signatureHeader: headers['x-service-signature'],
    now: Date.now(),
  };
  const early = checkSignatureHeaders(signed);
  if (!early.valid) return answer(401, early.reason);
  // The bytes as they were sent.
  const body = Buffer.from(text ?? '', isBase64Encoded ? 'base64' : 'utf8');
  const check = verifySignature({ ...signed, body, secrets: [secret] });
  if (!check.valid) return answer(401, check.reason);
  const statement = toStatement(body);
  if (statement !== undefined) await sql.unsafe(statement.text.replaceAll('?', '$'), statement.values);
  return answer(200, 'stored');
}
