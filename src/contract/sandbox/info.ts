import { z } from 'zod';
import { dateTime } from '../service/fields.ts';

/** Answer of `GET /info` and of a reset, and the one line of `npm start -- --json`. */
export const sandboxInfo = z.object({
  baseUrl: z.url().describe('`{base_url}`, with `/api/v1`.'),
  legacyBaseUrl: z.url(),
  authUrl: z.url(),
  mcpUrl: z.url(),
  sandboxUrl: z.url(),
  connectorUrl: z.url().nullable().describe('The attached connector; null when there is none.'),
  connectorToken: z.string().nullable(),
  workspaceId: z.string(),
  apiKey: z.string(),
  webhookUrl: z.string().nullable().describe('What the attached connector registers.'),
  now: dateTime.describe('Virtual time.'),
});
export type SandboxInfo = z.infer<typeof sandboxInfo>;
