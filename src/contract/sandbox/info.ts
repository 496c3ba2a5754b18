import { z } from 'zod';
import { dateTime } from '../service/fields.ts';

/** Answer of `GET /info` and of a reset, and the one line of `npm start -- --json`. */
export const sandboxInfo = z.object({
  baseUrl: z.url().describe('`{base_url}`, with `/api/v1`.'),
  legacyBaseUrl: z.url().describe('`{legacy_base_url}`: the same API at its permanent alias.'),
  authUrl: z.url().describe('`{auth_url}`: the host of the OAuth endpoints and of the tool server.'),
  mcpUrl: z.url().describe('The tool server.'),
  sandboxUrl: z.url().describe('This listener; the control API is below `/sandbox/v1`.'),
  connectorUrl: z.url().nullable().describe('The attached connector; null when there is none.'),
  connectorToken: z
    .string()
    .nullable()
    .describe(
      'Bearer token of the attached connector; null when there is none. Whoever can reach this address from this machine can read it.',
    ),
  workspaceId: z.string().describe('The workspace that the sandbox begins with.'),
  apiKey: z.string().describe('A key of that workspace with every scope.'),
  webhookUrl: z.string().nullable().describe('What the attached connector registers.'),
  now: dateTime.describe('Virtual time.'),
});
export type SandboxInfo = z.infer<typeof sandboxInfo>;
