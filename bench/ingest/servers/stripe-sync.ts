import { createRequire } from 'node:module';
import postgres from 'postgres';
import { serveParent } from '../../process/serve-parent.ts';
import type { ServerCommands, ServerSetup } from '../contenders.ts';
import { createBareReceiver, listenOnLoopback } from './bare-receiver.ts';

/** What the benchmark uses of `@supabase/stripe-sync-engine`, which is installed on the first run only. */
interface StripeSyncEngine {
  StripeSync: new (config: {
    schema: string;
    stripeSecretKey: string;
    stripeWebhookSecret: string;
    poolConfig: { connectionString: string };
  }) => { processWebhook(payload: Buffer, signature: string | undefined): Promise<void> };
  runMigrations(config: { databaseUrl: string; schema: string }): Promise<void>;
}

const SCHEMA = 'stripe';

/** Its CommonJS build: the other one looks for its migrations by `__dirname`. */
function loadEngine(): StripeSyncEngine {
  const load: (id: string) => unknown = createRequire(import.meta.url);
  return load('@supabase/stripe-sync-engine') as StripeSyncEngine;
}

/** Its migrations log a failure and go on, so the table is looked for. */
async function demandTable(databaseUrl: string): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1 });
  const [row] = await sql<{ found: string | null }[]>`SELECT to_regclass('stripe.customers')::text AS found`;
  await sql.end();
  if (row?.found == null) throw new Error('its migrations made no table of customers');
}

async function listen({ databaseUrl, secret }: ServerSetup): Promise<{ port: number }> {
  const engine = loadEngine();
  await engine.runMigrations({ databaseUrl, schema: SCHEMA });
  await demandTable(databaseUrl);
  const sync = new engine.StripeSync({
    schema: SCHEMA,
    stripeSecretKey: 'sk_test_bench',
    stripeWebhookSecret: secret,
    poolConfig: { connectionString: databaseUrl },
  });
  const app = createBareReceiver('/webhooks', async (body, request) => {
    await sync.processWebhook(body, request.get('stripe-signature'));
    return true;
  });
  return listenOnLoopback(app);
}

serveParent({ listen, settle: async () => undefined } satisfies ServerCommands);
